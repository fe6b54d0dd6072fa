"""Solids as signed distances (negative inside) on grids of points, and the closed surfaces around them.

Distances need not be exact away from the surface: only the zero level matters, and the width of smooth joints.
Lengths are in any unit; coordinates x, y, z and distances are arrays of one shape.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Point2 = tuple[float, float]
Point3 = tuple[float, float, float]
Solid = Callable[[Array, Array, Array], Array]


def smooth_union(a: Array, b: Array, width: float) -> Array:
    """The union with a fillet of about `width` (the polynomial smooth minimum)."""
    h = np.clip(0.5 + 0.5 * (b - a) / width, 0, 1)
    return b + (a - b) * h - width * h * (1 - h)


def smooth_intersection(a: Array, b: Array, width: float) -> Array:
    """The intersection with an edge rounded over about `width`."""
    return -smooth_union(-a, -b, width)


def ramp(value: Array, start: float, end: float) -> Array:
    """A smooth step from 0 at `start` to 1 at `end`, with zero slope at both."""
    t = np.clip((value - start) / (end - start), 0, 1)
    return t * t * (3 - 2 * t)


def polygon(x: Array, y: Array, corners: Sequence[Point2]) -> Array:
    """A closed polygon in the plane."""
    nearest = np.full(np.shape(x), np.inf)
    inside = np.zeros(np.shape(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        along_x, along_y = x1 - x0, y1 - y0
        length2 = along_x**2 + along_y**2
        if length2 == 0:
            continue
        t = np.clip(((x - x0) * along_x + (y - y0) * along_y) / length2, 0, 1)
        nearest = np.minimum(nearest, np.hypot(x - x0 - t * along_x, y - y0 - t * along_y))
        if along_y != 0:  # a ray to the right crosses this edge
            inside ^= ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * along_x / along_y)
    return np.where(inside, -nearest, nearest)


def turned(x: Array, y: Array, z: Array, profile: Sequence[Point2]) -> Array:
    """A body of revolution about z: (radius, height) points from the axis at the bottom to the axis at the top."""
    from scipy.interpolate import RegularGridInterpolator

    radius = np.hypot(x, y)
    r, h = np.linspace(0, radius.max(), 256), np.linspace(z.min(), z.max(), 768)
    outline = [*profile, *((-a, b) for a, b in reversed(profile))]
    table = polygon(*np.meshgrid(r, h, indexing="ij"), outline)
    return np.asarray(RegularGridInterpolator((r, h), table)(np.stack([radius, z], axis=-1)))


def ball(x: Array, y: Array, z: Array, centre: Point3, radius: float) -> Array:
    """A ball."""
    return np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2) - radius


def ellipsoid(x: Array, y: Array, z: Array, centre: Point3, axes: Point3) -> Array:
    """An ellipsoid with semi-axes along x, y and z."""
    stretched = ((v - c) / a for v, c, a in zip((x, y, z), centre, axes, strict=True))
    return np.asarray((np.sqrt(sum(s**2 for s in stretched)) - 1) * min(axes))


def block(x: Array, y: Array, z: Array, centre: Point3, half: Point3, edge: float) -> Array:
    """A box with edges rounded to the radius `edge`."""
    outside = [abs(v - c) - h + edge for v, c, h in zip((x, y, z), centre, half, strict=True)]
    beyond = np.sqrt(sum(np.maximum(o, 0) ** 2 for o in outside))
    return np.asarray(beyond + np.minimum(np.maximum.reduce(outside), 0) - edge)


def arc(centre: Point2, radius: float, start: float, end: float) -> list[Point2]:
    """Points of a circular arc; angles in degrees."""
    angles = np.radians(np.linspace(start, end, 24))
    return [(centre[0] + radius * np.cos(a), centre[1] + radius * np.sin(a)) for a in angles]


def curve(*points: Point2) -> list[Point2]:
    """A smooth curve through the points that does not overshoot them."""
    from scipy.interpolate import PchipInterpolator

    corners = np.array(points)
    length = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    t = np.linspace(0, length[-1], 12 * (len(points) - 1))
    return [(float(a), float(b)) for a, b in PchipInterpolator(length, corners)(t)]


def loop(*points: Point2) -> list[Point2]:
    """A smooth closed curve through the points."""
    from scipy.interpolate import CubicSpline

    corners = np.array([*points, points[0]])
    length = np.concatenate([[0], np.cumsum(np.sqrt(np.hypot(*np.diff(corners, axis=0).T)))])  # centripetal: no loops
    t = np.linspace(0, length[-1], 6 * len(points), endpoint=False)
    return [(float(a), float(b)) for a, b in CubicSpline(length, corners, bc_type="periodic")(t)]


def surface(solid: Solid, low: Point3, high: Point3, cells: int) -> Any:
    """The closed, outward-oriented surface of a solid inside a box, as pyvista.PolyData; `cells` along the longest edge."""
    import pyvista

    spacing = max(b - a for a, b in zip(low, high, strict=True)) / cells
    # Off by a fraction of a cell: flat faces that lie in a plane of the grid would break up into slivers.
    axes = [np.arange(a - 1.37 * spacing, b + 2 * spacing, spacing) for a, b in zip(low, high, strict=True)]
    grid = pyvista.ImageData(
        dimensions=[axis.size for axis in axes], spacing=(spacing,) * 3, origin=[axis[0] for axis in axes]
    )
    grid["depth"] = -solid(*np.meshgrid(*axes, indexing="ij")).ravel(order="F")
    mesh = grid.contour([0.0], scalars="depth", method="flying_edges").triangulate().clean()
    mesh.clear_data()
    return mesh
