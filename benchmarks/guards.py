"""Cost of the guards: scenes with and without them, timed in turns."""

from collections.abc import Callable

from .report import short
from .scenes import Scene, scenario_of
from .turns import in_turns

HEAD = ["scene", "us per step", "with guards", "ratio"]


def lines(scenes: list[Scene], repeats: int, say: Callable[[str], None]) -> list[list[str]]:
    """Rows of the table HEAD."""
    from minidem.model.building import build_model
    from minidem.running.simulation import Simulation

    rows = []
    for scene in scenes:
        say(scene.name)
        scenario = scenario_of(scene)
        model = build_model(scenario, scene.path.name)
        pair = [Simulation.from_model(model, "spiral", threads=1, scenario=guarded) for guarded in (None, scenario)]
        (without, watched), (_, ratio) = in_turns(pair, scene.warm_up, repeats)
        rows.append([scene.name, short(1e6 * without, 3), short(1e6 * watched, 3), short(ratio, 4)])
    return rows
