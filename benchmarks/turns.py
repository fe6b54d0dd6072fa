"""Simulations of one scene timed in turns, in one process on one thread."""

import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minidem.running.simulation import Simulation

LEAST = 0.1  # s, minimum CPU time of one timing


def in_turns(simulations: "Sequence[Simulation]", warm_up: int, repeats: int) -> tuple[list[float], list[float]]:
    """CPU time per step (s) of each simulation, and its ratio to that of the first: medians over rounds of timings."""
    for simulation in simulations:
        simulation.advance(warm_up)
    steps, took = 1, 0.0
    while took < LEAST:
        steps *= 2
        took = min(timed(simulation, steps) for simulation in simulations)
    rounds = [[timed(simulation, steps) for simulation in simulations] for _ in range(5 * repeats)]
    times = [statistics.median(column) / steps for column in zip(*rounds, strict=True)]
    ratios = [statistics.median(one[k] / one[0] for one in rounds) for k in range(len(simulations))]
    return times, ratios


def timed(simulation: "Simulation", steps: int) -> float:
    """CPU time of the steps, s; wall time would include waiting for other processes."""
    began = time.process_time()
    simulation.advance(steps)
    return time.process_time() - began
