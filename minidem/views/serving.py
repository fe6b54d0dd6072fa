"""Serves the page of a run in a process of its own: python -m minidem.views.serving RUN FRAME COLOUR SPHERES

It ends when its standard input is closed, as when the process that started it has ended.
"""

import os
import sys
import threading
from pathlib import Path

from ..errors import InputError
from ..files.trajectory import Trajectory
from .browser import BrowserView


def end_with_input() -> None:
    """End this process when nobody can write to its standard input any more."""
    sys.stdin.read()
    os._exit(0)


def main() -> int:
    """Print the address, then serve the page; 2 on bad input."""
    threading.Thread(target=end_with_input, daemon=True).start()
    run, frame, colour, spheres = sys.argv[1:]
    try:
        with Trajectory(run) as trajectory:
            path = Path(run)
            title = path.resolve().parent.name if path.name == "trajectory.h5" else path.name
            view = BrowserView(trajectory, int(frame), colour, spheres == "spheres", title)
            view.serve(0, lambda address: print(address, flush=True))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
