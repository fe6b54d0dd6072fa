"""What a step of one scene costs with each rotational integrator, in turns, in one process and on one thread.

Every timing starts anew: some schemes drive the energy up, and then it is fast bodies that are timed.
"""

import statistics
import time
from collections.abc import Callable

from .report import short
from .scenes import Scene, scenario_of

HEAD = ["integrator", "us a step", "times spiral"]


def lines(scene: Scene, repeats: int, steps: int, say: Callable[[str], None]) -> list[list[str]]:
    """Lines of HEAD for every integrator that can run scenarios, fastest first; `steps` are timed after those to warm up."""
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
            began = time.process_time()  # not the clock on the wall: others may want the processor
            simulation.advance(steps)
            cost[name].append(1e6 * (time.process_time() - began) / steps)
    median = {name: statistics.median(values) for name, values in cost.items()}
    ordered = sorted(median, key=lambda name: median[name])
    return [[name, short(median[name], 3), short(median[name] / median["spiral"], 3)] for name in ordered]
