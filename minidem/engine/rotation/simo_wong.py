"""Simo and Wong's explicit momentum-conserving algorithm.

    L(n)     = L(n-1/2) + dt/2 M(n),     omega(n) = A(q(n)) L(n) / I,     L(n+1/2) = L(n) + dt/2 M(n)
    w(n+1/2) = omega(n) + dt/2 rate(n),  rate(n)  = 2/dt (omega(n) - omega(n-1)) - rate(n-1)
    q(n+1)   = q(n) exp(dt/2 w(n+1/2))

Simo and Wong, Int. J. Numer. Methods Eng. 31, 19 (1991), with beta = 0, as given by Krysl and Endres, App. A (SW). The
recurrence for the rate is w(n+1/2) = 2 omega(n) - w(n-1/2). `spin` is L(n-1/2) (J s, world frame) and w(n-1/2) (rad/s, body
frame): six values. Conserves the angular momentum of a free body exactly. Krysl and Endres find that its energy drifts
for all time steps; here it does only for large ones, where it is unstable. Keeps |q| = 1 to round-off without normalisation.
"""

from ..compile.kernels import fused
from ..quaternion import turned
from .euler import acceleration, kicked
from .momentum import momentum_of, omega_of, pushed


@fused
def start(q, spin, torque, inertia, dt):
    omega = spin[0], spin[1], spin[2]
    momentum = pushed(q, momentum_of(q, omega, inertia), torque, -0.5 * dt)
    return q, momentum + kicked(omega, acceleration(omega, torque, inertia), -0.5 * dt)


@fused
def on_step(q, spin, torque, inertia, dt):
    omega = omega_of(q, pushed(q, (spin[0], spin[1], spin[2]), torque, 0.5 * dt), inertia)
    return q, (*omega, spin[3], spin[4], spin[5])


@fused
def advance(q, spin, torque, inertia, dt):
    _, on = on_step(q, spin, torque, inertia, dt)
    w = 2.0 * on[0] - spin[3], 2.0 * on[1] - spin[4], 2.0 * on[2] - spin[5]
    return turned(q, w, dt), pushed(q, (spin[0], spin[1], spin[2]), torque, dt) + w
