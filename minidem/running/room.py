"""The room that a run needs on the disk or in memory."""

import os
import shutil
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files.checkpoint import State
from ..files.names import FILES
from ..files.series import CHUNK, FRAME, LOG, NUMBERS
from ..machine import available_memory, in_bytes
from ..model.building import Model
from ..scenario.reading import Scenario

CSV_NUMBER = 22  # bytes of a number in energy.csv, with its comma
CHECKPOINTS = 3  # the last, the one before, and one that is being written


def rows_of(scenario: Scenario, model: Model) -> dict[str, int]:
    """The numbers of frames and of rows of the energy log, by their key in [output]."""
    return {key: min(getattr(scenario.output, key), model.steps + 1) for key in ("frames", "energies")}


def trajectory_bytes(scenario: Scenario, model: Model) -> dict[str, int]:
    """Bytes of the frames and of the energy log in the trajectory, by their key in [output]; before compression."""
    rows, output = rows_of(scenario, model), scenario.output
    numbers = len(model.species) * sum(FRAME[name][0] for name in output.fields)
    frame = 16 + np.dtype(NUMBERS[output.precision]).itemsize * numbers  # 16 of step and time
    return {"frames": rows["frames"] * frame, "energies": rows["energies"] * 8 * (2 + len(LOG) + 6)}


def run_bytes(scenario: Scenario, model: Model, state: State) -> int:
    """Bytes of a whole run directory, before compression; `state` is what a checkpoint holds."""
    log = rows_of(scenario, model)["energies"] * CSV_NUMBER * (2 + len(LOG))
    begun = CHUNK * (len(scenario.output.fields) + len(LOG) + 2)  # chunks that are not full
    trajectory = sum(trajectory_bytes(scenario, model).values()) + begun
    return trajectory + log + CHECKPOINTS * sum(array.nbytes for array in state.values())


def free_disk(directory: Path, copied: bool = False) -> int:
    """Free bytes on the disk of a run directory. Earlier files of a run there are replaced and count as free, unless they
    are `copied`."""
    there = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    earlier = [] if copied else [directory / name for name in FILES if os.path.lexists(directory / name)]
    return shutil.disk_usage(there).free + sum(path.lstat().st_size for path in earlier)


def check_room(directory: Path | None, scenario: Scenario, model: Model, copied: bool) -> None:
    """Raise InputError if the trajectory of a run would not fit on the disk, or in memory if there is no directory."""
    needed = trajectory_bytes(scenario, model)
    free, where = available_memory(), "of memory"
    if directory is not None:
        free, where = free_disk(directory, copied), f"on the disk of {directory}"
    if directory is not None and scenario.output.compression:
        return  # nobody knows how small it becomes; `minidem check` warns
    if free is not None and sum(needed.values()) > free:
        key = max(needed, key=lambda key: needed[key])
        rows = rows_of(scenario, model)[key]
        sizes = f"{rows} of them need {in_bytes(needed[key])} {where}, {in_bytes(free)} are free"
        raise InputError(f"{scenario.name}: output.{key}: {sizes}; record fewer")
