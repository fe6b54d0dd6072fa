"""What a step of one scene costs with each rotational integrator, in turns, in one process and on one thread."""

import statistics
import time
from collections.abc import Callable

from .report import short
from .scenes import Scene, scenario_of

HEAD = ["integrator", "us a step", "times spiral"]


def lines(scene: Scene, repeats: int, seconds: float, say: Callable[[str], None]) -> list[list[str]]:
    """Lines of HEAD for every integrator that can run scenarios, fastest first."""
    from minidem.core.rotation.registry import SCHEMES
    from minidem.simulation import prepared

    scenario = scenario_of(scene)
    running, steps = {}, {}
    for name, scheme in SCHEMES.items():
        if scheme.torque_evaluations == 1:
            say(f"{scene.name}: {name}")
            running[name] = prepared(scenario.with_changes({"integrator.rotation": name}), scene.path.name, 1)
            running[name].advance(scene.warm_up)
            began = time.process_time()
            running[name].advance(scene.warm_up)
            steps[name] = max(1, int(seconds * scene.warm_up / (time.process_time() - began)))
    cost: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(repeats):
        for name, simulation in running.items():
            began = time.process_time()  # not the clock on the wall: others may want the processor
            simulation.advance(steps[name])
            cost[name].append(1e6 * (time.process_time() - began) / steps[name])
    median = {name: statistics.median(values) for name, values in cost.items()}
    ordered = sorted(median, key=lambda name: median[name])
    return [[name, short(median[name], 3), short(median[name] / median["spiral"], 3)] for name in ordered]
