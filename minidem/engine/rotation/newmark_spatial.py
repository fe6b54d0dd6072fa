"""Explicit Newmark in the world frame: equal to `newmark-body` to round-off.

    omega(n)     = omega(n-1/2) + dt/2 rate(n),   i rate(n) = m(n) - omega(n) x i omega(n)          i = R I R^T
    omega(n+1/2) = omega(n) + dt/2 rate(n)
    q(n+1)       = exp(dt/2 omega(n+1/2)) q(n)                                           normalised

Krysl and Endres, Int. J. Numer. Methods Eng. 62, 2154 (2005), Sec. 2.5 (NMS). `spin` is omega(n-1/2) (rad/s, WORLD frame).
The nonlinear equation is solved in the principal axes, where i is diagonal. q is normalised: omega is transformed by q
and back in every step, so a round-off error of |q| would make omega grow exponentially.
"""

from ..compile.kernels import fused
from ..quaternion import product, to_body, to_world, turn, unit
from .euler import acceleration, kicked
from .newmark_body import velocity


@fused
def start(q, omega, torque, inertia, dt):
    return q, to_world(q, kicked(omega, acceleration(omega, torque, inertia), -0.5 * dt))


@fused
def on_step(q, before, torque, inertia, dt):
    return q, velocity(to_body(q, before), torque, inertia, dt)


@fused
def advance(q, before, torque, inertia, dt):
    q, omega = on_step(q, before, torque, inertia, dt)
    after = to_world(q, kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt))
    return unit(product(turn(after, dt), q)), after
