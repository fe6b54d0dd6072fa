"""Mass properties of clumps of overlapping spheres, against quadrature over the slices of their union."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from texts import scenario_text
from unions import by_slices, random_clump, shell

from minidem.model.building import build_model
from minidem.scenario.reading import parse
from minidem.shapes.builtin import BUILTINS
from minidem.shapes.clump import make_clump

DENSITY = 2700.0  # kg/m^3
TURN = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()  # slices at right angles to no axis of the clump
CLOSE = 1e-12  # both are exact but for round-off


def difference(one, other):
    """Of two (volume, centre, second moments): relative, or in radii of gyration."""
    (volume, centre, second), size = other, np.sqrt(np.trace(other[2]) / other[0])
    relative = np.abs(one[2] - second).max() / np.trace(second)
    return max(abs(one[0] / volume - 1), np.abs(one[1] - centre).max() / size, relative)


def assert_solid_is_the_union(clump, nodes=24):
    """Volume, mass, centre, inertia and principal axes of a clump, against slices at Gauss nodes between critical heights.

    Convergence is exponential: half as many nodes show what is left, which is a thousand times less with all of them.
    """
    middle = clump.spheres[:, :3].mean(axis=0)
    turned = np.column_stack([(clump.spheres[:, :3] - middle) @ TURN.T, clump.spheres[:, 3]])
    found, coarse = (by_slices(turned, some) for some in (nodes, nodes // 2))
    assert difference(coarse, found) < 1000 * CLOSE
    volume, centre, second = found[0], middle + TURN.T @ found[1], TURN.T @ found[2] @ TURN
    inertia = DENSITY * (np.trace(second) * np.eye(3) - second)
    its_second = 0.5 * np.trace(clump.inertia) * np.eye(3) - clump.inertia  # the inverse of the line above
    assert difference((clump.volume, clump.center, its_second / DENSITY), (volume, centre, second)) < CLOSE
    assert clump.mass == pytest.approx(DENSITY * volume, rel=CLOSE)
    w, *xyz = clump.principal_axes
    axes = Rotation.from_quat([*xyz, w]).as_matrix()
    size = np.trace(inertia)
    # Moments that are equal but for 1e-9 are made equal, and products of inertia below that are taken for zero.
    assert axes.T @ inertia @ axes == pytest.approx(np.diag(clump.principal_inertia), abs=1e-9 * size)
    if np.diff(np.sort(clump.principal_inertia)).min() > 1e-3 * size:
        assert np.linalg.eigvalsh(inertia) == pytest.approx(np.sort(clump.principal_inertia), abs=CLOSE * size)


@pytest.mark.parametrize(
    "spheres",
    [random_clump(100, 1), random_clump(100, 2, smallest=0.1, spread=1.5), random_clump(40, 3, 0.4), shell()],
    ids=["100 spheres", "100 loose", "40 buried", "shell"],
)
def test_large_clumps(spheres):
    assert_solid_is_the_union(make_clump(spheres, DENSITY))


def test_random_clumps(long):
    """Of 1 to 12 spheres, from buried to apart, of about one size or of many, anywhere. 60 clumps; 3,000 with --long."""
    overlapping = 0
    for seed in range(3000 if long else 60):
        rng = np.random.default_rng(seed)
        spheres = random_clump(rng.integers(1, 13), seed, rng.choice([0.1, 0.5, 1.0]), rng.choice([0.03, 0.3, 0.9]))
        clump = make_clump(spheres + np.append(rng.uniform(-3, 3, 3), 0.0), DENSITY)
        assert_solid_is_the_union(clump, 48)  # the fewer spheres, the longer the way between critical heights
        overlapping += clump.volume < 0.999 * 4 / 3 * np.pi * np.sum(spheres[:, 3] ** 3)
    assert overlapping > 40


@pytest.mark.parametrize("name", BUILTINS)
def test_shipped_shapes(name):
    """As a scenario takes them."""
    clumps, body = {"piece": {"builtin": name}}, dict(clump="piece", position=[0, 0, 0])
    (clump,) = build_model(parse(scenario_text({"stone": (1e9, 0.2, DENSITY)}, clumps, [body]))).clumps
    assert_solid_is_the_union(clump, 24 if len(clump.spheres) > 50 else 48)
