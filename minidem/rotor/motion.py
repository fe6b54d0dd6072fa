"""Orientations and angular velocities over time."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import quaternions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """Samples of the motion of n bodies at k times."""

    time: Array  # (k,) s
    q: Array  # (k, 4, n) w, x, y, z, principal axes -> world
    omega: Array  # (k, 3, n) rad/s, principal axes

    def in_world(self, vectors: Array) -> Array:
        """Vectors given in principal axes (k, 3, n), in world axes (k, 3, n)."""
        return quaternions.rotated(self.q.swapaxes(1, 2), vectors.swapaxes(1, 2)).swapaxes(1, 2)

    def axis(self, k: int = 0) -> Array:
        """World direction of principal axis number `k` (0, 1 or 2), shape (times, 3, n)."""
        return self.in_world(np.broadcast_to(np.eye(3)[k][:, None], self.omega.shape))

    def momentum(self, inertia: Array) -> Array:
        """Angular momentum in world axes, J s, shape (k, 3, n); `inertia` (3, n) in kg m^2."""
        return self.in_world(inertia * self.omega)

    def kinetic_energy(self, inertia: Array) -> Array:
        """Rotational energy of all bodies together, J, shape (k,); `inertia` (3, n) in kg m^2."""
        energy: Array = 0.5 * (inertia * self.omega**2).sum(axis=(1, 2))
        return energy


class BenchRun(NamedTuple):
    """A case integrated with one scheme, and its reference."""

    case: str
    integrator: str
    dt: float  # s
    motion: Motion  # at k times
    reference: Motion  # at the same times
    error_q: Array  # (k - 1,) relative L1 error at each time but the first
    error_omega: Array  # (k - 1,) likewise
    energy_deviation: Array | None  # (k,) |E - E0| / |E0|; None if energy is not conserved
