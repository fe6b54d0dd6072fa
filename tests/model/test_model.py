"""From scenario to model: frames, moduli, time step, what overlaps at the start; and the smallest systems there are."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from brute_force import elastic_energy, modulus_of, random_quaternions, rotations
from texts import scenario_text

import minidem
from minidem.errors import ScenarioError
from minidem.model import overlaps as overlaps_module
from minidem.model.building import build_model
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

MATERIALS = {"steel": (2e11, 0.3, 7800.0), "rubber": (5e6, 0.48, 1100.0)}
CLUMPS = {
    "rod": [[-0.04, -0.04, -0.04, 0.03], [0, 0, 0, 0.03], [0.04, 0.04, 0.04, 0.03]],
    "hook": {
        "spheres": [[1.0, 2.0, 3.0, 0.02], [1.03, 2.0, 3.0, 0.02], [1.06, 2.01, 3.0, 0.02], [1.06, 2.04, 3.01, 0.015]],
        "material": "rubber",
    },
    "ball": [[0.3, -0.2, 0.1, 0.05]],
    "grain": [[0, 0, 0, 0.001]],
}
BOX = {"box": [1.0, 2.0, 3.0]}


def body(clump, position, **more):
    return {"clump": clump, "position": position, **more}


def scenario_of(*bodies, **tables):
    return parse(scenario_text(MATERIALS, CLUMPS, bodies, **tables), "crowd.toml")


def model_of(*bodies, **tables):
    return build_model(scenario_of(*bodies, **tables), "crowd.toml")


def world_of(model):
    return Simulation.from_model(model, "spiral")._world


def sphere_centres(model, frame):
    """(s, 3) from positions and orientations as they are given out"""
    return np.vstack(
        [
            position + rotations(orientation).apply(model.clumps[k].spheres[:, :3] - model.clumps[k].center)
            for k, position, orientation in zip(model.species, frame.position, frame.orientation, strict=True)
        ]
    )


def kernel_sphere_centres(model, bodies):
    """(s, 3) as the kernels see them: principal axes"""
    return np.vstack(
        [
            bodies.position[:, b] + rotations(bodies.orientation[:, b]).apply(model.clumps[k].body_spheres[:, :3])
            for b, k in enumerate(model.species)
        ]
    )


# --- overlap at the start -----------------------------------------------------------------------------------


def overlaps(*bodies, **tables):
    with pytest.raises(ScenarioError) as failure:
        Simulation(scenario_of(*bodies, **tables), source="crowd.toml")
    return failure.value.errors


def test_two_bodies_that_overlap_are_named_with_the_depth():
    (line,) = overlaps(body("grain", [9, 9, 9]), body("ball", [0, 0, 0]), body("ball", [0.08, 0, 0]))
    assert line.startswith("crowd.toml: body[1]: overlaps body[2] by 0.02 m")


@pytest.mark.parametrize("side", [1, -1])
def test_the_depth_is_that_of_the_deepest_pair_of_spheres(side):
    """A ball at the side of a rod: 0.03 + 0.05 - |(0.01, -0.04, 0)| at its end, be it first or last, less in its middle."""
    (line,) = overlaps(body("rod", [0, 0, 0]), body("ball", side * np.array([0.05, 0, 0.04])))
    depth = float(re.search(r"body\[0\]: overlaps body\[1\] by (\S+) m", line)[1])
    assert depth == pytest.approx(0.08 - math.hypot(0.01, 0.04), rel=5e-3)  # three digits are printed


@pytest.mark.parametrize(("x", "wall"), [(0.01, "x = 0"), (0.99, "x = max")])
def test_the_depth_is_that_of_the_deepest_sphere(x, wall):
    """A rod with its middle 0.01 inside a wall: its end is 0.03 outside, the surface of the end 0.06."""
    (line,) = overlaps(body("rod", [x, 0.5, 0.5]), domain=BOX)
    assert line.startswith(f"crowd.toml: body[0]: reaches beyond the box at {wall} by 0.06 m")


def test_placed_bodies_are_told_from_exact_ones():
    model = model_of(*(body("ball", [x, 0, 0]) for x in (0, 1, 2)))
    crowded = replace(model, position=np.array([[0, 0, 0], [0.09, 0, 0], [0.17, 0, 0]]))
    assert overlaps_module.overlaps(world_of(crowded), np.arange(3), exact=1, boxed=0) == [
        "body[0]: overlaps placed body 0 by 0.01 m at the start; move it",
        "placed body 0: overlaps placed body 1 by 0.02 m at the start; move it",
    ]


def test_packed_bodies_may_overlap_by_a_part_of_the_smaller_radius():
    """A grain of 1 mm at a ball of 50 mm, either of them first: 0.25 and 0.4 mm of overlap are 0.25 and 0.4 radii."""
    for clumps in (["ball", "grain"], ["grain", "ball"]):
        model = model_of(*(body(clump, [x, 0, 0]) for x, clump in enumerate(clumps)))
        for depth, lines in ((0.25e-3, 0), (0.4e-3, 1)):
            pressed = replace(model, position=np.array([[0, 0, 0], [0.051 - depth, 0, 0]]))
            found = overlaps_module.overlaps(world_of(pressed), np.arange(2), exact=0, boxed=0, pressed=0.3)
            assert len(found) == lines
            assert all("1 contacts of packed bodies are deeper than 0.3 radii, the deepest 0.4;" in line for line in found)


def test_a_body_inside_another_is_an_overlap():
    (line,) = overlaps(body("ball", [0, 0, 0]), body("grain", [0, 0, 0.001]))
    assert "body[0]: overlaps body[1] by 0.05 m" in line


def test_two_bodies_in_the_same_place_overlap():
    (line,) = overlaps(body("ball", [0, 0, 0]), body("ball", [0, 0, 0]))
    assert "body[0]: overlaps body[1] by 0.1 m" in line


def test_bodies_whose_bounding_spheres_overlap_may_stand():
    model = model_of(body("rod", [0, 0, 0]), body("rod", [0.061 / math.sqrt(2), -0.061 / math.sqrt(2), 0]))
    assert np.linalg.norm(model.position[0] - model.position[1]) < model.bodies().bounding_radius.sum() / 2


@pytest.mark.parametrize(
    ("position", "wall", "depth"),
    [
        ([0.04, 1.0, 1.0], "x = 0", 0.01),
        ([0.97, 1.0, 1.0], "x = max", 0.02),
        ([0.5, 0.02, 1.0], "y = 0", 0.03),
        ([0.5, 1.952, 1.0], "y = max", 0.002),
        ([0.5, 1.0, 0.0], "z = 0", 0.05),
        ([0.5, 1.0, 7.0], "z = max", 4.05),  # far outside
    ],
)
def test_a_body_beyond_the_box_is_named_with_the_wall_and_the_depth(position, wall, depth):
    (line,) = overlaps(body("grain", [0.1, 0.1, 0.1]), body("ball", position), domain=BOX)
    assert line.startswith(f"crowd.toml: body[1]: reaches beyond the box at {wall} by {depth:g} m")


@pytest.mark.parametrize("domain", [{}, BOX], ids=["open space", "box"])
def test_a_body_beyond_an_extra_wall_is_named_with_the_wall(domain):
    walls = [dict(point=[0.1, 0, 0], normal=[1, 0, 0]), dict(point=[0, 1, 0], normal=[0, -5, 0], material="rubber")]
    balls = [body("ball", [0.5, 0.5, 0.5]), body("ball", [0.5, 0.96, 0.5])]
    (line,) = overlaps(*balls, walls=walls, domain=domain)
    assert line.startswith("crowd.toml: body[1]: reaches beyond wall[1] by 0.01 m")


def test_all_overlaps_are_reported_at_once():
    places = ([0.04, 0.04, 0.5], [0.12, 0.06, 0.5], [0.5, 0.5, 0.5])
    lines = overlaps(*(body("ball", place) for place in places), domain=BOX)
    assert len(lines) == 3
    assert all("body[0]: " in line for line in lines)
    assert sum("the box at x = 0" in line for line in lines) == 1
    assert sum("the box at y = 0" in line for line in lines) == 1
    assert sum("overlaps body[1]" in line for line in lines) == 1


def test_touching_is_no_overlap():
    """0.1 + 0.2 is not 0.3: what touches within round-off stands."""
    model_of(
        body("ball", [0.05, 0.05, 0.05]),
        body("ball", [0.15000000000000002, 0.05, 0.05]),
        body("ball", [0.95, 1.95, 2.95]),
        domain=BOX,
    )
    model_of(body("ball", [0.1 * 3, 0, 0]), body("ball", [0.1 * 3 + 0.1, 0, 0]))


# --- frames -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clump", ["rod", "hook", "ball"])
def test_the_identity_orientation_is_the_clump_as_given(clump):
    position = np.array([0.3, -0.7, 0.2])
    scenario = scenario_of(body(clump, position))
    model = build_model(scenario)
    if clump != "ball":  # else there is nothing to see
        assert rotations(model.clumps[0].principal_axes).magnitude() > 0.1
    given, center = model.clumps[0].spheres, model.clumps[0].center
    expected = given[:, :3] + position - center
    simulation = Simulation.from_model(model, "spiral")
    frame = simulation.frame()
    np.testing.assert_allclose(sphere_centres(model, frame), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(kernel_sphere_centres(model, simulation.bodies), expected, rtol=0, atol=1e-15)
    assert rotations(frame.orientation[0]).magnitude() < 1e-15

    centre, radius, owner = minidem.run(scenario).trajectory.spheres(0)
    np.testing.assert_allclose(centre, expected, rtol=0, atol=1e-15)
    assert np.array_equal(radius, given[:, 3])
    assert np.array_equal(owner, np.zeros(len(given)))


@pytest.mark.parametrize("clump", ["rod", "hook"])
def test_orientations_turn_the_clump_as_given(clump):
    for q in random_quaternions(np.random.default_rng(1), 10):
        model = model_of(body(clump, [1, 2, 3], orientation=5 * q))  # of any length
        expected = np.array([1, 2, 3]) + rotations(q).apply(model.clumps[0].spheres[:, :3] - model.clumps[0].center)
        simulation = Simulation.from_model(model, "spiral")
        np.testing.assert_allclose(sphere_centres(model, simulation.frame()), expected, rtol=0, atol=2e-15)
        np.testing.assert_allclose(kernel_sphere_centres(model, simulation.bodies), expected, rtol=0, atol=2e-15)


@pytest.mark.parametrize("rotation", ["spiral", "spiral-sync", "fincham", "omelyan"])
def test_velocities_come_out_in_the_world_frame_as_they_went_in(rotation):
    q, velocity, spin = [0.3, -0.5, 0.7, 0.2], [1.0, -2.0, 3.0], [5.0, 30.0, -11.0]
    model = model_of(body("hook", [0, 0, 0], orientation=q, velocity=velocity, angular_velocity=spin))
    frame = Simulation.from_model(model, rotation).frame()
    np.testing.assert_allclose(frame.velocity, [velocity], rtol=1e-14)
    # Half a step back and forth again: exact to the order of the scheme, here (dt omega)^2 = 1e-7 at the most
    np.testing.assert_allclose(frame.angular_velocity, [spin], rtol=1e-7)


def test_spheres_move_with_the_angular_velocity_given():
    """By differences of sphere positions over a step: v + omega x r in the world frame."""
    q, velocity, spin = [0.3, -0.5, 0.7, 0.2], np.array([1.0, -2.0, 3.0]), np.array([5.0, 30.0, -11.0])
    model = model_of(body("hook", [0, 0, 0], orientation=q, velocity=velocity, angular_velocity=spin))
    simulation = Simulation.from_model(model, "spiral")
    before = sphere_centres(model, simulation.frame())
    simulation.advance(1)
    after = sphere_centres(model, simulation.frame())
    expected = velocity + np.cross(spin, before)
    # The difference belongs to the middle of the step: dt omega^2 r / 2 = 3e-4 m/s
    np.testing.assert_allclose((after - before) / model.dt, expected, rtol=0, atol=1e-3)
    wrong = velocity + np.cross(rotations(model.clumps[0].principal_axes).apply(spin), before)
    assert np.abs(wrong - expected).max() > 0.1


def test_inertia_of_the_kernels_is_that_of_the_clump_in_world_axes():
    q = [0.3, -0.5, 0.7, 0.2]
    model = model_of(body("hook", [0, 0, 0], orientation=q))
    bodies = model.bodies()
    turn = rotations(bodies.orientation[:, 0]).as_matrix()
    given = rotations(q).as_matrix()
    np.testing.assert_allclose(
        turn @ np.diag(bodies.inertia[:3, 0]) @ turn.T,
        given @ model.clumps[0].inertia @ given.T,
        rtol=0,
        atol=1e-13 * bodies.inertia[:3, 0].max(),
    )
    assert bodies.mass[0] == model.clumps[0].mass
    arms = np.linalg.norm(model.clumps[0].spheres[:, :3] - model.clumps[0].center, axis=1)
    assert bodies.bounding_radius[0] == pytest.approx((arms + model.clumps[0].spheres[:, 3]).max(), rel=1e-14)
    assert bodies.arm[0] == pytest.approx(arms.max(), rel=1e-14)


def test_observables_by_their_definitions():
    """From what a frame gives out, with the inertia tensor of the clump as given; in contact, with gravity, turning."""
    parts = [
        body("hook", [0.1, 0.2, 0.3], orientation=[0.3, -0.5, 0.7, 0.2], velocity=[1, -2, 3], angular_velocity=[5, 30, -11]),
        body("rod", [-0.5, 0.1, 0.4], velocity=[0, 2, 1], angular_velocity=[-7, 2, 1]),
        body("hook", [0.8, 0.2, 0.3], velocity=[-400, 0, 0]),
    ]
    model = model_of(*parts, domain={"gravity": [0.5, 0.0, -9.81]})
    simulation = Simulation.from_model(model, "spiral")
    for steps in (0, 160, 5, 5, 5):
        simulation.advance(steps)
        frame, found = simulation.frame(), simulation.observables()
        mass = model.mass[:, None]
        turn = rotations(frame.orientation).as_matrix()
        inertia = turn @ np.array([model.clumps[k].inertia for k in model.species]) @ turn.transpose(0, 2, 1)
        spin = np.einsum("bij,bj->bi", inertia, frame.angular_velocity)
        expected = {
            "kinetic_translational": 0.5 * np.sum(mass * frame.velocity**2),
            "kinetic_rotational": 0.5 * np.sum(frame.angular_velocity * spin),
            "elastic": elastic_energy(simulation.bodies, model.templates, model.walls, modulus_of(model)),
            "gravity": -np.sum(mass * frame.position * model.gravity),
            "momentum": np.sum(mass * frame.velocity, axis=0),
            "angular_momentum": np.sum(np.cross(frame.position, mass * frame.velocity) + spin, axis=0),
        }
        expected["total"] = sum(value for value in expected.values() if np.ndim(value) == 0)
        assert set(found) == {*expected, "edge_error"}
        for name, value in expected.items():
            scale = expected["total"] if name == "gravity" else np.abs(value).max()  # gravity is a small sum of large terms
            np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-11 * scale, err_msg=name)
        if steps == 0:
            assert simulation.initial_energy == pytest.approx(expected["total"], rel=1e-12)
    assert found["elastic"] > 1e-3 * found["total"]


# --- materials and time step --------------------------------------------------------------------------------


def test_effective_moduli_of_all_pairs_of_materials():
    """1/E* = (1 - v1^2)/E1 + (1 - v2^2)/E2"""
    model = model_of(body("ball", [0.5, 0.5, 0.5]), body("hook", [0.5, 1.5, 1.5]), domain=BOX)
    steel, rubber = (1 - 0.3**2) / 2e11, (1 - 0.48**2) / 5e6
    expected = [[1 / (2 * steel), 1 / (steel + rubber)], [1 / (steel + rubber), 1 / (2 * rubber)]]
    np.testing.assert_allclose(modulus_of(model), expected, rtol=1e-14)
    names = [clump.name for clump in model.clumps]
    assert names == ["hook", "ball"]  # in the order of the clump tables
    assert model.templates.material.tolist() == [1, 0]
    assert model.walls.material.tolist() == [0] * 6


def test_the_rayleigh_step_is_that_of_the_smallest_sphere_in_use():
    model = model_of(body("ball", [0, 0, 0]), body("rod", [1, 0, 0]), dt="0.2 rayleigh")  # the grain is not used
    shear = 2e11 / (2 * 1.3)
    rayleigh = math.pi * 0.03 * math.sqrt(7800 / shear) / (0.1631 * 0.3 + 0.8766)
    assert model.dt == pytest.approx(0.2 * rayleigh, rel=1e-14)
    assert model.steps == round(1e-3 / (0.2 * rayleigh))
    # of different materials: the shortest time, not the smallest sphere
    mixed = model_of(body("ball", [0, 0, 0]), body("hook", [1, 0, 0]), dt="0.2 rayleigh")
    shear = 2e11 / (2 * 1.3)
    assert mixed.dt == pytest.approx(0.2 * math.pi * 0.05 * math.sqrt(7800 / shear) / (0.1631 * 0.3 + 0.8766), rel=1e-14)


# --- the smallest systems -----------------------------------------------------------------------------------


def test_a_clump_of_one_sphere():
    model = model_of(body("ball", [1, 2, 3], angular_velocity=[0, 0, 9]))
    mass = 7800 * 4 / 3 * math.pi * 0.05**3
    bodies = model.bodies()
    assert bodies.mass[0] == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(bodies.inertia[:3, 0], 0.4 * mass * 0.05**2, rtol=1e-12)
    np.testing.assert_allclose(bodies.inertia[3:6, 0] * bodies.inertia[:3, 0], 1, rtol=1e-15)
    np.testing.assert_allclose(bodies.inertia[6:, 0], 0, atol=1e-12)
    assert bodies.bounding_radius[0] == pytest.approx(0.05, rel=1e-14)
    assert bodies.arm[0] == pytest.approx(0.0, abs=1e-16)
    simulation = Simulation.from_model(model, "spiral")
    simulation.advance(1000)
    np.testing.assert_allclose(simulation.frame().angular_velocity, [[0, 0, 9]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sphere_centres(model, simulation.frame()), [[1, 2, 3]], rtol=0, atol=1e-14)


def test_a_body_alone_in_open_space_flies_straight_on():
    velocity = np.array([3.0, -4.0, 0.5])
    model = model_of(body("hook", [1, 2, 3], velocity=velocity, angular_velocity=[50, 0, 20]))
    assert model.walls.material.size == 0
    simulation = Simulation.from_model(model, "spiral")
    initial = simulation.observables()
    simulation.advance(20000)
    frame, observables = simulation.frame(), simulation.observables()
    # The round-off of 20000 additions, at most half a unit each, may all go the same way.
    np.testing.assert_allclose(frame.position[0], [1, 2, 3] + velocity * simulation.time, rtol=20000 * 1.1e-16)
    np.testing.assert_allclose(frame.velocity[0], velocity, rtol=1e-15)
    assert observables["total"] == pytest.approx(initial["total"], rel=1e-9)
    assert observables["elastic"] == 0.0


def test_gravity_in_open_space():
    model = model_of(body("hook", [0, 0, 0], velocity=[1, 0, 0]), domain={"gravity": [0.0, 1.0, -9.81]})
    simulation = Simulation.from_model(model, "spiral")
    simulation.advance(3000)
    t = simulation.time
    frame = simulation.frame()
    np.testing.assert_allclose(frame.position[0], [t, t**2 / 2, -9.81 * t**2 / 2], rtol=1e-12)  # leapfrog is exact here
    np.testing.assert_allclose(frame.velocity[0], [1, t, -9.81 * t], rtol=1e-12)
    assert simulation.observables()["total"] == pytest.approx(simulation.initial_energy, rel=1e-12)


def test_a_simulation_leaves_the_model_as_it_was():
    """So that a model can be simulated again; of one body, too, whose rows and columns are laid out alike."""
    for parts in (
        [body("hook", [0, 0, 0], velocity=[1, 2, 3], angular_velocity=[1, 2, 3])],
        [body("hook", [0, 0, 0], velocity=[1, 2, 3]), body("rod", [1, 0, 0], velocity=[1, 0, 0])],
    ):
        model = model_of(*parts, domain={"gravity": [0.0, 0.0, -9.81]})
        names = ("position", "orientation", "velocity", "angular_velocity")
        before = {name: getattr(model, name).copy() for name in names}
        first = Simulation.from_model(model, "spiral")
        first.advance(100)
        for name in names:
            assert np.array_equal(getattr(model, name), before[name]), name
        second = Simulation.from_model(model, "spiral")
        second.advance(100)
        assert np.array_equal(first.frame().position, second.frame().position)


@pytest.mark.parametrize("distance", [1e3, 1e6, -1e6, 1e9])
def test_a_body_far_away_changes_nothing(distance):
    """Two rods collide near the origin, to the last bit as they do without a third one far away."""
    pair = [
        body("rod", [0, 0, 0], velocity=[20, 0, 0], angular_velocity=[0, 30, 0]),
        body("rod", [0.12, 0.02, 0.01], orientation=[0.8, 0.1, 0.5, 0.2], velocity=[-20, 0, 0]),
    ]
    alone = Simulation.from_model(model_of(*pair), "spiral")
    third = body("rod", [distance, -distance, distance], velocity=[1, 0, 0])
    together = Simulation.from_model(model_of(*pair, third), "spiral")
    collided = 0
    for _ in range(500):
        alone.advance(1)
        together.advance(1)
        collided += alone.energies["elastic"] > 0
        assert together.energies["elastic"] == alone.energies["elastic"]
        for name in ("position", "velocity", "orientation", "spin", "force", "torque"):
            assert np.array_equal(getattr(together.bodies, name)[:, :2], getattr(alone.bodies, name)[:, :2])
    assert collided > 5


@pytest.mark.parametrize("count", [1, 7, 8, 16])
def test_kernels_get_rows_that_lie_together_in_memory(count):
    """Whether or not the number of bodies fills the lanes; another layout would be another compilation."""
    model = model_of(*(body("hook", [float(k), 0, 0]) for k in range(count)))
    for name, values in model.bodies()._asdict().items():
        assert values.flags.c_contiguous, name
