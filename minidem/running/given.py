"""What a simulation is made from: a scenario, or the path of one, with its time step in seconds; compiled kernels."""

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


def compiled_mark(scenario: Scenario) -> Path:
    """A file that exists once the kernels for the scenario are in the disk cache."""
    packed = any(group.packing_fraction is not None for group in scenario.place)
    kernels = f"{scenario.contact.law}-{scenario.integrator.rotation}"
    kernels += "-pack" if packed else "-place" if scenario.place else ""
    return cache_directory() / f"{kernels}.compiled"
