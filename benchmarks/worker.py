"""minidem's worker: `python -m benchmarks.worker SCENE THREADS`."""

import sys
import time
from typing import Any

import numpy as np

from minidem import quaternions
from minidem.machine import map_large_arrays
from minidem.running.simulation import Simulation, prepared
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


def sphere_centres(world: Any, which: Any) -> Any:
    """Centres of the spheres `which` at the current step, m, shape (p, 3).

    The engine does not update its own copy while no contact is possible.
    """
    bodies, shapes, spheres = world.bodies, world.shapes, world.spheres
    owner = spheres.owner[which]
    column = which + shapes.first[bodies.shape[owner]] - spheres.first[owner]
    return bodies.position.T[owner] + quaternions.rotated(bodies.orientation.T[owner], shapes.centre.T[column])


def contacts(simulation: Simulation) -> dict[str, int | None]:
    """Numbers of sphere and sphere-wall pairs that overlap now, and of candidate pairs; None if the engine has changed."""
    try:
        from minidem.engine.world import candidate_pairs

        world = simulation._world  # internal to the engine: may change
        radius = world.spheres.place[3::4]
        touching, candidates = 0, 0
        for i, other in candidate_pairs(world):
            at_wall = other >= radius.size
            s, w = i[at_wall], other[at_wall] - radius.size
            height = np.sum((sphere_centres(world, s) - world.walls.point.T[w]) * world.walls.normal.T[w], axis=1)
            i, j = i[~at_wall], other[~at_wall]
            squared = np.sum((sphere_centres(world, i) - sphere_centres(world, j)) ** 2, axis=1)
            touching += np.count_nonzero(squared < (radius[i] + radius[j]) ** 2) + np.count_nonzero(height < radius[s])
            candidates += other.size
        return {"contacts": int(touching), "candidates": candidates}
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return {"contacts": None, "candidates": None}


def main(name: str, threads: int) -> None:
    """Serve one scene until the input ends."""
    map_large_arrays()  # as the command does
    scene = scene_of(name)
    prepared(parse(ONE_BALL), "one ball", threads).advance(1)  # loads all kernels, so that further memory is the scene's
    baseline = memory_mb("VmRSS")
    began = time.perf_counter()
    simulation = prepared(scenario_of(scene), scene.path.name, threads)

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
