"""Quaternions (w, x, y, z) and vectors as tuples of scalars, so that loops over bodies can use vector lanes."""

import math

from .compile.kernels import fused, inlined

# pi in two parts (Cody and Waite 1980, ch. 8): the first has 33 bits, so that k times it is exact for the k that occur.
_PI_1, _PI_2 = 3.1415926534682512, 1.2154201013012384e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer


@fused
def cos_sinc(x2):
    """cos(x) and sin(x)/x from x^2, without branches or library calls, to about two units in the last place."""
    x = math.sqrt(x2 + 1e-300)  # never zero
    sign, r = within_half_pi(x)
    cos, sinc = series(r * r)
    return sign * cos, (sign * (r / x)) * sinc


@fused
def cos_sin(x):
    """cos(x) and sin(x), likewise."""
    sign, r = within_half_pi(x)
    cos, sinc = series(r * r)
    return sign * cos, (sign * r) * sinc


@fused
def within_half_pi(x):
    """(-1)^k and x - k pi, with the k that makes the latter smallest."""
    k = (x * (1.0 / math.pi) + _ROUND) - _ROUND
    half = 0.5 * k
    sign = 1.0 - 4.0 * abs(half - ((half + _ROUND) - _ROUND))
    return sign, (x - k * _PI_1) - k * _PI_2


@fused
def series(y):
    """cos(r) and sin(r)/r from y = r^2 for |r| <= pi/2: Taylor series, whose first terms left out are below 2e-17.

    Grouped by powers of y^2 and y^4 (Estrin): in a sum term by term each multiplication waits for the one before.
    """
    y2 = y * y
    y4 = y2 * y2
    cos_tail = (1 / 20922789888000 - y * (1 / 6402373705728000)) + y2 * (1 / 2432902008176640000)
    cos_middle = (1 / 40320 - y * (1 / 3628800)) + y2 * (1 / 479001600 - y * (1 / 87178291200))
    cos = ((1.0 - y * (1 / 2)) + y2 * (1 / 24 - y * (1 / 720))) + y4 * (cos_middle + y4 * cos_tail)
    sinc_tail = (1 / 355687428096000 - y * (1 / 121645100408832000)) + y2 * (1 / 51090942171709440000)
    sinc_middle = (1 / 362880 - y * (1 / 39916800)) + y2 * (1 / 6227020800 - y * (1 / 1307674368000))
    sinc = ((1.0 - y * (1 / 6)) + y2 * (1 / 120 - y * (1 / 5040))) + y4 * (sinc_middle + y4 * sinc_tail)
    return cos, sinc


@fused
def product(p, q):
    """p q"""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@fused
def unit(q):
    """q / |q|"""
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@fused
def turn(omega, dt):
    """exp(dt omega/2): the unit quaternion of a turn by the rotation vector dt omega."""
    cos, sinc = cos_sinc(0.25 * dt * dt * (omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2]))
    h = 0.5 * dt * sinc
    return cos, h * omega[0], h * omega[1], h * omega[2]


@fused
def turned(q, omega, dt):
    """q exp(dt omega/2): the orientation q turned by the rotation vector dt omega of the body frame."""
    return product(q, turn(omega, dt))


@fused
def dot(p, q):
    """Scalar product of two quaternions."""
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@fused
def rate_of(q, omega):
    """dq/dt = q omega / 2 for a body-frame angular velocity (SPIRAL paper, Eq. 1)."""
    w, x, y, z = q
    a, b, c = 0.5 * omega[0], 0.5 * omega[1], 0.5 * omega[2]
    return -(x * a + y * b + z * c), w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a


@fused
def moved(q, rate, dt):
    """q + dt rate"""
    return q[0] + dt * rate[0], q[1] + dt * rate[1], q[2] + dt * rate[2], q[3] + dt * rate[3]


@inlined
def attitude(orientation, b):
    """The quaternion of body b."""
    return orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b]


@inlined
def squared_difference(p, q):
    """|p - q|^2"""
    a, b, c, d = p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]
    return a * a + b * b + c * c + d * d


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
def carried(middle, rotation, centre, s):
    """World position (m) of the point `centre[:, s]` of a body at `middle` whose rotation matrix is given by its rows."""
    x, y, z = centre[0, s], centre[1, s], centre[2, s]
    rx, ry, rz = rotation
    return (
        middle[0] + (rx[0] * x + rx[1] * y + rx[2] * z),
        middle[1] + (ry[0] * x + ry[1] * y + ry[2] * z),
        middle[2] + (rz[0] * x + rz[1] * y + rz[2] * z),
    )


@inlined
def to_world(q, v):
    """A vector of the body frame in world axes."""
    a, b, c = matrix(q)
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        b[0] * v[0] + b[1] * v[1] + b[2] * v[2],
        c[0] * v[0] + c[1] * v[1] + c[2] * v[2],
    )


@inlined
def turned_back(rotation, v):
    """A vector of the world in the body frame, given the rows of the rotation matrix."""
    a, b, c = rotation
    return (
        a[0] * v[0] + b[0] * v[1] + c[0] * v[2],
        a[1] * v[0] + b[1] * v[1] + c[1] * v[2],
        a[2] * v[0] + b[2] * v[1] + c[2] * v[2],
    )


@inlined
def to_body(q, v):
    """A vector of the world in the body frame."""
    return turned_back(matrix(q), v)
