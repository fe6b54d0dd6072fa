"""Hulbert's explicit staggered algorithm with midpoint torques (HSTAGM): two torque evaluations per step.

Two copies of the body, half a step apart, leapfrog each other: the one behind advances with the angular velocity and the
torque of the one ahead.

    q(n)     = q(n-1) exp(dt/2 omega(n-1/2)),      L(n)     = L(n-1) + dt M(n-1/2)
    q(n+1/2) = q(n-1/2) exp(dt/2 omega(n)),        L(n+1/2) = L(n-1/2) + dt M(n)               omega = A(q) L / I

Hulbert, Comput. Struct. 44, 1291 (1992), as given by Krysl and Endres, App. A. Started by q(1/2) = q(0) exp(dt/4 [omega +
dt/4 rate]) and the torque of the quarter step. q is the copy ahead; `spin` is its L (J s, world frame), then q and L of the
one behind: ten values. Conserves the angular momentum of a free body exactly. Unstable for slow tops; under
damping torques the two copies drift apart.
"""

from ..compile.kernels import fused
from ..quaternion import dot, moved, turned
from .euler import acceleration, kicked
from .momentum import momentum_of, omega_of, pushed

start_times = (0.0, 0.25)
times = (0.5, 1.0)


@fused
def begin(q, spin, torque, inertia, dt):
    """q(1/4), where the torque is evaluated next, and L(0), q(0) and L(0)."""
    omega = spin[0], spin[1], spin[2]
    momentum = momentum_of(q, omega, inertia)
    mean = kicked(omega, acceleration(omega, torque, inertia), 0.25 * dt)
    return turned(q, mean, 0.25 * dt), momentum + q + momentum


@fused
def begun(quarter, spin, torque, inertia, dt):
    """q(1/2) by repeating the rotation from q(0) to q(1/4), and L(1/2), q(0) and L(0)."""
    momentum, p = (spin[0], spin[1], spin[2]), (spin[3], spin[4], spin[5], spin[6])
    half = moved((-p[0], -p[1], -p[2], -p[3]), quarter, 2.0 * dot(p, quarter))
    return half, pushed(quarter, momentum, torque, 0.5 * dt) + p + momentum


@fused
def leap(q, spin, torque, inertia, dt):
    ahead, behind = (spin[0], spin[1], spin[2]), (spin[7], spin[8], spin[9])
    omega = omega_of(q, ahead, inertia)
    over = turned((spin[3], spin[4], spin[5], spin[6]), omega, dt)
    return over, pushed(q, behind, torque, dt) + q + ahead


@fused
def on_step(q, spin, torque, inertia, dt):
    q, behind = (spin[3], spin[4], spin[5], spin[6]), (spin[7], spin[8], spin[9])
    return q, omega_of(q, behind, inertia) + q + behind


@fused
def foresee(q, spin, torque, inertia, dt):
    omega = omega_of(q, (spin[0], spin[1], spin[2]), inertia)
    return q, (*omega, spin[3], spin[4], spin[5], spin[6], spin[7], spin[8], spin[9])


starts = (begin, begun)
stages = (leap, leap)
