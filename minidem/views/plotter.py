"""Plotters of VTK, with or without a display."""

import ctypes.util
import os
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ..machine import DRAWING_LIBRARIES

SIZE = (1200, 1000)  # pixels


def new_plotter(size: Sequence[int], off_screen: bool) -> Any:
    """An empty pyvista.Plotter without lights."""
    choose_window(not off_screen)
    import pyvista

    return pyvista.Plotter(off_screen=off_screen, window_size=list(size), lighting="none")


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
