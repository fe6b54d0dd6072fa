"""Sums over all bodies that should be conserved."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.state import Bodies

Array = NDArray[np.float64]
CHUNK = 4096  # bodies at a time: what is computed for them stays in the processor's cache


def conserved_sums(
    bodies: Bodies, motion: Callable[[slice], Sequence[Array]], gravity: Sequence[float]
) -> tuple[Array, float, int]:
    """Translational and rotational kinetic energy, gravity's potential (J), momentum (kg m/s) and angular momentum about the
    origin (J s), in world axes: (9,); and of the body that turns fastest its speed (rad/s) and its column. `motion` gives
    the on-step velocity, orientation and spin of some bodies."""
    sums, n = np.zeros(9), bodies.mass.size
    fastest, whose = -1.0, 0
    with np.errstate(all="ignore"):  # of a run that blew up
        for begin in range(0, n, CHUNK):
            some = slice(begin, min(begin + CHUNK, n))
            m, x = bodies.mass[some], bodies.position[:, some]
            v, q, w = motion(some)
            momentum, spin = m * v, bodies.inertia[:3, some] * w
            own = quaternions.rotated(q.T, spin.T)
            sums[0] += 0.5 * np.sum(momentum * v)
            sums[1] += 0.5 * np.sum(spin * w)
            sums[2] -= np.dot(gravity, np.sum(m * x, axis=1))
            sums[3:6] += np.sum(momentum, axis=1)
            xp = np.einsum("ab,cb->ac", x, momentum)  # its antisymmetric part holds the sum of x x p
            sums[6:] += (xp - xp.T)[[1, 2, 0], [2, 0, 1]] + np.einsum("bc->c", own)
            squared = np.einsum("cb,cb->b", w[:, : m.size], w[:, : m.size])
            column = int(squared.argmax())
            if squared[column] > fastest:
                fastest, whose = float(squared[column]), begin + column
    return sums, math.sqrt(max(fastest, 0.0)), whose
