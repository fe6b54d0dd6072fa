"""Guards: checks that stop a run that can no longer be right, and their messages. The limits are in scenario.Guard.

The kernels watch overlaps and the motion of the bodies (engine/watching.py). The energy and the angle per step are checked
at the rows of the energy log.
"""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..engine.state import Limits, World
from ..engine.watching import BEHIND_WALL, FIRST, HOW_MUCH, NOTHING, SECOND, TOO_DEEP, TOO_FAR, WHAT
from ..errors import InputError, ScenarioError
from ..files.trajectory import Frame
from ..model.building import Model, build_model
from ..model.times import contact_time, fastest, good_step, smallest_rayleigh_time
from ..model.walls import box_walls, wall_name
from ..scenario.reading import Scenario
from ..scenario.tables import Guard

if TYPE_CHECKING:
    from .simulation import Simulation

# Fraction of the energy's parts: where these cancel, the total may rightly deviate by many times its first value.
CANCELLED = 0.5


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


def warn(note: str) -> None:
    """Issue a Python warning."""
    warnings.warn(note, stacklevel=3)


def without_time_step_guards(scenario: Scenario) -> Scenario:
    """The scenario with no limit on its time step, to look at a system that a run would refuse."""
    guard = scenario.guard.model_copy(update={"contact": math.inf, "rayleigh": math.inf})
    return scenario.model_copy(update={"guard": guard})


def check_time_step(scenario: Scenario, model: Model, source: str) -> list[str]:
    """Warnings about the time step; ScenarioError for one that would not resolve contacts at all."""
    guard, dt = scenario.guard, model.dt
    if not can_touch(model):
        return []
    speed = fastest(model)
    shortest, rayleigh = contact_time(model, speed), smallest_rayleigh_time(scenario, model.spheres_by_clump)
    if dt > guard.contact * shortest:
        times = f"{dt / shortest:.3g}" if shortest > 0 else "any number of"
        fault = f"{dt:.3g} s is {times} times the shortest contact (guard.contact = {guard.contact:g})"
        remedy = f"take {suggested_step(scenario, model):.2g} s or less, or set guard.contact = false to run anyway"
        raise ScenarioError([f"{source}: time.dt: {fault}; {remedy}"])
    if dt > guard.rayleigh * rayleigh:
        fault = (
            f"{dt:.3g} s is {dt / rayleigh:.3g} Rayleigh times of the smallest sphere (guard.rayleigh = {guard.rayleigh:g})"
        )
        remedy = "minidem check suggests a time step; raise the limit if such spheres are parts of much heavier bodies"
        return [f"{source}: time.dt: warning: {fault}; {remedy}"]
    return []


def suggested_step(scenario: Scenario, model: Model) -> float:
    """The time step (s) that `minidem check` suggests. The bodies of the model are where a run starts."""
    from .advice import suggestion  # which makes simulations itself

    return suggestion(scenario, model).dt


def advice(simulation: "Simulation", scenario: Scenario) -> str:
    """What to change when a guard stops the run."""
    dt = simulation.model.dt
    try:
        good = suggested_step(scenario, build_model(scenario))  # a resumed simulation has no start of its own
    except InputError:  # a clump file is no longer there
        good = good_step(scenario, simulation.model, simulation.initial_speed)
    if dt > good:
        return f"the time step of {dt:.3g} s is probably too long: take time.dt = {good:.2g}"
    return "the time step is short enough, so bodies are too fast or too soft: use stiffer materials or lower the speeds"


def bad_motion(simulation: "Simulation", scenario: Scenario) -> str:
    """The message about an alarm of the kernels, with a remedy; empty if there is none."""
    fault = motion_fault(simulation, scenario)
    return f"{fault}; {advice(simulation, scenario)}" if fault else ""


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


def bad_observables(simulation: "Simulation", scenario: Scenario, total: float, parts: float) -> str:
    """The message about a wrong energy (`total`, J) or a too large angle per step; empty if all is well. `parts` is the
    largest sum so far of the magnitudes of the energy's parts, J."""
    guard, model, initial = scenario.guard, simulation.model, simulation.initial_energy
    speed, body = simulation.fastest_spin
    off, angle = abs(total - initial), model.dt * speed
    if not math.isfinite(total):
        fault = "the energy is no longer a number"
    elif off > guard.energy * abs(initial) and off > min(guard.energy, CANCELLED) * parts:
        times = f"by {off / abs(initial):.3g} times" if initial else "from"
        fault = f"the energy deviates {times} its first value (guard.energy = {guard.energy:g})"
    elif angle > guard.turn:
        fault = f"{name(model, body)} turns by {angle:.3g} rad in a step (guard.turn = {guard.turn:g})"
    else:
        return ""
    return f"{fault} at step {simulation.step}; {advice(simulation, scenario)}"


def bad_frame(frame: Frame) -> str:
    """The message about a frame that is not finite; empty if all is well."""
    return "" if frame.finite else f"bodies have positions that are not numbers at step {frame.step}"


def name(model: Model, body: int) -> str:
    """A body with its clump, for messages."""
    return f"body {body} ({model.clumps[model.species[body]].name})"
