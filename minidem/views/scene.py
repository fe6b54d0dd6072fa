"""Pictures of snapshots. Reads trajectories only; never sees a kernel."""

import ctypes.util
import os
import sys
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..errors import InputError, unknown_name
from ..files.trajectory import ClumpTemplate, Frame, Trajectory
from ..machine import DRAWING_LIBRARIES
from ..shapes.chess import HEIGHTS

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# One colour a species, told apart also without colour vision (Okabe and Ito 2008).
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
IVORY, WALNUT = "#EAD8B1", "#5B3A24"  # a chess set
FLOOR = "#EFEBE3"
SIZE = (1200, 1000)  # pixels
AWAY = np.array([1.0, -1.6, 0.75]) / np.linalg.norm([1.0, -1.6, 0.75])  # where the camera is, seen from the bodies
VIEW_ANGLE = 30.0  # degrees, of the height of a picture
MARGIN = 0.95  # of a picture that the box fills
FIELDS: dict[str, str] = {  # what bodies may be coloured by: the title of the scale, none for plain colours
    "species": "",
    "body": "",
    "speed": "speed (m/s)",
    "spin": "angular velocity (rad/s)",
    "energy": "kinetic energy (J)",
}


# --- what is drawn ------------------------------------------------------------------------------------------


class Balls:
    """Spheres of many bodies: each is one point, drawn as a sphere by the shader, so that 100,000 take a second."""

    def __init__(self, bodies: NDArray[np.int64], local: Array, radius: Array):
        from pyvista import PolyData
        from vtkmodules.vtkRenderingCore import vtkActor
        from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLSphereMapper

        self.bodies, self._local = bodies, local  # (s,) the body of each, (s, 3) relative to its centre of mass, m
        self._data = PolyData(np.zeros((len(bodies), 3), np.float32))  # the mapper crashes on doubles
        self._data["radius"] = radius.astype(np.float32)
        mapper = vtkOpenGLSphereMapper()
        mapper.SetInputData(self._data)
        mapper.SetScaleArray("radius")
        colour_directly(mapper)
        self.actor = vtkActor()
        self.actor.SetMapper(mapper)

    def place(self, position: Array, orientation: Array, colour: Bytes) -> None:
        """Of all bodies of the scene: (n, 3) m, (n, 4), (n, 3)."""
        own = self.bodies
        self._data.points = (position[own] + quaternions.rotated(orientation[own], self._local)).astype(np.float32)
        self._data.point_data["colour"] = colour[own]

    def body_at(self, point: int) -> int:
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

    def place(self, position: Array, orientation: Array, colour: Bytes) -> None:
        q = orientation[self.bodies][:, None]
        turned = quaternions.rotated(q, self._points) + position[self.bodies][:, None]
        self._data.points = turned.reshape(-1, 3)
        self._data.point_data.active_normals = quaternions.rotated(q, self._normals).reshape(-1, 3).astype(np.float32)
        self._data.point_data["colour"] = np.repeat(colour[self.bodies], len(self._points), axis=0)

    def body_at(self, point: int) -> int:
        return int(self.bodies[point // len(self._points)])


def colour_directly(mapper: Any) -> None:
    mapper.SetScalarModeToUsePointFieldData()
    mapper.SelectColorArray("colour")
    mapper.SetColorModeToDirectScalars()


class Scene:
    """The bodies of a run in a plotter, with its box; `show` moves them to where they are in a frame."""

    def __init__(
        self,
        plotter: Any,
        trajectory: Trajectory,
        colour_by: str = "species",
        spheres: bool = False,
        coarse: bool = False,
    ):
        import pyvista

        self.trajectory, self.plotter, self.colour_by = trajectory, plotter, colour_by
        self.plain = plain_colours(trajectory)
        self.range = (0.0, 1.0)
        self._bar: Any = None
        self.parts: list[Balls | Surfaces] = []
        shapes = {} if spheres else chess_pieces(trajectory, coarse)
        body, local, radius = trajectory.sphere_layout
        loose = ~np.isin(trajectory.species[body], list(shapes))
        if loose.any():
            self.parts.append(Balls(body[loose], local[loose], radius[loose]))
        for kind, (points, faces) in shapes.items():
            bodies = np.flatnonzero(trajectory.species == kind)
            if bodies.size:
                self.parts.append(Surfaces(bodies, points - trajectory.clumps[kind].center, faces))
        for part in self.parts:
            part.actor.GetProperty().SetSpecular(0.35)
            part.actor.GetProperty().SetSpecularPower(25.0)
            part.actor.GetProperty().SetAmbient(0.12)
            plotter.add_actor(part.actor, render=False, reset_camera=False)
        plotter.set_background("white")
        if trajectory.box is not None:
            x, y, z = trajectory.box
            edges = pyvista.Box((0, x, 0, y, 0, z)).extract_all_edges()
            plotter.add_mesh(edges, color="#333333", line_width=2, lighting=False, reset_camera=False, render=False)
            floor = pyvista.Plane(center=(x / 2, y / 2, -1e-3 * z), direction=(0, 0, 1), i_size=x, j_size=y)
            # Hardly lit, so that it stays light; not unlit, which would take no shadows.
            looks = {"color": FLOOR, "ambient": 0.8, "diffuse": 0.25, "specular": 0.0}
            plotter.add_mesh(floor, **looks, reset_camera=False, render=False)

    @property
    def bar_width(self) -> float:
        """The part of the picture that the scale of colours takes."""
        return 0.0 if self._bar is None else 0.15

    def show(self, frame: Frame) -> None:
        values = field_of(self.trajectory, frame, self.colour_by)
        colour = self.plain[self.colour_by] if values is None else scaled_colours(values, self.range)
        for part in self.parts:
            part.place(frame.position, frame.orientation, colour)

    def use(self, colour_by: str, frames: Sequence[Frame]) -> None:
        """Colour by a field, on a scale that fits these frames."""
        import pyvista

        self.colour_by = colour_by
        values = [field_of(self.trajectory, frame, colour_by) for frame in frames]
        if self._bar is not None:
            self.plotter.remove_actor(self._bar, render=False)
            self._bar = None
        if values and values[0] is not None:
            finite = np.concatenate([v[np.isfinite(v)] for v in values if v is not None])
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
            self.range = (low, high if high > low else low + 1.0)
            table = pyvista.LookupTable("cividis", scalar_range=self.range)
            from vtkmodules.vtkRenderingAnnotation import vtkScalarBarActor

            self._bar = vtkScalarBarActor()
            self._bar.SetLookupTable(table)
            self._bar.SetTitle(FIELDS[colour_by])
            self._bar.SetNumberOfLabels(5)
            self._bar.SetPosition(0.87, 0.1)
            self._bar.SetWidth(0.08)
            self._bar.SetHeight(0.5)
            self._bar.SetUnconstrainedFontSize(True)
            for text in (self._bar.GetLabelTextProperty(), self._bar.GetTitleTextProperty()):
                text.SetColor(0.1, 0.1, 0.1)
                text.SetFontSize(18)
                text.ItalicOff()
                text.ShadowOff()
            self.plotter.add_actor(self._bar, render=False, reset_camera=False)

    def body_at(self, actor: Any, point: int) -> int | None:
        """The body that a picked point belongs to."""
        return next((part.body_at(point) for part in self.parts if part.actor is actor), None)


def plain_colours(trajectory: Trajectory) -> dict[str, Bytes]:
    """(n, 3) by species and by body; of chess pieces the first half of each kind is white."""
    species, n = trajectory.species, len(trajectory.species)
    palette = np.array([rgb(colour) for colour in COLOURS])
    by_species = palette[species % len(COLOURS)]
    for kind in chess_names(trajectory):
        own = np.flatnonzero(species == kind)
        half = (len(own) + 1) // 2
        by_species[own[:half]], by_species[own[half:]] = rgb(IVORY), rgb(WALNUT)
    return {"species": by_species, "body": palette[np.arange(n) % len(COLOURS)]}


def rgb(colour: str) -> Bytes:
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=np.uint8)


def field_of(trajectory: Trajectory, frame: Frame, name: str) -> Array | None:
    """(n,) of each body; None for plain colours."""
    if name == "speed":
        return np.linalg.norm(frame.velocity, axis=1)
    if name == "spin":
        return np.linalg.norm(frame.angular_velocity, axis=1)
    if name == "energy":
        return trajectory.kinetic_energy(frame)
    return None


def scaled_colours(values: Array, span: tuple[float, float]) -> Bytes:
    from matplotlib import colormaps

    part = np.clip((np.nan_to_num(values) - span[0]) / (span[1] - span[0]), 0.0, 1.0)
    colours: Bytes = (255 * colormaps["cividis"](part)[:, :3]).astype(np.uint8)
    return colours


def chess_names(trajectory: Trajectory) -> dict[int, str]:
    """Which clumps are built-in chess pieces: index of the clump, name of the piece."""
    kinds = {k: clump.builtin.partition("/") for k, clump in enumerate(trajectory.clumps)}
    return {k: piece for k, (folder, _, piece) in kinds.items() if folder == "chess" and piece in HEIGHTS}


def chess_pieces(trajectory: Trajectory, coarse: bool = False) -> dict[int, tuple[Array, NDArray[np.int64]]]:
    """Surfaces of the clumps that are chess pieces, in the frame that the clump was given in: points (m), triangles.

    Coarse ones have a quarter of the triangles, which nobody sees in pictures as small as those of films.
    """
    from ..shapes.surfaces import drawn_surface

    pieces = {}
    for k, name in chess_names(trajectory).items():
        points, faces = drawn_surface(name)
        if coarse:
            from pyvista import PolyData

            fewer = PolyData.from_regular_faces(points, faces).decimate(0.75)  # type: ignore[arg-type]
            points, faces = np.asarray(fewer.points, float), fewer.regular_faces
        pieces[k] = points * height_of(trajectory.clumps[k]), faces
    return pieces


def height_of(clump: ClumpTemplate) -> float:
    """Of the spheres of a clump that stands on z = 0, m."""
    return float((clump.spheres[:, 2] + clump.spheres[:, 3]).max())


# --- pictures and windows -----------------------------------------------------------------------------------


def new_plotter(size: Sequence[int], off_screen: bool) -> Any:
    choose_window(not off_screen)
    import pyvista

    plotter: Any = pyvista.Plotter(off_screen=off_screen, window_size=list(size), lighting="none")
    return plotter


def light(plotter: Any, low: Array, high: Array, shadows: int = 32) -> None:
    """Lamps that go with the camera, and soft shadows where bodies are near to each other or to the floor:
    the number of samples of them, 0 for none."""
    import pyvista

    # Seen from the camera: to the right, up, and towards it.
    for direction, intensity in (((0.35, 0.8, 0.65), 0.8), ((-0.9, 0.1, 0.5), 0.35), ((0.2, 0.5, -0.8), 0.25)):
        lamp = pyvista.Light(position=direction, focal_point=(0.0, 0.0, 0.0), light_type="camera light")
        lamp.intensity = intensity
        plotter.add_light(lamp)
    if shadows:
        size = float(np.linalg.norm(high - low)) or 1.0
        plotter.enable_ssao(radius=0.04 * size, bias=0.002 * size, kernel_size=shadows, blur=True)
    plotter.enable_anti_aliasing("ssaa")


def aim(plotter: Any, points: Array, turn: float = 0.0, left: float = 0.0, right: float = 0.0, below: float = 0.0) -> None:
    """The camera as near as it can be with all points (p, 3) in the picture, turned by degrees about the vertical.

    Parts of the width on the left and on the right, and of the height below, are kept free.
    """
    width, height = plotter.window_size
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    forward = -np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ AWAY
    across = np.cross(forward, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    upward = np.cross(across, forward)
    depth = points @ forward
    up = MARGIN * np.tan(np.radians(VIEW_ANGLE / 2))
    aside = up * width / height
    # Seen from `back` behind the origin, the edges of the picture are at these slopes: x - eye = slope * (depth + back).
    edges = [(across, aside * (1 - 2 * left), aside * (1 - 2 * right)), (upward, up * (1 - 2 * below), up)]
    spans = [(np.max(points @ to - high * depth), np.min(points @ to + low * depth), low, high) for to, low, high in edges]
    back = max((a - b) / (low + high) for a, b, low, high in spans)
    eye = -back * forward
    for (to, *_), (a, b, low, high) in zip(edges, spans, strict=True):
        eye = eye + (a + b + (low - high) * back) / 2 * to
    near, far = float(depth.min() + back), float(depth.max() + back)
    camera = plotter.camera
    camera.view_angle = VIEW_ANGLE
    camera.position, camera.focal_point = tuple(eye), tuple(eye + (near + far) / 2 * forward)
    camera.up = (0.0, 0.0, 1.0)
    camera.clipping_range = (0.3 * near, 2.0 * far)
    plotter.camera_set = True  # or pyvista puts it elsewhere


def extent(trajectory: Trajectory, frames: Sequence[Frame]) -> tuple[Array, Array]:
    """Corners of the box, or of the bodies in some frames where there is none, m."""
    if trajectory.box is not None:
        return np.zeros(3), trajectory.box
    reach = [float(np.max(np.linalg.norm(c.spheres[:, :3] - c.center, axis=1) + c.spheres[:, 3])) for c in trajectory.clumps]
    margin = np.array(reach)[trajectory.species][:, None]
    low = np.min([np.min(frame.position - margin, axis=0) for frame in frames], axis=0)
    return low, np.max([np.max(frame.position + margin, axis=0) for frame in frames], axis=0)


def corners(low: Array, high: Array) -> Array:
    """(8, 3)"""
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def some_frames(trajectory: Trajectory, count: int = 20) -> list[Frame]:
    """Evenly spread, that a scale or a camera may fit all."""
    return [trajectory.frame(int(k)) for k in np.unique(np.linspace(0, len(trajectory) - 1, count).astype(int))]


def picture(
    trajectory: Trajectory,
    frame: int,
    file: str | PathLike[str],
    colour_by: str = "species",
    spheres: bool = False,
    size: Sequence[int] = SIZE,
) -> None:
    """One frame as a picture, without a window."""
    plotter = new_plotter(size, off_screen=True)
    try:
        state = trajectory.frame(frame)
        scene = Scene(plotter, trajectory, colour_by, spheres)
        scene.use(colour_by, [state])
        scene.show(state)
        low, high = extent(trajectory, [state])
        light(plotter, low, high)
        aim(plotter, corners(low, high), right=scene.bar_width)
        plotter.screenshot(str(file))
    finally:
        plotter.close()


def frame_at(trajectory: Trajectory, frame: int | None, time: float | None, name: str) -> int:
    """The frame of a number, or the one nearest to a time; the first if neither is given."""
    count = len(trajectory)
    if count == 0:
        raise InputError(f"{name}: has no frames yet; wait until the first is written, or run it again")
    if time is not None:
        first, last = float(trajectory.time[0]), float(trajectory.time[-1])
        if not first <= time <= last:
            raise InputError(f"{name}: --time {time:g}: its frames are from {first:g} to {last:g} s")
        return int(np.argmin(np.abs(trajectory.time - time)))
    frame = frame or 0
    if not -count <= frame < count:
        raise InputError(f"{name}: has {count} frames, there is no frame {frame}; give 0 to {count - 1}")
    return range(count)[frame]


class Viewer:
    """A window with a time slider: space plays and pauses, r goes back to the first frame, c colours by the next field,
    and a click on a body prints its state."""

    PLAYS_AT = 40  # ms between two frames

    def __init__(
        self, trajectory: Trajectory, frame: int, colour_by: str, spheres: bool, say: Callable[[str], None] = print
    ):
        self.trajectory, self.frame, self.say = trajectory, frame, say
        self.playing = False
        self.plotter = new_plotter(SIZE, off_screen=False)
        self.scene = Scene(self.plotter, trajectory, colour_by, spheres)
        self.scale()
        low, high = extent(trajectory, some_frames(trajectory))
        light(self.plotter, low, high, shadows=0)
        aim(self.plotter, corners(low, high), below=0.08)
        self.slider: Any = None
        if len(trajectory) > 1:
            self.slider = self.plotter.add_slider_widget(
                lambda value: self.show(round(value)),
                [0, len(trajectory) - 1],
                value=frame,
                pointa=(0.05, 0.06),
                pointb=(0.95, 0.06),
                color="#555555",
                tube_width=0.003,
                slider_width=0.02,
                fmt="%.0f",
                interaction_event="always",
            )
            self.plotter.add_timer_event(max_steps=10**9, duration=self.PLAYS_AT, callback=lambda step: self.tick())
        self.plotter.add_key_event("space", self.play_or_pause)
        self.plotter.add_key_event("r", lambda: self.show(0, move_slider=True))
        self.plotter.add_key_event("c", self.next_colour)
        self.plotter.enable_point_picking(
            callback=self.picked, use_picker=True, show_message=False, left_clicking=True, show_point=False
        )
        self.show(frame)

    def scale(self) -> None:
        self.scene.use(self.scene.colour_by, some_frames(self.trajectory))

    def show(self, frame: int, move_slider: bool = False) -> None:
        self.frame = frame
        self.scene.show(self.trajectory.frame(frame))
        self.plotter.add_text(
            f"t = {self.trajectory.time[frame]:.4g} s   colour: {self.scene.colour_by}   (space, r, c, click)",
            position="upper_left",
            font_size=10,
            color="#222222",
            name="caption",
            render=False,
        )
        if move_slider and self.slider is not None:
            self.slider.GetRepresentation().SetValue(frame)
        self.plotter.render()

    def play_or_pause(self) -> None:
        self.playing = not self.playing

    def tick(self) -> None:
        if self.playing:
            self.show((self.frame + 1) % len(self.trajectory), move_slider=True)

    def next_colour(self) -> None:
        names = list(FIELDS)
        self.scene.colour_by = names[(names.index(self.scene.colour_by) + 1) % len(names)]
        self.scale()
        self.show(self.frame)

    def picked(self, place: Any, picker: Any) -> None:
        body = self.scene.body_at(picker.GetActor(), picker.GetPointId())
        if body is not None:
            self.say(state_of(self.trajectory, self.frame, body))


def state_of(trajectory: Trajectory, frame: int, body: int) -> str:
    """A body, for people."""
    state = trajectory.frame(frame)
    energy = trajectory.kinetic_energy(state)
    clump = trajectory.clumps[trajectory.species[body]].name

    def row(name: str) -> str:
        return ", ".join(f"{value:.6g}" for value in getattr(state, name)[body])

    return "\n".join(
        [
            f"body {body}, {clump}, {trajectory.mass[body]:.4g} kg, at {trajectory.time[frame]:.6g} s",
            f"  position          ({row('position')}) m",
            f"  velocity          ({row('velocity')}) m/s",
            f"  orientation       ({row('orientation')})",
            f"  angular velocity  ({row('angular_velocity')}) rad/s",
            f"  kinetic energy    {energy[body]:.6g} J",
        ]
    )


def choose_window(interactive: bool) -> None:
    """Let VTK draw without a display where there is none, by EGL or OSMesa."""
    if not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    if interactive:
        raise InputError("there is no display for a window; give --screenshot FILE.png, or see minidem movie")
    windows = {"EGL": "vtkEGLRenderWindow", "OSMesa": "vtkOSOpenGLRenderWindow"}
    found = next((window for library, window in windows.items() if ctypes.util.find_library(library)), None)
    if found is None:
        raise InputError(f"pictures without a display need the EGL or the OSMesa library; install {DRAWING_LIBRARIES}")
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", found)


def draw_side_by_side(pairs: list[tuple[Any, Array]], picture: str | PathLike[str]) -> None:
    """Surfaces (pyvista.PolyData, z up) in a row and the spheres that stand for them in front, as a picture."""
    check_picture(picture)
    choose_window(interactive=False)
    import pyvista

    plotter: Any = pyvista.Plotter(off_screen=True, window_size=[1400, 900] if len(pairs) > 1 else [1200, 800])
    plotter.set_background("white")
    along, front = 0.0, 2.2 * max(surface.bounds[3] - surface.bounds[2] for surface, _ in pairs)
    for surface, spheres in pairs:
        x0, x1, y0, y1 = surface.bounds[:4]
        width = x1 - x0
        shift = np.array([along - x0, -(y0 + y1) / 2, 0.0])
        across = np.array([0.0, -front, 0.0]) if len(pairs) > 1 else np.array([1.3 * width, 0.0, 0.0])
        plotter.add_mesh(
            surface.translate(shift), color="#E8D8B0", smooth_shading=True, split_sharp_edges=True, specular=0.3
        )
        balls = Balls(np.zeros(len(spheres), np.int64), spheres[:, :3] + shift + across, spheres[:, 3])
        balls.place(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), rgb("#56B4E9")[None])
        balls.actor.GetProperty().SetSpecular(0.3)
        plotter.add_actor(balls.actor)
        along += 1.2 * width
    plotter.enable_anti_aliasing("ssaa")
    plotter.camera_position = "xz"
    plotter.camera.azimuth, plotter.camera.elevation = 0, 30 if len(pairs) > 1 else 12
    plotter.reset_camera()
    plotter.camera.zoom(1.4 if len(pairs) > 1 else 1.1)
    plotter.screenshot(str(picture))
    plotter.close()


def check_colour(name: str) -> None:
    if name not in FIELDS:
        raise unknown_name("field to colour by", name, FIELDS)


def check_picture(picture: str | PathLike[str], overwrite: bool = True) -> None:
    if Path(picture).suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise InputError(f"{picture}: give a picture file that ends in .png or .jpg")
    if not Path(picture).parent.is_dir():
        raise InputError(f"{picture}: there is no such directory to write to")
    if Path(picture).exists() and not overwrite:
        raise InputError(f"{picture}: exists already; give --overwrite to replace it")
