"""The published tables and figures, one file each.

A target is a module with a TITLE and a function ``reproduce(quick) -> Outcome``; its name is the file's, with hyphens.
Those that run studies take ``reproduce(quick, studies)``.
"""

from importlib import import_module
from pathlib import Path

from ..errors import InputError, unknown_name
from .outcome import Outcome
from .studies import Studies

STUDIES = ("spiral-fig7", "spiral-cost", "rods-fig2")  # targets that run studies
FOLDERS = {"rods-fig2": "powders.rods_fig2", "fincham": "spiral.fincham"}  # of targets not named after their paper
TARGETS = (
    *(f"spiral-{part}" for part in ("fig1", "fig2", "fig3", "fig4", "table2", "fig5", "fig-a8", "fig-a9")),
    *STUDIES,
    *(f"seelen-{part}" for part in ("table1", "fig1", "fig3", "fig5")),
    *(f"newmark-fig{number}" for number in range(1, 14)),
    "fincham",
    "scoreboard",
)


def _module(target: str):  # type: ignore[no-untyped-def]
    return import_module(f"{__name__}.{FOLDERS.get(target) or target.replace('-', '.', 1)}".replace("-", "_"))


def title_of(target: str) -> str:
    return str(_module(target).TITLE)


def reproduced(target: str, quick: bool = False, studies: Studies | None = None) -> Outcome:
    """`studies`: where the studies of a target go that has some, and how they are run."""
    given = [studies or Studies(Path("output/reproduce") / target / "study")] if target in STUDIES else []
    outcome: Outcome = _module(target).reproduce(quick, *given)
    return outcome


def chosen(names: list[str], everything: bool, out: Path, overwrite: bool, resume: bool = False) -> list[str]:
    """The targets to do, or an InputError before any work is done."""
    if overwrite and resume:
        raise InputError("--overwrite: forgets what --resume would go on with; give one of them")
    if everything and names:
        raise InputError("--all: takes no names of targets beside it")
    if not everything and not names:
        raise InputError("TARGET: name one or more, or give --all; minidem reproduce --list shows them")
    for name in names:
        if name not in TARGETS:
            raise unknown_name("target", name, TARGETS)
    targets = list(TARGETS) if everything else list(dict.fromkeys(names))
    try:
        done = [str(out / target) for target in targets if (out / target).exists()]
        if done and not (overwrite or resume):
            remedy = "choose another --out or give --overwrite"
            if set(targets) & set(STUDIES):
                remedy += ", or --resume to go on with the studies that are there"
            raise InputError(f"{', '.join(done)}: exists already; {remedy}")
        for target in targets:
            (out / target).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {error.filename} cannot be made: {error.strerror}") from None
    return targets
