"""checkpoint.h5: all that a run needs to continue as if it had never stopped.

It holds the arrays that the next step starts from, as they are in memory, and nothing that is rebuilt from them. Which
arrays these are is not known here: the caller passes them by name, with their units.

The file is HDF5 with a user block that holds the SHA-256 of the rest, so that damage is found before HDF5 reads the file. It
is written beside the last one, synced to the disk, and replaces it; the last one stays as checkpoint.previous.h5.
"""

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..scenario.reading import Scenario, parse
from .chunks import Places
from .hdf5 import DAMAGE, element, group_at, members
from .names import CHECKPOINT, PREVIOUS
from .series import fixed
from .whole import replacing

HEAD = 512  # bytes of the user block
MOST_NAMES = 1000  # of datasets of a state, which has about forty
LAYOUT = 5  # raised when the names of the datasets change

State = dict[str, NDArray[Any]]  # what the next step starts from, by name


@dataclass(frozen=True)
class Checkpoint:
    """A state of a run, and what was recorded up to it."""

    state: State
    origin: dict[str, str]  # what the state depends on: scenario, versions, clumps
    frames: int  # in the trajectory
    rows: int  # in the energy log
    places: Places  # of these in the trajectory's file
    wall_s: float  # wall time of all steps, s


def resolves_to(then: dict[str, str], scenario: Scenario) -> bool:
    """Whether the resolved scenario of an origin is this one, however another version wrote it."""
    try:
        return parse(then.get("resolved.toml", ""), directory=os.sep) == scenario
    except InputError:
        return False


COMPARED, SHOWN, WIDTH = 10_000, 30, 200  # lines of a text; of them, and characters of a line, in a message


def differences(then: dict[str, str], now: dict[str, str], but: tuple[str, ...] = ()) -> list[str]:
    """Lines that say how two origins differ, except in the entries `but`."""
    lines = []
    for name in [name for name in now | then if name not in but and then.get(name) != now.get(name)]:
        old, new = then.get(name, "none"), now.get(name, "none")
        if name.endswith(".toml"):
            before, after = (text.splitlines()[:COMPARED] for text in (old, new))
            found = difflib.unified_diff(before, after, n=0, lineterm="")
            changes = [line for line in found if not line.startswith("@@")][2:]
            lines += [f"{name}:", *(f"  {line}" for line in changes[:SHOWN])]
            lines += [f"  ... and {len(changes) - SHOWN} lines more"] if len(changes) > SHOWN else []
        elif name.startswith("clump."):
            lines.append(f"{name}: its spheres or masses have changed; was a file edited?")
        elif name.startswith("plugin."):
            what = "it was not from a plugin before" if old == "none" else f"its SHA-256 was {old[:16]}..., is {new[:16]}"
            lines.append(f"{name}: the plugin has changed: {what}")
        else:
            lines.append(f"{name}: was {old[:WIDTH]}, is {new[:WIDTH]}")
    return [line[:WIDTH] for line in lines]


def write_checkpoint(directory: Path, checkpoint: Checkpoint, units: Mapping[str, str]) -> None:
    """Replace the checkpoint of a run directory; `units` has the unit of each array of the state. Its name is on the disk
    only after a `sync` of the directory: until then, the old one may come back."""
    with replacing(directory / CHECKPOINT, locked=True) as new:
        with h5py.File(new, "x", userblock_size=HEAD) as file:
            for name, values in checkpoint.state.items():
                fixed(file, f"state/{name}", values, units[name])
            for name, text in checkpoint.origin.items():
                file[f"origin/{name}"] = np.frombuffer(text.encode(), np.uint8)
            places = file.create_group("places")
            for name, offsets in checkpoint.places.items():
                fixed(places, name, offsets, "1")
            for name in ("frames", "rows", "wall_s"):
                file[name] = getattr(checkpoint, name)
        with open(new, "r+b") as raw:
            head = head_of(raw)
            raw.seek(0)
            raw.write(head)
            raw.flush()
            os.fsync(raw.fileno())
        if (directory / CHECKPOINT).exists():
            os.replace(directory / CHECKPOINT, directory / PREVIOUS)


def head_of(raw: Any) -> bytes:
    """The user block that belongs to an open file."""
    raw.seek(HEAD)
    digest = hashlib.file_digest(raw, "sha256").hexdigest()
    return f"minidem checkpoint {LAYOUT}\nsha256 {digest}\n".encode().ljust(HEAD, b"\0")


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a file; InputError if it is damaged or of another layout."""
    damaged = InputError(f"{path}: not a whole checkpoint")
    if not path.is_file():  # a pipe might never end
        raise damaged
    try:
        with open(path, "rb") as raw:
            head = raw.read(HEAD)
            if head.startswith(b"minidem checkpoint") and not head.startswith(b"minidem checkpoint %d\n" % LAYOUT):
                raise InputError(f"{path}: not a whole checkpoint for this version of minidem")
            if head != head_of(raw):
                raise damaged
        with h5py.File(path, "r") as file:
            left = path.stat().st_size  # bytes that there may be; names may be links to one dataset

            def value(name: str) -> Any:
                nonlocal left
                found = element(file, name)
                if found.dtype.kind not in "iuf" or found.external or found.is_virtual or found.chunks:
                    raise damaged
                left -= found.nbytes
                if left < 0 or found.nbytes > found.id.get_storage_size():
                    raise damaged  # it declares more than the file holds
                return found[()]

            state, places = (
                {name: np.asarray(value(f"{group}/{name}")) for name in dataset_names(group_at(file, group), path)}
                for group in ("state", "places")
            )
            origin = {name: value(f"origin/{name}").tobytes().decode() for name in members(group_at(file, "origin"), path)}
            frames, rows, wall_s = (value(name).item() for name in ("frames", "rows", "wall_s"))
            return Checkpoint(state, origin, frames, rows, places, float(wall_s))
    except DAMAGE:
        raise damaged from None


def dataset_names(group: h5py.Group, path: Path) -> list[str]:
    """Paths of the datasets in a group of the file at `path` and in the groups in it, of which there are few."""
    names: list[str] = []
    for name in members(group, path):
        found = element(group, name)
        names += [f"{name}/{inner}" for inner in members(found, path)] if isinstance(found, h5py.Group) else [name]
        if len(names) > MOST_NAMES:
            raise ValueError(f"{group.name} names more than {MOST_NAMES} datasets")
    return names


def last_checkpoint(directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """The last whole checkpoint of a run directory, None if there is none yet, and notes about damaged ones."""
    faults: list[str] = []
    for path in (directory / CHECKPOINT, directory / PREVIOUS):
        if os.path.lexists(path):
            try:
                return read_checkpoint(path), [f"{fault}; looking for the one before" for fault in faults]
            except InputError as error:
                faults.append(str(error))
    if faults:
        remedy = f"start again with: minidem run {directory / 'scenario.toml'} --out ANOTHER"
        raise InputError("\n  ".join([f"{directory}: no checkpoint is whole; {remedy}", *faults]))
    return None, []
