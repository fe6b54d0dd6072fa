"""Velocity Verlet for rotation.

    omega(n+1/2) = omega(n) + dt/2 d omega/dt[omega(n), M(n)]
    q(n+1)       = q(n) + dt dq/dt[q(n), omega(n+1/2)]                                  normalised
    omega(n+1)   = omega(n+1/2) + dt/2 d omega/dt[omega(n+1/2), M(n+1)]

del Valle et al., Comput. Phys. Commun. 297, 109077 (2024), App. B.2, where q is printed with omega(t+dt): that value is not
known yet at that point, and omega(n+1/2) gives the published errors. `spin` is omega(n-1/2): the second half kick
follows once the torque at n is known. First order.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from .euler import acceleration, kicked


@fused
def start(q, omega, torque, inertia, dt):
    # Fixed-point iteration for the omega(-1/2) whose second half kick gives omega(0); each gains a factor dt omega / 2.
    back = omega
    for _ in range(8):
        back = kicked(omega, acceleration(back, torque, inertia), -0.5 * dt)
    return q, back


@fused
def on_step(q, omega, torque, inertia, dt):
    return q, kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)


@fused
def advance(q, omega, torque, inertia, dt):
    q, omega = on_step(q, omega, torque, inertia, dt)
    omega = kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)
    return unit(moved(q, rate_of(q, omega), dt)), omega
