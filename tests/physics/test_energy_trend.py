"""A box of 1000 rods: the energy keeps no direction with the schemes that behave well, and does with others."""

import numpy as np
import pytest
from scenes import SCENARIOS

import minidem

# A line through a log that is nothing but a random walk (each collision is a step of it: the force is not smooth where a
# contact begins) climbs by 5 times the scatter around it, root mean square, and by 14 in one of a hundred, as random numbers
# tell. What a scheme loses or gains in every collision goes far beyond.
WALK = 15


def fitted_trend(scheme, end):
    """How far a line through the log of E/E0 climbs, and the scatter around it; without the start, that has no contacts."""
    changes = ("domain.box=[1.8, 1.8, 1.8]", "place[0].count=1000", "place[0].spin=40", f"time.end={end}")
    output = ("output.frames=1", "output.energies=400")
    result = minidem.run(minidem.load(SCENARIOS / "rods.toml", (*changes, *output, f"integrator.rotation={scheme}")))
    energy = result.energy["total"][20:] / result.summary["energy"]["initial"]
    share = np.linspace(0, 1, len(energy))
    line = np.polyfit(share, energy, 1)
    scatter = np.std(energy - np.polyval(line, share))
    assert result.energy["elastic"][20:].min() > 0  # there are always some in contact,
    assert scatter > 1e-7  # and it shows
    return line[0], scatter


@pytest.mark.parametrize("scheme", ["spiral", "omelyan", "fincham", "newmark-body", "no-squish", "free-rotor"])
def test_energy_of_a_box_of_rods_has_no_trend(scheme, long):
    """5300 steps, in which each rod collides about ten times; 210,000 in the long version."""
    climb, scatter = fitted_trend(scheme, 8.0 if long else 0.2)
    assert abs(climb) < WALK * scatter
    assert abs(climb) < (1e-3 if long else 1e-4)  # no line follows a runaway: its scatter is large, too


@pytest.mark.parametrize("scheme", ["fincham-yade", "velocity-verlet", "spiral-sync"])
def test_energy_of_others_has_a_trend(scheme):
    """As the matrix or the torque of the wrong time gives it. The same measure, so it does find one."""
    climb, scatter = fitted_trend(scheme, 0.2)
    assert climb > 2 * WALK * scatter
    assert climb > 3e-4
