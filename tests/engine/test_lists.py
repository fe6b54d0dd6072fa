"""The lists of what may touch, against all pairs; and that what is computed does not depend on them."""

import numpy as np
import pytest
from brute_force import (
    all_spheres,
    assert_lists_are_those_of_all_spheres,
    bodies_of,
    elastic_energy,
    find_forces,
    go_on,
    hertz_world,
    make_lists,
    modulus_of,
    outdated,
    pairs_listed,
    random_quaternions,
    rotations,
    state_of,
    templates_of,
    walls_of,
)
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from texts import scenario_text

from minidem.engine.compile.kernels import kernel
from minidem.engine.contact.edges import edges_of
from minidem.engine.search.lists import STEPS_PER_LIST, next_skin
from minidem.engine.world import NO_EDGES, make_world, near_pairs
from minidem.model.building import build_model
from minidem.scenario.reading import parse

thorough = settings(deadline=None, max_examples=100, derandomize=True, database=None)


# --- near bodies --------------------------------------------------------------------------------------------

FAR = 1e6
CLUSTERS = [(0, 0, 0), (-7, 3, -2), (2.5, -40, 11), (FAR, 0, 0), (-FAR, -FAR, FAR), (3, 0, -FAR)]
coordinate = st.one_of(st.floats(-4, 4), st.integers(-3, 3).map(float))
size = st.one_of(st.just(1.0), st.sampled_from([1.0, 2.0, 3.0, 1000.0]), st.floats(0, 3).map(lambda e: 10.0**e))


@st.composite
def bounding_spheres(draw):
    """Positions (3, n), radii (n,) and a skin: sizes mixed over a factor of 1 to 1000, clusters, bodies that flew away."""
    largest = draw(st.sampled_from([1.0, 30.0, 1000.0]))
    spread = draw(st.sampled_from([1.0, largest]))
    count = draw(st.integers(1, 30))
    centres = draw(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=3))
    position, reach = [], []
    for _ in range(count):
        local = [draw(coordinate) for _ in range(3)]
        position.append([spread * (c + x) for c, x in zip(draw(st.sampled_from(centres)), local, strict=True)])
        reach.append(min(draw(size), largest))
    more = draw(st.sampled_from([0, 70, 150]))  # a few bodies need no cells
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    position += (spread * (rng.choice(centres, more) + rng.uniform(-4, 4, (more, 3)))).tolist()
    reach += rng.choice(reach, more).tolist()
    skin = draw(st.sampled_from([0.0, 0.02, 0.5, 3.0]))
    return np.array(position).T.copy(), np.array(reach), skin


def assert_near_pairs_are_those_of_all_pairs(position, reach, skin):
    a, b = near_pairs(position, reach, skin)
    assert (a < b).all()
    assert (np.diff(a * reach.size + b) > 0).all()  # ascending, no pair twice

    i, j = np.triu_indices(reach.size, 1)
    distance = np.linalg.norm(position[:, i] - position[:, j], axis=0)
    limit = reach[i] + reach[j] + skin
    # A distance equal to the limit within round-off of the coordinates may count as near or not.
    doubt = 1e-12 * limit + 1e-14 * np.abs(position).max()
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    assert set(zip(*np.array([i, j])[:, distance < limit - doubt].tolist(), strict=True)) <= pairs
    assert pairs <= set(zip(*np.array([i, j])[:, distance < limit + doubt].tolist(), strict=True))
    return len(pairs)


@given(bounding_spheres())
@thorough
def test_near_bodies_are_those_of_all_pairs(state):
    count = assert_near_pairs_are_those_of_all_pairs(*state)
    event("no pairs" if count == 0 else "some pairs")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [1, 10, 1000])
def test_near_bodies_of_larger_systems(seed, ratio):
    """Hundreds of bodies, mostly small ones, in a volume that a tenth of them would fill."""
    rng = np.random.default_rng(seed)
    n = 600
    reach = ratio ** rng.uniform(0, 1, n) ** 3
    edge = np.cbrt(20 * np.sum(reach**3))
    position = np.ascontiguousarray(rng.uniform(-0.3 * edge, 0.7 * edge, (3, n)))
    assert assert_near_pairs_are_those_of_all_pairs(position, reach, 0.1) > 20


def test_one_body_has_no_neighbours():
    assert near_pairs(np.array([[1.0], [-2.0], [3.0]]), np.array([0.5]), 0.1).shape == (2, 0)


@pytest.mark.parametrize("count", [2, 3, 5, 9, 50, 100])
@pytest.mark.parametrize("doublings", [0, 1, 4, 8, 64])
def test_bodies_in_the_same_place_are_near(count, doublings):
    """Large and small ones have the same cell number on different levels, and in small tables the same slot."""
    reach = np.where(np.arange(count) % 2, 2.0**doublings, 1.0)
    pairs = assert_near_pairs_are_those_of_all_pairs(np.full((3, count), -0.3), reach, 0.0)
    assert pairs == count * (count - 1) // 2
    assert assert_near_pairs_are_those_of_all_pairs(np.full((3, count), 0.3), reach, 0.0) == pairs


@pytest.mark.parametrize("count", [60, 200])
@pytest.mark.parametrize("distance", [1e9, -1e9, 1e12, -1e12, 1e16, -1e16, 1e20, -1e20, 1e300, -1e300])
def test_a_body_that_flew_away_does_not_blur_the_others(distance, count):
    rng = np.random.default_rng(0)
    near = rng.uniform(0.0, 1.5 * np.cbrt(count), (3, count))
    position = np.column_stack([near, np.full(3, distance)])
    expected = near_pairs(np.ascontiguousarray(near), np.full(count, 0.5), 0.05)
    assert expected.shape[1] > 20
    assert np.array_equal(near_pairs(np.ascontiguousarray(position), np.full(count + 1, 0.5), 0.05), expected)


# --- near spheres -------------------------------------------------------------------------------------------


def random_clumps(rng, count):
    """Up to nine spheres each, sizes mixed."""
    return [
        np.column_stack([rng.normal(0, 1, (k, 3)), 10 ** rng.uniform(-1.5, 0, k)]) * 10 ** rng.uniform(-0.7, 0.3)
        for k in rng.integers(1, 10, count)
    ]


def random_state(seed):
    """A crowd of clumps of two materials, at all orientations, with up to four walls through it."""
    rng = np.random.default_rng(seed)
    templates = templates_of(random_clumps(rng, 3), rng.integers(0, 2, 3))
    n = rng.integers(1, 15)
    edge = rng.choice([1.0, 4.0, 12.0])
    bodies = bodies_of(templates, rng.integers(0, 3, n), rng.uniform(-edge, edge, (n, 3)), random_quaternions(rng, n))
    count = rng.integers(0, 5)
    walls = walls_of(rng.uniform(-edge, edge, (count, 3)), rng.standard_normal((count, 3)), rng.integers(0, 2, count))
    modulus = np.array([[2.0, 3.0], [3.0, 7.0]])
    return bodies, templates, walls, modulus, float(rng.choice([0.0, 0.01, 0.3, 2.0]))


seeds = st.integers(0, 2**32 - 1)


def listed_world(bodies, templates, walls, modulus, skin):
    """A world with lists of this skin."""
    world = hertz_world(bodies, templates, walls, modulus)
    make_lists(world, skin)
    return world


@given(seeds)
@thorough
def test_candidates_are_those_of_all_spheres(seed):
    bodies, templates, walls, modulus, skin = random_state(seed)
    world = listed_world(bodies, templates, walls, modulus, skin)
    pairs, at_walls = assert_lists_are_those_of_all_spheres(world, skin)
    lists = world.lists
    assert lists.skin[0] == skin
    assert lists.age[0] == 0
    assert np.array_equal(lists.old_position, bodies.position)
    assert np.array_equal(lists.old_orientation, bodies.orientation)
    assert lists.old_position is not bodies.position
    i, j = pairs_listed(world)
    assert len(i) == pairs + at_walls
    assert (i < j).all()
    event(f"{np.sign(pairs)} pairs, {np.sign(at_walls)} at walls")


def test_bodies_that_leave_the_lists_feel_nothing():
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])])
    bodies = bodies_of(templates, [0, 0], [[0, 0, 0], [1.5, 0, 0]], [[1, 0, 0, 0]] * 2)
    world = listed_world(bodies, templates, walls_of([], []), np.ones((1, 1)), 0.1)
    find_forces(world)
    assert bodies.force[0, 1] > 0
    bodies.position[0, 1] = 5.0
    find_forces(world)
    assert world.lists.listed_count.tolist() == [0]
    assert world.touching.elastic.tolist() == [0.0]
    assert not bodies.force.any()


# --- when the lists are too old -----------------------------------------------------------------------------


def moved_at_random(bodies, rng, size):
    """Bodies moved and turned so that spheres move by about `size`; now by one alone, now by both."""
    n = len(bodies.species)
    mix = rng.choice([0.0, 1.0, rng.uniform()])
    shift = rng.standard_normal((n, 3)) * size * mix
    angle = rng.standard_normal((n, 3)) * size * (1 - mix) / np.maximum(bodies.arm, 0.1)[:, None]
    turned = (rotations(bodies.orientation.T) * Rotation.from_rotvec(angle)).as_quat()[:, [3, 0, 1, 2]]
    turned *= np.sign(np.sum(turned * bodies.orientation.T, axis=1, keepdims=True))  # the integrators never jump to -q
    chosen = rng.random(n) < 0.5
    chosen[rng.integers(n)] = True
    return bodies._replace(
        position=bodies.position + np.where(chosen, shift.T, 0.0),
        orientation=np.ascontiguousarray(np.where(chosen, turned.T, bodies.orientation)),
    )


def largest_displacement(before, after, templates):
    return np.linalg.norm(all_spheres(after, templates)[0] - all_spheres(before, templates)[0], axis=1).max()


@given(seeds)
@thorough
def test_lists_are_outdated_once_a_sphere_moved_half_the_skin(seed):
    rng = np.random.default_rng(seed)
    bodies, templates, walls, modulus, _ = random_state(seed)
    skin = 0.5 * bodies.bounding_radius.mean() * 10 ** rng.uniform(-3, 0)
    lists = listed_world(bodies, templates, walls, modulus, skin).lists
    assert not outdated(bodies, lists)
    for size in skin * np.array([0.01, 0.1, 0.2, 0.3, 0.5, 1.0, 10.0]):
        after = moved_at_random(bodies, rng, size)
        if largest_displacement(bodies, after, templates) > 0.5 * skin:
            assert outdated(after, lists)


@given(seeds)
@thorough
def test_lists_last_until_a_sphere_moved_a_good_part_of_half_the_skin(seed):
    """With four spheres at the corners of a tetrahedron some sphere is always far from the axis of a turn.

    Their displacements by a turn average to zero, so the largest is at least sqrt(a^2 + b^2) for a shift of a and a turn
    that moves them by b in the quadratic mean, sqrt(2/3) of what it moves a sphere at right angles to its axis. The
    kernel's bound, a + sqrt(3/2) b, is therefore too large by a factor of at most sqrt(2.5) = 1.6.
    """
    rng = np.random.default_rng(seed)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    templates = templates_of([np.column_stack([corners * arm, np.full(4, 0.2)]) for arm in (0.5, 1.0)])
    n = rng.integers(1, 10)
    bodies = bodies_of(templates, rng.integers(0, 2, n), rng.uniform(-2, 2, (n, 3)), random_quaternions(rng, n))
    walls, modulus = walls_of([], []), np.ones((1, 1))
    skin = 10 ** rng.uniform(-4, -0.5)
    lists = listed_world(bodies, templates, walls, modulus, skin).lists
    for size in skin * np.array([0.01, 0.03, 0.1, 0.15, 0.2, 0.3, 0.5]):
        after = moved_at_random(bodies, rng, size)
        displacement = largest_displacement(bodies, after, templates)
        if displacement > 0.5 * skin:
            assert outdated(after, lists)
        if 1.7 * displacement < 0.5 * skin:
            assert not outdated(after, lists)


def test_a_turning_sphere_never_outdates_the_lists():
    """One sphere around the centre of mass: turns move nothing."""
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])])
    bodies = bodies_of(templates, [0], [[0, 0, 0]], [[1, 0, 0, 0]])
    lists = listed_world(bodies, templates, walls_of([], []), np.ones((1, 1)), 0.1).lists
    assert not outdated(bodies._replace(orientation=np.array([[0.0], [1.0], [0.0], [0.0]])), lists)


def test_a_state_that_is_not_a_number_is_outdated():
    bodies, templates, walls, modulus, _ = random_state(1)
    lists = listed_world(bodies, templates, walls, modulus, 0.1).lists
    for name in ("position", "orientation"):
        broken = getattr(bodies, name).copy()
        broken[0, -1] = np.nan
        assert outdated(bodies._replace(**{name: broken}), lists)


@kernel
def skin_after(skin, age, unit):
    return next_skin(skin, age, STEPS_PER_LIST, unit)


def test_skins_grow_when_lists_die_young_and_stay_within_bounds():
    bodies = random_state(3)[0]
    mean = bodies.bounding_radius.mean()

    def after(skin, age):
        return skin_after(skin, age, mean) / mean

    assert after(0.1 * mean, 5) > 0.1 > after(0.1 * mean, 5000)
    assert after(0.1 * mean, 0) > 0.1  # outdated at once
    for skin in (0.0, 1e-6 * mean, 0.3 * mean, 100 * mean):
        for age in (0, 1, 10**9):
            assert 0.0 < after(skin, age) <= 1.0


def test_lists_that_die_young_are_made_with_a_larger_skin():
    """The skin of the next lists is that of next_skin, from the skin and the age of the last."""
    world = listed_world(*random_state(3)[:4], 0.1)
    skin = 0.1 * world.bodies.bounding_radius.mean()
    make_lists(world, skin)
    world.lists.age[0] = 80
    world.bodies.position[:] += skin
    find_forces(world)
    assert (
        world.lists.skin[0]
        == skin_after(skin, 80, world.bodies.bounding_radius.mean())
        == pytest.approx(1.25 * skin, rel=1e-14)
    )
    assert world.lists.age[0] == 0


def test_close_lists_know_for_how_many_steps_they_are_in_use():
    """From the first step on; forces that are found again at the same step do not count."""
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])])
    bodies = bodies_of(templates, [0, 0], [[0, 0, 0], [2.2, 0, 0]], [[1, 0, 0, 0]] * 2)
    world = listed_world(bodies, templates, walls_of([], []), np.ones((1, 1)), 0.5)
    for steps, age in ((0, 0), (7, 7), (0, 7), (1, 8)):
        find_forces(world)
        go_on(world, steps, 1e-3, (0.0, 0.0, 0.0))
        assert world.close.age.tolist() == [age]


# --- results do not depend on the lists ---------------------------------------------------------------------

CHUNKS, CHUNK = 40, 25  # steps


def crowd_of(rods, beads):
    """A model of rods and beads on the move in a box."""
    clumps = {"rod": [[-0.03, -0.03, -0.03, 0.03], [0, 0, 0, 0.03], [0.03, 0.03, 0.03, 0.03]], "bead": [[0, 0, 0, 0.01]]}
    place = [dict(clump="rod", count=rods, speed=3.0, spin=30.0), dict(clump="bead", count=beads, speed=3.0)]
    # The tilted wall only touches the corner at the origin, so that it is on the lists of some bodies and hit by few.
    tables = {"walls": [dict(point=[0, 0, 0], normal=[1, 1, 1])], "domain": {"box": [0.5] * 3, "gravity": [0, 0, -9.81]}}
    return build_model(
        parse(scenario_text({"soft": (1e7, 0.3, 1000.0)}, clumps, place=place, dt=1e-4, end=1, seed=3, **tables))
    )


@pytest.fixture(scope="module")
def crowd():
    return crowd_of(rods=25, beads=15)


def trajectory(model, skin, renew=None, every_step=False):
    """States and elastic energies every CHUNK steps, from lists made with a skin; `renew`: skins of lists made anew.

    Also how many of the lists at hand had been made on the way, and after how many chunks the close lists were empty, the
    others not. With `every_step` the close lists are made anew at each.
    """
    world = hertz_world(model.bodies(), model.templates, model.walls, modulus_of(model))
    lists = world.lists
    make_lists(world, skin)
    find_forces(world)
    states, made, empty = [], 0, 0
    for chunk in range(CHUNKS):
        if renew is not None:
            make_lists(world, renew[chunk % len(renew)])
            find_forces(world)
        before = lists.old_position.copy()
        for _ in range(CHUNK if every_step else 1):
            if every_step:
                world.close.old_position[:] = np.nan
            go_on(world, 1 if every_step else CHUNK, model.dt, model.gravity)
        made += not np.array_equal(lists.old_position, before)
        empty += world.close.wanted[0] == 0 < lists.wanted[0]
        # of this very state; an overlap is a small difference of numbers a hundred thousand times as large
        expected = elastic_energy(world.bodies, model.templates, model.walls, modulus_of(model))
        assert world.touching.elastic[0] == pytest.approx(expected, rel=1e-9, abs=1e-15)
        states.append(state_of(world))
    return np.array(states), made, empty


def test_trajectories_do_not_depend_on_the_lists(crowd):
    everything, made, _ = trajectory(crowd, 10.0)  # more than the box: all pairs, for ever
    assert made == 0
    elastic = everything[:, -1, 0]
    assert np.count_nonzero(elastic) > CHUNKS / 2  # there is something to get wrong
    reach = float(crowd.bodies().bounding_radius.mean())
    for skin, renew in ((0.02 * reach, None), (0.5 * reach, None), (1e-9, [1e-9]), (0.3, [0.3, 0.0, 0.001, 0.05])):
        states, made, _ = trajectory(crowd, skin, renew)
        assert made > 5
        assert np.array_equal(states, everything)  # to the last bit


def test_splitting_the_steps_changes_nothing(crowd):
    model = crowd
    ends = []
    for chunks in ([300], [1] * 300, [7] * 42 + [6], [0, 299, 0, 1, 0]):
        world = hertz_world(model.bodies(), model.templates, model.walls, modulus_of(model), skin=0.01)
        find_forces(world)
        for steps in chunks:
            go_on(world, steps, model.dt, model.gravity)
        ends.append(state_of(world))
    for end in ends[1:]:
        assert np.array_equal(end, ends[0])


@pytest.fixture(scope="module")
def gas():
    """So thin that for much of the time nothing touches."""
    return crowd_of(rods=3, beads=4)


def test_close_lists_change_nothing(gas):
    """The same as looking at every step for what is close, to the last bit."""
    expected, _, _ = trajectory(gas, 0.01, every_step=True)
    touching = np.count_nonzero(expected[:, -1, 0])
    assert CHUNKS / 10 < touching < CHUNKS * 0.9  # there are contacts to miss, and times without
    for skin in (0.001, 0.01, 0.1):
        states, _, empty = trajectory(gas, skin)
        assert empty > 0
        assert np.array_equal(states, expected)


APPROACHES = [0.004, 0.006, 0.02]  # radii per step
BEYOND = np.linspace(0.0, 0.3, 7)  # how far beyond the wide lists a ball starts, of their skin


def approaching(step, beyond, against, edges=NO_EDGES):
    """A ball of radius 1 that comes from just beyond the wide lists, whose skin is 0.5, towards another ball or a wall. The
    steps that it takes to come through, and whether it touches in each of them by its position."""
    templates, gap = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])]), 0.5 * (1 + beyond)
    count, walls = (2, walls_of([], [])) if against == "ball" else (1, walls_of([[0, 0, 0]], [[1, 0, 0]]))
    bodies = bodies_of(templates, [0] * count, np.zeros((count, 3)), [[1, 0, 0, 0]] * count)
    bodies.position[0] = [2.0 + gap, 0.0] if count == 2 else [1.0 + gap]
    bodies.velocity[0] = [-step / 2, step / 2] if count == 2 else [-step]
    world = make_world(bodies, templates, walls, np.full((1, 1), 1e-18), skin=0.5, edges=edges)  # next to no force
    make_lists(world, 0.5)
    find_forces(world)
    for number in range(1, int(1.4 * gap / step)):
        go_on(world, 1, 1.0, (0.0, 0.0, 0.0))
        world.team.step[0] = number
        x = bodies.position[0]
        yield world, x[0] - x[1] < 2.0 if count == 2 else x[0] < 1.0


@pytest.mark.parametrize("against", ["ball", "wall"])
@pytest.mark.parametrize("step", APPROACHES)
def test_close_lists_are_made_from_lists_that_will_last_as_long(step, against):
    """When the close lists are made with which they will touch, the wide ones must have room left for the way of the ball
    while these are in use."""
    touched = 0
    for beyond in BEYOND:
        for world, touches in approaching(step, beyond, against):
            assert touches == (world.touching.elastic[0] > 0)
            touched += touches
    assert touched > BEYOND.size


@pytest.mark.parametrize("against", ["ball", "wall"])
@pytest.mark.parametrize("step", APPROACHES)
def test_pairs_are_listed_some_steps_before_they_touch(step, against):
    """So many that the edge of the contact can be corrected: the overlaps of the two steps before are known."""
    for beyond in BEYOND:
        for world, touches in approaching(step, beyond, against, edges_of(1.5, True, 1.0)):
            assert world.account.entered.sum() == touches
            if touches:
                break
        assert touches
        places, now = world.spheres.place.reshape(4, -1, 4)[:, :, :3], world.team.step[0]
        assert all(np.isfinite(places[(now - back) % 4]).all() for back in range(3))


@pytest.mark.parametrize("axis", range(3))
def test_pairs_of_a_ball_that_is_suddenly_fast_are_listed_in_time(axis):
    """It has rested for so long that the lists are the closest, flies off at 1 m/s and hits a wall in the fourth step."""
    templates, dt, ahead = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])]), 0.02, np.eye(3)[axis]
    bodies = bodies_of(templates, [0], [-1.07 * ahead], [[1, 0, 0, 0]])
    walls, edges = walls_of([[0, 0, 0]], [-ahead]), edges_of(1.5, True, dt)
    world = make_world(bodies, templates, walls, np.full((1, 1), 1e-18), skin=0.02, edges=edges)
    make_lists(world, 0.02)
    find_forces(world)
    world.close.age[0] = 10**6
    bodies.velocity[axis] = 1.0
    for number in range(1, 5):
        go_on(world, 1, dt, (0.0, 0.0, 0.0))
        world.team.step[0] = number
        assert world.account.entered.sum() == (number == 4)
    places = world.spheres.place.reshape(4, -1, 4)[:, :, :3]
    assert all(np.isfinite(places[(4 - back) % 4]).all() for back in range(3))


@pytest.mark.parametrize("steps", [1, 40])
def test_the_account_of_plain_edges_is_complete_when_steps_end(steps):
    """The one edge that comes is in it, be it of the last of the steps or of one before."""
    world, _ = next(approaching(0.02, 0.0, "ball", edges_of(1.5, False, 1.0)))
    for _ in range(40 // steps):
        go_on(world, steps, 1.0, (0.0, 0.0, 0.0))
        world.team.step[0] += steps
        x = world.bodies.position[0]
        assert (world.account.edge_scale.sum() > 0) == (x[0] - x[1] < 2.0)
    assert x[0] - x[1] < 2.0


def test_where_spheres_were_before_they_were_listed_is_not_known():
    """Two balls that were listed once, then far apart, and touch all of a sudden: no edge is seen in old places."""
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])])
    bodies = bodies_of(templates, [0, 0], np.zeros((2, 3)), [[1, 0, 0, 0]] * 2)
    world = make_world(bodies, templates, walls_of([], []), np.full((1, 1), 1e-18), edges=edges_of(1.5, True, 1.0))
    places = world.spheres.place.reshape(4, -1, 4)[:, :, :3]
    for distance, steps in ((2.2, 5), (50.0, 8), (1.9, 1)):
        bodies.position[0] = [0.0, distance]
        for _ in range(steps):
            go_on(world, 1, 1.0, (0.0, 0.0, 0.0))
            world.team.step[0] += 1
    known = np.isfinite(places).all(axis=(1, 2))
    assert world.touching.elastic[0] > 0 and world.account.entered.sum() == 0
    assert known.sum() == 1 and known[world.team.step[0] % 4]
    go_on(world, 3, 1.0, (0.0, 0.0, 0.0))
    assert np.isfinite(places).all()


def test_close_lists_are_those_of_all_spheres(crowd):
    """Made from lists of any age: what is closer than their own skin, and nothing else."""
    world = hertz_world(crowd.bodies(), crowd.templates, crowd.walls, modulus_of(crowd), skin=0.02)
    find_forces(world)
    pairs, ages = 0, set()
    for _ in range(40):
        go_on(world, 7, crowd.dt, crowd.gravity)
        world.close.old_position[:] = np.nan
        find_forces(world)
        world.spheres.place.reshape(-1, 4)[:, :3] = all_spheres(world.bodies, world.templates)[0]  # not only of those listed
        found = assert_lists_are_those_of_all_spheres(world._replace(lists=world.close), world.close.skin[0])
        pairs += sum(found)
        ages.add(int(world.lists.age[0]))
        assert not outdated(world.bodies, world.lists)
    assert pairs > 40 and max(ages) > 10
