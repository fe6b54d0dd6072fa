"""Time scales of a scenario: Rayleigh times, contact times, the time step and the number of steps."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ScenarioError
from ..scenario.reading import Scenario
from ..scenario.tables import Material
from ..scenario.values import MOST, drift_wish, rayleigh_fraction

if TYPE_CHECKING:
    from .building import Model

Array = NDArray[np.float64]
MAX_STEPS = 10**15
# Time steps that resolve contacts well: in Rayleigh times, in contact times, and in smallest radii travelled per step.
GOOD_RAYLEIGH, GOOD_CONTACT, GOOD_TRAVEL = 0.1, 1 / 30, 0.05


def rayleigh_time(radius: float, material: Material) -> float:
    """Rayleigh time of a sphere, s: pi R sqrt(rho / G) / (0.1631 v + 0.8766)."""
    shear_modulus = material.young / (2 * (1 + material.poisson))
    wave_factor = 0.1631 * material.poisson + 0.8766
    return math.pi * radius * math.sqrt(material.density / shear_modulus) / wave_factor


def smallest_rayleigh_time(scenario: Scenario, spheres: Mapping[str, Array]) -> float:
    """The smallest Rayleigh time of the spheres of all clumps in use, s; `spheres` has their rows (n, 4), m, by name."""
    return min(
        rayleigh_time(float(spheres[name][:, 3].min()), scenario.material[scenario.clump[name].material])
        for name in scenario.used_clumps
    )


def time_step(scenario: Scenario, spheres: Mapping[str, Array]) -> float:
    """The time step of a scenario, s; `spheres` as for `smallest_rayleigh_time`, needed for "x rayleigh" only.

    The step of "drift x" follows from pilot runs: running/given.py replaces it before a model is built.
    """
    dt = scenario.time.dt
    assert drift_wish(dt) is None
    return dt if isinstance(dt, float) else rayleigh_fraction(dt) * smallest_rayleigh_time(scenario, spheres)


def step_count(scenario: Scenario, dt: float, source: str = "") -> int:
    """The number of steps of `dt` seconds, at least one. `source` names the scenario in a message."""
    if not 0 < dt <= MOST or scenario.time.end / dt > MAX_STEPS:
        rule = f"must allow the end to be reached in at most {MAX_STEPS:.0e} steps"
        if MOST < dt < math.inf:
            rule = f"must be at most {MOST} s"
        raise ScenarioError([f"{source or scenario.name}: time.dt: {rule}, got {dt:g} s"])
    return max(1, round(scenario.time.end / dt))


def fastest(model: "Model") -> float:
    """Upper bound of the speed of any point of a body at the start, m/s."""
    bounding = np.array([clump.bounding_radius for clump in model.clumps])[model.species]
    with np.errstate(over="ignore"):
        turning = np.linalg.norm(model.angular_velocity, axis=1) * bounding
        return float((np.linalg.norm(model.velocity, axis=1) + turning).max())


def contact_time(model: "Model", speed: float) -> float:
    """Duration of the shortest contact of bodies at a speed (m/s), s.

    The contact is a head-on collision of two bodies of one clump, on their largest spheres, with the pair of materials for
    which it is shortest.
    """
    constants = np.unique(model.constants).tolist()
    return min(
        model.law.contact_time(constant, clump.mass / 2, float(clump.spheres[:, 3].max()) / 2, 2 * speed)
        for clump in model.clumps
        for constant in constants
    )


def good_step(scenario: Scenario, model: "Model", speed: float) -> float:
    """A time step that resolves contacts at a speed (m/s) well, s.

    At speed 0 it follows from the Rayleigh time, which ignores that a small sphere may be part of a heavy body.
    """
    if speed == 0:
        return GOOD_RAYLEIGH * smallest_rayleigh_time(scenario, model.spheres_by_clump)
    return min(GOOD_CONTACT * contact_time(model, speed), GOOD_TRAVEL * float(model.templates.radius.min()) / speed)
