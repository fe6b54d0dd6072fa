"""Which frames and bodies are exported."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, unknown_name
from ...files.trajectory import Trajectory


def selected(text: str, count: int, option: str, there_are: str) -> list[int]:
    """Numbers chosen by a list of numbers and Python slices, such as 0,5,-1 or 0:100:10; in ascending order, each once."""
    found: set[int] = set()
    for part in text.split(","):
        try:
            numbers = [int(number) if number.strip() else None for number in part.split(":")]
            if len(numbers) > 3 or numbers == [None]:
                raise ValueError
            if len(numbers) > 1:
                found.update(range(count)[slice(*numbers)])
                continue
        except ValueError:  # no number, or a slice of step 0
            raise InputError(f"{option} {text}: must be numbers and slices, as in 0,5,-1 or 0:100:10") from None
        try:
            found.add(range(count)[numbers[0]])  # type: ignore[index]
        except IndexError:
            raise InputError(f"{option} {text}: there is no {numbers[0]}; {there_are} 0 to {count - 1}") from None
    if not found:
        raise InputError(f"{option} {text}: selects nothing; {there_are} 0 to {count - 1}")
    return sorted(found)


def selected_bodies(trajectory: Trajectory, run: Path, text: str, species: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the bodies chosen by number and by species, shape (n,)."""
    bodies = np.array(selected(text, trajectory.species.size, "--bodies", f"{run} has bodies"))
    names = [clump.name for clump in trajectory.clumps]
    for name in species:
        if name not in names:
            raise unknown_name("--species", name, names)
    if species:
        bodies = bodies[np.isin(trajectory.species[bodies], [names.index(name) for name in species])]
    if not len(bodies):
        raise InputError(f"--species {' '.join(species)}: {run} has no such body among --bodies {text}")
    return bodies
