"""What a simulation is made from: a scenario, or the path of one, with its time step in seconds; compiled kernels."""

from contextlib import suppress
from os import PathLike
from pathlib import Path

from ..engine.compile.cache import cache_directory
from ..scenario.reading import Scenario, parse, read_text
from ..scenario.values import drift_wish
from .advice import advised_step
from .pilots import Begin, with_step


def given(
    begin: Begin, scenario: Scenario | str | PathLike[str], source: str = "", text: str = ""
) -> tuple[Scenario, str, str]:
    """The scenario, its name in messages and its text as its author wrote it, from a Scenario or the path of its file. A
    time step such as "drift 1e-5" is replaced by the advised one; `begin` makes simulations of a model, for pilot runs."""
    if not isinstance(scenario, Scenario):
        path = Path(scenario)
        text = read_text(path)
        scenario, source = parse(text, path.name, path.parent), source or path.name
    if (wish := drift_wish(scenario.time.dt)) is not None:
        scenario = with_step(scenario, advised_step(begin, scenario, wish, source))
    return scenario, source, text


def kernels_of(scenario: Scenario) -> str:
    """A name for the kernels that the scenario needs."""
    packed = any(group.packing_fraction is not None for group in scenario.place)
    kernels = f"{scenario.contact.law}-{scenario.integrator.rotation}"
    return kernels + ("-pack" if packed else "-place" if scenario.place else "")


def are_compiled(scenario: Scenario) -> bool:
    """Whether the kernels for the scenario are in the disk cache, as far as is known."""
    directory = cache_directory()
    return directory is not None and (directory / f"{kernels_of(scenario)}.compiled").exists()


def mark_compiled(scenario: Scenario) -> None:
    """Remember that the kernels for the scenario are in the disk cache."""
    if (directory := cache_directory()) is not None:
        with suppress(OSError):  # a full disk; it only decides whether compiling is announced
            (directory / f"{kernels_of(scenario)}.compiled").touch()
