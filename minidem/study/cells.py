"""One cell of a study: its run, and the record of it."""

import math
import platform
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, WriteError
from ..files.manifest import now
from ..machine import map_large_arrays
from ..scenario.plugins import Plugin, activate
from ..scenario.reading import Scenario
from .plan import Cell, changed
from .records import Record


@dataclass(frozen=True)
class Job:
    """What all cells of a study share; sent to the workers."""

    scenario: str  # TOML text of the base scenario
    source: str
    source_directory: str
    keep: str
    directory: str  # of the study; run directories are in its runs/
    plugins: tuple[Plugin, ...] = ()


def run_cell(job: Job, cell: Cell) -> Record:
    """Run a cell and return its record, also if the run fails; WriteError if the run cannot be written."""
    from ..model.times import smallest_rayleigh_time
    from ..running.conduct import run
    from ..scenario.reading import parse

    record: Record = {"cell": cell.number, "status": "failed", "reason": "", "host": platform.node()}
    try:
        for plugin in job.plugins:
            activate(plugin)
        scenario = changed(parse(job.scenario, job.source), cell.changes, job.keep, job.source_directory)
        load_kernels(scenario, job.source)
        out = Path(job.directory) / "runs" / f"{cell.number:06d}" if job.keep == "runs" else None
        if out is not None and out.exists():  # left by a run that was killed or failed
            shutil.rmtree(out)
        result = run(scenario, out, source=job.source, threads=1, on_note=lambda note: None)
        summary, energy = result.summary, result.summary["energy"]
        record |= {"status": summary["status"], "reason": result.reason, "steps": summary["steps"], "dt": summary["dt"]}
        record |= {name: energy[name] for name in ("drift_mean", "drift_last", "drift_max")}
        record["drift_free"] = summary["edges"]["drift_free"]
        record |= {"energy_initial": energy["initial"], "energy_final": energy["final"]}
        record |= {"wall_s": summary["wall_s"], "us_per_step": summary["us_per_step"]}
        spheres = {clump.name: clump.spheres for clump in result.trajectory.clumps}
        record["dt_rayleigh"] = summary["dt"] / smallest_rayleigh_time(scenario, spheres)
        for name in ("momentum", "angular_momentum"):
            record[f"{name}_change"] = largest_change(result.energy[name])
        result.trajectory.close()
    except Exception as error:  # one failed run does not stop a study
        if isinstance(error, WriteError | OSError) or isinstance(error.__context__, OSError):
            what = f"run {cell.number} cannot be kept ({' '.join(str(error).split())})"
            raise WriteError(f"{job.directory}: {what}; make room and continue with --resume") from None
        what = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        record |= {"status": "failed", "reason": f"{what}{error}"}
    return record | {"ended": now()}


def load_kernels(scenario: Scenario, source: str) -> None:
    """Compile or load the kernels of a scenario, one thread at a time: Dask workers may run several cells at once."""
    from ..running.faults import without_time_step_guards
    from ..running.given import kernels_of
    from ..running.simulation import Simulation

    kernels = kernels_of(scenario)
    with LOADING:
        if kernels not in LOADED and threading.current_thread() is not threading.main_thread():
            Simulation(without_time_step_guards(scenario), threads=1, source=source)
            LOADED.add(kernels)


def largest_change(vectors: Any) -> float | None:
    """Largest distance of any of the vectors (rows, 3) from the first; None if it is not finite."""
    with np.errstate(all="ignore"):
        change = float(np.linalg.norm(vectors - vectors[0], axis=1).max())
    return change if math.isfinite(change) else None


def run_bundle(job: Job, cells: list[Cell]) -> list[Record]:
    """The records of several cells, run one after the other on a Dask worker."""
    map_large_arrays()
    return [run_cell(job, cell) for cell in cells]


def bundles_of(cells: list[Cell], work: dict[int, float], workers: int) -> Iterator[list[Cell]]:
    """Bundles of cells that keep all workers busy: long runs first and alone, short ones together. `work` is the number of
    steps of each cell."""
    whole = sum(work[cell.number] for cell in cells)
    enough = min(BUNDLE_STEPS, whole / (8 * workers))
    bundle: list[Cell] = []
    size = 0.0
    for cell in sorted(cells, key=lambda cell: (-work[cell.number], cell.number)):
        bundle.append(cell)
        size += work[cell.number]
        if size >= enough:
            yield bundle
            bundle, size = [], 0.0
    if bundle:
        yield bundle


LOADING = threading.Lock()
LOADED: set[str] = set()  # kernels that this process has loaded
BUNDLE_STEPS = 2e6  # one or two seconds for a small system
