"""How many bodies a scenario has, and of which clumps."""

import math
from collections.abc import Sequence

from ..errors import ScenarioError
from ..scenario.reading import Scenario
from ..scenario.values import MAX_BODIES
from ..shapes.clump import Clump


def groups(scenario: Scenario) -> list[str]:
    """Name of the clump of each [[body]], then of each [[place]]."""
    return [body.clump for body in scenario.body] + [place.clump for place in scenario.place]


def body_counts(scenario: Scenario, clumps: Sequence[Clump], source: str) -> list[int]:
    """Number of bodies of each group: 1 of a [[body]]; of a [[place]] its count, or as many as fill its packing fraction."""
    volume = {clump.name: clump.volume for clump in clumps}
    room = math.prod(scenario.domain.box or ())
    counts, errors = [1] * len(scenario.body), []
    for g, place in enumerate(scenario.place):
        wanted = float(place.count or 0)
        if place.packing_fraction is not None:
            wanted = place.packing_fraction * room / volume[place.clump]
        if 0.5 <= wanted <= MAX_BODIES:
            counts.append(max(1, round(wanted)))
        else:
            rule = f"gives {wanted:.3g} bodies, but must give 1 to {MAX_BODIES}"
            errors.append(f"{source}: place[{g}].packing_fraction: {rule}; change domain.box or the size of the clump")
    if errors:
        raise ScenarioError(errors)
    return counts
