"""What happens at the edges of contacts does not depend on threads, lists, their room or the numbers of the bodies."""

from functools import cache

import numpy as np
import pytest
from runs import scene
from test_threads import CLUMPS, DOMAIN, MATERIALS, SCENES
from texts import scenario_text

from minidem.engine.state import BLOCK
from minidem.engine.world import make_room
from minidem.errors import PhysicsError
from minidem.model.building import build_model
from minidem.running import simulation as engine
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

STEPS, EVERY = 120, 10


def model_of(kind, edges):
    """ "few" is a scene of a single block, which has close lists; the others have several blocks and are on the move."""
    if kind == "few":
        return build_model(scene("rods").with_changes({"contact.edges": edges}))
    groups, walls = SCENES[kind]
    place = [dict(clump=clump, packing_fraction=0.7 * fraction, speed=3.0, spin=200.0) for clump, fraction in groups]
    tables = {"domain": DOMAIN, "dt": "0.2 rayleigh", "end": 0.1, "seed": 4, "contact": {"edges": edges}}
    return build_model(parse(scenario_text(MATERIALS, CLUMPS, place=place, walls=walls, **tables)))


def renew_never(simulation):
    pass


def renew_lists(simulation):
    for lists in (simulation._world.lists, simulation._world.close):
        lists.old_position[:] = np.nan


def renew_close_lists(simulation):
    simulation._world.close.old_position[:] = np.nan


def renew_at_odd_steps(simulation):
    if simulation.step % 2 == 1:
        renew_lists(simulation)


def take_room(simulation):
    """Lists are renewed, after room has been made for them."""
    if simulation.step % 7 == 3:
        simulation._world.lists.wanted[:] = 0
        make_room(simulation._world)


def told(model, threads=1, meddle=None):
    """Positions, velocities, orientations and spins every EVERY steps, and the accounts there. `meddle` is called before
    every step."""
    simulation = Simulation.from_model(model, "no-squish", threads)
    assert simulation.threads == threads
    rows, accounts = [], []
    while simulation.step < STEPS:
        for _ in range(EVERY if meddle else 1):
            if meddle:
                meddle(simulation)
            simulation.advance(1 if meddle else EVERY)
        frame = simulation.frame()
        rows.append(np.hstack([frame.position, frame.velocity, frame.orientation, frame.angular_velocity]))
        accounts.append((simulation.edge_error, simulation.edge_deviation, simulation.contacts_entered))
    return np.array(rows), np.array(accounts)


def assert_same(found, expected):
    for some, others in zip(found, expected, strict=True):
        assert np.array_equal(some, others)


@pytest.fixture(scope="module", params=["plain", "corrected"])
def edges(request):
    return request.param


@cache
def known(name, edges):
    """A model, and what it tells."""
    model = model_of(name, edges)
    expected = told(model)
    assert (len(model.species) > 2 * BLOCK) == (name != "few") and np.isfinite(expected[0]).all()
    errors, _, entered = expected[1].T
    assert entered[-1] - entered[0] > (3 if name == "few" else 500)  # contacts come and go
    assert np.unique(errors).size > 5
    return model, expected


@pytest.fixture(params=["few", "balls", "mixture"])
def system(request, edges):
    return known(request.param, edges)


@pytest.fixture(params=["balls", "mixture"])
def large(request, edges):
    """Of several blocks: only these use threads and are sorted."""
    return known(request.param, edges)


def test_threads(large):
    model, expected = large
    assert_same(told(model, 2), expected)


@pytest.mark.parametrize("meddle", [renew_never, renew_lists, renew_close_lists, renew_at_odd_steps, take_room])
def test_lists(system, meddle):
    model, expected = system
    assert_same(told(model, 1, meddle), expected)


def test_lists_of_two_threads(large):
    model, expected = large
    assert_same(told(model, 2, renew_at_odd_steps), expected)


def test_bodies_that_are_sorted_anew(large, monkeypatch):
    """Every 30 steps: the past goes with them. Forces are added in another order then, and blocks have other sums; that is
    round-off, of which contacts make 1e-9 at the most."""
    model, (rows, accounts) = large
    monkeypatch.setattr(engine, "SORT_EVERY", 30)
    sorted_rows, sorted_accounts = told(model)
    assert not np.array_equal(sorted_rows[-1], rows[-1])  # they have been sorted
    np.testing.assert_allclose(sorted_rows, rows, rtol=0, atol=1e-9 * np.abs(rows).max())
    np.testing.assert_allclose(sorted_accounts[:, 0], accounts[:, 0], rtol=0, atol=1e-9 * accounts[-1, 1])
    assert np.array_equal(sorted_accounts[:, 2], accounts[:, 2])
    for threads, meddle in ((2, None), (1, renew_at_odd_steps), (2, take_room)):
        assert_same(told(model, threads, meddle), (sorted_rows, sorted_accounts))


def test_the_account_is_complete_where_a_guard_stops_the_motion():
    """At the first contact, whose edge is still in the batch."""
    scenario = scene("rods").with_changes({"guard.overlap": 1e-9})
    found = []
    for steps in (100_000, 1):
        simulation = Simulation(scenario, threads=1)
        with pytest.raises(PhysicsError, match="overlap"):
            while True:
                simulation.advance(steps)
        found.append((simulation.step, simulation.edge_error, simulation.contacts_entered))
    assert found[0] == found[1]
    assert found[0][1] != 0.0 and found[0][2] == 1
