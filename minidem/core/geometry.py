"""Distances between columns of component-major arrays."""

from .compiling import inlined


@inlined
def apart(place, i, other, j):
    """Squared distance of two columns (m^2)."""
    dx, dy, dz = place[0, i] - other[0, j], place[1, i] - other[1, j], place[2, i] - other[2, j]
    return dx * dx + dy * dy + dz * dz


@inlined
def height(point, normal, w, place, i):
    """Of column i above wall w (m)."""
    x, y, z = place[0, i] - point[0, w], place[1, i] - point[1, w], place[2, i] - point[2, w]
    return x * normal[0, w] + y * normal[1, w] + z * normal[2, w]
