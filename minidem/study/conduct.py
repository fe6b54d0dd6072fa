"""Run the missing cells of a study, and estimate how long that takes."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError, PhysicsError
from ..machine import processors
from .cells import Job, bundles_of
from .executors import Event, on_dask, on_processes
from .plan import Cell, Study
from .records import Records, check_identity, prepare_directory, read_records, records_name, write_tables

TRIAL = 0.1  # s of steps timed for an estimate


@dataclass(frozen=True)
class Progress:
    """How far a study is; counts the cells of this call."""

    cells: int
    done: int
    failed: int
    running: int
    left_s: float | None  # estimated time left, None if unknown


@dataclass(frozen=True)
class Options:
    """Options of a study; see minidem study --help."""

    part: tuple[int, int] | None = None  # run slice i of n, counted from 1
    only: tuple[str, ...] = ()
    resume: bool = False
    retry_failed: bool = False
    overwrite: bool = False
    processes: int | None = None
    dask: str | None = None


def conduct(
    study: Study,
    directory: Path,
    options: Options,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Run the missing cells; returns the summary that `minidem study --json` prints."""
    began = time.perf_counter()
    if options.part and options.overwrite:
        raise InputError("--overwrite: would remove the other slices, too; remove the directory before --array")
    work = work_of(study)
    cells = part_of(study.chosen(list(options.only)) if options.only else list(study.cells), work, options.part)
    prepare_directory(directory, study, options.overwrite)
    with Records(directory / records_name(options.part)) as records:
        known = read_records(directory, len(study.cells))
        there = [cell for cell in cells if cell.number in known]
        if there and not (options.resume or options.retry_failed):
            what = f"holds {len(there)} of these {len(cells)} runs already"
            raise InputError(f"{directory}: {what}; --resume runs only the missing ones, --overwrite starts again")
        again = ("failed",) if options.retry_failed else ()
        todo = [cell for cell in cells if cell.number not in known or known[cell.number]["status"] in again]

        base = study.base.to_toml()
        job = Job(base, study.source, study.directory, study.keep, str(directory.resolve()), study.plugins)
        left = {cell.number for cell in todo}
        running: set[int] = set()
        failed = sum(known[cell.number]["status"] != "ok" for cell in there if cell.number not in left)
        wanted, finished = sum(work[number] for number in left), 0.0
        with closing(events_of(job, todo, work, options, stop)) as events:  # ends the workers in any case
            for kind, news in events:
                if kind == "started":
                    running.add(news)
                else:
                    records.add(news)
                    number = news["cell"]
                    running.discard(number)
                    left.discard(number)
                    failed += news["status"] != "ok"
                    finished += work[number]
                spent = time.perf_counter() - began
                left_s = spent * (wanted - finished) / finished if finished else None
                on_progress(Progress(len(cells), len(cells) - len(left) - failed, failed, len(running), left_s))
    known = read_records(directory, len(study.cells))
    if options.part is None:
        write_tables(directory, study.axes, study.cells, known)
    return summary_of(directory, cells, known) | {"ran": len(todo) - len(left), "wall_s": time.perf_counter() - began}


def events_of(
    job: Job, cells: list[Cell], work: dict[int, float], options: Options, stop: Callable[[], bool]
) -> Generator[Event, None, None]:
    """Run the cells on processes or on Dask; yields what happens, see executors.py."""
    if not cells:
        return
    size = min(options.processes or processors(), len(cells))
    cut = partial(bundles_of, cells, work)
    yield from on_processes(job, cut, size, stop) if options.dask is None else on_dask(job, cut, options.dask, size, stop)


def summary_of(directory: Path, cells: Iterable[Cell], known: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Counts of done, failed and missing cells, and the status of the study."""
    statuses = [known[cell.number]["status"] if cell.number in known else "missing" for cell in cells]
    done, missing = statuses.count("ok"), statuses.count("missing")
    failed = len(statuses) - done - missing
    status = "interrupted" if missing else "failed" if failed else "ok"
    counts = {"cells": len(statuses), "done": done, "failed": failed, "missing": missing}
    return {"study_dir": str(directory), **counts, "status": status}


def merge(study: Study, directory: Path) -> dict[str, Any]:
    """Write one table from the records of all slices; returns a summary."""
    check_identity(directory, study)
    known = read_records(directory, len(study.cells))
    write_tables(directory, study.axes, study.cells, known)
    return summary_of(directory, study.cells, known)


def work_of(study: Study) -> dict[int, float]:
    """Steps of each cell, by its number; wall time is proportional to them."""
    first = {cell.kind: cell for cell in reversed(study.cells)}
    steps = {kind: study.steps(cell) for kind, cell in first.items()}
    return {cell.number: steps[cell.kind] for cell in study.cells}


def part_of(cells: list[Cell], work: dict[int, float], part: tuple[int, int] | None) -> list[Cell]:
    """Slice i of n, counted from 1: every n-th cell in order of length."""
    if part is None:
        return cells
    dealt = sorted(cells, key=lambda cell: (-work[cell.number], cell.number))[part[0] - 1 :: part[1]]
    return sorted(dealt, key=lambda cell: cell.number)


def estimate(study: Study, cells: list[Cell], workers: int) -> dict[str, Any]:
    """Estimated wall time of the cells (s), from a few steps of each kind: of cells that differ only in the seed, one."""
    from ..running.faults import without_time_step_guards
    from ..running.simulation import Simulation

    kinds: dict[str, tuple[float, float]] = {}  # us per step, s of set-up
    rows = []
    for cell in cells:
        if cell.kind not in kinds:
            scenario = without_time_step_guards(study.scenario(cell))
            Simulation(scenario, threads=1, source=study.source)  # compiles
            began = time.perf_counter()
            simulation = Simulation(scenario, threads=1, source=study.source)
            set_up = time.perf_counter() - began
            steps, took = 1, 0.0
            while took < TRIAL and steps < 10**9:
                steps *= 2
                began = time.perf_counter()
                with suppress(PhysicsError):  # steps that a guard stops are timed, too
                    simulation.advance(steps)
                took = time.perf_counter() - began
            rows_s = 1e-3 * scenario.output.energies / 4  # for the energy log
            kinds[cell.kind] = 1e6 * took / steps, set_up + rows_s
        us, set_up = kinds[cell.kind]
        steps_in_all = study.steps(cell)
        seconds = 1e-6 * us * steps_in_all + set_up
        rows.append({"cell": cell.number, "steps": steps_in_all, "us_per_step": us, "estimated_s": seconds})
    total = sum(row["estimated_s"] for row in rows)
    return {"cells": rows, "cpu_s": total, "workers": workers, "estimated_s": max(total / workers, max_of(rows))}


def max_of(rows: list[dict[str, Any]]) -> float:
    """The longest estimated wall time of any cell, s."""
    return max((row["estimated_s"] for row in rows), default=0.0)
