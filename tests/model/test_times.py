"""Time scales of scenarios, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from texts import scenario_text

from minidem.errors import ScenarioError
from minidem.model.building import build_model
from minidem.model.times import contact_time, good_step, rayleigh_time, smallest_rayleigh_time, step_count, time_step
from minidem.scenario.reading import parse
from minidem.scenario.tables import Material

MATERIALS = {"marble": (60e9, 0.25, 3200.0), "steel": (200e9, 0.3, 7800.0)}
CLUMPS = {
    "rod": [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.02], [0.04, 0, 0, 0.03]],
    "ball": {"spheres": [[0, 0, 0, 0.019]], "material": "steel"},
}
ROD, BALL = dict(clump="rod", position=[0, 0, 0]), dict(clump="ball", position=[1, 0, 0])


def scenario_of(*bodies, dt=1e-5):
    return parse(scenario_text(MATERIALS, CLUMPS, bodies, dt=dt, end=0.5), "chess.toml")


def test_rayleigh_time():
    # Worked by hand: G = 60e9 / 2.5 = 24e9; pi 0.01 sqrt(3200 / 24e9) / (0.1631 0.25 + 0.8766) = 1.2505e-5 s
    marble = Material(young=60e9, poisson=0.25, density=3200.0)
    assert rayleigh_time(0.01, marble) == pytest.approx(math.pi * 0.01 * math.sqrt(3200 / 24e9) / 0.917375, rel=1e-14)
    assert rayleigh_time(0.01, marble) == pytest.approx(1.2505e-5, rel=1e-4)


def test_a_scenarios_rayleigh_time_is_the_smallest_of_the_clumps_in_use():
    rods = scenario_of(ROD, dt="0.1 rayleigh")
    rows = {"rod": rods.clump["rod"].sphere_rows(), "ball": np.array([[0, 0, 0, 1e-9]])}  # no ball has a body
    smallest = rayleigh_time(0.02, rods.material["marble"])
    assert smallest_rayleigh_time(rods, rows) == smallest
    assert time_step(rods, rows) == 0.1 * smallest
    assert time_step(rods.with_changes({"time.dt": 2e-6}), {}) == 2e-6
    both = scenario_of(ROD, BALL)
    rows["ball"] = both.clump["ball"].sphere_rows()
    assert smallest_rayleigh_time(both, rows) == min(smallest, rayleigh_time(0.019, both.material["steel"])) < smallest


def test_steps():
    s = scenario_of(ROD)
    assert step_count(s, 1e-5) == 50_000
    assert step_count(s, 0.3) == 2
    assert step_count(s, 10.0) == 1
    for dt in (1e-300, 0.0, math.inf, math.nan):
        with pytest.raises(ScenarioError, match=r"^chess: time.dt: must allow the end to be reached"):
            step_count(s, dt)


def test_the_shortest_contact_is_that_of_any_constant():
    """For a law whose constant is a compliance, the stiffest pair of materials has the smallest."""
    model = build_model(scenario_of(ROD, BALL))
    soft = model.law._replace(contact_time=lambda constant, mass, radius, speed: math.sqrt(mass * constant))
    model = replace(model, law=soft, constants=np.array([[4e-9, 2e-9], [2e-9, 1e-9]]))
    assert contact_time(model, 1.0) == pytest.approx(math.sqrt(min(clump.mass for clump in model.clumps) / 2 * 1e-9))


def test_two_bodies_of_one_clump_meet_head_on():
    """By hand, from the closed form of Hertz: half the mass, half the radius, and twice the speed of each."""
    model = build_model(scenario_of(BALL))
    modulus = 200e9 / (2 * (1 - 0.3**2))
    mass, radius, closing = model.clumps[0].mass / 2, 0.019 / 2, 2 * 3.0
    expected = 2.87 * (mass**2 / (radius * modulus**2 * closing)) ** 0.2
    assert contact_time(model, 3.0) == pytest.approx(expected, rel=1e-12)


def test_a_good_step_resolves_contacts_and_the_way_between_them():
    """A thirtieth of a contact, and at most a twentieth of the smallest radius; at rest a tenth of the Rayleigh time."""
    scenario = scenario_of(ROD, BALL)
    model = build_model(scenario)
    assert good_step(scenario, model, 0.1) == pytest.approx(contact_time(model, 0.1) / 30, rel=1e-14)
    assert good_step(scenario, model, 1e4) == pytest.approx(0.05 * 0.019 / 1e4, rel=1e-14)
    rows = {clump.name: clump.spheres for clump in model.clumps}
    assert good_step(scenario, model, 0) == pytest.approx(0.1 * smallest_rayleigh_time(scenario, rows), rel=1e-14)
