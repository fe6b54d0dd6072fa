"""Cost of a step of one scene with each rotational integrator, timed in turns in one process on one thread.

Every timing starts from the initial state: with some schemes the energy grows, and faster bodies would be timed.
"""

import statistics
import time
from collections.abc import Callable

from .report import short
from .scenes import Scene, scenario_of

HEAD = ["integrator", "us per step", "relative to spiral"]


def lines(scene: Scene, repeats: int, steps: int, say: Callable[[str], None]) -> list[list[str]]:
    """Rows of the table HEAD for every integrator that can run scenarios, fastest first.

    After the scene's warm-up, `steps` steps are timed.
    """
    from minidem.engine.rotation.registry import SCHEMES
    from minidem.model.building import build_model
    from minidem.running.simulation import Simulation

    model = build_model(scenario_of(scene), scene.path.name)
    names = [name for name, scheme in SCHEMES.items() if scheme.torque_evaluations == 1]
    cost: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats):
        say(f"{scene.name}: repeat {repeat + 1} of {repeats}")
        for name in names:
            simulation = Simulation.from_model(model, name, threads=1)
            simulation.advance(scene.warm_up)
            began = time.process_time()  # not wall time, which includes waiting for other processes
            simulation.advance(steps)
            cost[name].append(1e6 * (time.process_time() - began) / steps)
    median = {name: statistics.median(values) for name, values in cost.items()}
    ordered = sorted(median, key=lambda name: median[name])
    return [[name, short(median[name], 3), short(median[name] / median["spiral"], 3)] for name in ordered]
