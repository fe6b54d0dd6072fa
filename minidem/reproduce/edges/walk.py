"""The deviation that plain edges are expected to make in a run: a random walk over its contacts."""

import math

import numpy as np

from ...running.simulation import Simulation
from ...scenario.reading import Scenario

# Of a random walk that ends with the standard deviation 1:
MEAN_OF_WALK = math.sqrt(2.0 / math.pi) * 2.0 / 3.0  # mean over time of its absolute value
SMALLER_OF_WALK = 0.475  # mean of the smaller of that, for a single walk, and its last |value|: 80,000 walks of 400 steps


def expected_deviation(scenario: Scenario, dt: float, seeds: int) -> float:
    """Standard deviation that plain edges are expected to make by the end of a run, over the initial energy: mean over
    some seeds, which need one run each. It scales as dt^(5/2)."""
    found = []
    for seed in range(seeds):
        changes = {"seed": seed, "time.dt": dt, "contact.edges": "plain", "integrator.rotation": "no-squish"}
        simulation = Simulation(scenario.with_changes(changes), on_note=lambda note: None)
        simulation.advance(round(scenario.time.end / dt))
        found.append(simulation.edge_deviation / simulation.initial_energy)
    return float(np.mean(found))  # not the rms: it is compared with means of absolute values
