"""Overlaps at the start of a run, from the first neighbour lists."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.state import World
from ..engine.world import measured_pairs
from ..errors import LISTED, ScenarioError
from ..scenario.reading import Scenario
from .walls import box_walls, wall_name

Array = NDArray[np.float64]
Index = NDArray[np.int64]
TOUCHING = 1e-9  # overlaps below this fraction of the radii are round-off
PRESSED = 0.3  # bodies packed to a fraction may overlap by this fraction of the smaller radius; see test_packing.py


class Faults(NamedTuple):
    """f overlaps. Each has a number: body * (bodies + walls) + the other body, or the number of bodies + wall."""

    number: Index  # (f,) ascending
    depth: Array  # (f,) the largest of the pairs of spheres that were compared, m


def check_overlaps(scenario: Scenario, world: World, body: Index, source: str) -> None:
    """Raise ScenarioError for bodies that overlap at the start.

    `world` has the neighbour lists of the initial positions; `body` (n,) is the scenario's number of each of its bodies.
    """
    packed = any(place.packing_fraction is not None for place in scenario.place)
    with np.errstate(over="ignore", invalid="ignore"):  # sizes may be close to the range of floats
        lines = overlaps(world, body, len(scenario.body), box_walls(scenario), PRESSED if packed else 0.0)
    if lines:
        raise ScenarioError([f"{source}: {line}" for line in lines])


def overlaps(world: World, body: Index, exact: int, boxed: int, pressed: float = 0.0) -> list[str]:
    """One line for each pair of bodies, or body and wall, that overlap: which, and by how much; the first LISTED, and a line
    with the number of the others.

    The first `exact` bodies are the scenario's [[body]] entries, the first `boxed` walls are those of the box. The other
    bodies may overlap by `pressed` smaller radii; where that is above zero, one line reports all that overlap by more.
    """
    place = world.spheres.place[0].reshape(-1, 4)  # of step 0
    owner, radius, n = body[world.spheres.owner], place[:, 3], body.size
    parts: list[Faults] = []
    beyond, deepest_beyond = 0, 0.0  # contacts of packed bodies, and the largest overlap in smaller radii
    for i, j, wall, distance, reach, _ in measured_pairs(world, place[:, :3]):
        depth, smaller = reach - distance, np.minimum(radius[i], radius[j])
        first, second = np.minimum(owner[i], owner[j]), np.maximum(owner[i], owner[j])
        packed = (pressed > 0) & (second >= exact)
        deep = packed & ~(depth <= pressed * smaller)  # also NaN
        if deep.any():
            beyond += int(np.count_nonzero(deep))
            deepest_beyond = max(deepest_beyond, float((depth[deep] / smaller[deep]).max()))
        wrong = ~packed & (depth > TOUCHING * reach)
        other = np.where(wall[wrong] >= 0, n + wall[wrong], second[wrong])
        parts.append(merged(first[wrong] * (n + len(world.walls.material)) + other, depth[wrong]))
    faults = merged(*map(np.concatenate, zip(*parts, strict=True)))
    lines = lines_of(faults, n, len(world.walls.material), exact, boxed)
    if faults.number.size > LISTED:
        lines.append(f"body: {faults.number.size - LISTED} more overlaps at the start; move these bodies, too")
    if beyond:
        rule = f"{beyond} contacts of packed bodies are deeper than {pressed} radii, the deepest {deepest_beyond:.3g}"
        lines.append(f"place: {rule}; lower packing_fraction or enlarge domain.box")
    return lines


def merged(number: Index, depth: Array) -> Faults:
    """Faults in ascending order, each once, with its largest depth."""
    order = np.lexsort((-depth, number))
    number, depth = number[order], depth[order]
    once = np.ones(number.size, bool)
    once[1:] = number[1:] != number[:-1]
    return Faults(number[once], depth[once])


def lines_of(faults: Faults, bodies: int, walls: int, exact: int, boxed: int) -> list[str]:
    """The first LISTED faults in words."""

    def named(b: int) -> str:
        return f"body[{b}]" if b < exact else f"placed body {b - exact}"

    lines = []
    for number, depth in zip(faults.number[:LISTED].tolist(), faults.depth, strict=False):
        first, second = divmod(number, bodies + walls)
        what = f"overlaps {named(second)}"
        if second >= bodies:
            what = f"reaches beyond {wall_name(second - bodies, boxed)}"
        lines.append(f"{named(first)}: {what} by {depth:.3g} m at the start; move it")
    return lines
