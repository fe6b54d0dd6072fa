"""Fincham's leapfrog as in YADE and as tested in the SPIRAL paper.

Like `fincham`, but L(n+1/2) is transformed to the body frame with the matrix of time n instead of n+1/2:

    omega(n+1/2) = A(q(n)) L(n+1/2) / I,   q(n+1) = q(n) + dt dq/dt(q(n+1/2), omega(n+1/2))

which reduces it to first order. del Valle et al., Comput. Phys. Commun. 297, 109077 (2024), App. B.3, Eq. B.4-B.6. `spin` is
L (J s, world frame).
"""

from ..compile.kernels import fused
from ..quaternion import moved, rate_of, unit
from . import fincham
from .momentum import omega_of, pushed

start = fincham.start
on_step = fincham.on_step


@fused
def advance(q, momentum, torque, inertia, dt):
    omega = omega_of(q, pushed(q, momentum, torque, 0.5 * dt), inertia)
    momentum = pushed(q, momentum, torque, dt)
    middle = moved(q, rate_of(q, omega), 0.5 * dt)
    omega = omega_of(q, momentum, inertia)
    return unit(moved(q, rate_of(middle, omega), dt)), momentum
