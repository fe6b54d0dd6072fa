"""Distances, component-major arrays, and indices."""

import numpy as np

from .compile.fours import four_at, numbers_of
from .compile.kernels import inlined

index = np.uint64  # numba leaves out the check for negative indices where an index is unsigned


@inlined
def apart(place, i, other, j):
    """Squared distance between two columns of component-major arrays (m^2)."""
    dx, dy, dz = place[0, i] - other[0, j], place[1, i] - other[1, j], place[2, i] - other[2, j]
    return dx * dx + dy * dy + dz * dz


ONE, TWO, THREE, FOUR = index(1), index(2), index(3), index(4)  # the sum of an index and a plain integer is a float


@inlined
def sphere(place, s):
    """x, y, z and radius of sphere s (m)."""
    return numbers_of(four_at(place, FOUR * index(s)))


@inlined
def set_centre(place, s, centre):
    """Set x, y, z of sphere s (m)."""
    k = FOUR * index(s)
    place[k], place[k + ONE], place[k + TWO] = centre


@inlined
def square(x):
    """x^2; numba takes a tenth of a second to compile x ** 2."""
    return x * x


@inlined
def squared_distance(a, b):
    """Squared distance between two places (m^2)."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@inlined
def minus(a, b):
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def squared_distance_from_box(point, low, high):
    """Squared distance of a point from a box (m^2), zero inside."""
    x = max(low[0] - point[0], point[0] - high[0], 0.0)
    y = max(low[1] - point[1], point[1] - high[1], 0.0)
    z = max(low[2] - point[2], point[2] - high[2], 0.0)
    return x * x + y * y + z * z


@inlined
def column(rows, k):
    """Column k of three rows, as a tuple."""
    return rows[0, k], rows[1, k], rows[2, k]
