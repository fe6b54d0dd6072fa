"""A contact law from a user's script: docs/own_law.py, and what can go wrong with one."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import minidem
from minidem.engine.contact.loading import contact_law
from minidem.engine.contact.registry import LAWS
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
    scene = runpy.run_path(str(EXAMPLE))["SCENE"]
    result = minidem.run(parse(scene))
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
        batch = np.zeros(7 * 128)
        batch[:4] = 0.5, 0.0, 0.0, -0.75  # at half a metre, with a reach of 0.75 m
        batch[5 * 128] = 3.0
        deep = evaluated(contact_law("mine").forces, batch)
        assert deep == 0
        assert batch[5 * 128] == pytest.approx(factor * 3.0 * 0.25 / 0.5)
        assert batch[6 * 128] == pytest.approx(factor * 0.5 * 3.0 * 0.25**2)


def evaluated(forces, batch):
    from numba import njit

    return njit(lambda f, batch: f(1, batch, np.inf))(forces, batch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "hertz"}, "built-in law"),
        ({"name": ""}, "is empty"),
        ({"edge_power": 0.0}, "edge_power: must be above 0"),
    ],
)
def test_refusals(change, message):
    given = {"name": "mine", "edge_power": 1.0} | change
    with pytest.raises(ValueError, match=message):
        minidem.laws.register(given["name"], spring, lambda a, b: 1.0, lambda *_: 1.0, edge_power=given["edge_power"])
