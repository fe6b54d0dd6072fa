"""Results of a study: one line of JSON per finished run, and tables made from them.

A file of records has one writer at a time; each slice of a study (--array) has its own file. An incomplete line, left by a
killed writer, does not count: that cell is run again.
"""

import csv
import errno
import io
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError, WriteError
from ..files.whole import is_leftover, replace_hint, write_whole
from .plan import Cell, Study, difference

Record = dict[str, Any]

RESULTS = (  # the same on every machine and with every executor; drifts as in `run --json`
    "status",
    "reason",
    "steps",
    "dt",
    "dt_rayleigh",
    "energy_initial",
    "energy_final",
    "drift_mean",
    "drift_last",
    "drift_max",
    "momentum_change",
    "angular_momentum_change",
)
TIMING = ("wall_s", "us_per_step", "host", "ended")  # different each time
FILES = ("study.toml", "study.json", "table.csv", "timing.csv")


def records_name(part: tuple[int, int] | None = None) -> str:
    """Name of the file of records of the whole study, or of slice i of n."""
    return "records.jsonl" if part is None else f"records-{part[0]}-of-{part[1]}.jsonl"


def prepare_directory(directory: Path, study: Study, overwrite: bool = False) -> None:
    """Make a directory the one of this study, or check that it is; with `overwrite`, remove earlier results."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        found = sorted(path.name for path in directory.iterdir())
        other = [name for name in found if name not in FILES and not is_leftover(name)]
        if other and "study.json" not in found:
            raise InputError(f"{directory}: holds other files ({', '.join(other[:3])}); give an empty directory with --out")
        if found and overwrite:
            for path in record_files(directory):
                with exclusive(path):
                    path.unlink()
            for name in FILES:
                (directory / name).unlink(missing_ok=True)
            shutil.rmtree(directory / "runs", ignore_errors=True)
        if (directory / "study.json").exists():
            check_identity(directory, study)
            return
        write_whole(directory / "study.toml", study.text)
        write_whole(directory / "study.json", json.dumps(study.identity, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{directory}: cannot be written ({error.strerror}); give another --out") from None


def check_identity(directory: Path, study: Study) -> None:
    """Raise InputError if the directory is that of another study."""
    there = identity_of(directory)
    if there != study.identity:
        what = f"was made by another study; {replace_hint()}. The difference:"
        raise InputError(f"{directory}: {what}\n{difference(there, study.identity)}")


def identity_of(directory: Path) -> dict[str, Any]:
    """What the results in a study directory depend on, from its study.json; see Study.identity."""
    try:
        identity = json.loads((directory / "study.json").read_text())
        return {"name": "", "axes": [], "cells": [], **identity}
    except FileNotFoundError:
        raise InputError(f"{directory}: no study here; run one with minidem study STUDY.toml --out {directory}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{directory}/study.json: cannot be read ({error})") from None


def cells_of(identity: Mapping[str, Any]) -> list[Cell]:
    """The cells of a study directory, from its study.json."""
    return [Cell(k, dict(zip(identity["axes"], values, strict=True))) for k, values in enumerate(identity["cells"])]


def lock(file: BinaryIO) -> None:
    """Lock a file until it is closed or this process ends; OSError if another process has the lock."""
    try:
        import fcntl
    except ImportError:  # not on every system
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class exclusive:
    """Context manager: holds the lock of a file that one process at a time may write; InputError if another has it."""

    def __init__(self, path: Path):
        self.path = path
        self.file: BinaryIO

    def __enter__(self) -> Any:
        try:
            self.file = open(self.path, "ab+", buffering=0)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror}); give another --out") from None
        try:
            lock(self.file)
        except OSError:
            self.file.close()
            raise InputError(f"{self.path}: another process is running this study; wait for it or stop it") from None
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


class Records(exclusive):
    """Appends the records of one process to a file; each is on the disk before the next one is written."""

    def __enter__(self) -> Any:
        super().__enter__()
        text = self.path.read_bytes()
        os.truncate(self.path, text.rfind(b"\n") + 1)  # drops an incomplete line
        return self

    def add(self, record: Record) -> None:
        """Append a record and wait until it is on the disk."""
        line = (json.dumps(record) + "\n").encode()
        try:
            if self.file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self.file.fileno())
        except OSError as error:
            remedy = "make room and continue with --resume"
            raise WriteError(f"{self.path}: cannot be written to ({error.strerror}); {remedy}") from None


def record_files(directory: Path) -> list[Path]:
    """The files of records in a study directory."""
    return sorted(directory.glob("records*.jsonl"))


def read_records(directory: Path, cells: int) -> dict[int, Record]:
    """The record of each cell that has one, by its number. Of several, a successful one counts, else the last."""
    records: dict[int, Record] = {}
    for path in record_files(directory):
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):  # incomplete: being written, or its writer was killed
                    continue
                try:
                    record = json.loads(line)
                    cell, status = record["cell"], record["status"]
                    if not 0 <= cell < cells:
                        raise ValueError(f"no cell {cell}")
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(f"{path}: line {number} is no record ({error}); remove the line") from None
                before = records.get(cell)
                if before is None or before["status"] != "ok":
                    records[cell] = record
                elif status == "ok" and results_of(before) != results_of(record):
                    raise InputError(f"{path}: line {number}: cell {cell} has two results that differ; remove one of them")
    return records


def results_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that must be the same for every run of the cell."""
    return {name: record.get(name) for name in RESULTS}


def write_tables(directory: Path, axes: Iterable[str], cells: Iterable[Cell], records: Mapping[int, Record]) -> None:
    """Write table.csv (cell, axes and results: the same bytes for the same study) and timing.csv (different each time)."""
    axes, results, timing = list(axes), [], []
    for cell in cells:
        record = records.get(cell.number, {"status": "missing"})
        values = [repr(value) if isinstance(value, float) else value for value in cell.changes.values()]
        results.append([cell.number, *values, *(written(record.get(name)) for name in RESULTS)])
        timing.append([cell.number, *(written(record.get(name)) for name in TIMING)])
    for name, header, rows in (
        ("table.csv", ["cell", *axes, *RESULTS], results),
        ("timing.csv", ["cell", *TIMING], timing),
    ):
        text = io.StringIO(newline="")
        csv.writer(text).writerows([header, *rows])
        try:
            write_whole(directory / name, text.getvalue())
        except OSError as error:
            raise WriteError(f"{directory / name}: cannot be written ({error.strerror}); the records are safe") from None


def written(value: Any) -> Any:
    """A value as it is written to a table: floats with all digits, None as nothing."""
    return "" if value is None else repr(value) if isinstance(value, float) else value
