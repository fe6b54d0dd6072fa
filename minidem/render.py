"""Pictures of snapshots. Reads run directories only; never sees a kernel."""

import ctypes.util
import os
import sys
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError
from .trajectory import Trajectory

# One colour a species, told apart also without colour vision (Okabe and Ito 2008).
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")


def show_frame(run: str | PathLike[str], frame: int, screenshot: str | PathLike[str] | None = None) -> None:
    """One frame of a run in a window, or as a picture without one."""
    if screenshot is not None and Path(screenshot).suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise InputError(f"{screenshot}: give a picture file that ends in .png or .jpg")
    if screenshot is not None and not Path(screenshot).parent.is_dir():
        raise InputError(f"{screenshot}: there is no such directory to write to")
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
    ball = pyvista.Sphere(radius=1.0, theta_resolution=24, phi_resolution=24)
    for kind in np.unique(species):
        chosen = species[body] == kind
        cloud = pyvista.PolyData(centres[chosen])
        cloud["radius"] = radii[chosen]
        spheres = cloud.glyph(geom=ball, scale="radius", orient=False)
        plotter.add_mesh(spheres, color=COLOURS[kind % len(COLOURS)], smooth_shading=True, specular=0.3)
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
