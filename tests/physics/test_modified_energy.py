"""In packings, whose bodies always touch, the energy deviates by order dt^2 and the modified energy by order dt^4."""

from functools import cache

import numpy as np
import pytest
from texts import scenario_text

from minidem import Simulation
from minidem.running.modified_energy import bounded_error
from minidem.scenario.reading import parse

MATERIALS = {"any": (1e8, 0.25, 2000.0)}
CLUMPS = {"ball": [[0, 0, 0, 0.01]], "pair": [[-0.008, 0, 0, 0.01], [0.008, 0.003, 0, 0.009]]}
DOMAIN = {"box": [0.08, 0.08, 0.08], "gravity": [0, 0, -9.8]}
TIME, STEPS = 0.02, (500, 1000, 2000)  # s


def packing(kind, steps, edges, scheme, **more):
    place = [dict(clump=kind, packing_fraction=0.62, speed=0.5, spin=200.0)]
    tables = {"domain": DOMAIN, "contact": {"edges": edges}, "integrator": {"rotation": scheme}, "seed": 1}
    return parse(scenario_text(MATERIALS, CLUMPS, place=place, dt=TIME / steps, end=TIME, **tables, **more))


@cache
def deviations(kind, steps, edges, scheme):
    """Rms deviations of the energy and of the modified energy at 20 times, over the energy."""
    sim = Simulation(packing(kind, steps, edges, scheme), threads=1)
    energy, modified = [], []
    for _ in range(20):
        sim.advance(steps // 20)
        assert sim.energies["elastic"] > 0
        energy.append(sim.energies["total"] - sim.initial_energy)
        modified.append(energy[-1] - bounded_error(sim) + sim.initial_bounded)
    return np.sqrt(np.mean(np.square([energy, modified]), axis=1)) / sim.initial_energy


def slopes(kind, edges, scheme):
    found = [deviations(kind, steps, edges, scheme) for steps in STEPS]
    return -np.polyfit(np.log(STEPS), np.log(found), 1)[0]


@pytest.mark.parametrize(("kind", "scheme"), [("ball", "spiral"), ("pair", "free-rotor"), ("pair", "no-squish")])
def test_orders_of_energy_and_modified_energy(kind, scheme):
    energy, modified = slopes(kind, "corrected", scheme)
    assert 1.9 < energy < 2.1
    assert 3.8 < modified < 4.2


@pytest.mark.parametrize("kind", CLUMPS)
def test_modified_energy_shows_what_the_correction_gains(kind):
    plain, corrected = (deviations(kind, STEPS[-1], edges, "free-rotor") for edges in ("plain", "corrected"))
    assert 0.8 < plain[0] / corrected[0] < 1.25  # the bounded error hides it
    assert plain[1] > 10 * corrected[1]


def test_no_bounded_error_of_bodies_in_free_flight():
    """Under gravity it is constant."""
    bodies = [dict(clump="pair", position=[0.03, 0.03, 0.05], angular_velocity=[1.0, 2.0, 3.0])]
    sim = Simulation(parse(scenario_text(MATERIALS, CLUMPS, bodies, domain=DOMAIN, dt=1e-5, end=1e-2)))
    sim.advance(100)
    mass = sim.model.mass[0]
    assert bounded_error(sim) == pytest.approx(sim.initial_bounded, rel=1e-12)
    assert bounded_error(sim) == pytest.approx(mass * 9.8**2 * 1e-10 / 24, rel=1e-12)
