"""Rows of a run as they grow: time-dependent elements of trajectory.h5 (H5MD 1.1), and energy.csv."""

import csv
import math
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import InputError
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
LARGEST_BUFFER = 2**25  # bytes


def fixed(group: h5py.Group, name: str, value: Any, unit: str) -> None:
    """Add a dataset that does not change with time."""
    group.create_dataset(name, data=value).attrs["unit"] = fixed_length(unit)


def series(group: h5py.Group, elements: dict[str, tuple[tuple[int, ...], str]]) -> None:
    """Add empty time-dependent elements, name: (shape, unit), that share one step and one time (H5MD 1.1, by hard links)."""
    step = group.create_dataset(f"{next(iter(elements))}/step", (0,), np.int64, maxshape=(None,), chunks=(1024,))
    time_ = group.create_dataset(f"{next(iter(elements))}/time", (0,), np.float64, maxshape=(None,), chunks=(1024,))
    step.attrs["unit"], time_.attrs["unit"] = fixed_length("1"), fixed_length("s")
    for name, (shape, unit) in elements.items():
        member = group.require_group(name)
        if "step" not in member:
            member["step"], member["time"] = step, time_
        rows = max(1, 2**16 // (8 * int(np.prod(shape, dtype=int))))  # chunks of about 64 kB
        value = member.create_dataset("value", (0, *shape), np.float64, maxshape=(None, *shape), chunks=(rows, *shape))
        value.attrs["unit"] = fixed_length(unit)


def fixed_length(text: str) -> np.bytes_:
    """Text as a string of fixed length, as H5MD wants it. HDF5 stores those of variable length without checksums."""
    return np.bytes_(text.encode())


def append(group: h5py.Group, names: tuple[str, ...], rows: list[tuple[int, float, dict[str, Any]]]) -> None:
    """Append rows of (step, time, values by name). The step is written last, so that readers count only whole rows."""
    if not rows:
        return
    old = len(group[names[0]]["step"])
    columns = [(group[name]["value"], [values[name] for _, _, values in rows]) for name in names]
    columns.append((group[names[0]]["time"], [time_ for _, time_, _ in rows]))
    columns.append((group[names[0]]["step"], [step for step, _, _ in rows]))
    for dataset, values in columns:
        dataset.resize(old + len(rows), axis=0)
        dataset[old:] = np.array(values)
        dataset.flush()  # a full disk raises an error here; later HDF5 would crash


def copy_rows(old: h5py.File, new: h5py.File, group: str, names: tuple[str, ...], last: int, path: Path) -> int | None:
    """Copy the rows of a series up to step `last` from the file at `path`, one buffer at a time. Returns their number, None
    if they cannot be read. The step is written last, as in `append`."""
    parts = [*(f"{name}/value" for name in names), f"{names[0]}/time", f"{names[0]}/step"]
    targets = {part: new[group][part] for part in parts}
    try:
        rows = element(old, group)
        sources = {part: numbers_at(rows, part, (None, *targets[part].shape[1:]), path) for part in parts}
        count = min(map(len, sources.values()))  # a killed writer may have written part of a row
        count = int(np.searchsorted(sources[parts[-1]][:count], last, side="right"))
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
    return count


def logged_rows(observables: h5py.Group) -> list[tuple[str, ...]]:
    """The rows of energy.csv, from the observables of a trajectory."""
    columns = [observables["total"]["step"][:].tolist(), observables["total"]["time"][:].tolist()]
    columns += [observables[name]["value"][:].tolist() for name in LOG]
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


def logged_lines(path: Path, rows: int) -> list[tuple[str, ...]]:
    """The first rows of an energy.csv; InputError if it is damaged."""
    try:
        if path.is_file():  # a pipe might never end
            with open(path, newline="") as file:
                found = [tuple(row) for row in islice(csv.reader(file), 1, 1 + rows)]
            whole = len(found) == rows and all(len(row) == 2 + len(LOG) for row in found)
            if whole and all(math.isfinite(float(value)) for row in found for value in row):
                return found
    except (OSError, ValueError, csv.Error):
        pass
    raise InputError(f"{path.parent}: trajectory.h5 and energy.csv are damaged before the checkpoint; start a new run")
