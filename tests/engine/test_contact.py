"""Contact forces and torques: Hertz's law, the derivatives of the elastic energy, and what a collision conserves."""

import math
from importlib import import_module

import numpy as np
import pytest
from brute_force import (
    all_spheres,
    bodies_of,
    elastic_energy,
    find_forces,
    forces,
    hertz_world,
    make_lists,
    random_quaternions,
    rotations,
    sphere_gaps,
    templates_of,
    walls_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from texts import ROD as LONG_ROD
from texts import scenario_text

from minidem.engine.contact import hertz
from minidem.engine.contact.loading import contact_law
from minidem.engine.contact.registry import LAWS
from minidem.model.building import build_model
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

IDENTITY = [1.0, 0.0, 0.0, 0.0]
BALL = np.array([[0.0, 0.0, 0.0, 1.0]])
ROD = np.array([[-0.9, -0.9, -0.9, 0.8], [0.0, 0.0, 0.0, 0.8], [0.9, 0.9, 0.9, 0.8]])
HOOK = np.array([[0.0, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.6], [0.0, 1.5, 0.0, 0.3], [0.2, 1.5, 0.9, 0.7]])
HANDLE = np.array([[-2.0, 0.0, 0.3, 0.9], [2.0, 0.1, 0.0, 0.4]])  # nothing at the centre of mass
CLUSTER = np.column_stack([np.random.default_rng(7).uniform(-1, 1, (12, 3)), np.random.default_rng(8).uniform(0.1, 0.6, 12)])
OPEN = walls_of([], [])


# --- single contacts ----------------------------------------------------------------------------------------


def normal_contact(law, distance, reach, radii, constant):
    """Force (N) and energy (J) of a law."""
    force, energy = law.contact.py_func(distance, reach, radii, constant)
    return force * distance, energy


def law_files():
    return [import_module(law.module) for law in LAWS.values() if law.parts is None]


@pytest.mark.parametrize("law", law_files(), ids=lambda law: law.__name__.rpartition(".")[2])
@pytest.mark.parametrize("overlap", [1e-6, 1e-3, 0.1])
def test_force_of_a_law_is_the_slope_of_its_energy(law, overlap):
    reach, radii, constant = 2.5, 1.5, 3.7
    step = 1e-4 * overlap
    distances = reach - overlap + step * np.array([-2, -1, 1, 2])
    energies = [normal_contact(law, distance, reach, radii, constant)[1] for distance in distances]
    slope = -np.dot(energies, [1, -8, 8, -1]) / (12 * step)
    assert normal_contact(law, reach - overlap, reach, radii, constant)[0] == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.edge_power is not None], ids=lambda law: law.name)
def test_a_law_begins_with_its_edge_power(law):
    module = import_module(law.module)
    overlaps = np.geomspace(1e-8, 1e-6, 5)
    force = [normal_contact(module, 1.0 - overlap, 1.0, 0.25, 3.7)[0] for overlap in overlaps]
    slope = np.polyfit(np.log(overlaps), np.log(force), 1)[0]
    assert law.edge_power - 1e-4 < slope < law.edge_power + 1e-4


@pytest.mark.parametrize("law", law_files(), ids=lambda law: law.__name__.rpartition(".")[2])
def test_contact_time_of_a_law_is_that_of_a_head_on_collision(law):
    """m x'' = F(x), integrated by scipy from touch to touch."""
    mass, radius, speed, constant = 0.3, 0.02, 1.5, 4e6**2
    reach, radii = 2 * radius, radius * 2 * radius  # a reach of which overlaps are a small part

    def motion(t, state):
        overlap, closing = state
        return closing, -normal_contact(law, reach - max(overlap, 0.0), reach, radii, constant)[0] / mass

    def apart(t, state):
        return state[0]

    apart.terminal, apart.direction = True, -1
    guess = law.contact_time(constant, mass, radius, speed)
    found = solve_ivp(motion, (0, 3 * guess), (0.0, speed), events=apart, rtol=1e-10, atol=1e-14, max_step=guess / 50)
    assert found.t_events[0][0] == pytest.approx(
        guess, rel=0.03
    )  # 2.87 is for speed to the power -1/5 of the relative radius


@pytest.mark.parametrize("law", law_files(), ids=lambda law: law.__name__.rpartition(".")[2])
def test_contact_time_of_a_law_at_rest(law):
    """Bodies that start at rest are checked, too: the time is a number, or infinite."""
    assert law.contact_time(4e6**2, 0.3, 0.02, 0.0) > law.contact_time(4e6**2, 0.3, 0.02, 1e9) / 2


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_collision_with_each_law(law):
    """Compiled, with the keys that the row names: two balls part as fast as they met, after the law's contact time."""
    numbers = [{"young": 1e7, "poisson": 0.3, "density": 1000.0} | dict.fromkeys(law.keys, key) for key in (1e5, 3e5)]
    constant = contact_law(law.name).constant
    assert constant(*numbers) == pytest.approx(constant(*numbers[::-1]), rel=1e-12)
    masses = [1000.0 * 4 / 3 * math.pi * radius**3 for radius in (0.01, 0.02)]
    mass, speed = masses[0] * masses[1] / sum(masses), 2.0
    lasting = contact_law(law.name).contact_time(constant(*numbers), mass, 0.02 / 3, speed)
    text = scenario_text(
        {"a": numbers[0], "b": numbers[1]},
        {"a": [[0, 0, 0, 0.01]], "b": {"spheres": [[0, 0, 0, 0.02]], "material": "b"}},
        [
            {"clump": "a", "position": [-0.0101, 0, 0], "velocity": [speed, 0, 0]},
            {"clump": "b", "position": [0.02, 0, 0]},
        ],
        dt=lasting / 400,
        end=2 * lasting,
        contact={"law": law.name},
    )
    simulation = Simulation(parse(text))
    while not simulation.contacts.overlap.size:
        simulation.advance(1)
    steps = 0
    while simulation.contacts.overlap.size:
        simulation.advance(1)
        steps += 1
    after = simulation.velocities[:, 0]
    assert after[1] - after[0] == pytest.approx(speed, rel=1e-4)
    assert after @ masses == pytest.approx(masses[0] * speed, rel=1e-12)
    assert steps == pytest.approx(400, rel=0.03)


def test_contact_time_of_hertz():
    """m*^2 / (R* E*^2 u) = 4 / (4 * 0.25 * 0.125) = 32, whose fifth root is 2."""
    assert hertz.contact_time((4 / 3 * 0.5) ** 2, 2.0, 4.0, 0.125) == pytest.approx(5.74, rel=1e-14)
    assert hertz.contact_time(1.0, 1.0, 1.0, 0.0) == math.inf


def test_hertz_in_closed_form():
    modulus, radius, overlap = 2.0, 0.5, 0.01
    constant = hertz.constant({"young": 2.0, "poisson": 0.0}, {"young": np.inf, "poisson": 0.0})
    force, energy = normal_contact(hertz, 2.0 - overlap, 2.0, radius * 2.0, constant)
    assert force == pytest.approx(4 / 3 * modulus * radius**0.5 * overlap**1.5, rel=1e-12)
    assert energy == pytest.approx(8 / 15 * modulus * radius**0.5 * overlap**2.5, rel=1e-12)


def loaded(templates, shape, position, orientation, walls, modulus, skin=0.0):
    """Bodies with their forces and torques, and the elastic energy."""
    bodies = bodies_of(templates, shape, position, orientation)
    world = hertz_world(bodies, templates, walls, modulus)
    make_lists(world, skin)
    bodies.force[:] = np.nan  # to be set for all bodies, listed or not
    if bodies.arm.any():  # else torques are never touched
        bodies.torque[:] = np.nan
    find_forces(world)
    assert world.lists.skin[0] == skin
    return bodies, world.touching.elastic[0]


def test_two_spheres_by_hand():
    """Radii 1 and 2, 0.5 m of overlap, E* = 3 Pa: R* = 2/3 m, F = 4/3 3 sqrt(2/3) 0.5^1.5 N, U = 2/5 F 0.5 m."""
    templates = templates_of([BALL, 2 * BALL], [0, 1])
    modulus = np.array([[100.0, 3.0], [3.0, 100.0]])
    bodies, energy = loaded(templates, [0, 1], [[0, 0, 0], [0, 2.5, 0]], [IDENTITY] * 2, OPEN, modulus)
    force = 4.0 * np.sqrt(2 / 3) * 0.5**1.5
    np.testing.assert_allclose(bodies.force.T, [[0, -force, 0], [0, force, 0]], rtol=1e-14)
    assert not bodies.torque.any()
    assert energy == pytest.approx(0.2 * force, rel=1e-14)


def test_a_sphere_at_a_wall_by_hand():
    """Radius 2, wall z = 1, centre at 2.75: 0.25 m of overlap; R* is the radius, E* that of sphere and wall."""
    templates = templates_of([2 * BALL], [0])
    walls = walls_of([[5.0, 5.0, 1.0]], [[0, 0, 1]], [1])
    bodies, energy = loaded(templates, [0], [[0, 0, 2.75]], [IDENTITY], walls, np.array([[100.0, 3.0], [3.0, 100.0]]))
    force = 4.0 * np.sqrt(2.0) * 0.25**1.5
    assert bodies.force[:, 0] == pytest.approx(np.array([0, 0, force]), rel=1e-14)
    assert energy == pytest.approx(0.1 * force, rel=1e-14)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 0.1])
def test_spheres_that_just_touch_or_do_not_feel_nothing(gap):
    templates = templates_of([BALL])
    walls = walls_of([[0.0, 0.0, -1.0 - gap]], [[0, 0, 1]])
    for skin in (0.0, 1.0):
        bodies, energy = loaded(
            templates, [0, 0], [[0, 0, 0], [2 + gap, 0, 0]], [IDENTITY] * 2, walls, np.ones((1, 1)), skin
        )
        assert energy == 0.0
        assert not bodies.force.any()
        assert not bodies.torque.any()


def test_torque_of_a_lever_by_hand():
    """Two spheres on the x axis of the body, turned by 90 degrees about z; the one now at y = 2 is hit along x."""
    handle = np.array([[-2.0, 0.0, 0.0, 0.5], [2.0, 0.0, 0.0, 0.5]])
    templates = templates_of([handle, 0.5 * BALL])
    quarter = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    position = [[0, 0, 0], [0.9, 2.0, 0]]
    bodies, _ = loaded(templates, [0, 1], position, [quarter, IDENTITY], OPEN, np.ones((1, 1)))
    force = 4 / 3 * np.sqrt(0.25) * 0.1**1.5
    assert bodies.force[:, 0] == pytest.approx(np.array([-force, 0, 0]), rel=1e-13, abs=1e-13 * force)
    # world: (0, 2, 0) x (-F, 0, 0) = (0, 0, 2 F), the same in the body frame as the turn is about z
    assert bodies.torque[:, 0] == pytest.approx(np.array([0, 0, 2 * force]), rel=1e-13, abs=1e-13 * force)
    # tilted by another 90 degrees about x, the same push has its torque about the body's own axes
    tilted = (Rotation.from_rotvec([0, 0, np.pi / 2]) * Rotation.from_rotvec([np.pi / 2, 0, 0])).as_quat()[[3, 0, 1, 2]]
    bodies, _ = loaded(templates, [0, 1], position, [tilted, IDENTITY], OPEN, np.ones((1, 1)))
    assert bodies.torque[:, 0] == pytest.approx(np.array([0, 2 * force, 0]), rel=1e-13, abs=1e-13 * force)


# --- derivatives of the energy ------------------------------------------------------------------------------

SHAPES = {
    "balls": [BALL, 0.5 * BALL],
    "rods": [ROD, ROD],
    "hooks and handles": [HOOK, HANDLE],
    "clusters and balls": [CLUSTER, BALL],
    "clusters and rods": [CLUSTER, ROD],
}
MODULUS = np.array([[2e5, 3e5], [3e5, 7e5]])


def entangled(kind, seed, with_walls):
    """Three bodies that penetrate each other and, perhaps, two oblique walls, anyhow."""
    rng = np.random.default_rng(seed)
    templates = templates_of(SHAPES[kind], [0, 1])
    position, orientation = rng.uniform(-1.2, 1.2, (3, 3)), random_quaternions(rng, 3)
    walls = OPEN
    if with_walls:
        normals = rng.standard_normal((2, 3))
        walls = walls_of(-0.5 * normals / np.linalg.norm(normals, axis=1, keepdims=True), normals, [0, 1])
    return templates, [0, 1, 0], position, orientation, walls, MODULUS


# Central differences with h = 1e-6 of a length of order 1: round-off 1e-16 / h and truncation h^2, or h^1.5 where a
# sphere just touches, all relative to the largest force.
H, TOLERANCE = 1e-6, 2e-8


@pytest.mark.parametrize("with_walls", [False, True], ids=["open space", "walls"])
@pytest.mark.parametrize("kind", SHAPES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=12, derandomize=True, database=None)
def test_forces_and_torques_are_minus_the_derivatives_of_the_energy(kind, with_walls, seed):
    templates, shape, position, orientation, walls, modulus = entangled(kind, seed, with_walls)
    bodies, energy = loaded(templates, shape, position, orientation, walls, modulus)

    def potential(x, q):
        return elastic_energy(bodies_of(templates, shape, x, q), templates, walls, modulus)

    assert energy == pytest.approx(potential(position, orientation), rel=1e-11, abs=0)
    scale = max(np.abs(bodies.force).max(), np.abs(bodies.torque).max())
    for found, expected in zip((bodies.force, bodies.torque), forces(bodies, templates, walls, modulus), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * scale)  # the plain ones that other tests rely on
    assert scale > 0 or energy == 0
    for b in range(3):
        for c in range(3):
            shift = np.zeros((3, 3))
            shift[b, c] = H
            slope = (potential(position + shift, orientation) - potential(position - shift, orientation)) / (2 * H)
            assert abs(bodies.force[c, b] + slope) <= TOLERANCE * scale

            # about axis c of the body: q -> q exp(+-H e_c / 2)
            turned = []
            for sign in (1, -1):
                q = orientation.copy()
                turn = Rotation.from_rotvec(sign * H * np.eye(3)[c])
                q[b] = (rotations(orientation[b]) * turn).as_quat()[[3, 0, 1, 2]]
                turned.append(q)
            slope = (potential(position, turned[0]) - potential(position, turned[1])) / (2 * H)
            assert abs(bodies.torque[c, b] + slope) <= TOLERANCE * scale


@given(kind=st.sampled_from(sorted(SHAPES)), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60, derandomize=True, database=None)
def test_action_is_minus_reaction(kind, seed):
    """Without walls the forces add up to zero, and so do the torques about the origin."""
    templates, shape, position, orientation, walls, modulus = entangled(kind, seed, False)
    bodies, _ = loaded(templates, shape, position, orientation, walls, modulus)
    force = bodies.force.T
    torque = rotations(orientation).apply(bodies.torque.T)
    # Round-off of up to some dozens of contacts, relative to the sum of their forces (arms are of order 1)
    centre, radius, owner, _ = all_spheres(bodies, templates)
    gap = sphere_gaps(centre, radius, owner)[2]
    scale = modulus.max() * np.sum(np.maximum(-gap, 0.0) ** 1.5)
    assert np.abs(force.sum(axis=0)).max() <= 1e-14 * scale
    assert np.abs((np.cross(position, force) + torque).sum(axis=0)).max() <= 1e-13 * scale


@given(kind=st.sampled_from(sorted(SHAPES)), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40, derandomize=True, database=None)
def test_forces_do_not_depend_on_the_skin(kind, seed):
    results = [loaded(*entangled(kind, seed, True), skin) for skin in (0.0, 0.3, 100.0)]
    for bodies, energy in results[1:]:
        assert energy == results[0][1]
        assert np.array_equal(bodies.force, results[0][0].force)
        assert np.array_equal(bodies.torque, results[0][0].torque)


@pytest.mark.parametrize("seed", range(4))
def test_forces_of_many_contacts_do_not_depend_on_the_skin(seed):
    """A layer on a floor: forces of contacts are found some hundred at a time, and those of walls in between."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(1.9 * np.arange(20), 1.9 * np.arange(20))
    position = np.column_stack([x.ravel(), y.ravel(), np.full(400, 0.8)]) + rng.uniform(-0.15, 0.15, (400, 3))
    floor = walls_of([[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
    layer = (templates_of([BALL]), [0] * 400, position, [IDENTITY] * 400, floor, np.ones((1, 1)))
    expected, energy = loaded(*layer)
    assert (expected.force[2] != 0).all()
    for skin in (0.01, 0.3, 3.0):
        bodies, same = loaded(*layer, skin)
        assert same == energy
        assert np.array_equal(bodies.force, expected.force)


# --- collisions ---------------------------------------------------------------------------------------------

CLUMPS = {
    "rod": LONG_ROD,
    "hook": [[0, 0, 0, 0.02], [0.03, 0, 0, 0.02], [0.06, 0.01, 0, 0.02], [0.06, 0.04, 0.01, 0.015]],
}


def collide(rotation, dt, other="rod"):
    """Momentum and angular momentum (rows, 3) during and after an off-centre collision, with their scales."""
    first = dict(clump="rod", position=[0, 0, 0], velocity=[2.0, 0.3, 0], angular_velocity=[3, -10, 20])
    second = dict(clump=other, position=[0.13, 0.06, 0.05], velocity=[-8.0, 0, 0.4], angular_velocity=[0, 5, 8])
    bodies = [first, second | dict(orientation=[0.5, 0.5, -0.1, 0.3])]
    plastic = {"plastic": (1e8, 0.1, 2500.0)}
    model = build_model(parse(scenario_text(plastic, CLUMPS, bodies, dt=dt, end=0.02)))
    simulation = Simulation.from_model(model, rotation)
    before, deepest, log = simulation.frame(), 0.0, [simulation.observables()]
    chunk = round(2e-4 / dt)
    for _ in range(model.steps // chunk):
        simulation.advance(chunk)
        log.append(simulation.observables())
        deepest = max(deepest, simulation.energies["elastic"])
    after = simulation.frame()
    energy = log[0]["total"]
    assert deepest > 0.05 * energy  # they did collide
    assert simulation.energies["elastic"] == 0.0  # and parted
    assert np.abs(after.velocity - before.velocity).max() > 1.0
    assert np.abs(after.angular_velocity - before.angular_velocity).max() > 10.0
    assert log[-1]["total"] == pytest.approx(energy, rel=0.01)
    momentum = np.array([row["momentum"] for row in log])
    angular = np.array([row["angular_momentum"] for row in log])
    speed = np.linalg.norm(before.velocity, axis=1)
    return (
        momentum,
        angular,
        np.sum(model.mass * speed),
        np.sum(model.mass * speed) * simulation.bodies.bounding_radius.max(),
    )


@pytest.mark.parametrize("other", ["rod", "hook"])
@pytest.mark.parametrize("rotation", ["spiral", "fincham"])
def test_a_collision_conserves_momentum_to_round_off(rotation, other):
    momentum, _, scale, _ = collide(rotation, 1e-5, other)
    assert np.abs(momentum - momentum[0]).max() < 1e-14 * scale


@pytest.mark.parametrize("other", ["rod", "hook"])
def test_a_collision_conserves_angular_momentum_to_round_off(other):
    """Of the schemes those that keep the angular momentum in the world frame do so; leapfrog adds no error of its own."""
    _, angular, _, scale = collide("fincham", 1e-5, other)
    assert np.abs(angular - angular[0]).max() < 2e-13 * scale


@pytest.mark.parametrize("other", ["rod", "hook"])
def test_the_angular_momentum_of_spiral_converges_with_the_second_order(other):
    steps = np.array([4e-5, 2e-5, 1e-5, 5e-6])
    errors = []
    for dt in steps:
        _, angular, _, scale = collide("spiral", dt, other)
        errors.append(np.abs(angular[-1] - angular[0]).max() / scale)
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 1.9 < slope < 2.1
    assert errors[-1] < 1e-6
