"""Pictures in files: one frame of a run, and surfaces beside the spheres fitted to them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files.trajectory import Trajectory
from ..files.whole import check_free, replacing
from .camera import aim, light
from .colours import MESH, SKY, rgb
from .plotter import SIZE, choose_window, new_plotter
from .scene import Balls, Scene
from .space import shown_space

Array = NDArray[np.float64]


def picture(
    trajectory: Trajectory,
    frame: int,
    file: str | PathLike[str],
    colour_by: str = "species",
    spheres: bool = False,
    size: Sequence[int] = SIZE,
) -> None:
    """Write a picture of one frame, without a window."""
    plotter = new_plotter(size, off_screen=True)
    try:
        state = trajectory.frame(frame)
        space = shown_space(trajectory, [state])
        scene = Scene(plotter, trajectory, space, colour_by, spheres)
        scene.use(colour_by, [state])
        scene.show(state)
        light(plotter, space.size)
        aim(plotter, space.corners, right=scene.bar_width)
        with replacing(Path(file)) as new:
            plotter.screenshot(str(new))
    finally:
        plotter.close()


def frame_at(trajectory: Trajectory, frame: int | None, time: float | None, name: str) -> int:
    """Number of the frame `frame` or nearest to `time` (s); the first if neither is given. `name` is the run in messages."""
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


def check_picture(picture: str | PathLike[str], overwrite: bool = True) -> None:
    """Raise InputError unless a picture can be written to that file."""
    if Path(picture).suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise InputError(f"{picture}: give a picture file that ends in .png or .jpg")
    if not Path(picture).parent.is_dir():
        raise InputError(f"{picture}: there is no such directory to write to")
    check_free(Path(picture), overwrite=overwrite, option="--screenshot")


def draw_side_by_side(pairs: list[tuple[Any, Array]], picture: str | PathLike[str]) -> None:
    """Write a picture of surfaces (pyvista.PolyData, z up) in a row and the spheres (s, 4) fitted to them, m.

    The spheres of a single surface are to its right, those of several in front of them.
    """
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
        plotter.add_mesh(surface.translate(shift), color=MESH, smooth_shading=True, split_sharp_edges=True, specular=0.3)
        balls = Balls(np.zeros(len(spheres), np.int64), spheres[:, :3] + shift + across, spheres[:, 3])
        balls.place(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), rgb(SKY)[None])
        balls.actor.GetProperty().SetSpecular(0.3)
        plotter.add_actor(balls.actor)
        along += 1.2 * width
    plotter.enable_anti_aliasing("ssaa")
    plotter.camera_position = "xz"
    plotter.camera.azimuth, plotter.camera.elevation = 0, 30 if len(pairs) > 1 else 12
    plotter.reset_camera()
    plotter.camera.zoom(1.4 if len(pairs) > 1 else 1.1)
    with replacing(Path(picture)) as new:
        plotter.screenshot(str(new))
    plotter.close()
