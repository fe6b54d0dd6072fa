"""Distances between columns of component-major arrays."""

from .compiling import inlined


@inlined
def apart(place, i, other, j):
    """Squared distance of two columns (m^2)."""
    dx, dy, dz = place[0, i] - other[0, j], place[1, i] - other[1, j], place[2, i] - other[2, j]
    return dx * dx + dy * dy + dz * dz


@inlined
def height(walls, w, place, i):
    """Of column i above wall w (m)."""
    x, y, z = place[0, i] - walls.point[0, w], place[1, i] - walls.point[1, w], place[2, i] - walls.point[2, w]
    return x * walls.normal[0, w] + y * walls.normal[1, w] + z * walls.normal[2, w]
