"""The scene in a page: a canvas that scene.js draws, a still picture, and a legend."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ...files.trajectory import Trajectory
from ..colours import plain_colours
from .elements import Report, brief, table, text
from .scene_data import chosen_frames, scene_data

STILL = (900, 700)  # pixels
PATIENCE = 300  # s for a still picture


def scene_parts(report: Report, directory: Path, trajectory: Trajectory, still: bool) -> list[str]:
    """The canvas with its data, a still picture for browsers that cannot draw it, and a legend."""
    try:
        count = len(trajectory)
        if count == 0:
            return [report.note("There is no scene: the trajectory has no frames yet.")]
        frames = chosen_frames(count, len(trajectory.species))
        data = json.dumps(scene_data(trajectory, frames), allow_nan=False).replace("<", "\\u003c")
    except OSError as error:
        return [report.note(f"There is no scene: the trajectory cannot be read ({error}).")]
    picture, why = still_picture(directory, frames[0]) if still else (b"", "left out")
    encoded = base64.b64encode(picture).decode()
    instead = f'<img alt="The bodies at the first frame shown" src="data:image/png;base64,{encoded}">'
    if not picture:
        instead = f'<p class="faint">{text(f"A still picture could not be drawn where this page was made ({why}).")}</p>'
    return [
        '<p id="no-scene" class="note" hidden></p>',
        '<noscript><p class="note">The scene needs JavaScript; this is a still picture.</p></noscript>',
        '<canvas id="scene" tabindex="0" role="img" aria-label="The bodies in three dimensions" hidden></canvas>',
        '<div id="controls" hidden><button id="earlier" aria-label="earlier frame">&#9664;</button>',
        '<input id="frame" type="range" min="0" max="0" value="0" aria-label="frame">',
        '<button id="later" aria-label="later frame">&#9654;</button><output id="when"></output>',
        '<button id="reset">reset view</button></div>',
        '<p id="help" class="faint" hidden>Drag turns, the wheel or two fingers zoom; or arrow keys, + and &minus;.</p>',
        f'<figure id="still">{instead}</figure>',
        legend(trajectory),
        f'<script type="application/json" id="scene-data">{data}</script>',
    ]


def legend(trajectory: Trajectory) -> str:
    """Table of the species with their colours."""
    colours = plain_colours(trajectory)["species"]
    rows = []
    for species, clump in enumerate(trajectory.clumps):
        own = np.flatnonzero(trajectory.species == species)
        seen = sorted({"#{:02x}{:02x}{:02x}".format(*colour) for colour in colours[own]}, reverse=True)
        swatches = "".join(f'<span class="swatch" style="background:{colour}"></span>' for colour in seen)
        numbers = (clump.name, len(own), len(clump.spheres), brief(clump.mass))
        rows.append([swatches, *(text(number) for number in numbers)])
    return table(["", "clump", "bodies", "spheres of each", "mass (kg)"], rows)


def still_picture(directory: Path, frame: int) -> tuple[bytes, str]:
    """A PNG of a frame, or no bytes and the reason. Drawn in a process of its own, because VTK may crash."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "still.png"
        arguments = [os.path.abspath(directory), frame, picture, *STILL]
        command = [sys.executable, "-m", "minidem.views.still", *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
            if done.returncode == 0 and picture.exists():
                return picture.read_bytes(), ""
            said = done.stderr.decode(errors="replace").strip() if done.returncode == 2 else ""
            return b"", said or f"drawing ended with code {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            return b"", str(error)
