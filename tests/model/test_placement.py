"""Random placement: no overlap, reproducible, uniform and isotropic, and honest about a box that is too small."""

import re

import numpy as np
import pytest
from brute_force import all_spheres, rotations, wall_gaps
from scipy.spatial.distance import cdist
from scipy.stats import kstest
from texts import ROD, scenario_text

from minidem.errors import ScenarioError
from minidem.model.building import build_model
from minidem.model.placing.random import Streams, random_directions, random_orientations
from minidem.scenario.reading import parse

CLUMPS = {
    "rod": ROD,
    "bead": [[0.5, 0, 0, 0.01]],
    "king": {"builtin": "chess/king"},
    "pawn": {"builtin": "chess/pawn"},
    "needle": [[0, 0, 0, 0.0001], [0.0003, 0.0001, 0, 0.0001]],
}


def placed(groups, seed=1, box=(1.0, 1.0, 1.0), **tables):
    """The model of groups of clump, count, speed and spin placed in a box."""
    place = [dict(zip(("clump", "count", "speed", "spin"), group, strict=True)) for group in groups]
    tables |= {"domain": {"box": box}, "dt": 1e-6, "end": 1.0}
    return build_model(parse(scenario_text({"marble": (60e9, 0.25, 3200.0)}, CLUMPS, place=place, seed=seed, **tables)))


def smallest_gap(model):
    """Between spheres of different bodies and between spheres and walls, m; negative for an overlap."""
    centre, radius, owner, _ = all_spheres(model.bodies(), model.templates)
    gap = wall_gaps(centre, radius, model.walls).min()
    for b in range(len(model.species) - 1):
        mine, others = owner == b, owner > b
        between = cdist(centre[mine], centre[others]) - radius[mine][:, None] - radius[others][None, :]
        gap = min(gap, between.min())
    return gap


def bounding_volume(model):
    """Of the bounding spheres of all the bodies, m^3"""
    return np.sum(4 / 3 * np.pi * model.bodies().bounding_radius ** 3)


# --- exact bodies ---


def test_exact_bodies_keep_the_orientation_that_was_given():
    """To the last bit, as where nothing is placed at random: principal axes and back would round it."""
    given = random_orientations(np.random.default_rng(4), 12)
    exact = [dict(clump="king", position=[0.2 * (k % 4) + 0.2, 0.2 * (k // 4) + 0.2, 0.2]) for k in range(12)]
    bodies = [body | {"orientation": q.tolist()} for body, q in zip(exact, given, strict=True)]
    alone, among = placed([], bodies=bodies), placed([("bead", 3, 0.0, 0.0)], bodies=bodies)
    assert np.array_equal(among.orientation[:12], alone.orientation)
    np.testing.assert_allclose(alone.orientation, given, rtol=0, atol=1e-15)
    assert len(among.orientation) == 15


# --- no overlap ---------------------------------------------------------------------------------------------


def test_rods_fill_a_box_without_overlap():
    """So many that their bounding spheres would not fit: overlap is tested sphere by sphere."""
    model = placed([("rod", 280, 1.0, 1.0)])
    assert bounding_volume(model) > 1.0
    assert smallest_gap(model) >= -1e-15
    assert len(model.species) == 280


def test_chess_pieces_fill_a_box_without_overlap():
    box = (0.25, 0.2, 0.22)
    model = placed([("pawn", 60, 1.0, 1.0), ("king", 12, 1.0, 1.0)], box=box)
    assert model.spheres == 7200
    assert bounding_volume(model) > 0.6 * np.prod(box)  # more than random bounding spheres could fill (38 %)
    assert smallest_gap(model) >= -1e-15


EXACT = [
    dict(clump="king", position=[0.15, 0.15, 0.15], orientation=[0.3, -0.2, 0.9, 0.4], velocity=[1.0, 2.0, 3.0]),
    dict(clump="rod", position=[0.3, 0.29, 0.28], angular_velocity=[4.0, 5.0, 6.0]),
]
WALL = dict(point=[0.1, 0, 0], normal=[1.0, 0.2, 0])


def test_random_bodies_keep_clear_of_exact_ones_and_of_every_wall():
    groups = [("bead", 150, 1.0, 0.0), ("rod", 6, 1.0, 0.0), ("pawn", 20, 1.0, 0.0)]
    model = placed(groups, box=(0.4, 0.4, 0.4), bodies=EXACT, walls=[WALL])
    assert smallest_gap(model) >= -1e-15
    assert model.walls.material.size == 7
    # The exact ones come first and stay as they were given.
    assert np.array_equal(model.position[:2], [[0.15, 0.15, 0.15], [0.3, 0.29, 0.28]])
    given = rotations([[0.3, -0.2, 0.9, 0.4], [1, 0, 0, 0]])
    assert (rotations(model.orientation[:2]).inv() * given).magnitude().max() < 1e-15
    assert np.array_equal(model.velocity[:2], [[1, 2, 3], [0, 0, 0]])
    assert np.array_equal(model.angular_velocity[:2], [[0, 0, 0], [4, 5, 6]])
    # The others come in the order of the file, whatever the order in which they found room.
    names = [model.clumps[k].name for k in model.species]
    assert names == ["king", "rod"] + ["bead"] * 150 + ["rod"] * 6 + ["pawn"] * 20


def test_a_narrow_shaft_holds_bodies_one_above_the_other():
    """One position in 441 is clear of the walls: the limit on tries is for one body, not for all of them."""
    model = placed([("bead", 100, 0.0, 0.0)], box=(0.021, 0.021, 10.0))
    assert smallest_gap(model) >= 0.0


def test_large_bodies_find_room_first():
    """Whatever the order of the file; among the beads there is no room for a rod."""
    model = placed([("bead", 150, 0.0, 0.0), ("rod", 1, 0.0, 0.0)], box=(0.17, 0.17, 0.17))
    assert smallest_gap(model) >= -1e-15
    assert model.clumps[model.species[-1]].name == "rod"


# --- a box that is too small --------------------------------------------------------------------------------


def test_a_full_box_says_how_many_fitted():
    box = (0.4, 0.4, 0.4)
    with pytest.raises(ScenarioError) as failure:
        placed([("rod", 500, 0.0, 0.0)], box=box)
    message = str(failure.value)
    found = re.search(r"place: only (\d+) of 500 bodies fit", message)
    assert found, message
    assert "domain.box" in message  # a remedy
    fitted = int(found[1])
    assert 10 < fitted < 100
    # The same draws place exactly so many and not one more.
    assert smallest_gap(placed([("rod", fitted, 0.0, 0.0)], box=box)) >= -1e-15
    with pytest.raises(ScenarioError, match=rf"{fitted} of {fitted + 1} bodies"):
        placed([("rod", fitted + 1, 0.0, 0.0)], box=box)


def test_exact_bodies_do_not_count_as_fitted():
    body = dict(clump="rod", position=[0.075, 0.075, 0.075])  # on the diagonal: no other rod can pass
    with pytest.raises(ScenarioError, match=r"place: only 0 of 3 bodies fit"):
        placed([("rod", 3, 0.0, 0.0)], bodies=[body], box=(0.15, 0.15, 0.15))


def test_a_body_larger_than_the_box_does_not_fit():
    with pytest.raises(ScenarioError, match=r"place: only 0 of 1 bodies fit"):
        placed([("rod", 1, 0.0, 0.0)], box=(0.05, 1.0, 1.0))


# --- random streams -----------------------------------------------------------------------------------------

STATE = ("position", "orientation", "velocity", "angular_velocity")


def directions(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_the_same_seed_gives_the_same_bodies_and_another_seed_others():
    first, again, other = (placed([("rod", 20, 1.0, 1.0)], seed=seed) for seed in (5, 5, 6))
    for name in STATE:
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.allclose(getattr(first, name), getattr(other, name))


def test_speed_and_spin_are_as_asked():
    model = placed([("rod", 20, 3.0, 7.0), ("bead", 10, 0.0, 2.0)])
    assert np.linalg.norm(model.velocity, axis=1) == pytest.approx(np.repeat([3.0, 0.0], [20, 10]), rel=1e-15)
    assert np.linalg.norm(model.angular_velocity, axis=1) == pytest.approx(np.repeat([7.0, 2.0], [20, 10]), rel=1e-15)


def test_each_quantity_has_a_stream_of_its_own():
    model = placed([("rod", 50, 1.0, 2.0)])
    faster = placed([("rod", 50, 5.0, 2.0)])
    still = placed([("rod", 50, 1.0, 0.0)])
    crowded = placed([("rod", 50, 1.0, 2.0)], box=(0.6, 0.6, 0.6))  # takes more tries
    for name in ("position", "orientation", "angular_velocity"):
        assert np.array_equal(getattr(model, name), getattr(faster, name))
    np.testing.assert_allclose(directions(model.velocity), directions(faster.velocity), rtol=0, atol=1e-15)
    for name in ("position", "orientation", "velocity"):
        assert np.array_equal(getattr(model, name), getattr(still, name))
    for name in ("velocity", "angular_velocity"):
        assert np.array_equal(getattr(model, name), getattr(crowded, name))
    assert not np.allclose(model.position, crowded.position)


def test_each_quantity_is_drawn_from_its_own_stream():
    """Needles in a large box: every try is a success, so that bodies and draws correspond."""
    count, seed = 20, 11
    model = placed([("needle", count, 2.0, 3.0)], seed=seed)
    streams = Streams.of(seed)
    np.testing.assert_allclose(model.velocity, 2.0 * random_directions(streams.velocities, count), rtol=1e-15)
    np.testing.assert_allclose(model.angular_velocity, 3.0 * random_directions(streams.spins, count), rtol=1e-15)
    principal = rotations(model.orientation) * rotations(model.clumps[0].principal_axes)
    drawn = rotations(random_orientations(streams.orientations, count))
    assert (principal.inv() * drawn).magnitude().max() < 1e-14
    ranks = np.argsort(streams.positions.random((count, 3)), axis=0)
    assert np.array_equal(np.argsort(model.position, axis=0), ranks)


def test_the_streams_are_not_copies_of_each_other():
    streams = Streams.of(0)
    draws = [
        stream.random(4).tolist() for stream in (streams.positions, streams.orientations, streams.velocities, streams.spins)
    ]
    assert len({tuple(row) for row in draws}) == 4
    assert streams.positions.random(4).tolist() not in draws


# --- distributions ------------------------------------------------------------------------------------------

# Kolmogorov-Smirnov tests on fixed seeds. Right draws pass by a wide margin in probability; the wrong ones below fail by
# many orders of magnitude.
UNLIKELY = 1e-3


def isotropy(vectors):
    """The smallest p-value of: each component of a unit vector uniform on [-1, 1] (Archimedes), azimuths uniform."""
    x, y, z = vectors.T
    components = [kstest(c, "uniform", args=(-1, 2)).pvalue for c in (x, y, z)]
    azimuths = [kstest(np.arctan2(a, b), "uniform", args=(-np.pi, 2 * np.pi)).pvalue for a, b in ((y, x), (z, y), (x, z))]
    return min(components + azimuths)


def uniformity(quaternions):
    """The smallest p-value of: every axis isotropic, and the angle of rotation with the density (1 - cos a) / pi."""
    turn = rotations(quaternions)
    axes = [isotropy(turn.apply(axis)) for axis in np.eye(3)]
    angle = kstest(turn.magnitude(), lambda a: (a - np.sin(a)) / np.pi).pvalue
    return min([*axes, angle])


def test_directions_are_isotropic():
    vectors = random_directions(np.random.default_rng(0), 5000)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-14)
    assert np.abs(vectors.mean(axis=0)).max() < 4 / np.sqrt(3 * 5000)  # four standard deviations of the mean
    assert isotropy(vectors) > UNLIKELY


def test_two_uniform_angles_would_not_pass_for_isotropic():
    theta, phi = np.random.default_rng(0).uniform(0, np.pi, (2, 300))
    vectors = np.column_stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    assert isotropy(vectors) < 1e-12
    phi = 2 * phi  # all around, but the poles are crowded
    vectors = np.column_stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    assert isotropy(vectors) < 1e-4


def test_orientations_are_uniform():
    quaternions = random_orientations(np.random.default_rng(0), 5000)
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, rtol=1e-14)
    assert uniformity(quaternions) > UNLIKELY


def test_a_random_axis_and_angle_would_not_pass_for_uniform():
    rng = np.random.default_rng(0)
    half = rng.uniform(0, np.pi, 1000)
    wrong = np.column_stack([np.cos(half), np.sin(half)[:, None] * random_directions(rng, 1000)])
    assert uniformity(wrong) < 1e-12
    assert uniformity(np.abs(random_orientations(rng, 1000))) < 1e-12  # one sixteenth of them


def test_placed_bodies_are_uniform_and_isotropic():
    """Needles so small that neither walls nor neighbours shape the distributions."""
    count = 1000
    model = placed([("needle", count, 2.0, 3.0)], box=(1.0, 2.0, 3.0))
    assert isotropy(model.velocity / 2.0) > UNLIKELY
    assert isotropy(model.angular_velocity / 3.0) > UNLIKELY
    assert uniformity(model.orientation) > UNLIKELY
    for c, length in enumerate((1.0, 2.0, 3.0)):
        assert kstest(model.position[:, c], "uniform", args=(0, length)).pvalue > UNLIKELY
    # Independent of each other: correlations of four standard deviations at most
    columns = np.column_stack([model.position, model.orientation, model.velocity, model.angular_velocity])
    correlation = np.corrcoef(columns.T) - np.eye(columns.shape[1])
    assert np.abs(correlation).max() < 4 / np.sqrt(count)
