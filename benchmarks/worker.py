"""minidem itself behind the protocol: `python -m benchmarks.worker SCENE THREADS`."""

import inspect
import sys
import time
from typing import Any

import numpy as np

from minidem.scenario import Scenario, parse
from minidem.simulation import Simulation, prepared

from .protocol import memory_mb, serve
from .scenes import scenario_of, scene_of

ONE_BALL = """
time = {dt = 1e-6, end = 1e-3}
domain = {box = [1, 1, 1], material = "any"}
material.any = {young = 1e9, poisson = 0.25, density = 1000.0}
clump.ball = {spheres = [[0, 0, 0, 0.1]], material = "any"}
place = [{clump = "ball", count = 1}]
"""
TAKES_THREADS = "threads" in inspect.signature(prepared).parameters


def started(scenario: Scenario, source: str, threads: int) -> Simulation:
    return prepared(scenario, source, **({"threads": threads} if TAKES_THREADS else {}))


def contacts(simulation: Simulation) -> dict[str, int | None]:
    """Sphere pairs and sphere-wall pairs that overlap now, and those on the lists of candidates."""
    try:
        near, walls = simulation._near, simulation.model.walls  # the engine's own lists, of which nothing is promised
        i, j = near.pair
        squared = sum((near.place[c, i] - near.place[c, j]) ** 2 for c in range(3))
        s, w = near.wall
        height = sum((near.place[c, s] - walls.point[c, w]) * walls.normal[c, w] for c in range(3))
        touching = np.count_nonzero(squared < near.pair_reach**2) + np.count_nonzero(height < near.wall_reach)
        return {"contacts": int(touching), "candidates": len(near.pair_reach) + len(near.wall_reach)}
    except (AttributeError, TypeError, ValueError, IndexError):
        return {"contacts": None, "candidates": None}


def main(name: str, threads: int) -> None:
    scene = scene_of(name)
    started(parse(ONE_BALL), "one ball", threads).advance(1)  # loads every kernel: what comes on top is the scene's
    baseline = memory_mb("VmRSS")
    began = time.perf_counter()
    simulation = started(scenario_of(scene), scene.path.name, threads)

    def run(steps: int) -> float:
        began = time.perf_counter()
        simulation.advance(steps)
        return time.perf_counter() - began

    def state(_: str) -> dict[str, Any]:
        now = simulation.observables()
        kinetic = now["kinetic_translational"] + now["kinetic_rotational"]
        return {"step": simulation.step, "kinetic": kinetic, "elastic": now["elastic"]} | contacts(simulation)

    start = simulation.model
    ready = {
        "version": "",
        "bodies": len(start.species),
        "spheres": start.spheres,
        "build_s": time.perf_counter() - began,
        "baseline_mb": baseline,
        "takes_threads": TAKES_THREADS,
    }
    serve(ready, run, state)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
