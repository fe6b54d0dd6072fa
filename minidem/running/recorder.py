"""Write a run directory: trajectory.h5 (H5MD 1.1), energy.csv, checkpoint.h5, manifest.json, and the scenario.

The trajectory is written in HDF5's single-writer-multiple-readers mode, so that it is whole at any moment: it can be read
while the run is running and after it was killed.
"""

import contextlib
import csv
import getpass
import math
import os
import re
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import InputError, WriteError
from ..files.checkpoint import Checkpoint, State, write_checkpoint
from ..files.hdf5 import opened
from ..files.manifest import manifest_of, never_begun, new_manifest, now, sha256, write_manifest
from ..files.names import DAMAGED, FILES, HOLDS_A_RUN, locked
from ..files.series import (
    ENERGIES,
    FRAME,
    LARGEST_BUFFER,
    LOG,
    VECTORS,
    append,
    copy_rows,
    fixed,
    fixed_length,
    logged_lines,
    logged_rows,
    series,
)
from ..files.trajectory import Frame, Trajectory
from ..files.whole import beside, sync, write_whole
from ..machine import available_memory, in_bytes, version
from ..model.building import Model
from ..scenario.reading import Scenario
from .restart import UNITS, origin_of

PARTS = tuple(name for name in ENERGIES if name != "total")  # of the total energy
FLUSH_EVERY = 0.5  # s of wall time between two writes to disk


def check_room(directory: Path | None, scenario: Scenario, model: Model, copied: bool) -> None:
    """Raise InputError if the trajectory of a run would not fit on the disk, or in memory if there is no directory. Earlier
    files there are replaced and count as free, unless they are `copied`."""
    columns = {"frames": len(model.species) * sum(size for size, _ in FRAME.values()), "energies": len(LOG) + 6}
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
    """Writes one run. Without a directory, the trajectory is kept in memory and there are no other files.

    With `after`, a run is continued: what was recorded up to that checkpoint stays, what was recorded later is dropped.
    Without `resumable`, the manifest says that the run cannot be resumed.
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
        resumable: bool = True,
    ):
        self.directory = directory
        self.resumed = after is not None
        self.notes: list[str] = []  # what was found damaged
        self.totals: list[float] = []  # total energy at each row of the log, J
        self.elastics: list[float] = []  # elastic energy at each row, J
        self.edge_errors: list[float] = []  # energy error of the edges of contacts at each row, J
        self.initials: list[float] = []  # initial energy at each row, J; a program that changes the state changes it
        self.largest_parts = 0.0  # largest sum of the magnitudes of the energy's parts in any row, J
        self._frames: list[Frame] = []
        self._observables: list[tuple[int, float, dict[str, Any]]] = []
        self._buffered = 0  # bytes
        self._flushed = -math.inf
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
        opened_here = contextlib.ExitStack()  # closed if the set-up fails
        opened_here.callback(self._unlock)
        with opened_here:
            if after is None:
                self._claim(text, resolved, overwrite)
            hashes = {name: sha256(directory / name) for name in ("scenario.toml", "resolved.toml")}
            self._manifest = new_manifest(scenario.seed, threads) | {"sha256": hashes}
            if not resumable:
                self._manifest["resumable"] = False
            if after is not None:
                before = manifest_of(directory)
                self._manifest["started"], earlier = before.get("started"), before.get("resumed")
                at = {"step": int(after.state["step"]), "at": now()}
                self._manifest["resumed"] = [*(earlier if isinstance(earlier, list) else ()), at]
            try:
                new = {name: beside(directory / name) for name in ("trajectory.h5", "energy.csv")}
                self._csv = open(new["energy.csv"], "x", newline="")  # noqa: SIM115 - see _finish_manifest
                self._table = csv.writer(self._csv)
                self._table.writerow(["step", "time", *LOG])
                self._file = h5py.File(new["trajectory.h5"], "x", libver=("v110", "v110"))
                self._lay_out(scenario, model, text, resolved)
                damaged = after is not None and self._take_over(directory, after)
                self._file.flush()
                self._csv.flush()
                if after is not None:  # the old files stay until the copies are on the disk
                    for path in new.values():
                        sync(path)
                self._file.swmr_mode = True
                if damaged and os.path.lexists(directory / "trajectory.h5"):
                    os.replace(directory / "trajectory.h5", directory / DAMAGED)
                for name, path in new.items():
                    os.replace(path, directory / name)
                write_manifest(directory, self._manifest)
            except InputError:
                self._file.close()
                self._csv.close()
                raise
            except (OSError, RuntimeError) as error:  # on a full disk HDF5 cannot close the file either
                with contextlib.suppress(OSError, AttributeError):
                    self._csv.close()
                raise self._no_longer_writable(error) from error
            opened_here.pop_all()

    def _claim(self, text: str, resolved: str, overwrite: bool) -> None:
        """Write the scenario to the directory; of two processes that try, one gets it."""
        assert self.directory is not None
        texts = {"scenario.toml": text, "resolved.toml": resolved}
        try:
            for name in FILES if overwrite else ():
                if name not in ("manifest.json", *texts) or (self.directory / name).is_symlink():
                    (self.directory / name).unlink(missing_ok=True)
            (self.directory / "manifest.json").touch(exist_ok=overwrite or never_begun(self.directory))
            for name, content in texts.items():
                write_whole(self.directory / name, content, locked=True)
        except FileExistsError:
            raise InputError(f"{self.directory}: {HOLDS_A_RUN}") from None
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be written ({error}); give another --out") from None

    def _take_over(self, directory: Path, after: Checkpoint) -> bool:
        """Copy what was recorded up to a checkpoint into the new files; returns whether some of it is damaged. HDF5 does not
        write to a file whose writer was killed, and the old files stay safe until the copies are on the disk."""
        old, step = directory / "trajectory.h5", int(after.state["step"])
        names = {"particles/bodies": tuple(FRAME), "observables": (*LOG, *VECTORS)}
        found: dict[str, int | None] = dict.fromkeys(names)
        with contextlib.suppress(InputError), opened(old) as file:
            for group in names:
                found[group] = copy_rows(file, self._file, group, names[group], step, old)
        if found["observables"] == after.rows:
            log = logged_rows(self._file["observables"])
        else:
            log = logged_lines(directory / "energy.csv", after.rows)
        self._table.writerows(log)
        columns = dict(zip(LOG, zip(*(map(float, row[2:]) for row in log), strict=True), strict=True)) if log else {}
        self.totals, self.elastics, self.edge_errors = (list(columns.get(k, ())) for k in ("total", "elastic", "edge_error"))
        self.initials = [float(after.state["initial_energy"])] * len(log)  # a changed run cannot be resumed
        parts = [np.abs(columns[name]) for name in PARTS] if log else [np.zeros(1)]
        self.largest_parts = float(np.sum(parts, axis=0).max())
        frames = found["particles/bodies"]
        if None not in found.values() and frames == after.frames:
            return False
        kept = f"{frames or 0} of the {after.frames} frames before step {step} are kept"
        self.notes.append(f"{old}: damaged, set aside as {DAMAGED}; {kept}")
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
        full = issubclass(kind, WriteError)  # then HDF5 cannot close the file either
        if not full:
            self._flush()
            self._file.close()
        with contextlib.suppress(*([OSError] if full else [])):
            self._finish_manifest("failed", {})

    def _lay_out(self, scenario: Scenario, model: Model, text: str, resolved: str) -> None:
        """Write all but the rows of the trajectory."""
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
        observables: dict[str, tuple[tuple[int, ...], str]] = {name: ((), "J") for name in LOG}
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

    def record_frame(self, frame: Frame) -> None:
        """Add a frame to the trajectory."""
        self._frames.append(frame)
        self._buffered += frame.position.nbytes * 4
        self.flush_if_due()

    def record_observables(self, step: int, time_: float, values: dict[str, Any], initial: float) -> None:
        """Add a row to the energy log: energies (J), momentum and angular momentum by name. `initial` is the initial energy
        (J) that drifts at this step refer to."""
        self._observables.append((step, time_, values))
        self.totals.append(values["total"])
        self.elastics.append(values["elastic"])
        self.edge_errors.append(values["edge_error"])
        self.initials.append(initial)
        self.largest_parts = max(self.largest_parts, sum(abs(values[name]) for name in PARTS))
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write to disk what has waited for FLUSH_EVERY; to be called now and then."""
        if time.monotonic() - self._flushed > FLUSH_EVERY or self._buffered > LARGEST_BUFFER:
            self._flush()

    def _flush(self) -> None:
        try:
            self._write_buffers()
        except (OSError, RuntimeError) as error:  # h5py raises RuntimeError for some of HDF5's errors
            raise self._no_longer_writable(error) from error

    def _no_longer_writable(self, error: Exception) -> WriteError:
        found = re.search(r"error message = '([^']*)'", str(error))  # in the long message of HDF5
        why = found[1] if found else " ".join(str(error).split())
        remedy = f"fix this, then continue with: minidem resume {self.directory}"
        return WriteError(f"{self.directory}: cannot be written to ({why}); {remedy}")

    def _write_buffers(self) -> None:
        append(
            self._file["particles/bodies"],
            tuple(FRAME),
            [(frame.step, frame.time, {name: getattr(frame, name) for name in FRAME}) for frame in self._frames],
        )
        self._frames, self._buffered = [], 0
        append(self._file["observables"], (*LOG, *VECTORS), self._observables)
        if self.directory is not None:
            for step, time_, values in self._observables:
                self._table.writerow([step, repr(time_), *(repr(values[name]) for name in LOG)])
            self._csv.flush()
        self._file.flush()
        self._observables = []
        self._flushed = time.monotonic()

    def save(self, state: State, wall_s: float) -> None:
        """Write a checkpoint, after all that was recorded before it; `wall_s` is the wall time of all steps."""
        if self.directory is None:
            return
        self._flush()
        frames, rows = len(self._file["particles/bodies/position/step"]), len(self.totals)
        try:
            for name in ("trajectory.h5", "energy.csv"):
                sync(self.directory / name)
            write_checkpoint(self.directory, Checkpoint(state, self._origin, frames, rows, wall_s), UNITS)
        except (OSError, RuntimeError) as error:
            raise self._no_longer_writable(error) from error

    def not_resumable(self) -> None:
        """Say in the manifest that the run cannot be resumed, because a program has changed its state."""
        if self.directory is not None and self._manifest.get("resumable", True):
            self._manifest["resumable"] = False
            write_manifest(self.directory, self._manifest)

    def finish(self, summary: dict[str, Any], reason: str = "") -> None:
        """Close the files; the manifest gets the summary and, if the run failed, the reason."""
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
            write_manifest(self.directory, self._manifest)
        finally:
            self._unlock()

    def trajectory(self) -> Trajectory:
        """The trajectory that was recorded."""
        return Trajectory(self._file if self.directory is None else self.directory)


def user_name() -> str:
    """The name of the user, for the trajectory's author."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
