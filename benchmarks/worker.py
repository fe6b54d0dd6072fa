"""minidem's worker: `python -m benchmarks.worker SCENE THREADS`."""

import sys
import time
from typing import Any

from minidem import Simulation
from minidem.machine import map_large_arrays
from minidem.scenario.reading import parse

from .protocol import memory_mb, serve
from .scenes import scenario_of, scene_of

ONE_BALL = """
time = {dt = 1e-6, end = 1e-3}
domain = {box = [1, 1, 1], material = "any"}
material.any = {young = 1e9, poisson = 0.25, density = 1000.0}
clump.ball = {spheres = [[0, 0, 0, 0.1]], material = "any"}
place = [{clump = "ball", count = 1}]
"""


def contacts(simulation: Simulation) -> dict[str, int | None]:
    """Numbers of sphere and sphere-wall pairs that overlap now, and of candidate pairs; None if the engine has changed."""
    try:
        from minidem.engine.world import candidate_pairs

        candidates = sum(other.size for _, other in candidate_pairs(simulation._world))  # the engine's own lists
        return {"contacts": simulation.contacts.overlap.size, "candidates": candidates}
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return {"contacts": None, "candidates": None}


def main(name: str, threads: int) -> None:
    """Serve one scene until the input ends."""
    map_large_arrays()  # as the command does
    scene = scene_of(name)
    Simulation(parse(ONE_BALL), threads=threads).advance(1)  # loads every kernel: what comes on top is the scene's
    baseline = memory_mb("VmRSS")
    began = time.perf_counter()
    simulation = Simulation(scenario_of(scene), threads=threads, source=scene.path.name)

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
        "threads": simulation.threads,
    }
    serve(ready, run, state)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
