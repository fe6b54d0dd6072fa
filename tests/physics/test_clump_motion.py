"""Clumps between oblique walls under gravity, against an integration of their own by DOP853."""

import numpy as np
import pytest
from plain_clumps import Crowd, Motion, motion
from scenes import simulated, slope
from texts import scenario_text

from minidem.scenario.reading import parse

MATERIALS = {"rubber": (2e7, 0.35, 1100.0), "wood": (5e7, 0.1, 700.0)}
# Of spheres that do not overlap, so that mass and inertia follow by hand; none of their principal axes are those given.
CLUMPS = {
    "hook": ("rubber", [[0, 0, 0, 0.02], [0.045, 0.01, 0, 0.022], [0.06, 0.055, 0.01, 0.018], [0.05, 0.06, 0.05, 0.014]]),
    "handle": ("wood", [[-0.05, 0.01, 0.02, 0.03], [0.05, -0.02, 0.03, 0.02], [0, 0.01, 0.005, 0.012]]),
    "jack": ("rubber", [[0, 0, 0, 0.02], [0.035, 0.01, 0, 0.014], [0.01, 0.04, 0.01, 0.015], [0, -0.02, 0.04, 0.017]]),
}
WALLS = [  # a trough with a slope, and no wall along an axis
    ([0, 0, 0], [0.6, 0.2, 1.0], "wood"),
    ([0, 0, 0], [-0.7, 0.3, 0.9], "rubber"),
    ([0.05, 0.12, 0], [0.1, -1.0, 0.4], "wood"),
]
GRAVITY = (1.5, -2.0, -9.0)  # m/s^2, oblique too
SPECIES = ("hook", "handle", "jack")
START = {
    "position": [[-0.02, 0.02, 0.10], [0.03, 0.03, 0.20], [0.04, 0.06, 0.29]],
    "velocity": [[0.2, 0.1, -1.0], [-0.1, 0.2, -2.0], [-0.3, 0.8, -3.0]],
    "orientation": [[0.5, 0.7, -0.1, 0.3], [0.9, 0.1, 0.5, -0.3], [0.1, -0.3, 0.8, 0.2]],
    "angular_velocity": [[12, -9, 20], [-10, 25, 6], [15, 9, -22]],
}
START["orientation"] = [np.array(q) / np.linalg.norm(q) for q in START["orientation"]]
END, SAMPLES = 0.08, 8  # s, and times at which all is compared
LONGEST = 1e-4  # s, a thirtieth of a contact


@pytest.fixture(scope="module")
def exact():
    """The motion by DOP853, and by how much another tolerance changes it."""
    crowd = Crowd(MATERIALS, CLUMPS, SPECIES, WALLS)
    times = END / SAMPLES * np.arange(1, SAMPLES + 1)
    found, coarser = (motion(crowd, START, GRAVITY, times, LONGEST, tolerance) for tolerance in (1e-13, 1e-12))
    return found, apart(found, coarser)


def apart(one, other):
    """Difference of each quantity, root mean square over all times and bodies, q and -q being the same."""
    signs = np.sign(np.sum(one.orientation * other.orientation, axis=-1, keepdims=True))
    other = other._replace(orientation=signs * other.orientation)
    return np.array([np.sqrt(np.mean((a - b) ** 2)) for a, b in zip(one, other, strict=True)])


def simulation_of(dt, scheme, edges):
    bodies = [dict(zip(("clump", *START), row, strict=True)) for row in zip(SPECIES, *START.values(), strict=True)]
    walls = [dict(zip(("point", "normal", "material"), wall, strict=True)) for wall in WALLS]
    clumps = {name: {"material": material, "spheres": rows} for name, (material, rows) in CLUMPS.items()}
    tables = {"integrator": {"rotation": scheme}, "domain": {"gravity": GRAVITY}, "contact": {"edges": edges}}
    return simulated(parse(scenario_text(MATERIALS, clumps, bodies, walls=walls, dt=dt, end=END, **tables)))


def simulated_motion(steps, scheme, edges):
    """At the same times, with that many steps, and the contacts that began."""
    simulation = simulation_of(END / steps, scheme, edges)
    rows = []
    for _ in range(SAMPLES):
        simulation.advance(steps // SAMPLES)
        frame = simulation.frame()
        rows.append([getattr(frame, name) for name in Motion._fields])
    return Motion(*(np.array(part) for part in zip(*rows, strict=True))), simulation.contacts_entered


STEPS = SAMPLES * np.geomspace(200, 6400, 25).astype(int)  # 60 to 2000 in a contact


# Corrected edges leave the second order of leapfrog and of these schemes. Plain ones add errors that go with dt^(5/2) and
# differ with each dt: they are as large as the others here, and the line fitted through all of them is a little steeper.
EDGES = {"plain": (1.95, 2.45), "corrected": (1.99, 2.01)}


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("scheme", ["spiral", "fincham", "no-squish"])
def test_motion_converges_to_the_exact_one(exact, scheme, edges):
    """Positions, velocities, orientations and angular velocities: 13 contacts on the way, of the bodies with each other and
    with each of the walls. A contact makes the errors of those before it several times as large."""
    expected, doubt = exact
    errors = []
    for steps in STEPS:
        found, contacts = simulated_motion(steps, scheme, edges)
        errors.append(apart(expected, found))
        assert contacts == 13
    errors = np.array(errors)
    assert (errors[-1] < [1e-8, 5e-7, 3e-7, 5e-5]).all()  # m, m/s, 1, rad/s
    assert (errors.min(axis=0) > 1.5 * doubt).all()  # the reference is closer; how much depends on the processor
    low, high = EDGES[edges]
    for column in errors.T:
        assert low < slope(1 / STEPS, column) < high
