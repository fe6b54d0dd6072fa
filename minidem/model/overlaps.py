"""Overlaps at the start of a run."""

import numpy as np
from numpy.typing import NDArray

from ..engine.state import World
from ..engine.world import measured_pairs
from ..errors import ScenarioError
from ..scenario.reading import Scenario
from .walls import box_walls, wall_name

TOUCHING = 1e-9  # overlaps below this fraction of the radii are round-off
PRESSED = 0.3  # bodies packed to a fraction may overlap by this fraction of the smaller radius; see test_packing.py


def check_overlaps(scenario: Scenario, world: World, body: NDArray[np.int64], source: str) -> None:
    """Raise ScenarioError for bodies that overlap at the start.

    `world` has the neighbour lists of the initial positions; `body` (n,) is the scenario's number of each of its bodies.
    """
    packed = any(place.packing_fraction is not None for place in scenario.place)
    with np.errstate(over="ignore", invalid="ignore"):  # sizes may be close to the range of floats
        lines = overlaps(world, body, len(scenario.body), box_walls(scenario), PRESSED if packed else 0.0)
    if lines:
        raise ScenarioError([f"{source}: {line}" for line in lines])


def overlaps(world: World, body: NDArray[np.int64], exact: int, boxed: int, pressed: float = 0.0) -> list[str]:
    """One line per pair of bodies, or body and wall, that overlap: which, and by how much.

    The first `exact` bodies are the scenario's [[body]] entries, the first `boxed` walls are those of the box. The other
    bodies may overlap by `pressed` smaller radii; where that is above zero, one line reports all that overlap by more.
    """
    place = world.spheres.place[0].reshape(-1, 4)  # of step 0
    owner, radius = body[world.spheres.owner], place[:, 3]
    deepest: dict[tuple[int, str], float] = {}
    beyond: list[float] = []  # overlaps of packed bodies, in smaller radii

    def named(b: int) -> str:
        return f"body[{b}]" if b < exact else f"placed body {b - exact}"

    for i, j, wall, distance, reach, _ in measured_pairs(world, place[:, :3]):
        depth, smaller = reach - distance, np.minimum(radius[i], radius[j])
        first, second = np.minimum(owner[i], owner[j]), np.maximum(owner[i], owner[j])
        packed = (pressed > 0) & (second >= exact)
        beyond += list((depth / smaller)[packed & ~(depth <= pressed * smaller)])  # also NaN
        for p in np.flatnonzero(~packed & (depth > TOUCHING * reach)):
            what = f"overlaps {named(second[p])}"
            if wall[p] >= 0:
                what = f"reaches beyond {wall_name(int(wall[p]), boxed)}"
            key = (int(first[p]), what)
            deepest[key] = max(deepest.get(key, 0.0), depth[p])

    lines = [f"{named(b)}: {fault} by {depth:.3g} m at the start; move it" for (b, fault), depth in sorted(deepest.items())]
    if beyond:
        rule = f"{len(beyond)} contacts of packed bodies are deeper than {pressed} radii, the deepest {max(beyond):.3g}"
        lines.append(f"place: {rule}; lower packing_fraction or enlarge domain.box")
    return lines
