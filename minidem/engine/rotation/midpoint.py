"""The implicit midpoint rule of Austin, Krishnaprasad and Wang.

    w          = omega(n) + dt/2 rate(w, M),     omega(n+1) = 2 w - omega(n)                        w: omega at the midpoint
    q(n+1)     = q(n) cay(dt w)

Newton's method finds w for a given torque. The torque is that at the midpoint (q(n) and half the rotation, w, t + dt/2),
found by a fixed-point iteration with eight evaluations.

Austin, Krishnaprasad, Wang, J. Comput. Phys. 107, 105 (1993), called AKW by Krysl and Endres. Conserves energy and angular
momentum of a free body exactly, as the rule does with all quadratic invariants. Between stages q and the first three values
of `spin` are those at the midpoint, followed by q(n) and omega(n): ten values.
"""

from ..compile.kernels import fused
from ..quaternion import product, unit
from . import rk4
from .newmark_body import velocity

EVALUATIONS = 8
times = (0.0,) + (0.5,) * (EVALUATIONS - 1)
start = rk4.start
on_step = rk4.on_step


@fused
def turn(w, dt):
    """The unit quaternion of cay(dt w): a rotation about w by 2 atan(dt |w| / 2)."""
    h = 0.5 * dt
    return unit((1.0, h * w[0], h * w[1], h * w[2]))


@fused
def middle(p, omega, torque, inertia, dt):
    """Orientation and angular velocity half a step after p and omega, under a constant body-frame torque."""
    w = velocity(omega, torque, inertia, dt)
    c = turn(w, dt)
    return product(p, unit((1.0 + c[0], c[1], c[2], c[3]))), w + p + omega


@fused
def first(q, spin, torque, inertia, dt):
    return middle(q, (spin[0], spin[1], spin[2]), torque, inertia, dt)


@fused
def again(q, spin, torque, inertia, dt):
    return middle((spin[3], spin[4], spin[5], spin[6]), (spin[7], spin[8], spin[9]), torque, inertia, dt)


@fused
def last(q, spin, torque, inertia, dt):
    p, omega = (spin[3], spin[4], spin[5], spin[6]), (spin[7], spin[8], spin[9])
    w = velocity(omega, torque, inertia, dt)
    omega = 2.0 * w[0] - omega[0], 2.0 * w[1] - omega[1], 2.0 * w[2] - omega[2]
    return product(p, turn(w, dt)), omega + p + omega


stages = (first,) + (again,) * (EVALUATIONS - 2) + (last,)
