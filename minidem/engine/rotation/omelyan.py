"""Omelyan's advanced leapfrog: omega is half a step behind q; three iterations for the products of omega(n).

    omega(n+1/2) = omega(n-1/2) + dt d omega/dt [omega_a omega_b (n), M(n)]
    omega_a omega_b (n) = (omega_a omega_b (n-1/2) + omega_a omega_b (n+1/2)) / 2
    q(n+1) = [(1 - h^2) q + dt dq/dt(q, omega(n+1/2))] / (1 + h^2),   h = dt |omega(n+1/2)| / 4

Omelyan, Phys. Rev. E 58, 1169 (1998); SPIRAL paper, App. B.5, Eq. B.10-B.12 (its first iterate: the products of n-1/2).
Keeps |q| = 1 without normalisation; round-off accumulates (about 2e-17 per step). On step, omega(n) is the mean of the
half-step values.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of
from .euler import acceleration


@fused
def leap(omega, torque, inertia, dt):
    """omega after dt; the gyroscopic products are the mean of those at both ends."""
    rate = acceleration(omega, torque, inertia)
    ahead = omega
    for _ in range(3):
        far = acceleration(ahead, torque, inertia)
        h = 0.5 * dt
        ahead = (
            omega[0] + h * (rate[0] + far[0]),
            omega[1] + h * (rate[1] + far[1]),
            omega[2] + h * (rate[2] + far[2]),
        )
    return ahead


@fused
def start(q, omega, torque, inertia, dt):
    return q, leap(omega, torque, inertia, -0.5 * dt)


@fused
def advance(q, omega, torque, inertia, dt):
    omega = leap(omega, torque, inertia, dt)
    h2 = dt * dt / 16.0 * (omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2])
    scale = 1.0 / (1.0 + h2)
    p = moved(((1.0 - h2) * q[0], (1.0 - h2) * q[1], (1.0 - h2) * q[2], (1.0 - h2) * q[3]), rate_of(q, omega), dt)
    return (p[0] * scale, p[1] * scale, p[2] * scale, p[3] * scale), omega


@fused
def on_step(q, omega, torque, inertia, dt):
    ahead = leap(omega, torque, inertia, dt)
    return q, (0.5 * (omega[0] + ahead[0]), 0.5 * (omega[1] + ahead[1]), 0.5 * (omega[2] + ahead[2]))
