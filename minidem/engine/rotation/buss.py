"""Buss' algorithm in the form of PFC7: the world-frame angular momentum L and q are both on step.

    omega = A(q(n)) L(n) / I,     rate = d omega/dt[omega, M(n)]
    mean  = omega + dt/2 rate + dt^2/12 rate x omega
    q(n+1) = q(n) exp(dt/2 mean),     L(n+1) = L(n) + dt M(n)

Buss, J. Comput. Phys. 164, 377 (2000); SPIRAL paper, App. B.4, Eq. B.7-B.9, whose world-frame
vectors are written here in the body frame of time n. `spin` is L (J s, world frame). Keeps |q| = 1 to round-off without
normalisation, and the angular momentum of a free body exactly. First order: L uses the torque at the start of the step.
"""

from ..compile.kernels import fused
from ..quaternion import turned
from .euler import acceleration, cross, kicked
from .momentum import momentum_of, omega_of, pushed


@fused
def start(q, omega, torque, inertia, dt):
    return q, momentum_of(q, omega, inertia)


@fused
def advance(q, momentum, torque, inertia, dt):
    omega = omega_of(q, momentum, inertia)
    rate = acceleration(omega, torque, inertia)
    mean = kicked(kicked(omega, rate, 0.5 * dt), cross(rate, omega), dt * dt / 12.0)
    return turned(q, mean, dt), pushed(q, momentum, torque, dt)


@fused
def on_step(q, momentum, torque, inertia, dt):
    return q, omega_of(q, momentum, inertia)
