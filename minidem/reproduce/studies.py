"""What the targets have in common that run a study of many-body simulations."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..machine import machine
from ..study.conduct import Options, Progress, conduct
from ..study.plan import Cell, Changes, Study, load_study
from ..study.records import read_records

Row = Mapping[str, Any]  # of a study: the values of the axes and the record of the run
DT, INTEGRATOR = "time.dt", "integrator.rotation"  # axes


class Interrupted(Exception):
    """Told to stop while a study was running; the records of what is done are kept."""


class Failed(Exception):
    """So many runs of a study failed that there is nothing to show."""


@contextmanager
def silent(name: str) -> Iterator[Callable[[Progress], None]]:
    yield lambda progress: None


@dataclass(frozen=True)
class Studies:
    """Where and how a target runs its studies. Records that are there already count, unless they are to be overwritten."""

    directory: Path  # each study in a folder of its name
    overwrite: bool = False
    processes: int | None = None
    shown: Callable[[str], AbstractContextManager[Callable[[Progress], None]]] = silent
    stop: Callable[[], bool] = lambda: False

    def rows(self, study: Study, parts: Sequence[Sequence[str]] = ((),), processes: int | None = None) -> list[Row]:
        """Run what is missing, one part after the other (each as in `minidem study --only`); a row for each cell."""
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
        return self.directory / study.name


def study_of(name: str) -> Study:
    """From scenarios/studies, which is in the package once it is installed and beside it in the repository."""
    package = Path(__file__).parents[1]
    folders = [parent / "scenarios" / "studies" for parent in (package, package.parent)]
    return load_study(next((folder for folder in folders if folder.is_dir()), folders[0]) / f"{name}.toml")


def varied(study: Study, name: str, rows: Sequence[Changes], changes: Mapping[str, Any]) -> Study:
    """A study of other cells, or of a changed base, under another name: the records of one are not those of the other."""
    return replace(
        study,
        name=name,
        base=study.base.with_changes({**changes, "name": name}),
        cells=tuple(Cell(k, dict(row)) for k, row in enumerate(rows)),
        text=f"# {name} is made from this file; its cells and its base scenario are those of study.json.\n{study.text}",
    )


def done(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "ok"]


def deviation(row: Row) -> float:
    """Of the energy, in per cent, as the SPIRAL paper's script has it: the smaller of the mean and the last."""
    return 100 * float(min(row["drift_mean"], row["drift_last"]))


def account(rows: Sequence[Row]) -> str:
    """Of the runs: how many, how long, where."""
    failed = [row for row in rows if row["status"] != "ok"]
    seconds = sum(row.get("wall_s") or 0.0 for row in rows)
    hosts = {row.get("host") for row in rows} - {None}
    where = machine() if hosts == {platform.node()} else f"{len(hosts)} machines, not only this one"
    lost = f"; {len(failed)} failed, the first: {failed[0]['reason']}" if failed else ", none failed"
    return f"{len(rows)} runs{lost}; {seconds:.4g} s in all, each on one core; {where}"
