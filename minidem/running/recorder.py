"""Write a run directory: trajectory.h5 (H5MD 1.1), energy.csv, checkpoint.h5, manifest.json, and the scenario.

The trajectory is written in HDF5's single-writer-multiple-readers mode, so that it is whole at any moment: it can be read
while the run is running and after it was killed.
"""

import contextlib
import csv
import math
import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import InputError, WriteError, option
from ..files.checkpoint import Checkpoint, State, write_checkpoint
from ..files.chunks import Places, copy_chunks, places_of
from ..files.hdf5 import opened
from ..files.layout import lay_out
from ..files.manifest import manifest_of, never_begun, new_manifest, now, sha256, write_manifest
from ..files.names import DAMAGED, FILES, holds_a_run, locked
from ..files.series import (
    ENERGIES,
    LARGEST_BUFFER,
    LOG,
    VECTORS,
    append,
    copy_rows,
    logged_lines,
    logged_rows,
)
from ..files.trajectory import Frame, Trajectory
from ..files.whole import beside, make_directory, sync, write_whole
from ..model.building import Model
from ..scenario.reading import Scenario
from .plugged import record_plugins
from .restart import UNITS, origin_of

PARTS = tuple(name for name in ENERGIES if name != "total")  # of the total energy
FLUSH_EVERY = 0.5  # s of wall time between two writes to disk
PACKED_FLUSH_EVERY = 20.0  # s, of compressed frames: each write to a chunk takes new space in the file


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
        self.recorded_to = -1  # last step that was recorded before; a checkpoint precedes the first row
        if after is not None and after.frames + after.rows > 0:
            self.recorded_to = int(after.state["step"])
        self.notes: list[str] = []  # what was found damaged, and what is dropped
        self.totals: list[float] = []  # total energy at each row of the log, J
        self.elastics: list[float] = []  # elastic energy at each row, J
        self.edge_errors: list[float] = []  # energy error of the edges of contacts at each row, J
        self.initials: list[float] = []  # initial energy at each row, J; a program that changes the state changes it
        self.largest_parts = 0.0  # largest sum of the magnitudes of the energy's parts in any row, J
        self._frames: list[Frame] = []
        self._observables: list[tuple[int, float, dict[str, Any]]] = []
        self._buffered = 0  # bytes
        self._flushed = -math.inf
        self._output = scenario.output
        self._series = {"particles/bodies": scenario.output.fields, "observables": (*LOG, *VECTORS)}
        self._places: Places = {}  # of the rows that are in the file
        self._unsynced: set[str] = set()  # files with rows that are not on the disk
        self._file: Any = None
        self._csv: Any = None
        resolved = scenario.to_toml()
        text = text or resolved
        if directory is None:
            self._file = h5py.File(f"{uuid.uuid4()}", "w", driver="core", backing_store=False)
            lay_out(self._file, scenario, model, text, resolved)
            return
        self._origin = origin_of(scenario, text, model)
        try:
            make_directory(directory)
            self._lock = locked(directory)
        except OSError as error:
            raise InputError(f"{directory}: cannot be written ({error}); give another {option('out')}") from None
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
                record_plugins(directory, self._manifest, scenario)
                new = {name: beside(directory / name) for name in ("trajectory.h5", "energy.csv")}
                self._csv = open(new["energy.csv"], "x", newline="")  # noqa: SIM115 - see _finish_manifest
                self._table = csv.writer(self._csv)
                self._table.writerow(["step", "time", *LOG])
                self._file = h5py.File(new["trajectory.h5"], "x", libver=("v110", "v110"))
                lay_out(self._file, scenario, model, text, resolved)
                damaged = after is not None and self._take_over(directory, after)
                self._file.flush()
                self._csv.flush()
                self._file.swmr_mode = True  # a flag in the file: without it, HDF5 opens no file that was not closed
                if after is not None:  # the old files stay until the copies are on the disk
                    for path in new.values():
                        sync(path)
                if damaged and os.path.lexists(directory / "trajectory.h5"):
                    os.replace(directory / "trajectory.h5", directory / DAMAGED)
                for name, path in new.items():
                    os.replace(path, directory / name)
                sync(directory)  # before the manifest says that there is a run, and before the next checkpoint
                write_manifest(directory, self._manifest)
            except (OSError, RuntimeError) as error:  # on a full disk HDF5 cannot close the file either
                with contextlib.suppress(OSError, AttributeError):
                    self._csv.close()
                raise self._no_longer_writable(error) from error
            except BaseException:
                for file in (self._file, self._csv):
                    if file is not None:
                        file.close()
                raise
            opened_here.pop_all()

    def _claim(self, text: str, resolved: str, overwrite: bool) -> None:
        """Write the scenario to the directory; of two processes that try, one gets it. An empty manifest says that no run
        is there, from before an earlier run is removed until all files of the new one are there."""
        assert self.directory is not None
        texts, manifest = {"scenario.toml": text, "resolved.toml": resolved}, self.directory / "manifest.json"
        try:
            if overwrite and manifest.is_symlink():
                manifest.unlink()
            with open(manifest, "wb" if overwrite or never_begun(self.directory) else "xb") as file:
                if overwrite:
                    os.fsync(file.fileno())
            sync(self.directory)
            for name in FILES:
                if name != manifest.name:
                    (self.directory / name).unlink(missing_ok=True)
            for name, content in texts.items():
                write_whole(self.directory / name, content, locked=True)
        except FileExistsError:
            raise holds_a_run(self.directory) from None
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be written ({error}); give another {option('out')}") from None

    def _take_over(self, directory: Path, after: Checkpoint) -> bool:
        """Copy what was recorded up to a checkpoint into the new files; returns whether some of it is damaged. HDF5 does not
        write to a file whose writer was killed, and the old files stay safe until the copies are on the disk."""
        old, step = directory / "trajectory.h5", int(after.state["step"])
        found: dict[str, tuple[int, int] | None] = dict.fromkeys(self._series)  # rows kept and dropped
        with contextlib.suppress(InputError), opened(old) as file:
            for group, names in self._series.items():
                found[group] = copy_rows(file, self._file, group, names, self.recorded_to, old)
        for (group, names), rows in zip(self._series.items(), (after.frames, after.rows), strict=True):
            series = (self._file[group], names, rows, self.recorded_to)
            if (found[group] or (-1, 0))[0] != rows and copy_chunks(old, after.places, *series):
                found[group] = (rows, 0)
        (frames, late_frames), (rows, late_rows) = (counts or (0, 0) for counts in found.values())
        if late_frames + late_rows > 0:
            late = f"{counted(late_frames, 'frame')} and {counted(late_rows, 'row')} of the energy log"
            self.notes.append(f"{directory}: {late} after the checkpoint of step {step} are dropped, and computed again")
        if found["observables"] is not None and rows == after.rows:
            log = logged_rows(self._file["observables"])
        else:
            log = logged_lines(directory / "energy.csv", after.rows)
        self._table.writerows(log)
        columns = dict(zip(LOG, zip(*(map(float, row[2:]) for row in log), strict=True), strict=True)) if log else {}
        self.totals, self.elastics, self.edge_errors = (list(columns.get(k, ())) for k in ("total", "elastic", "edge_error"))
        self.initials = [float(after.state["initial_energy"])] * len(log)  # a changed run cannot be resumed
        parts = [np.abs(columns[name]) for name in PARTS] if log else [np.zeros(1)]
        self.largest_parts = float(np.sum(parts, axis=0).max())
        if None not in found.values() and frames == after.frames:
            return False
        kept = f"{frames} of the {after.frames} frames before step {step} are kept"
        self.notes.insert(0, f"{old}: damaged, set aside as {DAMAGED}; {kept}")
        return True

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.directory is None or kind is None or self._lock < 0:
            return
        full = issubclass(kind, WriteError)  # then HDF5 cannot close the file either
        try:
            if not full and self._file:  # an interrupt may come when it is closed
                self._flush()
                self._close()
            with contextlib.suppress(*([OSError] if full else [])):
                self._finish_manifest("interrupted" if issubclass(kind, KeyboardInterrupt) else "failed", {})
        finally:
            self._unlock()

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
        """Write to disk what has waited for long enough; to be called now and then."""
        wait = PACKED_FLUSH_EVERY if self._output.compression else FLUSH_EVERY
        if time.monotonic() - self._flushed > wait or self._buffered > LARGEST_BUFFER:
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
        frames, rows = self._frames, self._observables
        self._frames, self._observables, self._buffered = [], [], 0  # an interrupt must not have them written twice
        fields = self._output.fields
        rows_of_frames = [(frame.step, frame.time, {name: getattr(frame, name) for name in fields}) for frame in frames]
        append(self._file["particles/bodies"], fields, rows_of_frames)
        append(self._file["observables"], (*LOG, *VECTORS), rows)
        if self.directory is not None:
            for step, time_, values in rows:
                self._table.writerow([step, repr(time_), *(repr(values[name]) for name in LOG)])
            self._csv.flush()
        self._file.flush()
        if frames or rows:
            self._flushed = time.monotonic()
            self._unsynced = {"trajectory.h5", "energy.csv"}

    def _sync(self) -> None:
        """Wait until all that was written is on the disk."""
        assert self.directory is not None
        for name in sorted(self._unsynced):
            sync(self.directory / name)
        self._unsynced = set()

    def _close(self) -> None:
        """Close the trajectory and the energy log."""
        if self._file:
            self._file.close()
            self._unsynced.add("trajectory.h5")  # HDF5 writes its end
        self._csv.close()

    def save(self, state: State, wall_s: float, last: bool = False) -> None:
        """Write a checkpoint, after all that was recorded before it; `wall_s` is the wall time of all steps. Nothing is
        recorded after the `last` one, which is surely on the disk after `finish`."""
        if self.directory is None:
            return
        self._flush()
        frames, rows = len(self._file["particles/bodies/position/step"]), len(self.totals)
        try:
            for group, names in self._series.items():
                series = self._file[group]
                if series[names[0]]["value"].compression is None:  # else chunks move when they grow
                    self._places |= places_of(series, names, len(series[names[0]]["step"]), self._places)
            if last:
                self._close()
            self._sync()
            checkpoint = Checkpoint(state, self._origin, frames, rows, self._places, wall_s)
            write_checkpoint(self.directory, checkpoint, UNITS)
            if not last:
                sync(self.directory)
        except (OSError, RuntimeError) as error:
            raise self._no_longer_writable(error) from error

    def not_resumable(self) -> None:
        """Say in the manifest that the run cannot be resumed, because a program has changed its state."""
        if self.directory is not None and self._manifest.get("resumable", True):
            self._manifest["resumable"] = False
            write_manifest(self.directory, self._manifest)
            sync(self.directory)  # before the next checkpoint

    def finish(self, summary: dict[str, Any], reason: str = "") -> None:
        """Close the files; the manifest gets the summary and, if the run failed, the reason."""
        if self.directory is None or self._file:
            self._flush()
        if self.directory is not None:
            try:
                self._close()
                self._finish_manifest(summary["status"], summary, reason)
            except (OSError, RuntimeError) as error:
                raise self._no_longer_writable(error) from error

    def _finish_manifest(self, status: str, summary: dict[str, Any], reason: str = "") -> None:
        assert self.directory is not None
        try:
            self._csv.close()
            self._sync()
            paths = [self.directory / name for name in FILES if name != "manifest.json"]
            self._manifest |= {
                "ended": now(),
                "status": status,
                **({"reason": reason} if reason else {}),
                "sha256": {path.name: sha256(path) for path in paths if path.is_file()},
                "summary": summary,
            }
            write_manifest(self.directory, self._manifest)
            sync(self.directory)
        finally:
            self._unlock()

    def trajectory(self) -> Trajectory:
        """The trajectory that was recorded."""
        return Trajectory(self._file if self.directory is None else self.directory)


def counted(number: int, what: str) -> str:
    """A number of things, for messages."""
    return f"{number} {what}{'' if number == 1 else 's'}"
