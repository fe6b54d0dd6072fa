"""Guards: checks that stop a run that can no longer be right, and their messages. The limits are in scenario.Guard.

The kernels watch overlaps and the motion of the bodies (engine/watching.py). The energy and the angle per step are checked
at the rows of the energy log.
"""

import math
import warnings
from typing import TYPE_CHECKING

from ..errors import InputError, ScenarioError
from ..files.trajectory import Frame
from ..model.building import Model, build_model
from ..model.times import contact_time, fastest, good_step, smallest_rayleigh_time
from ..scenario.reading import Scenario
from .advice import suggestion
from .faults import can_touch, motion_fault, name
from .pilots import Begin

if TYPE_CHECKING:
    from .simulation import Simulation

# Fraction of the energy's parts: where these cancel, the total may rightly deviate by many times its first value.
CANCELLED = 0.5


def warn(note: str) -> None:
    """Issue a Python warning."""
    warnings.warn(note, stacklevel=3)


def check_time_step(begin: Begin, scenario: Scenario, model: Model, source: str) -> list[str]:
    """Warnings about the time step; ScenarioError for one that would not resolve contacts at all. `begin` makes simulations
    of a model, for pilot runs."""
    guard, dt = scenario.guard, model.dt
    if not can_touch(model):
        return []
    speed = fastest(model)
    shortest, rayleigh = contact_time(model, speed), smallest_rayleigh_time(scenario, model.spheres_by_clump)
    if dt > guard.contact * shortest:
        times = f"{dt / shortest:.3g}" if shortest > 0 else "any number of"
        fault = f"{dt:.3g} s is {times} times the shortest contact (guard.contact = {guard.contact:g})"
        remedy = f"take {suggestion(begin, scenario, model).dt:.2g} s or less, or set guard.contact = false to run anyway"
        raise ScenarioError([f"{source}: time.dt: {fault}; {remedy}"])
    if dt > guard.rayleigh * rayleigh:
        fault = (
            f"{dt:.3g} s is {dt / rayleigh:.3g} Rayleigh times of the smallest sphere (guard.rayleigh = {guard.rayleigh:g})"
        )
        remedy = "minidem check suggests a time step; raise the limit if such spheres are parts of much heavier bodies"
        return [f"{source}: time.dt: warning: {fault}; {remedy}"]
    return []


def advice(simulation: "Simulation", scenario: Scenario) -> str:
    """What to change when a guard stops the run."""
    dt = simulation.model.dt
    try:  # with the bodies where they started: the model of a resumed simulation does not have them there
        good = suggestion(simulation.from_model, scenario, build_model(scenario)).dt
    except InputError:  # a clump file is no longer there
        good = good_step(scenario, simulation.model, simulation.initial_speed)
    if dt > good:
        return f"the time step of {dt:.3g} s is probably too long: take time.dt = {good:.2g}"
    return "the time step is short enough, so bodies are too fast or too soft: use stiffer materials or lower the speeds"


def bad_motion(simulation: "Simulation", scenario: Scenario) -> str:
    """The message about an alarm of the kernels, with a remedy; empty if there is none."""
    fault = motion_fault(simulation, scenario)
    return f"{fault}; {advice(simulation, scenario)}" if fault else ""


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
