"""The part of space that is shown: the box, or the bodies of some frames with the walls near them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files.trajectory import Frame, Planes, Trajectory

Array = NDArray[np.float64]

NEAR = 2.0  # walls in open space are shown up to this distance from the bodies, in sizes of what the bodies fill
BORDER = 0.3  # width of wall around the bodies, in the same sizes
ROUNDING = 1e-9  # of lengths, relative to the size of the space
MANY = 10_000  # bodies: their box is about as large as they are
SMALLEST = 1e-4  # area of a wall that is drawn, relative to the square of the size of the space


class Patch(NamedTuple):
    """The part of a wall that is drawn."""

    points: Array  # (p, 3) m, corners of a convex polygon, counterclockwise seen from the side of the bodies
    normal: Array  # (3,) towards the bodies


class Space(NamedTuple):
    """A box with edges along the axes, and the walls in it."""

    low: Array  # (3,) m
    high: Array  # (3,) m
    walls: tuple[Patch, ...] = ()

    @property
    def corners(self) -> Array:
        """Shape (8, 3), m."""
        (x0, y0, z0), (x1, y1, z1) = self.low, self.high
        return np.array([[x, y, z] for x in (x0, x1) for y in (y0, y1) for z in (z0, z1)])

    @property
    def size(self) -> float:
        """Length of the diagonal, m; not finite if the run blew up."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(self.high - self.low))


def shown_space(trajectory: Trajectory, frames: Sequence[Frame]) -> Space:
    """The box of a run; in open space what the bodies of the frames fill, extended to the walls near them."""
    planes = trajectory.planes
    if trajectory.box is not None:
        box = Space(np.zeros(3), trajectory.box)
        return box._replace(walls=patches(planes, range(len(planes.point)), box))
    margin = reach(trajectory)
    low = np.min([np.min(frame.position - margin[:, None], axis=0) for frame in frames], axis=0)
    high = np.max([np.max(frame.position + margin[:, None], axis=0) for frame in frames], axis=0)
    bodies = Space(low, high)
    if not np.isfinite(bodies.size):  # the run blew up
        return bodies
    near = [
        k
        for k, (point, normal) in enumerate(zip(planes.point, planes.normal, strict=True))
        if any(np.any(np.abs((frame.position - point) @ normal) - margin <= NEAR * bodies.size) for frame in frames)
    ]
    feet = [bodies.corners - np.outer((bodies.corners - planes.point[k]) @ planes.normal[k], planes.normal[k]) for k in near]
    beside = np.concatenate([bodies.corners, *feet])
    border = BORDER * bodies.size
    walls = patches(planes, near, Space(beside.min(axis=0) - border, beside.max(axis=0) + border))
    seen = np.concatenate([bodies.corners, *(wall.points for wall in walls)])
    return Space(seen.min(axis=0), seen.max(axis=0), walls) if walls else bodies


def reach(trajectory: Trajectory) -> Array:
    """Largest distance of a point of each body from its centre of mass, shape (n,), m."""
    far = [float(np.max(np.linalg.norm(c.spheres[:, :3] - c.center, axis=1) + c.spheres[:, 3])) for c in trajectory.clumps]
    return np.array(far)[trajectory.species]


def outline(trajectory: Trajectory, space: Space, frames: Sequence[Frame]) -> tuple[Array, Array]:
    """Centres (p, 3) and radii (p,) of spheres around what a picture must show, m.

    They are the corners of a space with a box or walls, otherwise the bodies of the frames, which fill less of it.
    """
    bodies = len(trajectory.species) * len(frames)
    if trajectory.box is not None or space.walls or bodies > MANY or not np.isfinite(space.size):
        return space.corners, np.zeros(8)
    return np.concatenate([frame.position for frame in frames]), np.tile(reach(trajectory), len(frames))


def some_frames(trajectory: Trajectory, count: int = 20) -> list[Frame]:
    """At most `count` frames, evenly spaced, to fit a camera or a colour scale to the whole run."""
    return [trajectory.frame(int(k)) for k in np.unique(np.linspace(0, len(trajectory) - 1, count).astype(int))]


def patches(planes: Planes, chosen: Sequence[int], space: Space) -> tuple[Patch, ...]:
    """The parts of the chosen walls inside a space and in front of all other walls, without those too small to see."""
    found = []
    faces = [(corner, normal) for corner, side in ((space.low, 1.0), (space.high, -1.0)) for normal in side * np.eye(3)]
    slack = ROUNDING * space.size
    for k in chosen:
        polygon = square(planes.point[k], planes.normal[k], space)
        others = [wall for j, wall in enumerate(zip(planes.point, planes.normal, strict=True)) if j != k]
        for point, normal in [*faces, *others]:
            polygon = clipped(polygon, point, normal, slack)
        if area(polygon) > SMALLEST * space.size**2:
            found.append(Patch(polygon, planes.normal[k]))
    return tuple(found)


def square(point: Array, normal: Array, space: Space) -> Array:
    """Corners (4, 3) of a square on a plane that covers all of the plane inside the space, m."""
    middle = (space.low + space.high) / 2
    foot = middle - (middle - point) @ normal * normal
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first *= space.size / np.linalg.norm(first)
    second = np.cross(normal, first)
    return np.array([foot + first + second, foot + second - first, foot - first - second, foot + first - second])


def clipped(polygon: Array, point: Array, normal: Array, slack: float) -> Array:
    """The part (q, 3) of a convex polygon (p, 3) in front of a plane, or at most `slack` behind it, m."""
    height = (polygon - point) @ normal + slack
    kept = []
    for k in range(len(polygon)):
        before, here = height[k - 1], height[k]
        if before * here < 0:
            kept.append(polygon[k - 1] + before / (before - here) * (polygon[k] - polygon[k - 1]))
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 3)


def area(polygon: Array) -> float:
    """Area of a convex polygon (p, 3), m^2; 0 for less than three corners."""
    if len(polygon) < 3:
        return 0.0
    spokes = polygon[1:] - polygon[0]
    return float(np.linalg.norm(np.cross(spokes[:-1], spokes[1:]).sum(axis=0)) / 2)
