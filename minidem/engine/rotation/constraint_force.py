"""Velocity Verlet for quaternions with a constraint force that keeps |q| = 1.

    q(n+1)     = (1 - l) q(n) + dt q' + dt^2/2 q''
    l          = 1 - s1 dt^2/2 - sqrt(1 - s1 dt^2 - s2 dt^3 - (s3 - s1^2) dt^4/4),   s1 = q'.q', s2 = q'.q'', s3 = q''.q''
    omega(n+1) = omega(n) + dt/2 [rate(n) + rate(n+1)]                                   three iterations

Martys and Mountain, Phys. Rev. E 59, 3733 (1999), after Omelyan. l is the root of |q(n+1)| = 1. `spin` is omega(n-1) + dt/2
rate(n-1) (rad/s, body frame); the second half kick follows once the torque at n is known. Keeps |q| = 1 to round-off
without normalisation.
"""

import math

from ..compile.kernels import fused
from ..quaternion import dot, moved, rate_of
from . import newmark_body
from .euler import acceleration, by_inertia, kicked

start = newmark_body.start


@fused
def velocity(before, torque, inertia, dt):
    omega = kicked(before, by_inertia(torque, inertia), 0.5 * dt)
    for _ in range(3):
        omega = kicked(before, acceleration(omega, torque, inertia), 0.5 * dt)
    return omega


@fused
def on_step(q, before, torque, inertia, dt):
    return q, velocity(before, torque, inertia, dt)


@fused
def advance(q, before, torque, inertia, dt):
    omega = velocity(before, torque, inertia, dt)
    rate = acceleration(omega, torque, inertia)
    q1 = rate_of(q, omega)
    q2 = moved(rate_of(q, rate), rate_of(q1, omega), 1.0)  # (q omega' + q' omega) / 2
    s1, s2, s3 = dt**2 * dot(q1, q1), dt**3 * dot(q1, q2), dt**4 * dot(q2, q2)
    scale = 0.5 * s1 + math.sqrt(1.0 - s1 - s2 - 0.25 * (s3 - s1 * s1))  # 1 - l
    held = scale * q[0], scale * q[1], scale * q[2], scale * q[3]
    return moved(moved(held, q1, dt), q2, 0.5 * dt * dt), kicked(omega, rate, 0.5 * dt)
