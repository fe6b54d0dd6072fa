"""Fincham's leapfrog, as published: the world-frame angular momentum L lives half a step behind q.

    L(n)     = L(n-1/2) + dt/2 M(n),     omega(n)     = A(q(n)) L(n) / I
    L(n+1/2) = L(n-1/2) + dt M(n),       q(n+1/2)     = q(n) + dt/2 dq/dt(q(n), omega(n))
    omega(n+1/2) = A(q(n+1/2)) L(n+1/2) / I,   q(n+1) = q(n) + dt dq/dt(q(n+1/2), omega(n+1/2))

Fincham, Mol. Simul. 8, 165 (1992). A turns world into body. `spin` is L (J s, world frame). Torque-free angular
momentum is conserved exactly. q(n+1) is normalised; q(n+1/2) only where it is made into a matrix, as a matrix needs it.
"""

from ..compiling import inlined
from ..quaternion import moved, rate_of, to_body, to_world, unit


@inlined
def spin_rate(q, momentum, inertia):
    """Body-frame angular velocity of the world-frame angular momentum."""
    m = to_body(q, momentum)
    return m[0] / inertia[0], m[1] / inertia[1], m[2] / inertia[2]


@inlined
def pushed(q, momentum, torque, dt):
    """L + dt M with the body-frame torque M."""
    m = to_world(q, torque)
    return momentum[0] + dt * m[0], momentum[1] + dt * m[1], momentum[2] + dt * m[2]


@inlined
def start(q, omega, torque, inertia, dt):
    momentum = to_world(q, (inertia[0] * omega[0], inertia[1] * omega[1], inertia[2] * omega[2]))
    return q, pushed(q, momentum, torque, -0.5 * dt)


@inlined
def advance(q, momentum, torque, inertia, dt):
    omega = spin_rate(q, pushed(q, momentum, torque, 0.5 * dt), inertia)
    momentum = pushed(q, momentum, torque, dt)
    middle = moved(q, rate_of(q, omega), 0.5 * dt)
    omega = spin_rate(unit(middle), momentum, inertia)
    return unit(moved(q, rate_of(middle, omega), dt)), momentum


@inlined
def on_step(q, momentum, torque, inertia, dt):
    return q, spin_rate(q, pushed(q, momentum, torque, 0.5 * dt), inertia)
