"""Direct Euler: omega first, then q with the new omega.

    omega(n+1) = omega(n) + dt d omega/dt[omega(n), M(n)]
    q(n+1)     = q(n) + dt dq/dt[q(n), omega(n+1)]                                      normalised

del Valle et al., Comput. Phys. Commun. 297, 109077 (2024), App. B.1. First order.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from .euler import acceleration, kicked


@fused
def start(q, omega, torque, inertia, dt):
    return q, omega


@fused
def advance(q, omega, torque, inertia, dt):
    omega = kicked(omega, acceleration(omega, torque, inertia), dt)
    return unit(moved(q, rate_of(q, omega), dt)), omega


@fused
def on_step(q, omega, torque, inertia, dt):
    return q, omega
