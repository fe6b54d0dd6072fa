"""Pictures in files: one frame of a run, and surfaces beside the spheres fitted to them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import InputError
from ..files.trajectory import Trajectory
from ..files.whole import check_free, replacing
from .camera import aim, light, pixels_per_metre
from .colours import FIELDS, MESH, SKY, rgb
from .look import DEFAULT, Look
from .overlays import colour_bar, put_bar, put_scale_bar
from .plotter import SIZE, fineness_of, image_of, new_plotter
from .scene import Balls, Scene
from .shading import light_softly
from .space import outline, shown_space

Array = NDArray[np.float64]


def picture(
    trajectory: Trajectory,
    frame: int,
    file: str | PathLike[str],
    colour_by: str = "species",
    spheres: bool = False,
    size: Sequence[int] = SIZE,
    look: Look = DEFAULT,
) -> None:
    """Write a picture of one frame, without a window."""
    plotter = new_plotter(size, off_screen=True, fineness=fineness_of(size))
    try:
        state = trajectory.frame(frame)
        space = shown_space(trajectory, [state])
        scene = Scene(plotter, trajectory, space, colour_by, spheres, look=look)
        scene.use(colour_by, [state])
        scene.show(state)
        bar = scale_of(scene, size[1])
        room = room_of(bar, size[0])
        light(plotter, space.size)
        points, radii = outline(trajectory, space, [state])
        aim(plotter, points, right=room, place=look.camera, zoom=look.zoom, radii=radii)
        image = image_of(plotter, size[0], look.transparent)
        if look.scale_bar:
            put_scale_bar(image, pixels_per_metre(plotter, size), look.ink, round(room * size[0]))
        if bar is not None:
            put_bar(image, bar)
        write_image(image, Path(file))
    finally:
        plotter.close()


def scale_of(scene: Scene, height: int) -> Image.Image | None:
    """The colour scale of a picture `height` pixels high; None if colours stand for no numbers."""
    if scene.range is None:
        return None
    return colour_bar(FIELDS[scene.colour_by], scene.range, scene.look.colour_map, height, scene.look.ink)


def room_of(bar: Image.Image | None, width: int) -> float:
    """Fraction of the width (pixels) of a picture that its colour scale needs; at most a third."""
    return 0.0 if bar is None else min(1 / 3, bar.width / width + 0.03)


def write_image(image: Image.Image, file: Path) -> None:
    """Write a picture in the format that the ending of its file names."""
    with replacing(file) as new:
        image.save(new, format="PNG" if file.suffix.lower() == ".png" else "JPEG", optimize=True, quality=92)


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


def check_picture(picture: str | PathLike[str], overwrite: bool = True, transparent: bool = False) -> None:
    """Raise InputError unless a picture can be written to that file."""
    if transparent and Path(picture).suffix.lower() != ".png":
        raise InputError(f"{picture}: only .png pictures can be --transparent")
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
    size = (1400, 900) if len(pairs) > 1 else (1200, 800)
    plotter = new_plotter(size, off_screen=True, fineness=fineness_of(size))
    plotter.set_background("white")
    along, front = 0.0, 2.2 * max(surface.bounds[3] - surface.bounds[2] for surface, _ in pairs)
    for surface, spheres in pairs:
        x0, x1, y0, y1 = surface.bounds[:4]
        width = x1 - x0
        shift = np.array([along - x0, -(y0 + y1) / 2, 0.0])
        across = np.array([0.0, -front, 0.0]) if len(pairs) > 1 else np.array([1.3 * width, 0.0, 0.0])
        mesh = plotter.add_mesh(surface.translate(shift), color=MESH, smooth_shading=True, split_sharp_edges=True)
        light_softly(mesh)
        balls = Balls(np.zeros(len(spheres), np.int64), spheres[:, :3] + shift + across, spheres[:, 3])
        balls.place(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), rgb(SKY)[None])
        plotter.add_actor(balls.actor)
        along += 1.2 * width
    light(plotter, along, shadows=0)
    plotter.camera_position = "xz"
    plotter.camera.azimuth, plotter.camera.elevation = 0, 30 if len(pairs) > 1 else 12
    plotter.reset_camera()
    plotter.camera.zoom(1.4 if len(pairs) > 1 else 1.1)
    write_image(image_of(plotter, size[0]), Path(picture))
    plotter.close()
