"""A contact law from a user's script: docs/own_law.py, and what can go wrong with one."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import minidem
from minidem.engine.contact.batch import CONSTANT, ENERGY, FORCE, ROWS
from minidem.engine.contact.loading import contact_law
from minidem.engine.contact.registry import LAWS
from minidem.engine.state import CONTACTS
from minidem.scenario.reading import parse

EXAMPLE = Path(__file__).parents[2] / "docs" / "own_law.py"


@pytest.fixture(autouse=True)
def catalogue_as_it_was():
    before = dict(LAWS)
    yield
    LAWS.clear()
    LAWS.update(before)


def test_example_of_the_documentation():
    """Two balls on a linear spring: contact for half a period, velocities exchanged, the largest energy in the middle."""
    result = runpy.run_path(str(EXAMPLE))["collision"]()
    log, dt = result.energy, result.summary["dt"]
    touching = np.flatnonzero(log["elastic"] > 0)
    mass, k = result.trajectory.mass[0] / 2, 5e3
    assert len(touching) * dt == pytest.approx(math.pi * math.sqrt(mass / k), abs=2 * dt)
    assert log["elastic"].max() == pytest.approx(0.5 * mass * 1.0**2, rel=1e-4)  # closing speed 1 m/s
    assert result.trajectory.velocity[-1, 0, 0] == pytest.approx(-0.5, rel=1e-5)
    assert result.summary["energy"]["drift_last"] < 1e-5


def spring(distance, reach, radii, constant):
    overlap = reach - distance
    return constant * overlap / distance, 0.5 * constant * overlap * overlap


def twice(distance, reach, radii, constant):
    overlap = reach - distance
    return 2 * constant * overlap / distance, constant * overlap * overlap


def test_a_changed_function_is_not_the_old_one():
    """Laws from elsewhere are not kept in the disk cache, whose folder covers the package's own sources only."""
    for contact, factor in ((spring, 1.0), (twice, 2.0), (spring, 1.0)):
        minidem.laws.register("mine", contact, lambda a, b: 1.0, lambda *_: 1.0, edge_power=1.0)
        batch = np.zeros(ROWS * CONTACTS)
        batch[:4] = 0.5, 0.0, 0.0, -0.75  # at half a metre, with a reach of 0.75 m
        batch[CONSTANT] = 3.0
        deep = evaluated(contact_law("mine").forces, batch)
        assert deep == 0
        assert batch[FORCE] == pytest.approx(factor * 3.0 * 0.25 / 0.5)
        assert batch[ENERGY] == pytest.approx(factor * 0.5 * 3.0 * 0.25**2)


def evaluated(forces, batch):
    from numba import njit

    return njit(lambda f, batch: f(1, batch, np.inf))(forces, batch)


@minidem.laws.compiled
def squared(overlap):
    return overlap * overlap


def with_helper(distance, reach, radii, constant):
    overlap = reach - distance
    return constant * overlap / distance, 0.5 * constant * squared(overlap)


def without_force(distance, reach, radii, constant):
    """Repels only where the overlap is above 1 mm; elsewhere it returns integers."""
    if reach - distance < 1e-3:
        return 0, 0
    return 0.25 * constant, constant


THREE_BALLS = """
time = {dt = 1e-6, end = 1e-5}
contact.law = "mine"
material.rubber = {young = 1e7, poisson = 0.3, density = 1000.0}
material.steel = {young = 2e11, poisson = 0.3, density = 7800.0}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "rubber"}
clump.shot = {spheres = [[0, 0, 0, 0.02]], material = "steel"}
wall = [{point = [0, 0, 0], normal = [0, 0, 1], material = "steel"}]
body = [
    {clump = "ball", position = [0, 0, 0.0101], velocity = [0, 0, -50.0]},
    {clump = "ball", position = [0.0201, 0, 0.0101], velocity = [-50.0, 0, -250.0]},
    {clump = "shot", position = [0.0, 0.0284, 0.0201], velocity = [0, -50.0, 0]},
]
guard = {contact = false, overlap = false}
"""


def touching(contact):
    """The contacts of three balls and a wall; the constant of a law is 2 for two rubber balls, 3 with steel."""
    constant = {(1e7, 1e7): 2.0, (1e7, 2e11): 3.0, (2e11, 1e7): 3.0, (2e11, 2e11): 4.0}
    minidem.laws.register("mine", contact, lambda a, b: constant[a["young"], b["young"]], lambda *_: 1.0, edge_power=1.0)
    sim = minidem.Simulation(parse(THREE_BALLS))
    sim.advance(10)
    return sim.contacts


@pytest.mark.parametrize("contact", [spring, with_helper])
def test_forces_of_the_contacts(contact):
    """F = k d with the k of the two materials, at walls too, in the order of the bodies."""
    found = touching(contact)
    assert found.wall.tolist() == [0, -1, -1, 0]
    stiffness = np.array([3.0, 2.0, 3.0, 3.0])
    np.testing.assert_allclose(found.force, stiffness * found.overlap, rtol=1e-12)
    assert (found.overlap > 1e-4).all()


def test_forces_of_a_law_with_whole_numbers():
    """The first contact returns integers, another one floats."""
    found = touching(without_force)
    assert found.force[0] == 0.0
    assert found.overlap[-1] > 1e-3 and found.force[-1] > 0.0


def test_forces_of_more_contacts_than_a_batch():
    minidem.laws.register("mine", spring, lambda a, b: 1.0, lambda *_: 1.0, edge_power=1.0)
    distance = np.linspace(0.5, 1.0, 2 * CONTACTS + 7)
    constant = np.arange(1.0, distance.size + 1)
    force = contact_law("mine").force(distance, np.full_like(distance, 1.5), np.ones_like(distance), constant)
    np.testing.assert_allclose(force, constant * (1.5 - distance), rtol=1e-12)
    assert contact_law("mine").force(*np.empty((4, 0))).shape == (0,)


@pytest.mark.parametrize(
    ("contact", "got"),
    [
        (lambda distance, reach, radii, constant: distance, "1.0"),
        (lambda distance, reach, radii, constant: (distance, reach, radii), r"\(1.0, 1.5, 0.5\)"),
        (lambda distance, reach, radii, constant: None, "None"),
        (lambda distance, reach, radii, constant: (distance, 1j), r"\(1.0, 1j\)"),
    ],
)
def test_wrong_results(contact, got):
    minidem.laws.register("mine", contact, lambda a, b: 1.0, lambda *_: 1.0, edge_power=1.0)
    with pytest.raises(
        minidem.InputError,
        match=f'line [0-9]+: contact law "mine": contact ret.*\n  it must return two numbers.*, not {got}\n  `minidem new',
    ):
        contact_law("mine")


def test_a_contact_time_that_fails():
    """Three lines say where and why: the function is not the package's own."""
    minidem.laws.register("mine", spring, lambda a, b: 1.0, lambda constant, *_: 1.0 / constant, edge_power=1.0)
    with pytest.raises(
        minidem.InputError,
        match=r'line [0-9]+: contact law "mine": contact_time fails\n  ZeroDivisionError: float div.*\n  `minidem new',
    ):
        contact_law("mine").contact_time(0.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("constant", "message"),
    [
        (
            lambda a, b: a["young"],
            "the constants of rubber and steel and of steel and rubber must be equal, got 1e[+]07 and 2",
        ),
        (lambda a, b: 1e300 * a["young"] * b["young"], "the constant of rubber and rubber must be finite, got inf"),
        (lambda a, b: float("nan"), "the constant of rubber and rubber must be finite, got nan"),
    ],
)
def test_wrong_constants(constant, message):
    minidem.laws.register("mine", spring, constant, lambda *_: 1.0, edge_power=1.0)
    with pytest.raises(minidem.ScenarioError, match=f"balls.toml: contact.law: {message}"):
        minidem.Simulation(parse(THREE_BALLS), source="balls.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "hertz"}, "built-in law"),
        ({"name": ""}, "is empty"),
        ({"name": "my/law"}, '"my/law": the name of a law has only letters'),
        ({"name": "my law\n"}, "has only letters"),
        ({"edge_power": 0.0}, "edge_power: must be above 0"),
        ({"edge_power": float("nan")}, "edge_power: must be above 0 and finite, or None, got nan"),
        ({"edge_power": float("inf")}, "edge_power: must be above 0 and finite, or None, got inf"),
        ({"keys": "stiffness"}, r'keys: must be a tuple of names, such as \("stiffness",\)'),
    ],
)
def test_refusals(change, message):
    given = {"name": "mine", "edge_power": 1.0} | change
    with pytest.raises(ValueError, match=message):
        minidem.laws.register(contact=spring, constant=lambda a, b: 1.0, contact_time=lambda *_: 1.0, **given)
