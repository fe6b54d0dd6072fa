"""Rows of a run as they grow: time-dependent elements of trajectory.h5 (H5MD 1.1), and energy.csv."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import InputError
from ..small_files import csv_of
from .hdf5 import DAMAGE, element, numbers_at

FRAME = {  # name: (components, unit)
    "position": (3, "m"),
    "velocity": (3, "m s-1"),
    "orientation": (4, "1"),
    "angular_velocity": (3, "rad s-1"),
}
ENERGIES = ("kinetic_translational", "kinetic_rotational", "elastic", "gravity", "total")  # J
LOG = (*ENERGIES, "edge_error")  # columns of energy.csv after step and time, J
VECTORS = {"momentum": "kg m s-1", "angular_momentum": "kg m+2 s-1"}
NUMBERS = {"double": np.float64, "single": np.float32}  # output.precision
LARGEST_BUFFER = 2**25  # bytes
CHUNK = 2**16  # bytes, about, that HDF5 stores together
LARGEST_LOG, LONGEST_ROW = 2**33, 4096  # bytes of energy.csv, and of a row: 10^7 rows of at most 200 bytes


def fixed(group: h5py.Group, name: str, value: Any, unit: str) -> None:
    """Add a dataset that does not change with time."""
    group.create_dataset(name, data=value).attrs["unit"] = fixed_length(unit)


def series(
    group: h5py.Group, elements: dict[str, tuple[tuple[int, ...], str]], precision: str = "double", compression: int = 0
) -> None:
    """Add empty time-dependent elements, name: (shape, unit), that share one step and one time (H5MD 1.1, by hard links).
    `compression` is the gzip level of their values, 0 for none."""
    packed = {"compression": "gzip", "compression_opts": compression, "shuffle": True} if compression else {}
    step = group.create_dataset(f"{next(iter(elements))}/step", (0,), np.int64, maxshape=(None,), chunks=(1024,))
    time_ = group.create_dataset(f"{next(iter(elements))}/time", (0,), np.float64, maxshape=(None,), chunks=(1024,))
    step.attrs["unit"], time_.attrs["unit"] = fixed_length("1"), fixed_length("s")
    for name, (shape, unit) in elements.items():
        member = group.require_group(name)
        if "step" not in member:
            member["step"], member["time"] = step, time_
        rows = max(1, CHUNK // (8 * int(np.prod(shape, dtype=int))))
        room: dict[str, Any] = {"maxshape": (None, *shape), "chunks": (rows, *shape)}
        value = member.create_dataset("value", (0, *shape), NUMBERS[precision], **room, **packed)
        value.attrs["unit"] = fixed_length(unit)


def fixed_length(text: str) -> np.bytes_:
    """Text as a string of fixed length, as H5MD wants it. HDF5 stores those of variable length without checksums."""
    return np.bytes_(text.encode())


def parts_of(names: tuple[str, ...]) -> list[str]:
    """The datasets of a series. The step is the last: readers count only the rows that have one."""
    return [*(f"{name}/value" for name in names), f"{names[0]}/time", f"{names[0]}/step"]


def append(group: h5py.Group, names: tuple[str, ...], rows: list[tuple[int, float, dict[str, Any]]]) -> None:
    """Append rows of (step, time, values by name). The step is written last, so that readers count only whole rows."""
    if not rows:
        return
    old = len(group[names[0]]["step"])
    columns = [(group[name]["value"], [values[name] for _, _, values in rows]) for name in names]
    columns.append((group[names[0]]["time"], [time_ for _, time_, _ in rows]))
    columns.append((group[names[0]]["step"], [step for step, _, _ in rows]))
    try:
        _write(columns, old)
    except KeyboardInterrupt:  # a row half written would stay
        _write(columns, old)
        raise


def _write(columns: list[tuple[h5py.Dataset, list[Any]]], first: int) -> None:
    """Write values to datasets from row `first` on."""
    for dataset, values in columns:
        dataset.resize(first + len(values), axis=0)
        dataset[first:] = np.array(values)
        dataset.flush()  # a full disk raises an error here; later HDF5 would crash


def copy_rows(
    old: h5py.File, new: h5py.File, group: str, names: tuple[str, ...], last: int, path: Path
) -> tuple[int, int] | None:
    """Copy the rows of a series up to step `last` from the file at `path`, one buffer at a time. Returns the numbers of rows
    copied and left out, None if they cannot be read. The step is written last, as in `append`."""
    parts = parts_of(names)
    targets = {part: new[group][part] for part in parts}
    try:
        rows = element(old, group)
        sources = {part: numbers_at(rows, part, (None, *targets[part].shape[1:]), path, growing=True) for part in parts}
        whole = min(map(len, sources.values()))  # a killed writer may have written part of a row
        count = int(np.searchsorted(sources[parts[-1]][:whole], last, side="right"))
    except (InputError, *DAMAGE):
        return None
    for part in parts:
        at_once = max(1, LARGEST_BUFFER // (8 * int(np.prod(targets[part].shape[1:], dtype=int))))
        for begin in range(0, count, at_once):
            try:
                values = sources[part][begin : min(begin + at_once, count)]
            except (InputError, *DAMAGE):
                for target in targets.values():
                    target.resize(0, axis=0)
                return None
            targets[part].resize(begin + len(values), axis=0)
            targets[part][begin:] = values
        targets[part].flush()  # a full disk raises an error here; later HDF5 would crash
    return count, whole - count


def logged_rows(observables: h5py.Group) -> list[tuple[str, ...]]:
    """The rows of energy.csv, from the observables of a trajectory."""
    columns = [observables["total"]["step"][:].tolist(), observables["total"]["time"][:].tolist()]
    columns += [observables[name]["value"][:].tolist() for name in LOG]
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


def logged_lines(path: Path, rows: int) -> list[tuple[str, ...]]:
    """The first rows of an energy.csv; InputError if it is damaged."""
    remedy = "start a new run"
    damaged = f"{path.parent}: trajectory.h5 and energy.csv are damaged before the checkpoint"
    found: list[tuple[str, ...]] = []
    try:
        for line, row in islice(csv_of(path, LARGEST_LOG, LONGEST_ROW, remedy), 1, 1 + rows):
            if len(row) != 2 + len(LOG) or not all(map(is_number, row)):
                raise InputError(f"{path}: line {line}: not a row of {2 + len(LOG)} finite numbers; {remedy}")
            found.append(tuple(row))
    except InputError as error:
        raise InputError(f"{damaged}: {error}") from None
    if len(found) < rows:
        raise InputError(f"{damaged}: {path}: has {len(found)} of the {rows} rows; {remedy}")
    return found


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
