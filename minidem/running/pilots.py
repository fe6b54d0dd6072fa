"""Pilot runs: short runs of a model with a coarse time step, and what they say about the energy error.

The deviation of the energy has three parts, which scale differently with the time step:

- the edges of contacts, if they are plain: a random walk with the standard deviation `Simulation.edge_deviation`, as
  dt^(p+1) with the edge power p of the law;
- rows within contacts: the energy of the scheme differs from the energy by order dt^2, for as long as the contact lasts;
- the rest, seen in rows without contacts: the rotation, and what the edges leave behind. Its power is measured.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..engine.contact.edges import edges_of
from ..engine.contact.registry import LAWS
from ..errors import PhysicsError
from ..model.building import Model
from ..scenario.reading import Scenario
from ..scenario.tables import Time
from .faults import motion_fault

if TYPE_CHECKING:
    from .simulation import Simulation

Array = NDArray[np.float64]
Begin = Callable[..., "Simulation"]  # Simulation.from_model: simulations themselves ask for advice, so they pass it
ROWS = 200  # of a pilot over the whole time
LEAST_ROWS = 20  # of a pilot that ends early
WORK = 3e7  # bodies times steps of one pilot, at most
LEAST_BODIES = 30  # fewer take as long
PLENTY = 20_000  # contacts after which a pilot ends
NOMINAL = "0.1 rayleigh"  # time step of a model that is only looked at
FREE = 0.1  # least share of rows without contacts that shows the rest apart from the contacts


def with_step(scenario: Scenario, dt: float | str) -> Scenario:
    """The scenario with another time step: s, or a text such as "0.1 rayleigh"."""
    return scenario.model_copy(update={"time": Time(dt=dt, end=scenario.time.end)})


def at_step(model: Model, scenario: Scenario, dt: float, edges: str) -> Model:
    """The model with another time step (s) and "plain" or "corrected" edges, with the bodies where they are."""
    power = LAWS[scenario.contact.law].edge_power
    steps = max(1, round(scenario.time.end / dt))
    return replace(model, dt=dt, steps=steps, edges=edges_of(power, edges == "corrected", dt))


@dataclass(frozen=True)
class Pilot:
    """What a pilot run found, at r rows evenly spaced in time. Energies are relative to the initial energy."""

    dt: float  # s
    part: float  # of the scenario's time that the pilot covers
    variance: Array  # (r,) expected square of the error made by plain edges so far
    rest: Array  # (r,) error without that of the edges and without that of the contacts under way
    inside: Array  # (r,) error of the contacts under way; 0 in rows without contacts
    entered: int  # contacts that began
    touched: bool  # whether any row has contacts
    speed: float  # largest of any point of a body in any row, m/s
    travel: float  # largest of any centre of mass in any row, m/s
    spin: float  # largest in any row, rad/s
    step_s: float  # wall time of a step, s
    row_s: float  # wall time of a row of the energy log, s


def pilot(begin: Begin, model: Model, rotation: str, scenario: Scenario, threads: int | None = None) -> Pilot:
    """Run a model until its end, for WORK or for PLENTY of contacts. PhysicsError if a guard stops it, or if its energy is
    not finite."""
    simulation = begin(model, rotation, threads, scenario=scenario)
    initial, corrected = simulation.initial_energy, model.edges.corrected
    covered = min(model.steps, max(LEAST_ROWS, round(WORK / max(len(model.species), LEAST_BODIES))))
    count = max(LEAST_ROWS, ROWS * covered // model.steps)
    ends = sorted({round(k * covered / count) for k in range(1, count + 1)} - {0})
    rows, step_s, row_s = [], 0.0, 0.0
    fastest = np.zeros(3)
    for end in ends:
        began = time.perf_counter()
        simulation._advance_to(end)
        if fault := motion_fault(simulation, scenario):  # without the advice of the guards, which takes pilots
            raise PhysicsError(fault)
        stepped = time.perf_counter()
        found = simulation.observables()
        step_s, row_s = step_s + stepped - began, row_s + time.perf_counter() - stepped
        error = 0.0 if corrected else simulation.edge_error
        rows.append((found["total"] - initial - error, found["elastic"], simulation.edge_deviation))
        fastest = np.maximum(fastest, speeds(simulation))
        if len(rows) >= LEAST_ROWS and simulation.contacts_entered >= PLENTY:
            break
    off, elastic, deviation = np.array(rows).T / abs(initial)
    if not np.isfinite(off).all():
        raise PhysicsError("the energy is no longer a number")
    free = elastic == 0.0
    rest = np.zeros(len(off))
    if free.mean() >= FREE:
        rest = np.interp(np.arange(len(off)), np.flatnonzero(free), off[free])
    return Pilot(
        dt=model.dt,
        part=simulation.step / model.steps,
        variance=np.zeros(len(off)) if corrected else deviation**2,
        rest=rest,
        inside=off - rest,
        entered=simulation.contacts_entered,
        touched=not bool(free.all()),
        speed=float(fastest[0]),
        travel=float(fastest[1]),
        spin=float(fastest[2]),
        step_s=step_s / simulation.step,
        row_s=row_s / len(rows),
    )


def speeds(simulation: "Simulation") -> Array:
    """(3,) a bound of the speed of any point of a body and the largest speed of any centre of mass (m/s), and the largest
    spin (rad/s), when `observables` was last called."""
    bodies = simulation.bodies
    speed = float(np.sqrt((bodies.velocity**2).sum(axis=0)).max())
    spin, body = simulation.fastest_spin
    return np.array([speed + spin * bodies.bounding_radius[simulation.rank[body]], speed, spin])
