"""Johnson, Williams and Cook: classical Runge-Kutta for q at a fixed omega, then the angular momentum L.

    omega  = A(q(n)) L(n) / I
    q(n+1) = q(n) + dt/6 (k1 + 2 k2 + 2 k3 + k4),   k = dq/dt(., omega)                  normalised
    L(n+1) = L(n) + dt M(n)

Int. J. Numer. Methods Eng. 74, 1303 (2008), as in the SPIRAL paper, App. B.6, Eq. B.13-B.15: with one torque evaluation
per step, without the second one for L in the original. `spin` is L (J s, world frame), conserved exactly for a free body.
First order: omega is constant during the step.
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from . import buss
from .momentum import omega_of, pushed

start = buss.start
on_step = buss.on_step


@fused
def advance(q, momentum, torque, inertia, dt):
    omega = omega_of(q, momentum, inertia)
    k1 = rate_of(q, omega)
    k2 = rate_of(moved(q, k1, 0.5 * dt), omega)
    k3 = rate_of(moved(q, k2, 0.5 * dt), omega)
    k4 = rate_of(moved(q, k3, dt), omega)
    h = dt / 6.0
    ahead = moved(moved(moved(moved(q, k1, h), k2, 2.0 * h), k3, 2.0 * h), k4, h)
    return unit(ahead), pushed(q, momentum, torque, dt)
