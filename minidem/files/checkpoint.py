"""checkpoint.h5: all that a run needs to continue as if it had never stopped.

It holds the arrays that the next step starts from, as they are in memory, and nothing that is rebuilt from them. Which
arrays these are is not known here: the caller passes them by name, with their units.

The file is HDF5 with a user block that holds the SHA-256 of the rest, so that damage is found before HDF5 reads the file. It
is written beside the last one, synced to disk, and replaces it; the last one stays as checkpoint.previous.h5.
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
from .hdf5 import DAMAGE, element
from .names import CHECKPOINT, PREVIOUS
from .series import fixed
from .whole import replacing, sync

HEAD = 512  # bytes of the user block
LAYOUT = 4  # raised when the names of the datasets change

State = dict[str, NDArray[Any]]  # what the next step starts from, by name


@dataclass(frozen=True)
class Checkpoint:
    """A state of a run, and what was recorded up to it."""

    state: State
    origin: dict[str, str]  # what the state depends on: scenario, versions, clumps
    frames: int  # in the trajectory
    rows: int  # in the energy log
    wall_s: float  # wall time of all steps, s


def resolves_to(then: dict[str, str], scenario: Scenario) -> bool:
    """Whether the resolved scenario of an origin is this one, however another version wrote it."""
    try:
        return parse(then.get("resolved.toml", ""), directory=os.sep) == scenario
    except InputError:
        return False


def differences(then: dict[str, str], now: dict[str, str], but: tuple[str, ...] = ()) -> list[str]:
    """Lines that say how two origins differ, except in the entries `but`."""
    lines = []
    for name in [name for name in now | then if name not in but and then.get(name) != now.get(name)]:
        old, new = then.get(name, "none"), now.get(name, "none")
        if name.endswith(".toml"):
            changes = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
            lines += [f"{name}:", *(f"  {line}" for line in changes if not line.startswith("@@"))]
        elif name.startswith("clump."):
            lines.append(f"{name}: its spheres or masses have changed; was a file edited?")
        else:
            lines.append(f"{name}: was {old}, is {new}")
    return lines


def write_checkpoint(directory: Path, checkpoint: Checkpoint, units: Mapping[str, str]) -> None:
    """Replace the checkpoint of a run directory; `units` has the unit of each array of the state."""
    with replacing(directory / CHECKPOINT, locked=True) as new:
        with h5py.File(new, "x", userblock_size=HEAD) as file:
            for name, values in checkpoint.state.items():
                fixed(file, f"state/{name}", values, units[name])
            for name, text in checkpoint.origin.items():
                file[f"origin/{name}"] = np.frombuffer(text.encode(), np.uint8)
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
    sync(directory)


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

            def value(name: str) -> Any:
                found = element(file, name)
                if found.dtype.kind not in "iuf" or found.external or found.is_virtual or found.chunks:
                    raise damaged
                if found.nbytes > min(found.id.get_storage_size(), path.stat().st_size):
                    raise damaged  # it declares more than the file holds
                return found[()]

            state = {name: np.asarray(value(f"state/{name}")) for name in dataset_names(element(file, "state"))}
            origin = {name: value(f"origin/{name}").tobytes().decode() for name in element(file, "origin")}
            frames, rows, wall_s = (value(name).item() for name in ("frames", "rows", "wall_s"))
            return Checkpoint(state, origin, frames, rows, float(wall_s))
    except DAMAGE:
        raise damaged from None


def dataset_names(group: h5py.Group) -> list[str]:
    """Paths of the datasets in a group and in the groups in it."""
    names: list[str] = []
    for name in group:
        found = element(group, name)
        names += [f"{name}/{inner}" for inner in found] if isinstance(found, h5py.Group) else [name]
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
