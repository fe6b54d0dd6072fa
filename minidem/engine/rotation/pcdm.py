"""Predictor-corrector direct multiplication of Zhao and van Wachem: q and omega on step.

    omega(n+1/4) = omega(n) + dt/4 rate(n),   omega(n+1/2) = omega(n) + dt/2 rate(n)            body frame of n
    q(n+1/2)     = q(n) exp(dt/4 omega(n+1/4))                                           transforms omega(n+1/2) to the world
    q(n+1)       = exp(dt/2 omega_world(n+1/2)) q(n)
    omega(n+1)   = omega(n) + dt (M(n+1) - omega(n+1/2) x I omega(n+1/2)) / I

Acta Mech. 224, 3091 (2013), as described by Seelen, Padding, Kuipers, Acta Mech. 227, 3381 (2016), whose Table 1 is
reproduced to 3e-6 with the torque at the new time, M(n+1), in the last line. That torque is not yet known at the end of a
step, so `spin` is omega(n+1) without it. Keeps |q| = 1 to round-off without normalisation. Second order under a constant
torque, first order under a changing one, since the final torque acts over the whole step. A torque that depends on omega is
evaluated with the value in `spin`.
"""

from ..compile.kernels import fused
from ..quaternion import to_body, to_world, turned
from .euler import acceleration, by_inertia, kicked


@fused
def start(q, omega, torque, inertia, dt):
    return q, kicked(omega, by_inertia(torque, inertia), -dt)


@fused
def on_step(q, without, torque, inertia, dt):
    return q, kicked(without, by_inertia(torque, inertia), dt)


@fused
def foresee(q, without, torque, inertia, dt):
    return q, without


@fused
def advance(q, without, torque, inertia, dt):
    q, omega = on_step(q, without, torque, inertia, dt)
    rate = acceleration(omega, torque, inertia)
    quarter = kicked(omega, rate, 0.25 * dt)
    middle = kicked(omega, rate, 0.5 * dt)
    ahead = turned(q, quarter, 0.5 * dt)
    turn = to_body(q, to_world(ahead, middle))
    q = turned(q, turn, dt)
    return q, kicked(omega, acceleration(middle, (0.0, 0.0, 0.0), inertia), dt)
