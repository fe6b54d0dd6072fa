"""Pictures of snapshots. Reads run directories only; never sees a kernel."""

import ctypes.util
import os
import sys
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .trajectory import Trajectory

# One colour a species, told apart also without colour vision (Okabe and Ito 2008).
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")


def show_frame(run: str | PathLike[str], frame: int, screenshot: str | PathLike[str] | None = None) -> None:
    """One frame of a run in a window, or as a picture without one."""
    if screenshot is not None:
        check_picture(screenshot)
    choose_window(screenshot is None)
    import pyvista

    with Trajectory(run) as trajectory:
        if not -len(trajectory) <= frame < len(trajectory):
            raise InputError(
                f"{run}: has {len(trajectory)} frames, there is no frame {frame}; give 0 to {len(trajectory) - 1}"
            )
        centres, radii, body = trajectory.spheres(frame)
        species, box = trajectory.species, trajectory.box

    plotter: Any = pyvista.Plotter(off_screen=screenshot is not None, window_size=[1200, 1000])
    plotter.set_background("white")
    spheres = np.column_stack([centres, radii])
    for kind in np.unique(species):
        draw_spheres(plotter, spheres[species[body] == kind], COLOURS[kind % len(COLOURS)])
    if box is not None:
        plotter.add_mesh(pyvista.Box((0, box[0], 0, box[1], 0, box[2])), style="wireframe", color="#444444", line_width=2)
    plotter.enable_anti_aliasing("ssaa")
    plotter.camera_position = "yz"
    plotter.camera.azimuth, plotter.camera.elevation = 30, 20
    plotter.reset_camera()
    plotter.camera.zoom(1.05)
    if screenshot is None:
        plotter.show()
    else:
        plotter.screenshot(str(screenshot))
        plotter.close()


def choose_window(interactive: bool) -> None:
    """Let VTK draw without a display where there is none."""
    if not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    if interactive:
        raise InputError("there is no display for a window; give --screenshot FILE.png")
    if ctypes.util.find_library("EGL") is None:
        packages = "libegl1 and libgl1-mesa-dri (Debian, Ubuntu) or libegl (conda-forge)"
        raise InputError(f"pictures without a display need the EGL library; install {packages}")
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")


def draw_spheres(plotter: Any, spheres: NDArray[np.float64], colour: str) -> None:
    """Rows of x, y, z, radius, as one mesh of glyphs."""
    import pyvista

    cloud = pyvista.PolyData(spheres[:, :3])
    cloud["radius"] = spheres[:, 3]
    ball = pyvista.Sphere(radius=1.0, theta_resolution=24, phi_resolution=24)
    plotter.add_mesh(cloud.glyph(geom=ball, scale="radius", orient=False), color=colour, smooth_shading=True, specular=0.3)


def draw_side_by_side(pairs: list[tuple[Any, NDArray[np.float64]]], picture: str | PathLike[str]) -> None:
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
        draw_spheres(plotter, spheres + np.append(shift + across, 0.0), "#56B4E9")
        along += 1.2 * width
    plotter.enable_anti_aliasing("ssaa")
    plotter.camera_position = "xz"
    plotter.camera.azimuth, plotter.camera.elevation = 0, 30 if len(pairs) > 1 else 12
    plotter.reset_camera()
    plotter.camera.zoom(1.4 if len(pairs) > 1 else 1.1)
    plotter.screenshot(str(picture))
    plotter.close()


def check_picture(picture: str | PathLike[str]) -> None:
    if Path(picture).suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise InputError(f"{picture}: give a picture file that ends in .png or .jpg")
    if not Path(picture).parent.is_dir():
        raise InputError(f"{picture}: there is no such directory to write to")
