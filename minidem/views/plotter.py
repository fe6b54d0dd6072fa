"""Plotters of VTK, with or without a display."""

import ctypes.util
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from ..errors import InputError
from ..machine import DRAWING_LIBRARIES

SIZE = (1200, 1000)  # pixels
MOST = 40_000_000  # pixels that are drawn at a time


def new_plotter(size: Sequence[int], off_screen: bool, fineness: int = 1) -> Any:
    """An empty pyvista.Plotter without lights; `fineness` pixels are drawn per pixel of the picture, in both directions."""
    choose_window(not off_screen)
    import pyvista

    plotter: Any = pyvista.Plotter(off_screen=off_screen, window_size=[fineness * n for n in size], lighting="none")
    if fineness > 1:  # edges are smooth without more samples, which take most of the time
        plotter.disable_anti_aliasing()
    return plotter


def fineness_of(size: Sequence[int]) -> int:
    """Pixels to draw per pixel of a picture, in both directions: smooth edges, as long as memory allows."""
    return 2 if 4 * size[0] * size[1] <= MOST else 1


def image_of(plotter: Any, width: int, transparent: bool = False) -> Image.Image:
    """What a plotter shows, `width` pixels wide, RGB; with alpha, RGBA, if the background is transparent."""
    fineness = plotter.window_size[0] // width

    def drawn() -> Image.Image:
        plotter.render()
        return Image.fromarray(np.array(plotter.screenshot(return_img=True))[:, :, :3]).reduce(fineness)

    if not transparent:
        return drawn()
    # Shadows and smooth edges leave no alpha of their own: it is how much less of a white background is seen than there was.
    pictures = []
    for background in ("black", "white"):
        plotter.set_background(background)
        pictures.append(np.asarray(drawn()).astype(float))
    black, white = pictures
    alpha = np.clip(255 - (white - black).mean(axis=2, keepdims=True), 0, 255)
    colour = np.clip(255 * black / np.maximum(alpha, 1), 0, 255)
    return Image.fromarray(np.concatenate([colour, alpha], axis=2).round().astype(np.uint8))


def has_display() -> bool:
    """Whether a window can be opened."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def choose_window(interactive: bool) -> None:
    """Make VTK draw without a display if there is none, with EGL or OSMesa."""
    if has_display():
        return
    if interactive:
        raise InputError("no display available; use --screenshot FILE.png, or minidem movie")
    windows = {"EGL": "vtkEGLRenderWindow", "OSMesa": "vtkOSOpenGLRenderWindow"}
    found = next((window for library, window in windows.items() if ctypes.util.find_library(library)), None)
    if found is None:
        raise InputError(f"pictures without a display need the EGL or the OSMesa library; install {DRAWING_LIBRARIES}")
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", found)
