"""Torques of the bench's cases, in the bodies' principal axes.

Each is written ``(t, dt, q, omega, torque)``: from the time (s), the orientations q (4, n) and the angular velocities omega
(>= 3, n; rad/s) it fills in torque (3, n; N m). `dt` is for a blow that lasts one step.
"""

import math
from functools import cache

from ..engine.compile.kernels import internal
from ..engine.compile.pointers import torque_pointer
from ..engine.quaternion import matrix, to_body


@cache
def pointer(torque):
    """A pointer to the compiled function, so that the marching kernel is compiled once for all the cases."""
    return torque_pointer(torque)


@internal
def put(torque, b, m):
    torque[0, b], torque[1, b], torque[2, b] = m


@internal
def orientation(q, b):
    return q[0, b], q[1, b], q[2, b], q[3, b]


CONSTANT = 0.5  # N m
GROWING = 1e5  # N m


def none(t, dt, q, omega, torque):
    put(torque, 0, (0.0, 0.0, 0.0))


def constant(t, dt, q, omega, torque):
    put(torque, 0, (CONSTANT, 0.0, 0.0))


def growing(t, dt, q, omega, torque):
    """Seelen et al., Eq. 4: about y, the same in the world and in a sphere that turns about y."""
    put(torque, 0, (0.0, GROWING * math.exp(t), 0.0))


def three_dimensional(t, dt, q, omega, torque):
    """Seelen et al., Eq. 5; in the body frame, as their Eq. 8 has it."""
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
    """On the step that is nearest: between steps, a torque that jumps would not have the same impulse for every scheme."""
    return math.floor(PUSHED_FOR / dt + 0.5) * dt


@internal
def within(t, begin, end, dt):
    """1 between begin and end, 0 outside, 1/2 at the jumps: what a sum over steps makes a trapezoidal rule of."""
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
    """Of a top that stands on its tip, its axis along the body's z: t = -moment R e_z x e_z."""
    p = orientation(q, 0)
    x, y, _ = matrix(p)
    put(torque, 0, to_body(p, (-moment * y[2], moment * x[2], 0.0)))


LAGRANGE_MOMENT = math.sqrt(3.0) / 2.0 * 9.81  # N m
TOP_MOMENT = 20.0  # N m


def lagrange_top(t, dt, q, omega, torque):
    weight(q, LAGRANGE_MOMENT, torque)


def heavy_top(t, dt, q, omega, torque):
    weight(q, TOP_MOMENT, torque)


def soft_wall(t, dt, q, omega, torque):
    """Krysl and Endres, Sec. 3.6, with the sign that makes the wall repel: as printed, it would attract."""
    p = orientation(q, 0)
    x, y, z = matrix(p)
    s = 1.1 + z[2]
    f = -(s**-2) + 0.01 * s**-11
    put(torque, 0, to_body(p, (f * y[2], -f * x[2], 0.0)))
