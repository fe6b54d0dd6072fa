"""Shared by targets that run studies of many-body simulations."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..machine import machine
from ..scenario.examples import example_file
from ..study.conduct import Options, Progress, conduct
from ..study.plan import Cell, Changes, Study, load_study
from ..study.records import read_records

Row = Mapping[str, Any]  # one run of a study: its values of the axes and its record
DT, INTEGRATOR = "time.dt", "integrator.rotation"  # names of axes


class Interrupted(Exception):
    """A signal stopped a study. The records of finished runs are kept."""


class Failed(Exception):
    """Too many runs of a study failed to compare anything."""


@contextmanager
def silent(name: str) -> Iterator[Callable[[Progress], None]]:
    """Shows no progress."""
    yield lambda progress: None


@dataclass(frozen=True)
class Studies:
    """Where and how a target runs its studies. Existing records are kept unless `overwrite` is set."""

    directory: Path  # has a folder per study, with its name
    overwrite: bool = False
    processes: int | None = None  # parallel runs; None: one per processor
    shown: Callable[[str], AbstractContextManager[Callable[[Progress], None]]] = silent  # shows progress; takes the name
    stop: Callable[[], bool] = lambda: False  # whether to stop

    def rows(self, study: Study, parts: Sequence[Sequence[str]] = ((),), processes: int | None = None) -> list[Row]:
        """Run the missing cells and return one row per cell, in the order of the study.

        `parts` run one after the other; each selects cells as `minidem study --only` does.
        """
        folder = self.folder(study)
        for k, only in enumerate(parts):
            options = Options(
                only=tuple(only), resume=True, overwrite=self.overwrite and k == 0, processes=processes or self.processes
            )
            with self.shown(study.name) as on_progress:
                report = conduct(study, folder, options, on_progress, self.stop)
            if report["missing"]:
                known = len(read_records(folder, len(study.cells)))
                raise Interrupted(f"{folder}: {known} of {len(study.cells)} runs are done")
        records = read_records(folder, len(study.cells))
        return [{**cell.changes, **records[cell.number]} for cell in study.cells]

    def folder(self, study: Study) -> Path:
        """The directory of a study."""
        return self.directory / study.name


def study_of(name: str) -> Study:
    """The study of a file in scenarios/studies."""
    return load_study(example_file(f"studies/{name}.toml"))


def varied(study: Study, name: str, rows: Sequence[Changes], changes: Mapping[str, Any]) -> Study:
    """The study with other cells and a changed base scenario. Its new name keeps its records apart."""
    return replace(
        study,
        name=name,
        base=study.base.with_changes({**changes, "name": name}),
        cells=tuple(Cell(k, dict(row)) for k, row in enumerate(rows)),
        text=f"# {name} is made from this file; its cells and its base scenario are those of study.json.\n{study.text}",
    )


def done(rows: Sequence[Row]) -> list[Row]:
    """The rows of runs that succeeded."""
    return [row for row in rows if row["status"] == "ok"]


def deviation(row: Row) -> float:
    """Energy deviation of a run, %: the smaller of the mean and the last |E - E0| / E0, as in the SPIRAL paper's script."""
    return 100 * float(min(row["drift_mean"], row["drift_last"]))


def account(rows: Sequence[Row]) -> str:
    """Number of runs, failures, total wall time and machine, as a note."""
    failed = [row for row in rows if row["status"] != "ok"]
    seconds = sum(row.get("wall_s") or 0.0 for row in rows)
    hosts = {row.get("host") for row in rows} - {None}
    where = machine() if hosts == {platform.node()} else f"number of hosts: {len(hosts)}"
    lost = f"; {len(failed)} failed, the first: {failed[0]['reason']}" if failed else ", none failed"
    return f"{len(rows)} runs{lost}; {seconds:.4g} s in total, one core per run; {where}"
