"""The run directory: trajectory.h5 (H5MD 1.1), energy.csv, checkpoint.h5, manifest.json, the scenario as given and resolved.

The trajectory is written in HDF5's single-writer-multiple-readers mode, so that it is whole at any moment: it can be read
while the run goes on and after the run was killed.
"""

import contextlib
import csv
import fcntl
import getpass
import hashlib
import json
import math
import os
import platform
import re
import shutil
import time
import uuid
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import InputError, WriteError
from ..files.checkpoint import Checkpoint, State, origin_of, sync, write_checkpoint
from ..files.trajectory import (
    ENERGIES,
    FILES,
    FRAME,
    VECTORS,
    Frame,
    Trajectory,
    element,
    manifest_of,
    numbers_at,
    opened,
    writer_of,
)
from ..machine import available_memory, in_bytes, version
from ..model.building import Model
from ..scenario.reading import Scenario, parse, read_text

ASIDE = "trajectory.damaged.h5"
HOLDS_A_RUN = "holds a run already; give --overwrite to replace it, or another --out"
FLUSH_EVERY = 0.5  # s of wall time between two writes to disk
LARGEST_BUFFER = 2**25  # bytes


def claimed_directory(directory: Path, overwrite: bool) -> Path:
    """The directory, if a run may be written there."""
    try:
        if directory.exists() and not directory.is_dir():
            raise InputError(f"{directory}: is a file; give a directory with --out")
        found = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; give another directory with --out") from None
    if found and "manifest.json" not in found:
        raise InputError(f"{directory}: holds other files ({', '.join(found[:3])}); give an empty directory with --out")
    if found and not overwrite and not never_begun(directory):
        raise InputError(f"{directory}: {HOLDS_A_RUN}")
    if found:
        os.close(locked(directory))
    return directory


def never_begun(directory: Path) -> bool:
    """Whether a run was killed there before anything was recorded: its manifest is still empty."""
    manifest = directory / "manifest.json"
    return manifest.is_file() and not manifest.is_symlink() and manifest.stat().st_size == 0


def begun_run(directory: Path) -> tuple[Scenario, str, dict[str, Any] | None]:
    """The scenario of a run that is not being written, its text as its author wrote it, and the summary if it is done."""
    if not manifest_of(directory) and not (directory / "resolved.toml").exists():
        if never_begun(directory):
            raise InputError(f"{directory}: the run was killed before it began; start it again with minidem run")
        raise InputError(f"{directory}: not a run directory; give that of a run")
    text, resolved = (read_text(directory / name, regular=True) for name in ("scenario.toml", "resolved.toml"))
    manifest = manifest_of(directory)
    done = manifest.get("summary") if manifest.get("status") == "ok" else None
    os.close(locked(directory))
    return parse(resolved, str(directory / "resolved.toml"), directory), text, done


def check_room(directory: Path | None, scenario: Scenario, model: Model, copied: bool) -> None:
    """Refuse a trajectory that is too large for the disk, or for the memory if there is no directory, before it is begun.
    Earlier files make room for it, unless they are `copied`."""
    columns = {"frames": len(model.species) * sum(size for size, _ in FRAME.values()), "energies": len(ENERGIES) + 6}
    rows = {key: min(getattr(scenario.output, key), model.steps + 1) for key in columns}
    needed = {key: 8 * rows[key] * (2 + columns[key]) for key in columns}
    if directory is None:
        free, where = available_memory(), "of memory"
    else:
        there = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
        earlier = [] if copied else [directory / name for name in FILES if os.path.lexists(directory / name)]
        free, where = (
            shutil.disk_usage(there).free + sum(path.lstat().st_size for path in earlier),
            f"on the disk of {directory}",
        )
    if free is not None and sum(needed.values()) > free:
        key = max(needed, key=lambda key: needed[key])
        sizes = f"{rows[key]} of them need {in_bytes(needed[key])} {where}, {in_bytes(free)} are free"
        raise InputError(f"{scenario.name}: output.{key}: {sizes}; record fewer")


class Recorder:
    """Writes one run. Without a directory the trajectory is kept in memory and the other files are left out.

    With `after`, a run is gone on with: what was recorded up to that checkpoint stays, what was recorded later is dropped.
    """

    def __init__(
        self,
        directory: Path | None,
        scenario: Scenario,
        model: Model,
        text: str,
        overwrite: bool = False,
        threads: int = 1,
        after: Checkpoint | None = None,
    ):
        self.directory = directory
        self.resumed = after is not None
        self.notes: list[str] = []  # what was found damaged
        self.totals: list[float] = []  # energy at each row of the log, J
        self.largest_parts = 0.0  # sum of the sizes of the energy's parts: of all rows the largest, J
        self._frames: list[tuple[int, float, Any]] = []
        self._observables: list[tuple[int, float, dict[str, Any]]] = []
        self._buffered = 0  # bytes
        self._flushed = -math.inf
        check_room(directory, scenario, model, copied=self.resumed)
        resolved = scenario.to_toml()
        text = text or resolved
        if directory is None:
            self._file = h5py.File(f"{uuid.uuid4()}", "w", driver="core", backing_store=False)
            self._lay_out(scenario, model, text, resolved)
            return
        self._origin = origin_of(scenario, text, model)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = locked(directory)
        except OSError as error:
            raise InputError(f"{directory}: cannot be written ({error}); give another --out") from None
        opened_here = contextlib.ExitStack()  # to be closed if it comes to nothing
        opened_here.callback(self._unlock)
        with opened_here:
            if after is None:
                self._claim(text, resolved, overwrite)
            self._manifest = {
                "minidem": version("minidem"),
                "versions": {name: version(name) for name in ("numpy", "numba", "scipy", "h5py", "pydantic")},
                "python": platform.python_version(),
                "platform": platform.platform(),
                "seed": scenario.seed,
                "threads": threads,
                "host": platform.node(),
                "pid": os.getpid(),
                "started": now(),
                "ended": None,
                "status": "running",
                "sha256": {name: sha256(directory / name) for name in ("scenario.toml", "resolved.toml")},
            }
            if after is not None:
                before = manifest_of(directory)
                self._manifest["started"], earlier = before.get("started"), before.get("resumed")
                at = {"step": after.state.step, "at": now()}
                self._manifest["resumed"] = [*(earlier if isinstance(earlier, list) else ()), at]
            try:
                self._csv = open(fresh(directory / "energy.csv.new"), "x", newline="")  # noqa: SIM115 - see _finish_manifest
                self._table = csv.writer(self._csv)
                self._table.writerow(["step", "time", *ENERGIES])
                self._file = h5py.File(fresh(directory / "trajectory.h5.new"), "x", libver=("v110", "v110"))
                self._lay_out(scenario, model, text, resolved)
                damaged = after is not None and self._take_over(directory, after)
                self._file.flush()
                self._csv.flush()
                if after is not None:  # what is there is safe until the copy is
                    sync(directory / "trajectory.h5.new")
                    sync(directory / "energy.csv.new")
                self._file.swmr_mode = True
                if damaged and os.path.lexists(directory / "trajectory.h5"):
                    os.replace(directory / "trajectory.h5", directory / ASIDE)
                for name in ("trajectory.h5", "energy.csv"):
                    os.replace(directory / f"{name}.new", directory / name)
                self._write_manifest()
            except InputError:
                self._file.close()
                self._csv.close()
                raise
            except (OSError, RuntimeError) as error:  # of a full disk: HDF5 could not close the file either
                with contextlib.suppress(OSError, AttributeError):
                    self._csv.close()
                raise self._no_longer_writable(error) from error
            opened_here.pop_all()

    def _claim(self, text: str, resolved: str, overwrite: bool) -> None:
        """The directory for this run: of two at once, one gets it."""
        assert self.directory is not None
        texts = {"scenario.toml": text, "resolved.toml": resolved}
        try:
            for name in FILES if overwrite else ():
                if name not in ("manifest.json", *texts) or (self.directory / name).is_symlink():
                    (self.directory / name).unlink(missing_ok=True)
            (self.directory / "manifest.json").touch(exist_ok=overwrite or never_begun(self.directory))
            for name, content in texts.items():
                with open(fresh(self.directory / f"{name}.new"), "xb") as file:  # x: no link is followed
                    file.write(content.encode())
                os.replace(self.directory / f"{name}.new", self.directory / name)
        except FileExistsError:
            raise InputError(f"{self.directory}: {HOLDS_A_RUN}") from None
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be written ({error}); give another --out") from None

    def _take_over(self, directory: Path, after: Checkpoint) -> bool:
        """What was recorded up to a checkpoint, into the new files; returns whether some of it is damaged. Copied, because
        HDF5 does not write to a file whose writer was killed, and because what is there is safe until the copy is."""
        old = directory / "trajectory.h5"
        names = {"particles/bodies": tuple(FRAME), "observables": (*ENERGIES, *VECTORS)}
        found: dict[str, int | None] = dict.fromkeys(names)
        with contextlib.suppress(InputError), opened(old) as file:
            for group in names:
                found[group] = copy_rows(file, self._file, group, names[group], after.state.step, old)
        if found["observables"] == after.rows:
            log = logged_rows(self._file["observables"])
        else:
            log = logged_lines(directory / "energy.csv", after.rows)
        self._table.writerows(log)
        self.totals = [float(row[-1]) for row in log]
        self.largest_parts = max((sum(abs(float(part)) for part in row[2:-1]) for row in log), default=0.0)
        frames = found["particles/bodies"]
        if None not in found.values() and frames == after.frames:
            return False
        kept = f"{frames or 0} of the {after.frames} frames before step {after.state.step} are kept"
        self.notes.append(f"{old}: damaged, set aside as {ASIDE}; {kept}")
        return True

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.directory is None or kind is None:
            return
        full = issubclass(kind, WriteError)  # then HDF5 could not close the file either
        if not full:
            self._flush()
            self._file.close()
        with contextlib.suppress(*([OSError] if full else [])):
            self._finish_manifest("failed", {})

    def _lay_out(self, scenario: Scenario, model: Model, text: str, resolved: str) -> None:
        file = self._file
        file.create_group("h5md").attrs["version"] = np.array([1, 1], dtype=np.int32)
        file["h5md"].create_group("author").attrs["name"] = fixed_length(user_name())
        creator = file["h5md"].create_group("creator")
        creator.attrs["name"], creator.attrs["version"] = fixed_length("minidem"), fixed_length(version("minidem"))
        units = file["h5md"].create_group("modules/units")
        units.attrs["version"], units.attrs["system"] = np.array([1, 0], dtype=np.int32), fixed_length("SI")

        bodies = file.create_group("particles/bodies")
        box = bodies.create_group("box")
        box.attrs["dimension"] = 3
        box.attrs["boundary"] = np.array([b"none"] * 3)
        if scenario.domain.box is not None:
            fixed(box, "edges", np.array(scenario.domain.box), "m")
        fixed(bodies, "species", model.species.astype(np.int32), "1")
        fixed(bodies, "mass", model.mass, "kg")
        fixed(bodies, "id", np.arange(len(model.species)), "1")
        series(bodies, {name: ((len(model.species), size), unit) for name, (size, unit) in FRAME.items()})
        observables: dict[str, tuple[tuple[int, ...], str]] = {name: ((), "J") for name in ENERGIES}
        series(file.create_group("observables"), observables | {name: ((3,), unit) for name, unit in VECTORS.items()})

        parameters = file.create_group("parameters/minidem")
        fixed(parameters, "scenario", fixed_length(text), "1")
        fixed(parameters, "resolved", fixed_length(resolved), "1")
        for k, clump in enumerate(model.clumps):
            group = parameters.create_group(f"clumps/{k}")
            group.attrs["name"], group.attrs["material"] = fixed_length(clump.name), fixed_length(clump.material)
            fixed(group, "spheres", clump.spheres, "m")
            fixed(group, "mass", clump.mass, "kg")
            fixed(group, "volume", clump.volume, "m+3")
            fixed(group, "center", clump.center, "m")
            fixed(group, "inertia", clump.inertia, "kg m+2")
            if builtin := scenario.clump[clump.name].builtin:
                group.attrs["builtin"] = fixed_length(builtin)
        planes = parameters.create_group("walls/planes")  # without those of the box, which has its own edges
        fixed(planes, "point", np.array([wall.point for wall in scenario.wall]).reshape(-1, 3), "m")
        fixed(planes, "normal", np.array([wall.normal for wall in scenario.wall]).reshape(-1, 3), "1")

    def record_frame(self, step: int, time_: float, frame: Frame) -> None:
        self._frames.append((step, time_, frame))
        self._buffered += frame.position.nbytes * 4
        self.flush_if_due()

    def record_observables(self, step: int, time_: float, values: dict[str, Any]) -> None:
        self._observables.append((step, time_, values))
        self.totals.append(values["total"])
        self.largest_parts = max(self.largest_parts, sum(abs(values[name]) for name in ENERGIES if name != "total"))
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write to disk what has waited for long enough; to be called now and then."""
        if time.monotonic() - self._flushed > FLUSH_EVERY or self._buffered > LARGEST_BUFFER:
            self._flush()

    def _flush(self) -> None:
        try:
            self._write_buffers()
        except (OSError, RuntimeError) as error:  # RuntimeError is h5py's word for some of HDF5's errors
            raise self._no_longer_writable(error) from error

    def _no_longer_writable(self, error: Exception) -> WriteError:
        told = re.search(r"error message = '([^']*)'", str(error))  # in the long story that HDF5 tells
        why = told[1] if told else " ".join(str(error).split())
        go_on = f"when that is mended, go on with: minidem resume {self.directory}"
        return WriteError(f"{self.directory}: cannot be written to ({why}); {go_on}")

    def _write_buffers(self) -> None:
        append(
            self._file["particles/bodies"],
            tuple(FRAME),
            [(step, time_, {name: getattr(frame, name) for name in FRAME}) for step, time_, frame in self._frames],
        )
        self._frames, self._buffered = [], 0
        append(self._file["observables"], (*ENERGIES, *VECTORS), self._observables)
        if self.directory is not None:
            for step, time_, values in self._observables:
                self._table.writerow([step, repr(time_), *(repr(values[name]) for name in ENERGIES)])
            self._csv.flush()
        self._file.flush()
        self._observables = []
        self._flushed = time.monotonic()

    def save(self, state: State, wall_s: float) -> None:
        """A checkpoint, after all that was recorded before it."""
        if self.directory is None:
            return
        self._flush()
        frames, rows = len(self._file["particles/bodies/position/step"]), len(self.totals)
        try:
            for name in ("trajectory.h5", "energy.csv"):
                sync(self.directory / name)
            write_checkpoint(self.directory, Checkpoint(state, self._origin, frames, rows, wall_s))
        except (OSError, RuntimeError) as error:
            raise self._no_longer_writable(error) from error

    def finish(self, summary: dict[str, Any], reason: str = "") -> None:
        self._flush()
        if self.directory is not None:
            try:
                self._file.close()
                self._finish_manifest(summary["status"], summary, reason)
            except (OSError, RuntimeError) as error:
                raise self._no_longer_writable(error) from error

    def _finish_manifest(self, status: str, summary: dict[str, Any], reason: str = "") -> None:
        assert self.directory is not None
        try:
            self._csv.close()
            paths = [self.directory / name for name in FILES if name != "manifest.json"]
            self._manifest |= {
                "ended": now(),
                "status": status,
                **({"reason": reason} if reason else {}),
                "sha256": {path.name: sha256(path) for path in paths if path.is_file()},
                "summary": summary,
            }
            self._write_manifest()
        finally:
            self._unlock()

    def _write_manifest(self) -> None:
        assert self.directory is not None
        new = fresh(self.directory / "manifest.json.new")
        with open(new, "x") as file:  # x: no link is followed
            file.write(json.dumps(self._manifest, indent=2) + "\n")
        os.replace(new, self.directory / "manifest.json")

    def trajectory(self) -> Trajectory:
        return Trajectory(self._file if self.directory is None else self.directory)


def fixed(group: h5py.Group, name: str, value: Any, unit: str) -> None:
    """An element that does not change with time."""
    group.create_dataset(name, data=value).attrs["unit"] = fixed_length(unit)


def series(group: h5py.Group, elements: dict[str, tuple[tuple[int, ...], str]]) -> None:
    """Time-dependent elements, name: (shape, unit), that share one step and one time (H5MD 1.1, by hard links)."""
    step = group.create_dataset(f"{next(iter(elements))}/step", (0,), np.int64, maxshape=(None,), chunks=(1024,))
    time_ = group.create_dataset(f"{next(iter(elements))}/time", (0,), np.float64, maxshape=(None,), chunks=(1024,))
    step.attrs["unit"], time_.attrs["unit"] = fixed_length("1"), fixed_length("s")
    for name, (shape, unit) in elements.items():
        element = group.require_group(name)
        if "step" not in element:
            element["step"], element["time"] = step, time_
        rows = max(1, 2**16 // (8 * int(np.prod(shape, dtype=int))))  # chunks of about 64 kB
        value = element.create_dataset("value", (0, *shape), np.float64, maxshape=(None, *shape), chunks=(rows, *shape))
        value.attrs["unit"] = fixed_length(unit)


def fixed_length(text: str) -> np.bytes_:
    """A string as H5MD wants its attributes. Those of variable length are kept without checksums."""
    return np.bytes_(text.encode())


def append(group: h5py.Group, names: tuple[str, ...], rows: list[tuple[int, float, dict[str, Any]]]) -> None:
    """Append rows of (step, time, values by name); the step goes last, so that readers count only whole rows."""
    if not rows:
        return
    old = len(group[names[0]]["step"])
    columns = [(group[name]["value"], [values[name] for _, _, values in rows]) for name in names]
    columns.append((group[names[0]]["time"], [time_ for _, time_, _ in rows]))
    columns.append((group[names[0]]["step"], [step for step, _, _ in rows]))
    for dataset, values in columns:
        dataset.resize(old + len(rows), axis=0)
        dataset[old:] = np.array(values)
        dataset.flush()  # here a full disk is an error; later HDF5 would crash on it


def copy_rows(old: h5py.File, new: h5py.File, group: str, names: tuple[str, ...], last: int, path: Path) -> int | None:
    """The rows of a series up to step `last`, from the file at `path`, a bufferful at a time; returns their number, None if
    they cannot be read. The step goes last, as in `append`."""
    parts = [*(f"{name}/value" for name in names), f"{names[0]}/time", f"{names[0]}/step"]
    targets = {part: new[group][part] for part in parts}
    unreadable = (InputError, OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError, MemoryError)
    try:
        series = element(old, group)
        sources = {part: numbers_at(series, part, (None, *targets[part].shape[1:]), path) for part in parts}
        count = min(map(len, sources.values()))  # a killed writer may not have written all of a row
        count = int(np.searchsorted(sources[parts[-1]][:count], last, side="right"))
    except unreadable:
        return None
    for part in parts:
        at_once = max(1, LARGEST_BUFFER // (8 * int(np.prod(targets[part].shape[1:], dtype=int))))
        for begin in range(0, count, at_once):
            try:
                values = sources[part][begin : min(begin + at_once, count)]
            except unreadable:
                for target in targets.values():
                    target.resize(0, axis=0)
                return None
            targets[part].resize(begin + len(values), axis=0)
            targets[part][begin:] = values
        targets[part].flush()  # here a full disk is an error; later HDF5 would crash on it
    return count


def logged_rows(observables: h5py.Group) -> list[tuple[str, ...]]:
    """The rows of energy.csv."""
    columns = [observables["total"]["step"][:].tolist(), observables["total"]["time"][:].tolist()]
    columns += [observables[name]["value"][:].tolist() for name in ENERGIES]
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


def logged_lines(path: Path, rows: int) -> list[tuple[str, ...]]:
    """The first rows of an energy.csv."""
    try:
        if path.is_file():  # a pipe might never end
            with open(path, newline="") as file:
                found = [tuple(row) for row in islice(csv.reader(file), 1, 1 + rows)]
            whole = len(found) == rows and all(len(row) == 2 + len(ENERGIES) for row in found)
            if whole and all(math.isfinite(float(value)) for row in found for value in row):
                return found
    except (OSError, ValueError, csv.Error):
        pass
    raise InputError(f"{path.parent}: trajectory.h5 and energy.csv are damaged before the checkpoint; start a new run")


def fresh(path: Path) -> Path:
    """A path with nothing there: no file of an earlier writer, and no link to somewhere else."""
    path.unlink(missing_ok=True)
    return path


def locked(directory: Path) -> int:
    """A handle that keeps others from writing a run there until it is closed, or this process ends."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        process = writer_of(directory)
        who = f"process {process}" if process else "another process"
        raise InputError(f"{directory}: {who} is writing a run there; stop it first, or give another directory") from None
    except OSError:  # a file system without locks
        pass
    return handle


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
