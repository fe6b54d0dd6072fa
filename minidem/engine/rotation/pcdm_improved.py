"""Improved PCDM: omega and a second orientation p are half a step behind; q and omega on step are predictions.

    rate(n)      = d omega/dt[w(n), M(n)]                              w(n), q(n): predictions, used for M(n)
    omega(n+1/2) = omega(n-1/2) + dt rate(n)
    p(n+1/2)     = exp(dt/2 w_world(n)) p(n-1/2)
    q(n+1)       = p(n+1/2) exp(dt/4 [omega(n+1/2) + dt/4 rate(n)])
    w(n+1)       = omega(n+1/2) + dt/2 rate(n)

Seelen, Padding, Kuipers, Acta Mech. 227, 3381 (2016), Sec. 2.2. `spin` is omega(n-1/2), w(n) (rad/s, body frame) and
p(n-1/2): ten values. Everything that forces may depend on is predicted at the time of the torque, so it is second order
also for torques that depend on omega. Keeps |q| = 1 to round-off without normalisation.
"""

from ..compile.kernels import fused
from ..quaternion import to_body, to_world, turned
from .euler import acceleration, kicked


@fused
def start(q, spin, torque, inertia, dt):
    omega = spin[0], spin[1], spin[2]
    rate = acceleration(omega, torque, inertia)
    behind = kicked(omega, rate, -0.25 * dt)
    p = turned(q, behind, -0.5 * dt)
    return q, kicked(omega, rate, -0.5 * dt) + omega + p


@fused
def on_step(q, spin, torque, inertia, dt):
    return q, (spin[3], spin[4], spin[5], spin[3], spin[4], spin[5], spin[6], spin[7], spin[8], spin[9])


@fused
def advance(q, spin, torque, inertia, dt):
    omega, w, p = (spin[0], spin[1], spin[2]), (spin[3], spin[4], spin[5]), (spin[6], spin[7], spin[8], spin[9])
    rate = acceleration(w, torque, inertia)
    omega = kicked(omega, rate, dt)
    turn = to_body(p, to_world(q, w))
    p = turned(p, turn, dt)
    ahead = kicked(omega, rate, 0.25 * dt)
    q = turned(p, ahead, 0.5 * dt)
    return q, omega + kicked(omega, rate, 0.5 * dt) + p
