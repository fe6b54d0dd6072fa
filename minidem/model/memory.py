"""The memory that a run takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..engine.state import World
from ..engine.world import SPARE, make_room
from ..errors import ScenarioError
from ..machine import available_memory, in_bytes
from ..scenario.reading import Scenario
from ..shapes.clump import Clump
from .counts import groups

PAIR_BYTES = 24  # of a pair in neighbour lists
FEW_PAIRS = 10**7  # need no look at the free memory
MAX_SPHERES_IN_ALL = 2**32 - 2**16  # the kernels number the spheres, and after them the walls, with 32 bits


def run_memory(bodies: int, spheres: int) -> float:
    """Measured memory of a run, the Python process included, bytes."""
    return 2e8 + 500.0 * bodies + 170.0 * spheres


def check_memory(scenario: Scenario, clumps: Sequence[Clump], counts: Sequence[int], source: str) -> None:
    """Raise ScenarioError if the bodies do not fit into the free memory; `counts` has their number for each group."""
    size = {clump.name: len(clump.spheres) for clump in clumps}
    used = groups(scenario)
    bodies, spheres = sum(counts), sum(count * size[name] for count, name in zip(counts, used, strict=True))
    needed, free = run_memory(bodies, spheres), available_memory()
    if free is not None and needed > free:
        what = f"need about {in_bytes(needed)} of memory, {in_bytes(free)} are free"
    elif spheres > MAX_SPHERES_IN_ALL:
        what = f"are more than the {MAX_SPHERES_IN_ALL} that the engine can number"
    else:
        return
    where, exact = "body", len(scenario.body)
    most = max(range(len(counts)), key=lambda k: counts[k] * size[used[k]])
    if most >= exact:
        place = scenario.place[most - exact]
        where = f"place[{most - exact}].{'count' if place.packing_fraction is None else 'packing_fraction'}"
    raise ScenarioError([f"{source}: {where}: {bodies} bodies with {float(spheres):.3g} spheres {what}; place fewer"])


def make_checked_room(world: World) -> None:
    """`make_room` for neighbour lists; MemoryError if there is no memory for them.

    Their length depends on the places of the spheres: it is known once they have been counted.
    """
    pairs = SPARE * int(world.lists.wanted.sum())
    if pairs > FEW_PAIRS and (free := available_memory()) is not None and PAIR_BYTES * pairs > free:
        sizes = f"need about {in_bytes(PAIR_BYTES * pairs)} of memory, {in_bytes(free)} are free"
        raise MemoryError(f"{pairs / SPARE:.3g} pairs of spheres are so close that they may touch; lists of them {sizes}")
    make_room(world)


@contextmanager
def enough_memory(source: str) -> Iterator[None]:
    """Turns a MemoryError while a scenario is set up into a ScenarioError; `source` names the scenario."""
    try:
        yield
    except MemoryError as error:
        why = str(error) or "there is too little memory"
        raise ScenarioError([f"{source}: body: {why}; place fewer, or farther apart"]) from None
