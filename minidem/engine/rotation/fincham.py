"""Fincham's leapfrog, as published: the world-frame angular momentum L is half a step behind q.

    L(n)     = L(n-1/2) + dt/2 M(n),     omega(n)     = A(q(n)) L(n) / I
    L(n+1/2) = L(n-1/2) + dt M(n),       q(n+1/2)     = q(n) + dt/2 dq/dt(q(n), omega(n))
    omega(n+1/2) = A(q(n+1/2)) L(n+1/2) / I,   q(n+1) = q(n) + dt dq/dt(q(n+1/2), omega(n+1/2))

Fincham, Mol. Simul. 8, 165 (1992). A transforms from the world to the body frame. `spin` is L (J s, world frame), conserved
exactly for a free body. q(n+1) is normalised; q(n+1/2) only where A is computed from it.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from .momentum import momentum_of, omega_of, pushed


@fused
def start(q, omega, torque, inertia, dt):
    return q, pushed(q, momentum_of(q, omega, inertia), torque, -0.5 * dt)


@fused
def advance(q, momentum, torque, inertia, dt):
    omega = omega_of(q, pushed(q, momentum, torque, 0.5 * dt), inertia)
    momentum = pushed(q, momentum, torque, dt)
    middle = moved(q, rate_of(q, omega), 0.5 * dt)
    omega = omega_of(unit(middle), momentum, inertia)
    return unit(moved(q, rate_of(middle, omega), dt)), momentum


@fused
def on_step(q, momentum, torque, inertia, dt):
    return q, omega_of(q, pushed(q, momentum, torque, 0.5 * dt), inertia)
