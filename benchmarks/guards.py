"""Cost of the guards: scenes with and without them, timed in turns in one process on one thread."""

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .report import short
from .scenes import Scene, scenario_of

if TYPE_CHECKING:
    from minidem.running.simulation import Simulation

HEAD = ["scene", "us per step", "with guards", "ratio"]
LEAST = 0.1  # s, minimum CPU time of one timing


def lines(scenes: list[Scene], repeats: int, say: Callable[[str], None]) -> list[list[str]]:
    """Rows of the table HEAD. The ratio is the median over pairs of consecutive timings."""
    from minidem.model.building import build_model
    from minidem.running.simulation import Simulation

    rows = []
    for scene in scenes:
        say(scene.name)
        scenario = scenario_of(scene)
        model = build_model(scenario, scene.path.name)
        pair = [Simulation.from_model(model, "spiral", threads=1, scenario=guarded) for guarded in (None, scenario)]
        for simulation in pair:
            simulation.advance(scene.warm_up)
        steps, took = 1, 0.0
        while took < LEAST:
            steps *= 2
            took = timed(pair[0], steps)
            pair[1].advance(steps)
        cost = [[timed(simulation, steps) for simulation in pair] for _ in range(5 * repeats)]
        without, watched = (1e6 * statistics.median(column) / steps for column in zip(*cost, strict=True))
        ratio = statistics.median(b / a for a, b in cost)
        rows.append([scene.name, short(without, 3), short(watched, 3), short(ratio, 4)])
    return rows


def timed(simulation: "Simulation", steps: int) -> float:
    """CPU time of the steps, s; wall time would include waiting for other processes."""
    began = time.process_time()
    simulation.advance(steps)
    return time.process_time() - began
