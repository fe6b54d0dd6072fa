"""Symmetries: the result does not depend on position, rotation, handedness, origin of a clump or order of the bodies."""

import numpy as np
import pytest
from scenes import CLUMPS, scene, simulated

from minidem import quaternions
from minidem.model.building import build_model

NAMES = ("position", "velocity", "orientation", "angular_velocity")
MIRROR = np.array([-1.0, 1.0, 1.0])
SCENE = {  # three hooks and a rod that collide above a wall, under gravity
    "position": np.array([[0.12, 0, 0.2], [-0.12, 0.02, 0.22], [0, 0.13, 0.18], [0.01, -0.02, 0.4]]),
    "velocity": np.array([[-3.0, 0, 0.5], [3, 0, 0], [0, -3, 0], [0.2, 0, -6]]),
    "orientation": quaternions.unit([[1, 0, 0, 0], [0.5, 0.7, -0.1, 0.3], [0.1, -0.3, 0.8, 0.2], [0.9, 0.1, 0.5, -0.3]]),
    "angular_velocity": np.array([[3.0, 0, 20], [0, 30, 0], [-20, 5, 5], [10, -10, 0]]),
}
SPECIES = ("hook", "hook", "hook", "rod")
FLOOR = {"point": np.array([0.0, 0, 0]), "normal": np.array([0.0, 0, 1])}
GRAVITY = np.array([0.0, 0, -9.81])
STEPS = 6000


def moved(motion, turn, shift, mirrored):
    """The motion after a reflection at x = 0, a rotation and a shift. The clumps have to be mirrored at their own x = 0."""
    sign = MIRROR if mirrored else 1.0
    axial = -MIRROR if mirrored else 1.0
    orientation = motion["orientation"] * np.append(1.0, axial * np.ones(3))
    return {
        "position": quaternions.rotated(turn, sign * motion["position"]) + shift,
        "velocity": quaternions.rotated(turn, sign * motion["velocity"]),
        "orientation": quaternions.product(turn, orientation),
        "angular_velocity": quaternions.rotated(turn, axial * motion["angular_velocity"]),
    }


def bodies_of(species, motion):
    """The [[body]] tables for clumps of these species with this motion."""
    rows = zip(*(motion[name] for name in NAMES), strict=True)
    return [dict(zip(("clump", *NAMES), (clump, *row), strict=True)) for clump, row in zip(species, rows, strict=True)]


def outcome(scenario, steps):
    """Positions, velocities, orientations and angular velocities after `steps` steps, by name."""
    simulation = simulated(scenario)
    simulation.advance(steps)
    frame = simulation.frame()
    return {name: getattr(frame, name) for name in NAMES}


def apart(one, other):
    """Largest difference in any component, in m, m/s and rad/s, and of quaternions up to their sign."""
    signs = np.sign(np.sum(one["orientation"] * other["orientation"], axis=1, keepdims=True))
    other = other | {"orientation": signs * other["orientation"]}
    return max(np.abs(one[name] - other[name]).max() for name in NAMES)


def staged(scheme, turn=(1, 0, 0, 0), shift=(0, 0, 0), mirrored=False, start=SCENE):
    """The scenario of SCENE after a reflection, a rotation and a shift."""
    turn = quaternions.unit(turn)
    sign = MIRROR if mirrored else 1.0
    rows = {name: (material, np.array(rows) * np.append(sign * np.ones(3), 1)) for name, (material, rows) in CLUMPS.items()}
    point = quaternions.rotated(turn, sign * FLOOR["point"]) + shift
    wall = dict(point=point, normal=quaternions.rotated(turn, sign * FLOOR["normal"]), material="plastic")
    gravity = quaternions.rotated(turn, sign * GRAVITY)
    bodies = bodies_of(SPECIES, moved(start, turn, shift, mirrored))
    return scene(1e-5, bodies, [wall], scheme=scheme, gravity=gravity, clumps=rows)


MOVES = {
    "turned": dict(turn=(0.3, -0.5, 0.7, 0.2)),
    "shifted": dict(shift=(1.0, -2.0, 3.0)),
    "mirrored": dict(mirrored=True),
    "all three": dict(turn=(-0.6, 0.1, 0.4, 0.5), shift=(0.3, 0.2, -0.7), mirrored=True),
}


@pytest.mark.parametrize("scheme", ["spiral", "omelyan", "fincham", "no-squish", "free-rotor"])
@pytest.mark.parametrize("move", MOVES)
def test_a_moved_scene_gives_a_moved_outcome(move, scheme):
    """Against the moved outcome of the original scene, up to round-off.

    Round-off changes positions by up to 2e-16 m per step (half the last bit of 3 m), often in the same direction: by STEPS
    times that in total. Collisions amplify it as they amplify an initial displacement of that size.
    """
    how = {"turn": (1, 0, 0, 0), "shift": (0, 0, 0), "mirrored": False} | MOVES[move]
    plain, other = (outcome(staged(scheme, **some), STEPS) for some in ({}, how))
    assert np.abs(plain["velocity"] - SCENE["velocity"]).max(axis=1).min() > 0.5  # all bodies have collided
    push = 2e-16 * STEPS * np.sign(np.random.default_rng(0).normal(size=(4, 3)))
    nudged = outcome(staged(scheme, start=SCENE | {"position": SCENE["position"] + push}), STEPS)
    expected = moved(plain, quaternions.unit(how["turn"]), how["shift"], how["mirrored"])
    assert apart(expected, other) < apart(plain, nudged) < 1e-7


def crowd(species, count, spacing, rate):
    """Bodies of random species, near the points of a grid, that move towards the centre."""
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(*[np.arange(count)] * 3), axis=-1).reshape(-1, 3)
    n = len(grid)
    return rng.choice(species, n), {
        "position": spacing * (grid + rng.uniform(-0.002, 0.002, (n, 3))),
        "velocity": rate * (rng.normal(size=(n, 3)) - grid + grid.mean(axis=0)),
        "orientation": quaternions.unit(rng.normal(size=(n, 4))),
        "angular_velocity": 5 * rng.normal(size=(n, 3)),
    }


@pytest.mark.parametrize("shift", [(0.013, -0.4, 7.0), (-1e3, 1 / 3, 1e-5)])
def test_a_sphere_off_its_origin_is_a_sphere(shift):
    """Against a sphere at its origin, bit for bit: mass, moments, and the motion of many spheres that fall on a wall."""
    species, motion = crowd(["ball"], 4, 0.021, 2.0)
    floor = dict(point=[0, 0, -0.0101], normal=[0, 0, 1], material="steel")
    scenes = [
        scene(1e-6, bodies_of(species, motion), [floor], gravity=GRAVITY, clumps={"ball": ("steel", [[*where, 0.01]])})
        for where in ((0, 0, 0), shift)
    ]
    plain, other = (build_model(each).clumps[0] for each in scenes)
    for name in ("mass", "volume", "inertia", "principal_inertia", "principal_axes", "body_spheres", "bounding_radius"):
        assert np.array_equal(getattr(plain, name), getattr(other, name)), name
    assert np.array_equal(other.center, shift)
    assert plain.mass == pytest.approx(7800 * 4 / 3 * np.pi * 1e-6, rel=1e-15)
    assert plain.principal_inertia == pytest.approx(0.4 * plain.mass * 1e-4, rel=1e-14)
    ends = [outcome(each, 1000) for each in scenes]
    assert np.abs(ends[0]["velocity"] - motion["velocity"]).max(axis=1).min() > 0.1  # all spheres have collided
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in NAMES)


@pytest.mark.parametrize(
    ("species", "count", "spacing", "rate", "dt", "steps"),
    [
        (("ball", "pea"), 7, 0.0201, 2.0, 1e-6, 400),  # 343 in one block
        (("ball", "pea"), 9, 0.0201, 2.0, 1e-6, 400),  # 729 in two, put in spatial order
        (("hook", "ball"), 4, 0.15, 4.0, 1e-5, 1500),
    ],
)
def test_order_of_the_bodies_does_not_matter(species, count, spacing, rate, dt, steps):
    """Against the original order, up to round-off of sums of three or more forces (1e-16, 1e-12 after collisions)."""
    clumps, motion = crowd(species, count, spacing, rate)
    order = np.random.default_rng(2).permutation(len(clumps))
    ends = []
    for some in (np.arange(len(clumps)), order):
        bodies = bodies_of(clumps[some], {name: rows[some] for name, rows in motion.items()})
        ends.append(outcome(scene(dt, bodies), steps))
    met = np.linalg.norm(ends[0]["velocity"] - motion["velocity"], axis=1) > 0.1
    assert met.mean() > 0.5
    assert apart({name: rows[order] for name, rows in ends[0].items()}, ends[1]) < 1e-11
