"""SPIRAL, the leapfrog variant: omega is half a step behind q.

    omega(n+1/2) = omega(n-1/2) + (K1 + K2 + 4 K3)/6            SSPRK3 with constant torque M(n)
    q(n+1)       = q(n) exp(dt/2 omega(n+1/2))

del Valle, Angelidakis, Roy, Munoz, Poeschel, Comput. Phys. Commun. 297, 109077 (2024), Eq. 7-10. The start moves omega
half a step back by the same SSPRK3 with -dt/2; the output moves it half a step forward. Keeps |q| = 1 to round-off without
normalisation. Not symplectic; the error of energy and angular momentum is of third order per step.
"""

from ..compile.kernels import fused
from ..quaternion import turned
from .euler import acceleration, kicked


@fused
def ssprk3(omega, torque, inertia, dt):
    """omega after dt under a constant body-frame torque (Eq. 9 and 10)."""
    a = acceleration(omega, torque, inertia)
    b = acceleration(kicked(omega, a, dt), torque, inertia)
    c = acceleration(kicked(kicked(omega, a, 0.25 * dt), b, 0.25 * dt), torque, inertia)
    h = dt / 6.0
    return (
        omega[0] + h * (a[0] + b[0] + 4.0 * c[0]),
        omega[1] + h * (a[1] + b[1] + 4.0 * c[1]),
        omega[2] + h * (a[2] + b[2] + 4.0 * c[2]),
    )


@fused
def start(q, omega, torque, inertia, dt):
    return q, ssprk3(omega, torque, inertia, -0.5 * dt)


@fused
def advance(q, omega, torque, inertia, dt):
    omega = ssprk3(omega, torque, inertia, dt)
    return turned(q, omega, dt), omega


@fused
def on_step(q, omega, torque, inertia, dt):
    return q, ssprk3(omega, torque, inertia, 0.5 * dt)
