"""Runs in the formats of other programs, up to the last frame of an unfinished run."""

import platform
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, WriteError, unknown_name
from ...files.manifest import manifest_of, writer_of
from ...files.names import FILES
from ...files.trajectory import Trajectory
from ...files.whole import beside, check_free
from .cloud import Cloud
from .registry import FORMATS
from .selection import selected, selected_bodies


def export_run(
    run: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    format: str | None = None,
    frames: str = ":",
    bodies: str = ":",
    species: Sequence[str] = (),
    what: str = "spheres",
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write the chosen frames and bodies of a run in another format; returns a report for JSON."""
    run = Path(run)
    format = format_of(format, out)
    if what not in ("spheres", "bodies"):
        raise unknown_name("--what", what, ("spheres", "bodies"))
    with Trajectory(run) as trajectory, np.errstate(over="ignore", invalid="ignore"):  # the run may have blown up
        note = why_unfinished(run, trajectory)  # first: more frames may come
        times = trajectory.time
        if not len(times):
            raise InputError(f"{run}: has no frames{f', as it {note}' if note else ''}; wait for the first, or run it again")
        cloud = Cloud(
            run,
            trajectory,
            selected(frames, len(times), "--frames", f"{run} has frames"),
            selected_bodies(trajectory, run, bodies, species),
            what,
        )
        path = target_of(format, run, out, overwrite)
        try:
            files = FORMATS[format].write(cloud, path)
        except (OSError, RuntimeError) as error:  # h5py raises RuntimeError for some errors of HDF5
            raise WriteError(f"{path}: cannot be written to ({error})") from error
    return {
        "format": format,
        "file": str(path),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "what": what,
        "points": len(cloud.body),
        "frames": len(cloud.frames),
        "first_time": float(cloud.times[0]),
        "last_time": float(cloud.times[-1]),
        "middle": np.mean(cloud.bounds, axis=0).tolist() if FORMATS[format].centred else None,
        "note": note and f"{run}: {note}; there are {len(times)} frames, up to {times[-1]:.6g} s",
    }


def why_unfinished(run: Path, trajectory: Trajectory) -> str | None:
    """Why a run is not complete; None if it ended well."""
    directory = run if run.is_dir() else run.parent
    copied = run.is_file() and run.name != "trajectory.h5"  # a manifest beside it belongs to another run
    manifest = {} if copied else manifest_of(directory)
    status, host, process = (manifest.get(key) for key in ("status", "host", "pid"))
    if None in (status, host, process):
        return "is still being written, or was killed" if trajectory.may_grow else None
    if status == "running" and host != platform.node():
        return f"is still being written on {host}, or was killed there"
    if status == "running":
        return f"is still being written, by process {process}" if writer_of(directory) else "was killed before its end"
    return None if status == "ok" else "failed before its end" if status == "failed" else f"was {status} before its end"


def format_of(name: str | None, out: str | PathLike[str] | None) -> str:
    """Name of the format, as given or by the suffix of the file."""
    suffix = "" if out is None else Path(out).suffix.lower()
    by_suffix = next((format for format, row in FORMATS.items() if suffix in row.suffixes), None)
    if name is not None and name not in FORMATS:
        raise unknown_name("--format", name, FORMATS)
    if name is None and by_suffix is None:
        known = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
        raise InputError(f"--format: give one of {', '.join(FORMATS)}, or --out FILE with one of {known}")
    if name is not None and by_suffix is not None and name != by_suffix:
        raise InputError(f"--out {out}: is the name of a {by_suffix} file; leave out --format {name}, or give another name")
    return name or by_suffix or ""


def target_of(format: str, run: Path, out: str | PathLike[str] | None, overwrite: bool) -> Path:
    """The file to write, checked: it does not exist or may be replaced, and its directory can be written to."""
    directory = run if run.is_dir() else run.parent
    home = directory.resolve()
    row = FORMATS[format]
    path = directory / f"{home.name}{row.suffixes[0]}" if out is None else Path(out)
    if row.series_of and path.suffix.lower() in row.suffixes[1:]:  # of a frame
        path = path.with_suffix(row.suffixes[0])
    try:
        if path.is_dir():
            raise InputError(f"--out {path}: is a directory; give a file")
        if path.resolve() == run.resolve() or (path.resolve().parent == home and path.name in FILES):
            raise InputError(f"--out {path}: is a file of the run itself; give another name")
        check_free(path, *([row.series_of(path)] if row.series_of else []), overwrite=overwrite)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = beside(path)
        new.touch()
        new.unlink(missing_ok=True)  # another process may check the same name
    except FileExistsError:
        raise InputError(f"--out {path}: {path.parent} is not a directory; give another") from None
    except OSError as error:
        raise InputError(f"--out {path}: cannot be written: {error.strerror}") from None
    return path
