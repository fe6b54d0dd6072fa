"""A run in a notebook: an interactive scene, or a picture."""

import atexit
import html
import importlib.util
import subprocess
import sys
import tempfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files.trajectory import Trajectory
from ..notebook import in_notebook
from .colours import check_colour
from .pictures import picture


class LiveScene:
    """An interactive scene. A process of its own draws it, so that it follows a run that keeps this one busy."""

    def __init__(self, run: Path, frame: int, colour: str, spheres: bool, height: int):
        command = [sys.executable, "-m", "minidem.views.serving", str(run), str(frame), colour]
        command.append("spheres" if spheres else "surfaces")
        with tempfile.TemporaryFile("w+") as said:  # a pipe that nobody reads would stop the process when it is full
            self._process = subprocess.Popen(
                command,
                text=True,
                start_new_session=True,  # spared by the stop button
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )
            self.height = height  # pixels
            assert self._process.stdout is not None
            self.address = self._process.stdout.readline().strip()  # of the page
            if not self.address:
                self._process.wait()
                said.seek(0)
                raise InputError(said.read().strip() or "the scene could not be drawn")
        atexit.register(self.close)

    def close(self) -> None:
        """End the scene."""
        self._process.terminate()
        self._process.wait()
        atexit.unregister(self.close)

    def __repr__(self) -> str:
        return f"<LiveScene at {self.address}>"

    def _repr_html_(self) -> str:
        source = html.escape(self.address, quote=True)
        return f'<iframe src="{source}" style="width:100%;height:{self.height}px;border:0"></iframe>'


class Picture:
    """A picture in PNG format."""

    def __init__(self, png: bytes):
        self.png = png

    def _repr_png_(self) -> bytes:
        return self.png


def view(
    run: Any,
    frame: int = 0,
    *,
    colour: str = "species",
    spheres: bool = False,
    interactive: bool | None = None,
    height: int = 600,
) -> LiveScene | Picture:
    """Show a run in a notebook: a scene to turn, zoom and play, or a picture of one frame.

    `run` is a run directory, a Trajectory or what ``minidem.run`` returned. Bodies are coloured by `colour`: species, body,
    speed, spin or energy; `spheres` draws chess pieces as spheres. `height` is in pixels.

    With `interactive` None there is a scene in notebooks, if the run is on disk and trame is installed (``pip install
    'minidem[browser]'``), otherwise a picture. The scene follows a run that is running. It is a page at an address of this
    machine: for a notebook on another machine, forward that port, too.
    """
    check_colour(colour)
    trajectory = getattr(run, "trajectory", run)
    opened = isinstance(trajectory, str | PathLike)
    if opened:
        trajectory = Trajectory(fspath(trajectory))
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"run: give a run directory, a Trajectory or a Result, got {type(run).__name__}")
    try:
        number = trajectory.number_of(frame)
        if interactive is None:
            found = importlib.util.find_spec("trame") and importlib.util.find_spec("trame_vtk")
            interactive = bool(found) and in_notebook() and trajectory.path is not None
        if not interactive:
            return still(trajectory, number, colour, spheres)
        if trajectory.path is None:
            raise ValueError("interactive: the run is in memory only; give `out` to minidem.run, or interactive=False")
        return LiveScene(trajectory.path, number, colour, spheres, height)
    finally:
        if opened:
            trajectory.close()


def still(trajectory: Trajectory, frame: int, colour: str, spheres: bool) -> Picture:
    """A picture of one frame."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "still.png"
        picture(trajectory, frame, file, colour, spheres, (900, 700))
        return Picture(file.read_bytes())
