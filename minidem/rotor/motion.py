"""Orientations and angular velocities over time."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import quaternions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    time: Array  # (k,) s
    q: Array  # (k, 4, n) w, x, y, z, principal axes -> world
    omega: Array  # (k, 3, n) rad/s, principal axes

    def in_world(self, vectors: Array) -> Array:
        """Vectors (k, 3, n) of the principal axes, in world axes."""
        return quaternions.rotated(self.q.swapaxes(1, 2), vectors.swapaxes(1, 2)).swapaxes(1, 2)

    def axis(self, k: int = 0) -> Array:
        """World direction (k, 3, n) of the principal axis number k."""
        return self.in_world(np.broadcast_to(np.eye(3)[k][:, None], self.omega.shape))

    def momentum(self, inertia: Array) -> Array:
        """Angular momentum (k, 3, n), world axes, J s."""
        return self.in_world(inertia * self.omega)

    def kinetic_energy(self, inertia: Array) -> Array:
        """(k,) of all bodies, J"""
        return 0.5 * (inertia * self.omega**2).sum(axis=(1, 2))


class BenchRun(NamedTuple):
    """A case of the bench with one integrator, beside its reference."""

    case: str
    integrator: str
    dt: float  # s
    motion: Motion  # at k times
    reference: Motion  # at the same times
    error_q: Array  # (k - 1,) relative L1 errors after the start
    error_omega: Array  # (k - 1,)
    energy_deviation: Array | None  # (k,) |E - E0| / |E0|; None if energy is not conserved
