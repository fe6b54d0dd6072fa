"""Published tables and figures, computed again and compared with the published numbers.

Each target of `minidem reproduce` is one module, in a folder per paper. It has a TITLE and a function
``reproduce(quick) -> Outcome``, or ``reproduce(quick, studies) -> Outcome`` if it runs studies of many-body simulations.
To add a target, write its module and add an entry to TARGETS.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ..errors import InputError, unknown_name
from ..files.whole import check_free
from .outcome import Outcome
from .studies import Studies


class Target(NamedTuple):
    """Where a target is."""

    module: str  # relative to this package
    runs_studies: bool = False


TARGETS = {
    "spiral-fig1": Target("spiral.fig1"),
    "spiral-fig2": Target("spiral.fig2"),
    "spiral-fig3": Target("spiral.fig3"),
    "spiral-fig4": Target("spiral.fig4"),
    "spiral-table2": Target("spiral.table2"),
    "spiral-fig5": Target("spiral.fig5"),
    "spiral-fig-a8": Target("spiral.fig_a8"),
    "spiral-fig-a9": Target("spiral.fig_a9"),
    "spiral-fig7": Target("spiral.fig7", runs_studies=True),
    "spiral-cost": Target("spiral.cost", runs_studies=True),
    "rods-fig2": Target("powders.rods_fig2", runs_studies=True),
    "seelen-table1": Target("seelen.table1"),
    "seelen-fig1": Target("seelen.fig1"),
    "seelen-fig3": Target("seelen.fig3"),
    "seelen-fig5": Target("seelen.fig5"),
    **{f"newmark-fig{number}": Target(f"newmark.fig{number}") for number in range(1, 14)},
    "edge-collision": Target("edges.collision"),
    "edge-law": Target("edges.law"),
    "edge-rods": Target("edges.rods", runs_studies=True),
    "edge-chess": Target("edges.chess", runs_studies=True),
    "fincham": Target("spiral.fincham"),
    "scoreboard": Target("scoreboard"),
}
STUDIES = tuple(name for name, target in TARGETS.items() if target.runs_studies)


def _module(target: str) -> ModuleType:
    return import_module(f"{__name__}.{TARGETS[target].module}")


def title_of(target: str) -> str:
    """The title of a target: the paper, the figure or table, and what it shows."""
    return str(_module(target).TITLE)


def reproduced(target: str, quick: bool = False, studies: Studies | None = None) -> Outcome:
    """The outcome of a target.

    `quick` uses fewer points and shorter runs. `studies` says where and how a target runs its studies; by default below
    output/reproduce.
    """
    arguments = [studies or Studies(Path("output/reproduce") / target / "study")] if target in STUDIES else []
    outcome: Outcome = _module(target).reproduce(quick, *arguments)
    return outcome


def chosen(names: list[str], everything: bool, out: Path, overwrite: bool, resume: bool = False) -> list[str]:
    """The targets to reproduce, with their directories created below `out`. Raises InputError before any work is done."""
    if overwrite and resume:
        raise InputError("--overwrite: deletes what --resume would continue; give only one of them")
    if everything and names:
        raise InputError("--all: cannot be combined with names of targets")
    if not everything and not names:
        raise InputError("TARGET: name one or more, or give --all; minidem reproduce --list shows them")
    for name in names:
        if name not in TARGETS:
            raise unknown_name("target", name, TARGETS)
    targets = list(TARGETS) if everything else list(dict.fromkeys(names))
    try:
        otherwise = ", or --resume to continue existing studies" if set(targets) & set(STUDIES) else ""
        check_free(*(out / target for target in targets), overwrite=overwrite or resume, otherwise=otherwise)
        for target in targets:
            (out / target).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {error.filename} cannot be created: {error.strerror}") from None
    return targets
