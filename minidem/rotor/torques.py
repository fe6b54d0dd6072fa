"""Torques of the bench's cases, in the principal axes of the bodies.

Each is a function ``(t, dt, q, omega, torque)`` that fills torque (3, n; N m) for the time t (s), the orientations q (4, n)
and the angular velocities in the first three rows of omega (rad/s). `dt` (s) is for a blow that lasts one step.
"""

import math
from functools import cache

from ..engine.compile.kernels import internal
from ..engine.compile.pointers import torque_pointer
from ..engine.quaternion import matrix, to_body


@cache
def pointer(torque):
    """A pointer to the compiled torque function, so that the marching kernel is compiled only once for all cases."""
    return torque_pointer(torque)


@internal
def put(torque, b, m):
    """Set the torque of body b to the three components m."""
    torque[0, b], torque[1, b], torque[2, b] = m


@internal
def orientation(q, b):
    """The quaternion of body b, as a tuple."""
    return q[0, b], q[1, b], q[2, b], q[3, b]


CONSTANT = 0.5  # N m
GROWING = 1e5  # N m


def none(t, dt, q, omega, torque):
    """No torque."""
    put(torque, 0, (0.0, 0.0, 0.0))


def constant(t, dt, q, omega, torque):
    """SPIRAL paper, Sec. 3: a constant torque about the body's x axis."""
    put(torque, 0, (CONSTANT, 0.0, 0.0))


def growing(t, dt, q, omega, torque):
    """Seelen et al., Eq. 4: about y, which is the same axis in the world and in a sphere that rotates about y."""
    put(torque, 0, (0.0, GROWING * math.exp(t), 0.0))


def three_dimensional(t, dt, q, omega, torque):
    """Seelen et al., Eq. 5, in the body frame as in their Eq. 8."""
    put(torque, 0, (5e-4 * math.sin(200.0 * math.pi * t), 1e-5 * math.exp(3.0 + 24.0 * t), 1e-5 * 5.0 ** (52.0 * t)))


FRICTION = 5.4  # kg/s
RADII = (1.0, 2.4)  # m


def rubbing(t, dt, q, omega, torque):
    """Seelen et al., Eq. 9: two cylinders side by side, both along z, rub against each other."""
    force = FRICTION * (RADII[0] * omega[2, 0] + RADII[1] * omega[2, 1])
    put(torque, 0, (0.0, 0.0, -RADII[0] * force))
    put(torque, 1, (0.0, 0.0, -RADII[1] * force))


PUSHED_FOR = 2.0  # s


@internal
def end_of_push(dt):
    """The time (s) of the step nearest to PUSHED_FOR: with a jump between steps, the impulse would depend on the scheme."""
    return math.floor(PUSHED_FOR / dt + 0.5) * dt


@internal
def within(t, begin, end, dt):
    """1 between begin and end, 0 outside, 1/2 at the jumps, so that the sum over steps is a trapezoidal rule."""
    slack = 1e-6 * dt
    inside = 1.0 if begin + slack < t < end - slack else 0.0
    return 0.5 if abs(t - begin) <= slack or abs(t - end) <= slack else inside


def toss(t, dt, q, omega, torque):
    """Krysl and Endres, Sec. 3.2: a push about the middle axis, then a blow across it that lasts one step."""
    end = end_of_push(dt)
    push = 20.0 * within(t, -1.0, end, dt)
    blow = within(t, end, end + dt, dt) / (5.0 * dt)
    put(torque, 0, to_body(orientation(q, 0), (push, blow, 0.0)))


@internal
def weight(q, moment, torque):
    """Torque of the weight of a top on its tip, with its axis along the body's z: -moment (R e_z) x e_z."""
    p = orientation(q, 0)
    x, y, _ = matrix(p)
    put(torque, 0, to_body(p, (-moment * y[2], moment * x[2], 0.0)))


LAGRANGE_MOMENT = math.sqrt(3.0) / 2.0 * 9.81  # N m
TOP_MOMENT = 20.0  # N m


def lagrange_top(t, dt, q, omega, torque):
    """Krysl and Endres, Sec. 3.3: the weight of a heavy symmetric top."""
    weight(q, LAGRANGE_MOMENT, torque)


def heavy_top(t, dt, q, omega, torque):
    """Krysl and Endres, Sec. 3.4 and 3.5: the weight of the fast and the slow top."""
    weight(q, TOP_MOMENT, torque)


def soft_wall(t, dt, q, omega, torque):
    """Krysl and Endres, Sec. 3.6, with the sign that makes the wall repel: as printed, it would attract."""
    p = orientation(q, 0)
    x, y, z = matrix(p)
    s = 1.1 + z[2]
    f = -(s**-2) + 0.01 * s**-11
    put(torque, 0, to_body(p, (f * y[2], -f * x[2], 0.0)))
