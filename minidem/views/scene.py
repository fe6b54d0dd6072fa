"""What is drawn: the bodies of a run, its box and its walls, in a plotter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..files.trajectory import Frame, Trajectory
from .colours import FLOOR, SIDES, field_of, plain_colours, scaled_colours
from .look import DEFAULT, Look
from .pieces import chess_pieces
from .shading import draw_whole, light_softly
from .space import Space

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Hardly lit, so that walls stay light; not unlit, which would take no shadows.
WALL: dict[str, Any] = {"color": FLOOR, "ambient": 0.8, "diffuse": 0.25, "specular": 0.0}
SIDE: dict[str, Any] = {"color": SIDES, "ambient": 0.94, "diffuse": 0.08, "specular": 0.0}
DEPTH = 1e-3  # of the surface of a wall behind its outline, relative to the size of the space
SAME = 1e-12  # numbers that differ by less, relative to the largest, differ by round-off: their scale has no range


class Balls:
    """Spheres of many bodies. Each is one point that the shader draws as a sphere: 100,000 take a second."""

    def __init__(self, bodies: NDArray[np.int64], local: Array, radius: Array):
        from pyvista import PolyData
        from vtkmodules.vtkRenderingCore import vtkActor
        from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLSphereMapper

        self.bodies, self._local = bodies, local  # (s,) body of each sphere, (s, 3) from its centre of mass, m
        self._data = PolyData(np.zeros((len(bodies), 3), np.float32))  # the mapper crashes on doubles
        self._data["radius"] = radius.astype(np.float32)
        mapper = vtkOpenGLSphereMapper()
        mapper.SetInputData(self._data)
        mapper.SetScaleArray("radius")
        colour_directly(mapper)
        self.actor = vtkActor()
        self.actor.SetMapper(mapper)
        draw_whole(self.actor)
        light_softly(self.actor)

    def place(self, position: Array, orientation: Array, colour: Bytes) -> None:
        """Move and colour the spheres, given position (n, 3) in m, orientation (n, 4) and colour (n, 3) of all bodies."""
        own = self.bodies
        self._data.points = (position[own] + quaternions.rotated(orientation[own], self._local)).astype(np.float32)
        self._data.point_data["colour"] = colour[own]

    def body_at(self, point: int) -> int:
        """Number of the body that a point of the data belongs to."""
        return int(self.bodies[point])


class Surfaces:
    """Bodies of one species, each a copy of a smooth surface."""

    def __init__(self, bodies: NDArray[np.int64], points: Array, faces: NDArray[np.int64]):
        from pyvista import PolyData
        from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

        one = PolyData.from_regular_faces(points, faces)  # type: ignore[arg-type]
        one = one.compute_normals(split_vertices=True, feature_angle=40.0)  # sharp edges stay sharp
        self.bodies = bodies
        self._points, self._normals = np.asarray(one.points, float), np.asarray(one.point_data["Normals"], float)
        copies = [one.regular_faces + k * len(self._points) for k in range(len(bodies))]
        self._data = PolyData.from_regular_faces(np.zeros((len(bodies) * len(self._points), 3)), np.vstack(copies))
        mapper = vtkPolyDataMapper()
        mapper.SetInputData(self._data)
        colour_directly(mapper)
        self.actor = vtkActor()
        self.actor.SetMapper(mapper)
        light_softly(self.actor)

    def place(self, position: Array, orientation: Array, colour: Bytes) -> None:
        """Move and colour the copies, given position (n, 3) in m, orientation (n, 4) and colour (n, 3) of all bodies."""
        q = orientation[self.bodies][:, None]
        turned = quaternions.rotated(q, self._points) + position[self.bodies][:, None]
        self._data.points = turned.reshape(-1, 3)
        self._data.point_data.active_normals = quaternions.rotated(q, self._normals).reshape(-1, 3).astype(np.float32)
        self._data.point_data["colour"] = np.repeat(colour[self.bodies], len(self._points), axis=0)

    def body_at(self, point: int) -> int:
        """Number of the body that a point of the data belongs to."""
        return int(self.bodies[point // len(self._points)])


def colour_directly(mapper: Any) -> None:
    """Make a mapper take the bytes of the array "colour" as red, green and blue."""
    mapper.SetScalarModeToUsePointFieldData()
    mapper.SelectColorArray("colour")
    mapper.SetColorModeToDirectScalars()


class Scene:
    """The bodies of a run in a plotter, with its box and the walls of a space; `show` moves the bodies to a frame."""

    def __init__(
        self,
        plotter: Any,
        trajectory: Trajectory,
        space: Space,
        colour_by: str = "species",
        spheres: bool = False,
        coarse: bool = False,
        look: Look = DEFAULT,
    ):
        self.trajectory, self.plotter, self.colour_by, self.look = trajectory, plotter, colour_by, look
        self.plain = plain_colours(trajectory)
        self.range: tuple[float, float] | None = (
            None  # of the numbers that colours stand for, both the same if there is only
        )
        # one; None for plain colours
        self.parts: list[Balls | Surfaces] = []
        shapes = {} if spheres else chess_pieces(trajectory, coarse)
        body, local, radius = trajectory.sphere_layout
        loose = ~np.isin(trajectory.species[body], list(shapes))
        if loose.any():
            self.parts.append(Balls(body[loose], local[loose], radius[loose]))
        for species, (points, faces) in shapes.items():
            bodies = np.flatnonzero(trajectory.species == species)
            if bodies.size:
                self.parts.append(Surfaces(bodies, points - trajectory.clumps[species].center, faces))
        for part in self.parts:
            plotter.add_actor(part.actor, render=False, reset_camera=False)
        plotter.set_background(look.background)
        line = {"color": look.ink, "lighting": False, "line_width": 2 if plotter.off_screen else 1}
        if trajectory.box is not None:
            add_box(plotter, trajectory.box, line)
        add_walls(plotter, space, line)

    def show(self, frame: Frame) -> None:
        """Move and colour the bodies as in a frame."""
        values = field_of(self.trajectory, frame, self.colour_by)
        if values is None or self.range is None:
            colour = self.plain[self.colour_by]
        else:
            colour = scaled_colours(values, self.range, self.look.colour_map)
        for part in self.parts:
            part.place(frame.position, frame.orientation, colour)

    def use(self, colour_by: str, frames: Sequence[Frame]) -> None:
        """Colour the bodies by a field, on the scale that was asked for or on one that fits these frames."""
        self.colour_by, self.range = colour_by, None
        values = [field_of(self.trajectory, frame, colour_by) for frame in frames]
        if values and values[0] is not None:
            finite = np.concatenate([v[np.isfinite(v)] for v in values if v is not None])
            low, high = self.look.span or ((float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0))
            same = high - low <= SAME * max(abs(low), abs(high))
            self.range = (low, low if same else high)

    def body_at(self, actor: Any, point: int) -> int | None:
        """Number of the body that a picked point belongs to; None if it is no point of a body."""
        return next((part.body_at(point) for part in self.parts if part.actor is actor), None)


def add_box(plotter: Any, box: Array, line: dict[str, Any]) -> None:
    """Draw the edges of the box, given its edge lengths (3,) in m, its floor, and the sides that are behind the bodies."""
    import pyvista

    x, y, z = box
    edges = pyvista.Box((0, x, 0, y, 0, z)).extract_all_edges()
    plotter.add_mesh(edges, **line, pickable=False, reset_camera=False, render=False)
    behind = DEPTH * max(x, y, z)
    corners = np.array([[-behind, x + behind], [-behind, y + behind], [-behind, z + behind]])
    for axis, end in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0)):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        points = np.zeros((4, 3))
        points[:, axis] = corners[axis, end]
        points[:, first], points[:, second] = box[first] * np.array([0, 1, 1, 0]), box[second] * np.array([0, 0, 1, 1])
        surface = pyvista.PolyData(points if end == 0 else points[::-1], faces=[4, 0, 1, 2, 3])
        look = WALL if axis == 2 else SIDE
        plotter.add_mesh(surface, **look, culling="back", pickable=False, reset_camera=False, render=False)


def add_walls(plotter: Any, space: Space, line: dict[str, Any]) -> None:
    """Draw the walls of a space: an outline, and a surface that is seen from the side of the bodies only."""
    import pyvista

    for points, normal in space.walls:
        count = len(points)
        outline = pyvista.PolyData(points, lines=[count + 1, *range(count), 0])
        plotter.add_mesh(outline, **line, pickable=False, reset_camera=False, render=False)
        surface = pyvista.PolyData(points - DEPTH * space.size * normal, faces=[count, *range(count)])
        plotter.add_mesh(surface, **WALL, culling="back", pickable=False, reset_camera=False, render=False)
