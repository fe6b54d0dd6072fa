"""Systems of several blocks of bodies: lists and forces against all pairs of spheres; and that neither the number of threads
nor the skin nor the room for the lists shows in the results."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import (
    assert_lists_are_those_of_all_spheres,
    bodies_of,
    elastic_energy,
    find_forces,
    forces,
    go_on,
    hertz_world,
    make_lists,
    modulus_of,
    pairs_listed,
    state_of,
    templates_of,
    walls_of,
)
from texts import scenario_text

from minidem.engine.state import BLOCK
from minidem.engine.state import CHUNK as LEAST_ROOM
from minidem.engine.world import make_room
from minidem.model.building import build_model
from minidem.running import simulation as engine
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

MATERIALS = {"soft": (5e6, 0.3, 2500.0), "hard": (5e7, 0.2, 1000.0)}
HOOK = [[0, 0, 0, 0.004], [0.006, 0, 0, 0.003], [0.006, 0.005, 0.001, 0.002]]
CLUMPS = {
    "ball": [[0, 0, 0, 0.005]],
    "grain": {"spheres": [[0, 0, 0, 0.003]], "material": "hard"},
    "rod": [[-0.005, 0, 0, 0.004], [0, 0, 0, 0.004], [0.005, 0, 0, 0.004]],
    "hook": {"spheres": HOOK, "material": "hard"},
}
DOMAIN = {"box": [0.12, 0.10, 0.11], "gravity": [0.0, 1.0, -9.81]}
WALLS = [
    dict(point=[0.01, 0, 0.01], normal=[1.0, 0.3, 1.0], material="hard"),
    dict(point=[0.12, 0.09, 0], normal=[-0.1, -1.0, 0.2], material="soft"),
]
SCENES = {
    "balls": ([("ball", 0.6)], []),
    "rods": ([("rod", 0.55)], []),
    "mixture": ([("rod", 0.17), ("ball", 0.2), ("hook", 0.13), ("grain", 0.05)], WALLS),
}


@pytest.fixture(scope="module", params=SCENES)
def model(request):
    """Hundreds of bodies that press on each other, on the move, in more than one block."""
    groups, walls = SCENES[request.param]
    place = [dict(clump=clump, packing_fraction=fraction, speed=1.0, spin=200.0) for clump, fraction in groups]
    tables = {"domain": DOMAIN, "dt": "0.1 rayleigh", "end": 0.1, "seed": 4}
    model = build_model(parse(scenario_text(MATERIALS, CLUMPS, place=place, walls=walls, **tables)))
    assert BLOCK < len(model.species) < 4 * BLOCK
    return model


def world_of(model, threads=1, skin=0.0):
    return hertz_world(model.bodies(), model.templates, model.walls, modulus_of(model), threads, skin)


# --- motion -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_bodies_of_every_block_fly_and_turn_alike(threads):
    """Equal dumb-bells, far from each other, with the same velocity and spin; each step counts once for the lists."""
    count, steps = 2 * BLOCK + 10, 3
    place = np.stack(np.meshgrid(*[10.0 * np.arange(11)] * 3), axis=-1).reshape(-1, 3)[:count]
    templates = templates_of([np.array([[-0.5, 0.0, 0.0, 0.5], [0.5, 0.0, 0.0, 0.5]])])
    bodies = bodies_of(templates, [0] * count, place, [[1, 0, 0, 0]] * count)
    bodies.velocity[:], bodies.spin[:, :count] = [[1.0], [2.0], [3.0]], [[3.0], [2.0], [1.0]]
    world = hertz_world(bodies, templates, walls_of([], []), np.ones((1, 1)), threads, skin=1.0)
    find_forces(world)
    go_on(world, steps, 0.01, (0.0, 0.0, -10.0))
    assert world.close.age.tolist() == [steps]
    fallen = -10.0 * 0.01**2 * steps * (steps + 1) / 2
    expected = place + np.array([0.03, 0.06, 0.09 + fallen])
    np.testing.assert_allclose(bodies.position.T, expected, rtol=0, atol=1e-12)
    assert (bodies.orientation[:, :count] == bodies.orientation[:, :1]).all() and bodies.orientation[0, 0] < 1


def test_bodies_of_any_block_outdate_the_lists():
    """Two balls of the last block, too far from each other for the lists, meet; all others rest."""
    count = BLOCK + 2
    place = np.stack(np.meshgrid(*[10.0 * np.arange(9)] * 3), axis=-1).reshape(-1, 3)[:count]
    place[-1] = place[-2] + [3.0, 0.0, 0.0]
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]])])
    bodies = bodies_of(templates, [0] * count, place, [[1, 0, 0, 0]] * count)
    bodies.velocity[0, -2:] = 0.1, -0.1
    world = hertz_world(bodies, templates, walls_of([], []), np.full((1, 1), 1e-9), skin=0.2)
    find_forces(world)
    assert pairs_listed(world)[0].size == 0
    for touches in (False, True):
        go_on(world, 4, 1.0, (0.0, 0.0, 0.0))
        assert (world.touching.elastic.sum() > 0) == touches


# --- lists and forces ---------------------------------------------------------------------------------------


def assert_forces_are_those_of_all_spheres(world, modulus):
    """Forces, torques and energy from the lists at hand; each pair across blocks counts once. Overlaps may be some 1e-9 of
    the box, whose coordinates are rounded at 1e-16."""
    bodies, system = world.bodies, (world.bodies, world.templates, world.walls, modulus)
    bodies.force[:] = np.nan
    if bodies.arm.any():  # else torques are never touched
        bodies.torque[:] = np.nan
    find_forces(world)
    n = len(bodies.species)
    for found, expected in zip((bodies.force, bodies.torque[:, :n]), forces(*system), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert world.touching.elastic.sum() == pytest.approx(elastic_energy(*system), rel=1e-10, abs=0)


@pytest.mark.parametrize("skin", [0.0, 0.02, 0.5])
def test_lists_and_forces_are_those_of_all_spheres(model, skin):
    """The skin is in mean bounding radii."""
    world = world_of(model)
    skin *= float(world.bodies.bounding_radius.mean())
    make_lists(world, skin)
    pairs, at_walls = assert_lists_are_those_of_all_spheres(world, skin)
    assert pairs > len(model.species) and at_walls > 100

    i, j = pairs_listed(world)  # each once, whoever lists it
    assert len(i) == pairs + at_walls
    assert (i < j).all()
    assert len(np.unique(i * (len(world.spheres.owner) + 100) + j)) == len(i)
    block_of = world.spheres.owner // BLOCK
    spheres = j < len(block_of)
    assert np.count_nonzero(block_of[i[spheres]] != block_of[j[spheres]]) > 100  # there are pairs across blocks

    assert_forces_are_those_of_all_spheres(world, modulus_of(model))
    assert world.lists.skin[0] == skin
    assert np.count_nonzero(np.abs(world.bodies.force).max(axis=0)) > len(model.species) / 2


# --- the same to the last bit -------------------------------------------------------------------------------

CHUNKS, CHUNK = 6, 50  # steps


def trajectory(model, threads=1, skin=0.0, lists=None, cramped=False):
    """States every CHUNK steps, how often lists were made on the way at the least, and how often room for them.

    `lists`: the skin of lists to start with, exactly. `cramped`: at the start of every chunk there is room for next to none.
    """
    world = world_of(model, threads, skin)
    if lists is not None:
        make_lists(world, lists)
    rooms, made, states = 0, 0, []
    for chunk in range(CHUNKS):
        if cramped:
            world.lists.wanted[:] = 0
            make_room(world)
            assert world.lists.candidate.size == LEAST_ROOM * world.lists.wanted.size
        if chunk == 0:
            rooms += find_forces(world)
        age = world.lists.age[0]
        rooms += go_on(world, CHUNK, model.dt, model.gravity)
        made += world.lists.age[0] != age + CHUNK
        states.append(state_of(world))
    return np.array(states), made, rooms


@pytest.fixture(scope="module")
def expected(model):
    """By one thread; lists have been made anew, the bodies have moved, and forces have changed."""
    states, made, _ = trajectory(model)
    assert made >= 3
    assert np.isfinite(states).all()
    world = world_of(model)
    find_forces(world)
    start = state_of(world)
    assert (np.abs(states[-1] - start)[:3].max(axis=0) > 0.1 * world.bodies.bounding_radius.min()).mean() > 0.5
    assert np.unique(states[:, -1, 0]).size == CHUNKS
    return states


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_results_do_not_depend_on_the_threads(model, expected, threads):
    """Also of threads that have no block of their own."""
    states, made, _ = trajectory(model, threads)
    assert made >= 3
    assert np.array_equal(states, expected)


@pytest.mark.parametrize("skin", [0.001, 0.2, 3.0])
def test_results_do_not_depend_on_the_skin(model, expected, skin):
    """In mean bounding radii; lists with the last contain most of all pairs."""
    skin *= float(model.bodies().bounding_radius.mean())
    for states, _, _ in (trajectory(model, 1, skin), trajectory(model, 1, 0.0, lists=skin), trajectory(model, 2, skin)):
        assert np.array_equal(states, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_results_do_not_depend_on_the_room_for_lists(model, expected, threads):
    states, _, rooms = trajectory(model, threads, cramped=True)
    assert rooms >= CHUNKS
    assert np.array_equal(states, expected)


def test_splitting_the_steps_changes_nothing(model, expected):
    """One step at a time, by two threads."""
    world = world_of(model, 2)
    find_forces(world)
    for _ in range(3 * CHUNK):
        go_on(world, 1, model.dt, model.gravity)
    assert np.array_equal(state_of(world), expected[2])


def frames(simulation):
    """What the simulation tells, every CHUNK steps."""
    told = []
    for _ in range(CHUNKS):
        simulation.advance(CHUNK)
        frame, observables = simulation.frame(), simulation.observables()
        told += [*(getattr(frame, name).ravel() for name in ("position", "velocity", "orientation", "angular_velocity"))]
        told += [np.append(np.hstack(list(observables.values())), simulation.energies["elastic"])]
    return np.concatenate(told)


def test_simulations_do_not_depend_on_the_threads(model):
    """Frames, energies and momenta; the model stays as it was, so that it can be simulated again."""
    names = ("species", "position", "orientation", "velocity", "angular_velocity")
    before = {name: getattr(model, name).copy() for name in names}
    expected = frames(Simulation.from_model(model, "spiral", 1))
    for threads in (2, 3, 4):
        assert np.array_equal(frames(Simulation.from_model(model, "spiral", threads)), expected)
    for name in names:
        assert np.array_equal(getattr(model, name), before[name]), name


@pytest.mark.parametrize("cramped", [False, True], ids=["", "cramped"])
def test_splitting_the_steps_changes_nothing_where_bodies_are_sorted(model, monkeypatch, cramped):
    """Also if the lists need more room at the step after which bodies get new numbers."""
    monkeypatch.setattr(engine, "SORT_EVERY", 100)
    ends = []
    for chunks in ([99, 201], [99, 1, 200], [99, 2, 99, 100]):
        simulation = Simulation.from_model(model, "spiral", 1)
        for steps in chunks:
            if cramped and simulation.step == 99:
                simulation._world.lists.wanted[:] = 0
                make_room(simulation._world)
            simulation.advance(steps)
        ends.append(np.hstack([simulation.frame().position, simulation.frame().velocity]))
    for end in ends[1:]:
        assert np.array_equal(end, ends[0])


def test_simulations_of_a_few_bodies_take_any_number_of_threads(model):
    """A single block: no more than one takes part."""
    few = np.array([0, 1, 2, len(model.species) - 1])
    small = replace(
        model,
        species=model.species[few],
        position=np.array([[0.06, 0.05, 0.05], [0.075, 0.05, 0.05], [0.06, 0.05, 0.08], [0.06, 0.07, 0.05]]),
        **{name: getattr(model, name)[few] for name in ("orientation", "velocity", "angular_velocity")},
    )
    expected = frames(Simulation.from_model(small, "spiral", 1))
    assert np.array_equal(frames(Simulation.from_model(small, "spiral", 4)), expected)


# --- one giant among small bodies ---------------------------------------------------------------------------

SMALL = 2000


def around_a_giant(seed):
    """Small spheres on one side of one of a hundred times their radius, in and around contact, and one that flew away."""
    rng = np.random.default_rng(seed)
    direction = np.array([0.0, 0.0, 1.0]) + rng.uniform(-0.2, 0.2, (SMALL, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    position = direction * (101.0 + rng.uniform(-0.9, 9.0, SMALL))[:, None]
    position[7] = [0.0, 1e5, 0.0]
    middle = SMALL // 2
    shape = np.insert(np.zeros(SMALL, int), middle, 1)
    templates = templates_of([np.array([[0.0, 0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 0.0, 100.0]])])
    bodies = bodies_of(templates, shape, np.insert(position, middle, 0.0, axis=0), [[1.0, 0.0, 0.0, 0.0]] * (SMALL + 1))
    return hertz_world(bodies, templates, walls_of([[0, 0, 102.0]], [[0, 0, 1.0]]), np.ones((1, 1)))


def looked_at(world, skin):
    """(n, levels) how many bodies of each level are in the cells that a body looks at."""
    grid, bodies = world.grid, world.bodies
    looks = np.zeros((bodies.species.size, grid.size.size), int)
    for g, counts in enumerate(grid.counts):
        first, cells = grid.first_cell[g], counts.prod()
        members = np.diff(grid.start[first : first + cells + 1].astype(int)).reshape(counts[::-1])
        width = bodies.bounding_radius + grid.level_radius[g] + skin
        x = bodies.position - grid.origin[:, None]
        low, high = (np.clip((x + side * width) / grid.size[g], 0, counts[:, None] - 1).astype(int) for side in (-1, 1))
        for b in range(len(looks)):
            box = tuple(slice(low[c, b], high[c, b] + 1) for c in (2, 1, 0))
            looks[b, g] = members[box].sum()
    return looks


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("skin", [0.0, 0.3])
def test_lists_of_a_giant_are_those_of_all_spheres(seed, skin):
    world = around_a_giant(seed)
    make_lists(world, skin)
    pairs, at_walls = assert_lists_are_those_of_all_spheres(world, skin)
    i, j = pairs_listed(world)
    giants = np.count_nonzero((i == SMALL // 2) | (j == SMALL // 2))
    assert giants > 100 and pairs - giants > 100 and at_walls > 100
    assert_forces_are_those_of_all_spheres(world, np.ones((1, 1)))


@pytest.mark.parametrize("seed", range(3))
def test_a_giant_does_not_slow_down_the_search(seed):
    """The small ones have cells of their own size, no more than two a body, and few to look at; the giant looks at
    each of them once."""
    skin = 0.1
    world = around_a_giant(seed)
    make_lists(world, skin)
    grid, small = world.grid, world.bodies.bounding_radius == 1.0
    assert grid.size.size == 2 and np.array_equal(grid.level_radius, [1.0, 100.0])
    assert (grid.counts.prod(axis=1) <= 2 * np.array([SMALL, 1])).all()
    assert np.diff(grid.first_cell).tolist() == [2 * SMALL, 2]
    assert grid.size[0] == 2.0 + skin
    assert np.array_equal(np.sort(grid.member), np.arange(SMALL + 1))
    looks = looked_at(world, skin)
    assert looks[small, 1].max() <= 1  # the giant
    assert looks[~small, 0].max() <= SMALL
    assert looks[small, 0].mean() < 60 and looks[small, 0].max() < 200  # of 2000
