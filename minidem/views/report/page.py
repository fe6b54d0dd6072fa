"""A run or a study as one HTML page that needs nothing else: numbers, plot, scenario, and a scene that turns.

Reads files only, of what has ended, goes on or was killed; never sees a kernel. Whatever comes from files is escaped.
"""

import base64
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...files.manifest import is_summary, manifest_of
from ...files.trajectory import Frame, Trajectory
from ...files.whole import write_whole
from ...study.records import cells_of, identity_of, read_records, record_files
from .. import plots
from .. import scene as render
from ..figures import svg_text

Array = NDArray[np.float64]

PAGE, SCRIPT = Path(__file__).with_name("page.html"), Path(__file__).with_name("scene.js")
FRAMES = 8  # of a scene at most
LARGEST = 4e6  # bytes of positions and orientations; of large systems fewer frames are shown, but always one
FEWER_TRIANGLES = 0.5  # left out of the surfaces of chess pieces: they are small on a page
STILL = (900, 700)  # pixels
PATIENCE = 300  # s for a still picture
RUN_FILES = ("trajectory.h5", "energy.csv", "manifest.json", "scenario.toml", "resolved.toml")
STUDY_FILES = ("table.csv", "timing.csv", "study.toml", "study.json")
UNFINISHED = {  # what is said of runs by their status
    "running": "was still going on, or had been killed, when this page was made: it is shown as far as it was written.",
    "interrupted": "was stopped before its end: it is shown as far as it went.",
    "failed": "failed: it is shown as far as it went.",
}


@dataclass
class Report:
    title: str
    parts: list[str] = field(default_factory=list)  # HTML
    notes: list[str] = field(default_factory=list)  # what is missing or unfinished, plain text

    def add(self, heading: str, *parts: str) -> None:
        self.parts.append("\n".join([f"<section><h2>{text(heading)}</h2>", *parts, "</section>"]))

    def note(self, words: str) -> str:
        self.notes.append(words)
        return f'<p class="note">{text(words)}</p>'


def write_report(directory: Path, out: Path | None = None, overwrite: bool = False, still: bool = True) -> dict[str, Any]:
    """Write the page; what it is about and what is missing, for JSON. Without `still`, no picture for other browsers."""
    kind = plots.kind_of(directory)
    out = checked(out or directory / "report.html", overwrite)
    report = (study_report if kind == "study" else run_report)(directory, out, still)
    page = page_of(report).encode("utf-8", "replace").decode()  # names of files may hold what UTF-8 does not
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, page)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror}") from None
    return {"file": str(out), "bytes": out.stat().st_size, "kind": kind, "notes": report.notes}


def checked(out: Path, overwrite: bool) -> Path:
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out: {out}: give a file that ends in .html")
    try:
        if out.is_dir():
            raise InputError(f"--out: {out} is a directory; give a file in it, as in {out}/report.html")
        if out.exists() and not overwrite:
            raise InputError(f"--out: {out} exists already; choose another name or give --overwrite")
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror}") from None
    return out


def page_of(report: Report) -> str:
    script = SCRIPT.read_text(encoding="utf-8")
    own = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    filled = {
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{own}'",
        "title": text(report.title),
        "body": "\n".join([f"<h1>{text(report.title)}</h1>", *report.parts]),
        "script": script,
    }
    page = PAGE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], page)  # at once: what is filled in is left alone


# --- runs ---------------------------------------------------------------------------------------------------


def run_report(directory: Path, out: Path, still: bool = True) -> Report:
    manifest = manifest_of(directory)
    report = Report(f"minidem run {directory.resolve().name}")
    trajectory: Trajectory | None = None
    why = ""
    try:
        trajectory = Trajectory(directory)
    except InputError as error:
        if "minidem" not in manifest:  # nothing here is ours
            raise
        why = str(error)
    energies: plots.Plot | None = None
    why_no_energies = ""
    try:
        energies = plots.runs_plot([directory])
    except (InputError, OSError) as error:
        why_no_energies = str(error)

    status = str(manifest.get("status", "running"))
    unfinished = [report.note(f"This run {UNFINISHED[status]}")] if status in UNFINISHED else []
    numbers = run_numbers(manifest, trajectory, energies)
    report.add("Summary", *unfinished, pairs_table(numbers))
    if trajectory is not None:
        report.add("Scene", *scene_parts(report, directory, trajectory, still))
    else:
        report.add("Scene", report.note(f"There is no scene: {why}"))
    if energies is not None:
        report.add("Energy", figure_of(energies, "Energies over time, and their relative deviation"))
    else:
        report.add("Energy", report.note(f"There is no plot: {why_no_energies}"))
    report.add("Scenario", *scenario_parts(directory, trajectory))
    report.add("Data", links([directory / name for name in RUN_FILES], out))
    if trajectory is not None:
        trajectory.close()
    return report


def run_numbers(manifest: Mapping[str, Any], trajectory: Trajectory | None, energies: plots.Plot | None) -> dict[str, str]:
    """What is known: of a run that ended from its summary, of another from what it has written so far."""
    known: dict[str, Any] = {}
    if trajectory is not None:
        sizes = [len(clump.spheres) for clump in trajectory.clumps]
        known |= {"bodies": len(trajectory.species), "spheres": sum(sizes[k] for k in trajectory.species)}
    if energies is not None:
        own = energies.report["runs"][0]
        known |= {name: own[name] for name in ("integrator", "dt", "time", "drift_mean", "drift_last", "drift_max")}
        known |= {"steps": energies.data["step"][-1], "initial": own["energy_initial"], "final": energies.data["total"][-1]}
    if is_summary(summary := manifest.get("summary")):
        known |= summary | summary["energy"] | {"time": summary["steps"] * summary["dt"]}
    known |= {name: manifest.get(name) for name in ("seed", "threads")}
    versions = {"minidem": manifest.get("minidem"), "Python": manifest.get("python")}
    if isinstance(libraries := manifest.get("versions"), dict):
        versions |= libraries
    rows = {
        "status": str(manifest.get("status", "running")),
        "bodies": value_of(known, "bodies"),
        "spheres": value_of(known, "spheres"),
        "integrator": value_of(known, "integrator"),
        "time step": value_of(known, "dt", "s"),
        "steps": value_of(known, "steps"),
        "simulated time": value_of(known, "time", "s"),
        "energy at the start": value_of(known, "initial", "J"),
        "energy at the end": value_of(known, "final", "J"),
        "energy drift, mean": value_of(known, "drift_mean"),
        "energy drift, last": value_of(known, "drift_last"),
        "energy drift, max": value_of(known, "drift_max"),
        "wall time": value_of(known, "wall_s", "s"),
        "time for a step": value_of(known, "us_per_step", "µs"),
        "set-up": value_of(known, "compile_s", "s"),
        "seed": value_of(known, "seed"),
        "threads": value_of(known, "threads"),
        "started": value_of(manifest, "started"),
        "ended": value_of(manifest, "ended"),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items() if number),
        "platform": value_of(manifest, "platform"),
    }
    return {name: value for name, value in rows.items() if value}


def value_of(known: Mapping[str, Any], name: str, unit: str = "") -> str:
    """Empty if it is not known."""
    value = known.get(name)
    if value is None:
        return ""
    return f"{brief(value)} {unit}".rstrip()


def brief(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def scenario_parts(directory: Path, trajectory: Trajectory | None) -> list[str]:
    given, resolved = (read(directory / name) for name in ("scenario.toml", "resolved.toml"))
    if trajectory is not None:
        given, resolved = trajectory.scenario, trajectory.resolved
    return [f"<pre>{text(given)}</pre>", folded("With every default filled in", f"<pre>{text(resolved)}</pre>")]


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# --- the scene ----------------------------------------------------------------------------------------------


def scene_parts(report: Report, directory: Path, trajectory: Trajectory, still: bool) -> list[str]:
    """The canvas with its data, a still picture for where it cannot be drawn, and a legend."""
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
    instead = f'<img alt="The bodies at the first of the frames" src="data:image/png;base64,{encoded}">'
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


def chosen_frames(count: int, bodies: int) -> list[int]:
    """Evenly spaced, the first and the last among them."""
    number = int(min(FRAMES, count, max(1, LARGEST // (28 * max(bodies, 1)))))
    return [int(frame) for frame in np.linspace(0, count - 1, number).round()]


def scene_data(trajectory: Trajectory, frames: Sequence[int]) -> dict[str, Any]:
    """For scene.js. Bodies are given by positions and orientations in each frame, (frames, n, 3) and (frames, n, 4),
    and by what they look like: spheres (x, y, z, radius) or triangles, relative to the centre of mass."""
    states = [trajectory.frame(frame) for frame in frames]
    times = trajectory.time
    shapes = render.chess_pieces(trajectory)
    kinds: list[dict[str, str]] = []
    for kind, clump in enumerate(trajectory.clumps):
        bodies = {"bodies": encoded(np.flatnonzero(trajectory.species == kind), "<u4")}
        if kind in shapes:
            points, faces = shapes[kind]
            kinds.append(bodies | surface(points - clump.center, faces))
        else:
            kinds.append(bodies | {"spheres": encoded(clump.spheres - [*clump.center, 0.0], "<f4")})
    middles, size = views(trajectory, states)
    return {
        "box": None if trajectory.box is None else trajectory.box.tolist(),
        "size": size,
        "last": len(times) - 1,
        "frames": [
            {"number": frame, "time": float(times[frame]), "middle": middle}
            for frame, middle in zip(frames, middles, strict=True)
        ],
        "position": encoded(np.array([state.position for state in states]), "<f4"),
        "orientation": encoded(np.array([state.orientation for state in states]), "<f4"),
        "colour": encoded(render.plain_colours(trajectory)["species"], "u1"),
        "kinds": kinds,
    }


def views(trajectory: Trajectory, states: Sequence[Frame]) -> tuple[list[list[float]], float]:
    """What the camera looks at in each frame, and how large it is (m): the box, or the bodies where there is none."""
    middles, size = [], 0.0
    for state in states:
        low, high = render.extent(trajectory, [state])
        whole = np.isfinite(low).all() and np.isfinite(high).all()  # not of a run that blew up
        middles.append(((low + high) / 2).tolist() if whole else [0.0, 0.0, 0.0])
        size = max(size, float(np.linalg.norm(high - low)) if whole else 0.0)
    return middles, size or 1.0


def surface(points: Array, faces: NDArray[np.int64]) -> dict[str, str]:
    """With half of the triangles, and normals that keep sharp edges sharp."""
    from pyvista import PolyData

    whole: Any = PolyData.from_regular_faces(points, faces)  # type: ignore[arg-type]
    coarse = whole.decimate(FEWER_TRIANGLES).compute_normals(split_vertices=True, feature_angle=40.0)
    normals = np.zeros((coarse.n_points, 4))  # rows of four bytes, as graphics cards want them
    normals[:, :3] = np.round(127 * coarse.point_data["Normals"])
    return {
        "points": encoded(coarse.points, "<f4"),
        "normals": encoded(normals, "i1"),
        "faces": encoded(coarse.regular_faces, "<u2"),
    }


def encoded(values: Any, kind: str) -> str:
    """The bytes of an array, as text."""
    with np.errstate(over="ignore"):  # of a run that blew up
        return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def legend(trajectory: Trajectory) -> str:
    colours = render.plain_colours(trajectory)["species"]
    rows = []
    for kind, clump in enumerate(trajectory.clumps):
        own = np.flatnonzero(trajectory.species == kind)
        seen = sorted({"#{:02x}{:02x}{:02x}".format(*colour) for colour in colours[own]}, reverse=True)
        swatches = "".join(f'<span class="swatch" style="background:{colour}"></span>' for colour in seen)
        numbers = (clump.name, len(own), len(clump.spheres), brief(clump.mass))
        rows.append([swatches, *(text(number) for number in numbers)])
    return table(["", "clump", "bodies", "spheres of each", "mass (kg)"], rows)


def still_picture(directory: Path, frame: int) -> tuple[bytes, str]:
    """A PNG, or nothing and the reason. In a process of its own: where graphics are broken, VTK takes its process along."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "still.png"
        size = f"{STILL[0]}x{STILL[1]}"
        command = [sys.executable, "-m", "minidem.cli", "view", os.path.abspath(directory), "--frame", str(frame)]
        try:
            done = subprocess.run(
                [*command, "--screenshot", str(picture), "--size", size], capture_output=True, timeout=PATIENCE
            )
            if done.returncode == 0 and picture.exists():
                return picture.read_bytes(), ""
            said = done.stderr.decode(errors="replace").strip() if done.returncode == 2 else ""
            return b"", said or f"minidem view ended with code {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            return b"", str(error)


# --- studies ------------------------------------------------------------------------------------------------


def study_report(directory: Path, out: Path, still: bool = True) -> Report:
    identity = identity_of(directory)
    try:
        cells = cells_of(identity)
        scenario = "\n".join(identity["scenario"])
        tomllib.loads(scenario)
        records = read_records(directory, len(cells))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{directory}/study.json: not one of minidem ({error}); run the study anew") from None
    report = Report(f"minidem study {identity['name'] or directory.resolve().name}")
    done = sum(record["status"] == "ok" for record in records.values())
    missing = len(cells) - len(records)
    unfinished = [report.note(f"{missing} of {len(cells)} runs had not ended when this page was made.")] if missing else []
    numbers = {"runs": len(cells), "done": done, "failed": len(records) - done, "missing": missing}
    wall = sum(record.get("wall_s") or 0.0 for record in records.values())
    axes = {axis: {json.dumps(cell.changes[axis]) for cell in cells} for axis in identity["axes"]}
    varied = ", ".join(f"{axis} ({len(values)} value{'s' if len(values) > 1 else ''})" for axis, values in axes.items())
    rows = {name: str(number) for name, number in numbers.items()} | {
        "varied": varied,
        "wall time of all runs": f"{wall:.6g} s",
    }
    report.add("Summary", *unfinished, pairs_table(rows))
    report.add("Energy deviation", *deviation_parts(report, directory))
    failures = [
        [text(cell.number), text(cell.label), f'<td class="long">{text(records[cell.number].get("reason") or "")}</td>']
        for cell in cells
        if cell.number in records and records[cell.number]["status"] != "ok"
    ]
    if failures:
        report.add("Failed runs", table(["cell", "changes", "reason"], failures))
    for run in sorted(directory.glob("runs/*")):
        try:
            with Trajectory(run) as trajectory:
                if len(trajectory):
                    said = f'<p class="faint">Of {text(run.relative_to(directory))}, the first run that was kept.</p>'
                    report.add("Scene", said, *scene_parts(report, run, trajectory, still))
                    break
        except (InputError, OSError):
            continue
    report.add(
        "Study",
        f"<pre>{text(read(directory / 'study.toml'))}</pre>",
        folded("The scenario, with every default filled in", f"<pre>{text(scenario)}</pre>"),
    )
    report.add("Data", links([*(directory / name for name in STUDY_FILES), *record_files(directory)], out))
    return report


def deviation_parts(report: Report, directory: Path) -> list[str]:
    try:
        plot = plots.study_plot(directory)
    except InputError as error:
        return [report.note(f"There is no plot: {error}")]
    slopes = [
        [text(line["label"]), "" if line["slope"] is None else f"{line['slope']:.2f}"] for line in plot.report["lines"]
    ]
    points = [[text(brief(value)) for value in row] for row in zip(*plot.data.values(), strict=True)]
    return [
        figure_of(plot, "Energy deviation against what varies"),
        table(["", "slope"], slopes),
        folded("The numbers of the plot", table(list(plot.data), points)),
    ]


# --- HTML ---------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    """Plain text, as HTML."""
    return html.escape(str(value), quote=True)


def pairs_table(rows: Mapping[str, str]) -> str:
    lines = [f"<tr><th>{text(name)}</th><td>{text(value)}</td></tr>" for name, value in rows.items()]
    return f"<table>{''.join(lines)}</table>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are HTML already, with their <td> or without."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    lines = ["".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows]
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'


def folded(heading: str, inner: str) -> str:
    return f"<details><summary>{text(heading)}</summary>{inner}</details>"


def figure_of(plot: plots.Plot, label: str) -> str:
    picture = svg_text(plot.figure).replace("<svg ", f'<svg role="img" aria-label="{text(label)}" ', 1)
    return f"<figure>{picture}</figure>"


def links(files: Iterable[Path], out: Path) -> str:
    """To those that exist, relative to the page."""
    items = []
    for file in files:
        if file.exists():
            items.append(f'<li><a href="{text(address(file, out))}">{text(file.name)}</a> ({size_of(file)})</li>')
    return f"<ul>{''.join(items)}</ul>"


def address(file: Path, page: Path) -> str:
    """As a browser wants it: names may hold anything."""
    try:
        relative = PurePath(os.path.relpath(file.resolve(), page.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        return file.resolve().as_uri()
    return quote(os.fsencode(relative))


def size_of(file: Path) -> str:
    size = file.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
