"""The data of the scene in a page, for scene.js."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files.trajectory import Frame, Trajectory
from ..colours import plain_colours
from ..pieces import chess_pieces
from ..space import Space, shown_space

Array = NDArray[np.float64]

FRAMES = 8  # of a scene at most
LARGEST = 4e6  # bytes of positions and orientations; large systems have fewer frames, but at least one
FEWER_TRIANGLES = 0.5  # fraction of triangles removed from chess pieces, which are small on a page
FAR = 3.0  # with walls, the camera follows bodies that travel farther than this many sizes of a single frame


def chosen_frames(count: int, bodies: int) -> list[int]:
    """Numbers of the frames shown: evenly spaced, with the first and the last."""
    number = int(min(FRAMES, count, max(1, LARGEST // (28 * max(bodies, 1)))))
    return [int(frame) for frame in np.linspace(0, count - 1, number).round()]


def scene_data(trajectory: Trajectory, frames: Sequence[int]) -> dict[str, Any]:
    """What scene.js draws: positions (frames, n, 3) and orientations (frames, n, 4) of the bodies, and for each species
    spheres (x, y, z, radius) or triangles, relative to the centre of mass. Lengths are in m."""
    states = [trajectory.frame(frame) for frame in frames]
    times = trajectory.time
    shapes = chess_pieces(trajectory)
    species: list[dict[str, str]] = []
    for k, clump in enumerate(trajectory.clumps):
        bodies = {"bodies": encoded(np.flatnonzero(trajectory.species == k), "<u4")}
        if k in shapes:
            points, faces = shapes[k]
            species.append(bodies | surface(points - clump.center, faces))
        else:
            species.append(bodies | {"spheres": encoded(clump.spheres - [*clump.center, 0.0], "<f4")})
    spaces = shown_spaces(trajectory, states)
    return {
        "box": None if trajectory.box is None else trajectory.box.tolist(),
        "size": max(finite_size(space) for space in spaces) or 1.0,
        "last": len(times) - 1,
        "frames": [
            {"number": frame, "time": float(times[frame]), "middle": middle_of(space), "walls": walls_of(space)}
            for frame, space in zip(frames, spaces, strict=True)
        ],
        "position": encoded(np.array([state.position for state in states]), "<f4"),
        "orientation": encoded(np.array([state.orientation for state in states]), "<f4"),
        "colour": encoded(plain_colours(trajectory)["species"], "u1"),
        "species": species,
    }


def shown_spaces(trajectory: Trajectory, states: Sequence[Frame]) -> list[Space]:
    """What is shown of each frame.

    In open space this is where the bodies of the frame are. If walls are near, it is the same for all frames, unless the
    bodies travel far: walls should not move.
    """
    spaces = [shown_space(trajectory, [state]) for state in states]
    whole = shown_space(trajectory, states)
    fixed = whole.walls and whole.size <= FAR * max(finite_size(space) for space in spaces)
    return [whole] * len(states) if fixed else spaces


def finite_size(space: Space) -> float:
    """Diagonal of a space, m; 0 if the run blew up."""
    return space.size if np.isfinite(space.size) else 0.0


def middle_of(space: Space) -> list[float]:
    """Coordinates of the middle of a space, m; the origin if the run blew up."""
    if not np.isfinite(space.size):
        return [0.0, 0.0, 0.0]
    middle: list[float] = ((space.low + space.high) / 2).tolist()
    return middle


def walls_of(space: Space) -> list[dict[str, Any]]:
    """Corners (m) and normal of each wall."""
    return [{"points": wall.points.tolist(), "normal": wall.normal.tolist()} for wall in space.walls]


def surface(points: Array, faces: NDArray[np.int64]) -> dict[str, str]:
    """A surface with half of the triangles, and normals that keep sharp edges sharp."""
    from pyvista import PolyData

    whole: Any = PolyData.from_regular_faces(points, faces)  # type: ignore[arg-type]
    coarse = whole.decimate(FEWER_TRIANGLES).compute_normals(split_vertices=True, feature_angle=40.0)
    normals = np.zeros((coarse.n_points, 4))  # rows of four bytes, for alignment
    normals[:, :3] = np.round(127 * coarse.point_data["Normals"])
    return {
        "points": encoded(coarse.points, "<f4"),
        "normals": encoded(normals, "i1"),
        "faces": encoded(coarse.regular_faces, "<u2"),
    }


def encoded(values: Any, kind: str) -> str:
    """The bytes of an array of a numpy type, as base64 text."""
    with np.errstate(over="ignore"):  # the run may have blown up
        return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()
