"""What a simulation is made from: a scenario, or the path of one, and compiled kernels."""

from os import PathLike
from pathlib import Path

from ..engine.compile.cache import cache_directory
from ..scenario.reading import Scenario, parse, read_text


def given(scenario: Scenario | str | PathLike[str], source: str = "", text: str = "") -> tuple[Scenario, str, str]:
    """The scenario, its name in messages and its text as its author wrote it, from a Scenario or the path of its file."""
    if isinstance(scenario, Scenario):
        return scenario, source, text
    path = Path(scenario)
    text = read_text(path)
    return parse(text, path.name, path.parent), source or path.name, text


def compiled_mark(scenario: Scenario) -> Path:
    """A file that exists once the kernels for the scenario are in the disk cache."""
    packed = any(group.packing_fraction is not None for group in scenario.place)
    kernels = f"{scenario.contact.law}-{scenario.integrator.rotation}"
    kernels += "-pack" if packed else "-place" if scenario.place else ""
    return cache_directory() / f"{kernels}.compiled"
