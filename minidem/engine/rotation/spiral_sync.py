"""SPIRAL, the non-leapfrog variant: q and omega are both on step, and q is advanced first.

    q(n+1)     = q(n) exp(dt/2 omega(n)) exp(dt^2/4 d omega/dt(n))
    omega(n+1) = omega(n) + (K1 + K2 + 4 K3)/6                   SSPRK3 with constant torque M(n)

del Valle et al., Comput. Phys. Commun. 297, 109077 (2024), App. A. Keeps |q| = 1 to round-off without normalisation.
First order under a changing torque, since the torque at the start of the step is used for the whole step.
"""

from ..compile.kernels import fused
from ..quaternion import turned
from .euler import acceleration
from .spiral import ssprk3


@fused
def start(q, omega, torque, inertia, dt):
    return q, omega


@fused
def advance(q, omega, torque, inertia, dt):
    rate = acceleration(omega, torque, inertia)
    h = 0.5 * dt * dt
    q = turned(q, omega, dt)
    q = turned(q, rate, h)
    return q, ssprk3(omega, torque, inertia, dt)


@fused
def on_step(q, omega, torque, inertia, dt):
    return q, omega
