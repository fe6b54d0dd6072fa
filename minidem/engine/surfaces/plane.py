"""The plane: the boundary of a half-space. Bodies are on the side that the normal points to."""

from ..compile.kernels import inlined
from ..geometry import column
from ..quaternion import turned_back


def _height(point, normal, place):
    """Signed distance of a place from the plane (m), negative behind it. Components may be numbers or arrays."""
    x, y, z = place[0] - point[0], place[1] - point[1], place[2] - point[2]
    return x * normal[0] + y * normal[1] + z * normal[2]


_height_of_one = inlined(_height)


@inlined
def gap(walls, w, place):
    """Distance of a place from wall w (m), negative behind it, and the unit normal (x, y, z) there."""
    normal = column(walls.normal, w)
    return _height_of_one(column(walls.point, w), normal, place), normal


def gaps(walls, w, places):
    """As `gap`, in NumPy: distances (p,) of places (p, 3) from walls w (p,), m, and the unit normals (p, 3) there."""
    return _height(walls.point[:, w], walls.normal[:, w], places.T), walls.normal.T[w]


@inlined
def box_gap(walls, w, middle, rotation, low, high):
    """Distance of the nearest corner of a box from wall w (m). The box has its corners `low` and `high` in the frame of a
    body at `middle`, whose rotation matrix is given by its rows."""
    above, normal = gap(walls, w, middle)
    x, y, z = turned_back(rotation, normal)
    return above + (min(x * low[0], x * high[0]) + min(y * low[1], y * high[1]) + min(z * low[2], z * high[2]))
