"""Cost of the edges of contacts: without account of them, with plain edges, which keep account, and with corrected edges."""

from collections.abc import Callable
from dataclasses import replace

from .report import short
from .scenes import Scene, scenario_of
from .turns import in_turns

HEAD = ["scene", "us per step without account", "plain", "ratio", "corrected", "ratio", "corrected / plain"]


def lines(scenes: list[Scene], repeats: int, say: Callable[[str], None]) -> list[list[str]]:
    """Rows of the table HEAD."""
    from minidem.engine.contact.edges import edges_of
    from minidem.engine.contact.registry import LAWS
    from minidem.engine.state import Edges
    from minidem.model.building import build_model
    from minidem.running.simulation import Simulation

    rows = []
    for scene in scenes:
        say(scene.name)
        scenario = scenario_of(scene)
        model = build_model(scenario, scene.path.name)
        power = LAWS[scenario.contact.law].edge_power
        models = [
            replace(model, edges=edges) for edges in (Edges(), *(edges_of(power, on, model.dt) for on in (False, True)))
        ]
        simulations = [Simulation.from_model(one, "spiral", threads=1) for one in models]
        (none, plain, corrected), (_, account, both) = in_turns(simulations, scene.warm_up, repeats)
        times = [short(1e6 * one, 3) for one in (none, plain, corrected)]
        rows.append([scene.name, times[0], times[1], short(account, 4), times[2], short(both, 4), short(both / account, 4)])
    return rows
