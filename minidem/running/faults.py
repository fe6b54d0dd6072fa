"""What the kernels watch for a scenario's guards (engine/watching.py), and what they found."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..engine.state import Limits, World
from ..engine.watching import BEHIND_WALL, FIRST, HOW_MUCH, NOTHING, SECOND, TOO_DEEP, TOO_FAR, WHAT
from ..model.building import Model
from ..model.walls import box_walls, wall_name
from ..scenario.reading import Scenario
from ..scenario.tables import Guard

if TYPE_CHECKING:
    from .simulation import Simulation


def limits(guard: Guard | None, model: Model) -> Limits:
    """The limits of a scenario's guard; none are checked without a guard."""
    if guard is None:
        return Limits()
    smallest = float(model.templates.radius.min())
    travel = guard.travel * smallest if can_touch(model) else math.inf
    return Limits(guard.overlap, guard.overlap * smallest, travel, guard.outside, True)


@dataclass(frozen=True)
class Alarm:
    """What the kernels found; see engine/watching.py."""

    what: int
    how_much: float
    body: int
    other: int | None  # the body that it overlaps, None for a wall
    wall: int


def alarm_in(world: World, numbers: NDArray[np.int64]) -> Alarm | None:
    """The alarm that the kernels raised. `numbers` (n,) are the numbers in the scenario of the engine's bodies."""
    raised = [row for row in world.team.alarm if row[WHAT] != NOTHING]
    if not raised:
        return None
    what, first, second = (int(raised[0][k]) for k in (WHAT, FIRST, SECOND))
    columns, wall = [first], 0
    if what == TOO_DEEP:
        owner = world.spheres.owner
        wall = second - owner.size
        columns = [int(owner[sphere]) for sphere in (first, second) if sphere < owner.size]
    bodies = [int(numbers[column]) for column in columns]
    return Alarm(what, float(raised[0][HOW_MUCH]), bodies[0], bodies[1] if len(bodies) > 1 else None, wall)


def can_touch(model: Model) -> bool:
    """Whether there is another body or a wall to touch."""
    return len(model.species) > 1 or model.walls.material.size > 0


def without_time_step_guards(scenario: Scenario) -> Scenario:
    """The scenario with no limit on its time step, to look at a system that a run would refuse."""
    guard = scenario.guard.model_copy(update={"contact": math.inf, "rayleigh": math.inf})
    return scenario.model_copy(update={"guard": guard})


def motion_fault(simulation: "Simulation", scenario: Scenario) -> str:
    """The message about an alarm of the kernels; empty if there is none."""
    alarm, guard, model = simulation.alarm, scenario.guard, simulation.model
    if alarm is None:
        return ""
    who = name(model, alarm.body)
    if alarm.what == TOO_DEEP:
        other = wall_name(alarm.wall, box_walls(scenario)) if alarm.other is None else name(model, alarm.other)
        depth = f"{alarm.how_much:.3g} radii of the smaller sphere (guard.overlap = {guard.overlap:g})"
        fault = f"{who} and {other} overlap by {depth}"
    elif alarm.what == TOO_FAR:
        fault = f"{who} moves by {alarm.how_much:.3g} m in a step, more than {guard.travel:g} smallest radii (guard.travel)"
    elif alarm.what == BEHIND_WALL:
        fault = f"{who} is behind a wall (guard.outside)"
    else:
        fault = f"{who} has a position that is not a number"
    return f"{fault} at step {simulation.step}"


def name(model: Model, body: int) -> str:
    """A body with its clump, for messages."""
    return f"body {body} ({model.clumps[model.species[body]].name})"
