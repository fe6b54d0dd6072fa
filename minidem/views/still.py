"""One frame of a run as a picture, in a process of its own: where graphics are broken, VTK may crash.

python -m minidem.views.still RUN FRAME FILE WIDTH HEIGHT
"""

import sys

from ..errors import InputError
from ..files.trajectory import Trajectory
from .pictures import frame_at, picture


def main(run: str, frame: str, file: str, width: str, height: str) -> None:
    """Write the picture; with bad input, print a message and exit with code 2."""
    try:
        with Trajectory(run) as trajectory:
            picture(trajectory, frame_at(trajectory, int(frame), None, run), file, size=(int(width), int(height)))
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
