"""Quaternions (w, x, y, z) and vectors as tuples of scalars, so that loops over bodies can use vector lanes."""

import math

from .compiling import inlined

# pi/2 in three parts of 33 bits (Cody and Waite 1980, ch. 8): k times a part is exact for the k that occur.
_HALF_PI_1, _HALF_PI_2, _HALF_PI_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
_TWO_OVER_PI = 2.0 / math.pi
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer


@inlined
def cos_sinc(x2):
    """cos(x) and sin(x)/x from x^2, without branches or library calls, to about two units in the last place."""
    x = math.sqrt(x2)
    k = (x * _TWO_OVER_PI + _ROUND) - _ROUND
    r = ((x - k * _HALF_PI_1) - k * _HALF_PI_2) - k * _HALF_PI_3
    y = r * r
    # Taylor series on |r| <= pi/4; the first term left out is below 5e-17.
    cos_tail = 1 / 40320 - y * (1 / 3628800 - y * (1 / 479001600 - y * (1 / 87178291200 - y / 20922789888000)))
    c = 1.0 - y * (1 / 2 - y * (1 / 24 - y * (1 / 720 - y * cos_tail)))
    sin_tail = 1 / 362880 - y * (1 / 39916800 - y * (1 / 6227020800 - y * (1 / 1307674368000)))
    s = r * (1.0 - y * (1 / 6 - y * (1 / 120 - y * (1 / 5040 - y * sin_tail))))
    quadrant = k - 4.0 * ((k * 0.25 + _ROUND) - _ROUND)  # -2 and 2 are the same quadrant
    odd, opposite = abs(quadrant) == 1.0, abs(quadrant) == 2.0
    cos, sin = (s, c) if odd else (c, s)
    cos = -cos if opposite | (quadrant == 1.0) else cos
    sin = -sin if opposite | (quadrant == -1.0) else sin
    return cos, (sin / x if x2 > 0.0 else 1.0)


@inlined
def product(p, q):
    """p q"""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@inlined
def unit(q):
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@inlined
def turn(omega, dt):
    """exp(dt omega/2): the unit quaternion of a turn by the rotation vector dt omega."""
    cos, sinc = cos_sinc(0.25 * dt * dt * (omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2]))
    h = 0.5 * dt * sinc
    return cos, h * omega[0], h * omega[1], h * omega[2]


@inlined
def turned(q, omega, dt):
    """q exp(dt omega/2): the orientation q turned by the rotation vector dt omega of the body frame."""
    return product(q, turn(omega, dt))


@inlined
def dot(p, q):
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@inlined
def rate_of(q, omega):
    """dq/dt = q omega / 2 for a body-frame angular velocity (SPIRAL paper, Eq. 1)."""
    p = product(q, (0.0, omega[0], omega[1], omega[2]))
    return 0.5 * p[0], 0.5 * p[1], 0.5 * p[2], 0.5 * p[3]


@inlined
def moved(q, rate, dt):
    """q + dt rate"""
    return q[0] + dt * rate[0], q[1] + dt * rate[1], q[2] + dt * rate[2], q[3] + dt * rate[3]


@inlined
def matrix(q):
    """Rows of the rotation matrix body -> world of a unit quaternion."""
    w, x, y, z = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@inlined
def carried(position, b, rotation, centre, s):
    """World place of the point `centre[:, s]` of body b, whose rotation matrix is given by its rows."""
    x, y, z = centre[0, s], centre[1, s], centre[2, s]
    rx, ry, rz = rotation
    return (
        position[0, b] + (rx[0] * x + rx[1] * y + rx[2] * z),
        position[1, b] + (ry[0] * x + ry[1] * y + ry[2] * z),
        position[2, b] + (rz[0] * x + rz[1] * y + rz[2] * z),
    )


@inlined
def to_world(q, v):
    a, b, c = matrix(q)
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        b[0] * v[0] + b[1] * v[1] + b[2] * v[2],
        c[0] * v[0] + c[1] * v[1] + c[2] * v[2],
    )


@inlined
def to_body(q, v):
    a, b, c = matrix(q)
    return (
        a[0] * v[0] + b[0] * v[1] + c[0] * v[2],
        a[1] * v[0] + b[1] * v[1] + c[1] * v[2],
        a[2] * v[0] + b[2] * v[1] + c[2] * v[2],
    )
