"""Sums over all bodies that should be conserved."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.state import Bodies
from ..model.building import chunks

Array = NDArray[np.float64]


class Sums(NamedTuple):
    """Sums over all bodies, in world axes, and the body that spins fastest."""

    kinetic_translational: float  # J
    kinetic_rotational: float  # J
    gravity: float  # potential energy, J
    momentum: Array  # (3,) kg m/s
    angular_momentum: Array  # (3,) about the origin, J s
    fastest_spin: float  # largest angular speed of any body, rad/s
    fastest_column: int  # column of that body


def conserved_sums(bodies: Bodies, motion: Callable[[slice], Sequence[Array]], gravity: Sequence[float]) -> Sums:
    """The sums over all bodies. `motion` gives the on-step velocity (3, k), orientation (4, k) and angular velocity (3, k)
    in principal axes of the bodies of a slice."""
    n = bodies.mass.size
    translational = rotational = potential = 0.0
    momentum, angular_momentum = np.zeros(3), np.zeros(3)
    fastest, whose = -1.0, 0
    with np.errstate(all="ignore"):  # the run may have blown up
        for some in chunks(n):
            m, x = bodies.mass[some], bodies.position[:, some]
            v, q, w = motion(some)
            p, spin = m * v, bodies.inertia[:3, some] * w
            own = quaternions.rotated(q.T, spin.T)
            translational += 0.5 * np.sum(p * v)
            rotational += 0.5 * np.sum(spin * w)
            potential -= np.dot(gravity, np.sum(m * x, axis=1))
            momentum += np.sum(p, axis=1)
            xp = np.einsum("ab,cb->ac", x, p)  # its antisymmetric part holds the sum of x x p
            angular_momentum += (xp - xp.T)[[1, 2, 0], [2, 0, 1]] + np.einsum("bc->c", own)
            squared = np.einsum("cb,cb->b", w[:, : m.size], w[:, : m.size])
            column = int(squared.argmax())
            if squared[column] > fastest:
                fastest, whose = float(squared[column]), some.start + column
    spin_rate = math.sqrt(max(fastest, 0.0))
    energies = float(translational), float(rotational), float(potential)
    return Sums(*energies, momentum, angular_momentum, spin_rate, whose)
