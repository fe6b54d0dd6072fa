"""checkpoint.h5: all that a run needs to go on as if it had never stopped.

It holds what the next step starts from as it is in memory (velocities at half steps, whatever a rotational integrator keeps,
bodies in the order of the kernels), and nothing that is rebuilt from it. There is no state of contacts, because these forces
have no memory, and none of random numbers, because all are drawn before the first step. The lists are made anew: of these
the skin and the age are kept, which tell how the next ones are made; forces do not depend on the lists, to the last bit.

The file is HDF5 with a user block that holds the SHA-256 of all the rest, so that a damaged file is known before HDF5 reads
it. It is written beside the last one, synced to disk, and takes its place; the last one stays as checkpoint.previous.h5.
"""

import difflib
import hashlib
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..engine.compile.cache import processor, source_digest
from ..engine.state import LANES
from ..errors import InputError
from ..machine import version
from ..model.building import Model
from ..scenario.reading import Scenario, parse
from .trajectory import element

Array = NDArray[np.float64]
CURRENT, PREVIOUS = "checkpoint.h5", "checkpoint.previous.h5"
HEAD = 512  # bytes of the user block
LONGEST = 1e12  # s that a run may have taken
VERSIONS = ("minidem", "kernels", "numba", "processor")  # of Origin: what may change the last digits


@dataclass(frozen=True)
class State:
    """Bodies are in the order of the kernels, columns as in core.state.Bodies."""

    step: int
    initial_energy: float  # J
    initial_speed: float  # of the fastest point, m/s
    rank: NDArray[np.int64]  # (n,) the column of each body of the model
    position: Array  # (3, n) m, at step n
    velocity: Array  # (3, n) m/s, at step n - 1/2
    orientation: Array  # (4, m) principal axes -> world, at step n
    spin: Array  # (k, m) what the rotational integrator keeps
    force: Array  # (3, n) N, at step n
    torque: Array  # (3, m) N m, at step n
    skin: Array  # (2,) of the lists and of the close lists, m
    age: NDArray[np.int64]  # (2,) steps since these were made


@dataclass(frozen=True)
class Checkpoint:
    state: State
    origin: dict[str, str]  # what it is a state of; see origin_of
    frames: int  # recorded up to here
    rows: int  # of the energy log
    wall_s: float  # the run took so far


def origin_of(scenario: Scenario, text: str, model: Model) -> dict[str, str]:
    """All that decides what the next step makes of a state."""
    origin = {
        "scenario.toml": text,
        "resolved.toml": scenario.to_toml(),
        "minidem": version("minidem"),
        "kernels": source_digest(),
        "numba": version("numba"),
        "processor": processor(),
    }
    for clump in model.clumps:  # a file may have changed
        what = (clump.body_spheres, clump.principal_inertia, clump.principal_axes, np.float64(clump.mass))
        origin[f"clump.{clump.name}"] = hashlib.sha256(b"".join(values.tobytes() for values in what)).hexdigest()
    return origin


def resolves_to(then: dict[str, str], scenario: Scenario) -> bool:
    """Whether the scenario of an origin is this one: another version may write it in another way."""
    try:
        return parse(then.get("resolved.toml", ""), directory=os.sep) == scenario
    except InputError:
        return False


def differences(then: dict[str, str], now: dict[str, str], but: tuple[str, ...] = ()) -> list[str]:
    """Lines for people."""
    lines = []
    for name in [name for name in now | then if name not in but and then.get(name) != now.get(name)]:
        old, new = then.get(name, "none"), now.get(name, "none")
        if name.endswith(".toml"):
            changes = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
            lines += [f"{name}:", *(f"  {line}" for line in changes if not line.startswith("@@"))]
        elif name.startswith("clump."):
            lines.append(f"{name}: its spheres or masses are others now; was a file changed?")
        else:
            lines.append(f"{name}: was {old}, is {new}")
    return lines


def write_checkpoint(directory: Path, checkpoint: Checkpoint) -> None:
    new = directory / f"{CURRENT}.new"
    try:
        new.unlink(missing_ok=True)
        with h5py.File(new, "w", userblock_size=HEAD) as file:
            for field in fields(State):
                file[f"state/{field.name}"] = getattr(checkpoint.state, field.name)
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
        if (directory / CURRENT).exists():
            os.replace(directory / CURRENT, directory / PREVIOUS)
        os.replace(new, directory / CURRENT)
        sync(directory)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def head_of(raw: Any) -> bytes:
    """The user block of a file."""
    raw.seek(HEAD)
    return f"minidem checkpoint\nsha256 {hashlib.file_digest(raw, 'sha256').hexdigest()}\n".encode().ljust(HEAD, b"\0")


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_checkpoint(path: Path) -> Checkpoint:
    damaged = InputError(f"{path}: not a whole checkpoint")
    if not path.is_file():  # a pipe might never end
        raise damaged
    try:
        with open(path, "rb") as raw:
            if raw.read(HEAD) != head_of(raw):
                raise damaged
        with h5py.File(path, "r") as file:

            def value(name: str) -> Any:
                found = element(file, name)
                if found.dtype.kind not in "iuf" or found.external or found.is_virtual or found.chunks:
                    raise damaged
                if found.nbytes > min(found.id.get_storage_size(), path.stat().st_size):
                    raise damaged  # nothing in this file stands behind the size that it names
                return found[()]

            state = {field.name: value(f"state/{field.name}") for field in fields(State)}
            state |= {name: state[name].item() for name in ("step", "initial_energy", "initial_speed")}
            origin = {name: value(f"origin/{name}").tobytes().decode() for name in element(file, "origin")}
            frames, rows, wall_s = (value(name).item() for name in ("frames", "rows", "wall_s"))
            return Checkpoint(State(**state), origin, frames, rows, float(wall_s))
    except (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError):
        raise damaged from None


def last_checkpoint(directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """The last whole one, None if there is none yet, and what is to be said about it."""
    notes: list[str] = []
    for path in (directory / CURRENT, directory / PREVIOUS):
        if os.path.lexists(path):
            try:
                return read_checkpoint(path), notes
            except InputError as error:
                notes.append(f"{error}; looking for the one before")
    if notes:
        remedy = f"start again with: minidem run {directory / 'scenario.toml'} --out ANOTHER"
        raise InputError(f"{directory}: no checkpoint is whole; {remedy}")
    return None, notes


def check_checkpoint(last: Checkpoint, scenario: Scenario, model: Model, values: int, directory: Path) -> None:
    """That it is one of this run, with an integrator that keeps so many `values`."""
    state, n = last.state, len(model.species)
    m = n + -n % LANES
    wanted = {"rank": (n,), "position": (3, n), "velocity": (3, n), "orientation": (4, m), "spin": (values, m)}
    wanted |= {"force": (3, n), "torque": (3, m), "skin": (2,), "age": (2,)}
    kinds = {name: np.int64 if name in ("rank", "age") else np.float64 for name in wanted}
    fits = all(getattr(state, name).shape == shape for name, shape in wanted.items())
    fits = fits and all(getattr(state, name).dtype == kind for name, kind in kinds.items())
    most = ((state.step, model.steps), (last.frames, scenario.output.frames), (last.rows, scenario.output.energies))
    fits = fits and all(isinstance(count, int) and 0 <= count <= limit for count, limit in most)
    fits = fits and np.array_equal(np.sort(state.rank), np.arange(n)) and 0 <= last.wall_s < LONGEST
    if not fits:
        raise InputError(f"{directory / CURRENT}: not a checkpoint of this run")
