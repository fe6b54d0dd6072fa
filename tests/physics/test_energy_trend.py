"""A box of 1000 rods: the energy has no trend with well-behaved schemes, and has one with others."""

import numpy as np
import pytest
from scenes import SCENARIOS

import minidem

# Without a trend, the energy is a random walk (a step per collision, as the force is not smooth where a contact begins). A
# line fitted to simulated random walks rises by 5 times the scatter around it (root mean square), and by more than 14 times
# in one of a hundred. A systematic gain or loss per collision gives far more.
WALK = 15


def fitted_trend(scheme, end):
    """Rise of a line fitted to E/E0, and the scatter around it; without the start, when there are no contacts."""
    changes = ("domain.box=[1.8, 1.8, 1.8]", "place[0].count=1000", "place[0].spin=40", f"time.end={end}")
    output = ("output.frames=1", "output.energies=400")
    result = minidem.run(minidem.load(SCENARIOS / "rods.toml", (*changes, *output, f"integrator.rotation={scheme}")))
    energy = result.energy["total"][20:] / result.summary["energy"]["initial"]
    share = np.linspace(0, 1, len(energy))
    line = np.polyfit(share, energy, 1)
    scatter = np.std(energy - np.polyval(line, share))
    assert result.energy["elastic"][20:].min() > 0  # some rods are always in contact
    assert scatter > 1e-7  # which changes the energy
    return line[0], scatter


@pytest.mark.parametrize("scheme", ["spiral", "omelyan", "fincham", "newmark-body", "no-squish", "free-rotor"])
def test_energy_of_a_box_of_rods_has_no_trend(scheme, long):
    """Against the rise of a random walk. 5300 steps, in which each rod collides about ten times; 210,000 with --long."""
    rise, scatter = fitted_trend(scheme, 8.0 if long else 0.2)
    assert abs(rise) < WALK * scatter
    assert abs(rise) < (1e-3 if long else 1e-4)  # an instability also has a large scatter


@pytest.mark.parametrize("scheme", ["fincham-yade", "velocity-verlet", "spiral-sync"])
def test_energy_of_others_has_a_trend(scheme):
    """The matrix or torque of the wrong time causes a trend, and the same measure detects it."""
    rise, scatter = fitted_trend(scheme, 0.2)
    assert rise > 2 * WALK * scatter
    assert rise > 3e-4
