"""Results of a study: one line of JSON per finished run, and tables made from them.

A file of records has one writer at a time; each slice of a study (--array) has its own file. A last line that is incomplete
or half on the disk, left by a killed writer or a power cut, does not count: that cell is run again.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError, WriteError
from ..files.locks import locks
from ..files.spreadsheets import csv_text
from ..files.whole import is_leftover, make_directory, replace_hint, sync, write_whole
from ..small_files import is_finite, json_of, lines_of
from .identity import difference, identity_of
from .plan import Cell, Study

Record = dict[str, Any]

RESULTS = (  # the same on every machine and with every executor; drifts as in `run --json`, drift_free is of its "edges"
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
    "drift_free",
    "momentum_change",
    "angular_momentum_change",
)
TIMING = ("wall_s", "us_per_step", "host", "ended")  # different each time
TEXTS = {"status", "reason", "host", "ended"}
NUMBERS = {*RESULTS, *TIMING} - TEXTS
ENERGIES = {"energy_initial", "energy_final"}  # which may be negative
REMEDY = "remove the line"
LARGEST_FILE, LONGEST_LINE = 2**33, 2**20  # bytes
FILES = ("study.toml", "study.json", "table.csv", "timing.csv")


def records_name(part: tuple[int, int] | None = None) -> str:
    """Name of the file of records of the whole study, or of slice i of n."""
    return "records.jsonl" if part is None else f"records-{part[0]}-of-{part[1]}.jsonl"


def prepare_directory(directory: Path, study: Study, overwrite: bool = False) -> None:
    """Make a directory the one of this study, or check that it is; with `overwrite`, remove earlier results."""
    try:
        make_directory(directory)
        found = sorted(path.name for path in directory.iterdir())
        other = [name for name in found if name not in FILES and not is_leftover(name)]
        if other and "study.json" not in found:
            raise InputError(f"{directory}: holds other files ({', '.join(other[:3])}); give an empty directory with --out")
        if found and overwrite:
            for path in record_files(directory):
                with exclusive(path):
                    path.unlink()
            for name in ("table.csv", "timing.csv"):
                (directory / name).unlink(missing_ok=True)
            shutil.rmtree(directory / "runs", ignore_errors=True)
            sync(directory)  # before the new study.json: earlier results are none of its
        if (directory / "study.json").exists() and not overwrite:
            check_identity(directory, study)
        else:
            write_whole(directory / "study.json", json.dumps(study.identity, indent=1) + "\n")
        write_whole(directory / "study.toml", study.text)
        sync(directory)  # before anything that only a study may have
        if study.keep == "runs":
            (directory / "runs").mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory}: cannot be written ({error.strerror}); give another --out") from None


def check_identity(directory: Path, study: Study) -> None:
    """Raise InputError if the directory is that of another study."""
    there = identity_of(directory)
    if there != study.identity:
        what = f"was made by another study; {replace_hint()}. The difference:"
        raise InputError(f"{directory}: {what}\n{difference(there, study.identity)}")


class exclusive:
    """Context manager: holds the lock of a file that one process at a time may write; InputError if another has it."""

    def __init__(self, path: Path):
        self.path = path
        self.file: BinaryIO

    def __enter__(self) -> Any:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            handle = os.open(self.path, flags, 0o666)
        except OSError as error:
            what = "is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise InputError(f"{self.path}: cannot be written ({what}); give another --out") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise InputError(f"{self.path}: not a regular file; remove it, or give another --out")
        self.file = open(handle, "ab+", buffering=0)
        if not locks(handle):
            self.file.close()
            raise InputError(f"{self.path}: another process is running this study; wait for it or stop it")
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


class Records(exclusive):
    """Appends the records of one process to a file; each is on the disk before the next one is written."""

    def __enter__(self) -> Any:
        super().__enter__()
        size = self.file.seek(0, os.SEEK_END)
        begin = self.file.seek(max(0, size - 2 * LONGEST_LINE))
        with open(self.file.fileno(), "rb", closefd=False) as buffered:  # which reads as much as it is asked for
            kept = whole_lines(buffered.read(2 * LONGEST_LINE))
        if begin > 0 and not kept:
            self.file.close()
            raise InputError(f"{self.path}: the last line is longer than {LONGEST_LINE} bytes; remove it")
        self.file.truncate(begin + len(kept))
        sync(self.path.parent)  # the names of this file and of runs/
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


def whole_lines(text: bytes) -> bytes:
    """A file of records up to its last whole line. What a power cut leaves of the last record may be zeros, in full or up to
    any byte."""
    lines = text[: text.rfind(b"\n") + 1]
    before = lines[:-1].rfind(b"\n") + 1
    return lines[:before] if b"\0" in lines[before:] else lines


def record_files(directory: Path) -> list[Path]:
    """The files of records in a study directory."""
    return sorted(directory.glob("records*.jsonl"))


def read_records(directory: Path, cells: int) -> dict[int, Record]:
    """The record of each cell that has one, by its number. Of several, a successful one counts, else the last."""
    records: dict[int, Record] = {}
    for path in record_files(directory):
        lines = list(lines_of(path, LARGEST_FILE, LONGEST_LINE, REMEDY))
        for number, line in lines:
            if not line.endswith("\n"):  # incomplete: being written, or its writer was killed
                continue
            if number == lines[-1][0] and "\0" in line:  # what a power cut left of it
                continue
            record = json_of(line.rstrip(), path, REMEDY, number)
            if fault := fault_of(record, cells):
                raise InputError(f"{path}: line {number}: no record of this study: {fault}; {REMEDY}")
            cell = record["cell"]
            before = records.get(cell)
            if before is None or before["status"] != "ok":
                records[cell] = record
            elif record["status"] == "ok" and results_of(before) != results_of(record):
                raise InputError(f"{path}: line {number}: cell {cell} has two results that differ; remove one of them")
    return records


def fault_of(record: Any, cells: int) -> str:
    """What is wrong with a value that should be the record of one of so many cells; empty if nothing is."""
    if not isinstance(record, dict):
        return "must be a JSON object"
    for name in ("cell", "status"):
        if name not in record:
            return f"{name} is missing"
    if type(record["cell"]) is not int or not 0 <= record["cell"] < cells:
        return f"cell must be a whole number from 0 to {cells - 1}"
    for name, value in record.items():
        if name in TEXTS and not isinstance(value, str):
            return f"{name} must be text"
        if name in NUMBERS and not (value is None or is_finite(value)):
            return f"{name} must be a finite number or null"
        if name in NUMBERS - ENERGIES and value is not None and value < 0:
            return f"{name} must not be negative"
    return ""


def results_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that must be the same for every run of the cell."""
    return {name: record.get(name) for name in RESULTS}


def write_tables(directory: Path, axes: Iterable[str], cells: Iterable[Cell], records: Mapping[int, Record]) -> None:
    """Write table.csv (cell, axes and results: the same bytes for the same study) and timing.csv (different each time)."""
    axes, results, timing = list(axes), [], []
    for cell in cells:
        record = records.get(cell.number, {"status": "missing"})
        results.append([cell.number, *cell.changes.values(), *(record.get(name) for name in RESULTS)])
        timing.append([cell.number, *(record.get(name) for name in TIMING)])
    try:
        for name, header, rows in (
            ("table.csv", ["cell", *axes, *RESULTS], results),
            ("timing.csv", ["cell", *TIMING], timing),
        ):
            write_whole(directory / name, csv_text([header, *rows]))
        sync(directory)
    except OSError as error:
        what = f"table.csv and timing.csv cannot be written ({error.strerror}); the records are safe"
        raise WriteError(f"{directory}: {what}") from None
