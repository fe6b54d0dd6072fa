"""Svanberg's mid-step implicit leapfrog: like Fincham's, with the orientation at the half step found by iteration.

    L(n+1/2) = L(n-1/2) + dt M(n)
    q(n+1/2) = q(n) + dt/2 dq/dt(q(n+1/2), omega(n+1/2)),   omega(n+1/2) = A(q(n+1/2)) L(n+1/2) / I   three times, normalised
    q(n+1)   = q(n) + dt dq/dt(q(n+1/2), omega(n+1/2))                                   normalised

Svanberg, Mol. Phys. 92, 1085 (1997); cited by Martys and Mountain, Phys. Rev. E 59, 3733 (1999), as the scheme that imposes
|q| = 1 by scaling. The first guess is q(n). `spin` is L (J s, world frame), conserved exactly for a free body.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from . import fincham
from .momentum import omega_of, pushed

start = fincham.start
on_step = fincham.on_step


@fused
def advance(q, momentum, torque, inertia, dt):
    momentum = pushed(q, momentum, torque, dt)
    middle = q
    for _ in range(3):
        middle = unit(moved(q, rate_of(middle, omega_of(middle, momentum, inertia)), 0.5 * dt))
    return unit(moved(q, rate_of(middle, omega_of(middle, momentum, inertia)), dt)), momentum
