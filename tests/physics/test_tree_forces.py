"""Contacts and forces of dense, polydisperse, fast and far states, against KD-trees of all spheres and plain sums.

Clumps are of spheres that do not overlap, so that their centres of mass follow by hand.
"""

import numpy as np
import pytest
from oracle import matrix
from plain_clumps import Contacts, Crowd
from scenes import simulated
from texts import scenario_text

from minidem import Simulation
from minidem.scenario.reading import parse


@pytest.fixture(autouse=True)
def overlaps(monkeypatch):
    """Bodies overlap on purpose: the model does not refuse them."""
    monkeypatch.setattr("minidem.model.building.check_crowds", lambda *_: None)


MATERIALS = {"rubber": (1e7, 0.3, 1000.0), "cork": (3e6, 0.05, 300.0)}
BALL = [[0, 0, 0, 1.0]]
HOOK = [[0, 0, 0, 1.0], [2.1, 0.3, 0, 1.0], [2.9, 2.0, 0.1, 0.7], [2.4, 2.6, 1.4, 0.8]]
# Round-off of a sphere's centre, in last bits of the largest coordinate: position and orientation of the body, its rotation
# matrix, and the sphere's place in the body, which the package knows in principal axes.
ROUNDINGS = 4
KEYS = ("clump", "position", "orientation", "velocity", "angular_velocity")  # of [[body]]


def clumps_of(radii):
    """Balls and hooks of these sizes, of both materials, as Crowd wants them."""
    shapes = (("ball", "rubber", BALL), ("hook", "cork", HOOK))
    return {
        f"{name}{k}": (material, radius * np.array(rows))
        for k, radius in enumerate(radii)
        for name, material, rows in shapes
    }


def scenario_of(clumps, bodies=(), walls=(), **tables):
    rows = {name: {"material": material, "spheres": rows} for name, (material, rows) in clumps.items()}
    walls = [dict(zip(("point", "normal", "material"), wall, strict=True)) for wall in walls]
    return parse(scenario_text(MATERIALS, rows, bodies, walls=walls, **tables))


def random_turns(rng, n):
    q = rng.standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def assert_forces_are_those_of_trees(simulation, crowd, kicked=False):
    """Contacts, and forces and torques on the bodies unless corrected edges have `kicked` them. Returns the contacts, each
    with its own number, those with walls last.

    An overlap is a small difference of coordinates: its error `doubt` is that of the spheres' centres, by round-off and
    where round-off has changed the length of a quaternion. The error of a force is that of its overlap and of its direction.
    """
    position, orientation, spheres = simulation.positions, simulation.orientations, crowd.radius.size
    centre, arm = crowd.centres(position, orientation), np.linalg.norm(crowd.arm, axis=1)
    stretched = np.abs(np.linalg.norm(orientation, axis=1) - 1)[crowd.owner]
    doubt = ROUNDINGS * np.finfo(float).eps * (np.abs(centre).max() + np.abs(crowd.wall_point).max(initial=0.0))
    doubt += 4 * np.max(stretched * arm)
    exact = crowd.contacts(centre, crowd.near_pairs(centre), doubt)

    found = simulation.contacts
    other = np.where(found.wall < 0, found.second_sphere, spheres + found.wall)
    numbers, expected = (a + (spheres + 6) * b for a, b in ((found.first_sphere, other), (exact.i, exact.j)))
    assert np.unique(numbers).size == numbers.size
    assert np.isin(numbers, expected).all()
    assert np.isin(expected[exact.overlap > doubt], numbers).all()
    _, mine, its = np.intersect1d(expected, numbers, return_indices=True)
    same = Contacts(*(column[mine] for column in exact))
    between = same.j < spheres
    distance = np.full(mine.size, np.inf)  # of centres: the normal of a wall is known
    distance[between] = np.linalg.norm(centre[same.i[between]] - centre[same.j[between]], axis=1)
    slack = 1.5 * same.stiffness * np.sqrt(np.maximum(same.overlap, 0.0) + doubt) * doubt + 1e-14 * same.force
    assert (np.abs(found.overlap[its] - same.overlap) <= doubt).all()
    assert (np.abs(found.normal[its] - same.normal).max(axis=1, initial=0.0) <= doubt / distance + 1e-15).all()
    assert (np.abs(found.force[its] - same.force) <= slack).all()
    assert simulation.energies["elastic"] == pytest.approx(exact.energy, rel=1e-13, abs=np.sum(same.force) * doubt)

    if not kicked:
        slack += same.force * doubt / distance
        allowed, allowed_torque = np.zeros((2, crowd.mass.size))  # N, N m
        for s, some in ((same.i, slice(None)), (same.j[between], between)):
            np.add.at(allowed, crowd.owner[s], slack[some])
            turning = (arm[s] + crowd.radius[s]) * slack[some] + doubt * same.force[some]
            np.add.at(allowed_torque, crowd.owner[s], turning)
        force, torque = crowd.loads(centre, position, exact)
        n, rank = crowd.mass.size, simulation.rank
        turn = np.moveaxis(matrix(simulation.bodies.orientation[:, :n][:, rank]), 2, 0)  # principal axes -> world
        its_torque = np.einsum("nab,nb->na", turn, simulation.bodies.torque[:, :n].T[rank])
        assert (np.linalg.norm(simulation.bodies.force.T[rank] - force, axis=1) <= allowed).all()
        assert (np.linalg.norm(its_torque - torque, axis=1) <= allowed_torque).all()
    return np.sort(numbers)


def box_walls(box):
    """Of a box with a corner at the origin, as scenarios number them."""
    return [
        (end * axis, sign * axis, "rubber")
        for axis, length in zip(np.eye(3), box, strict=True)
        for end, sign in ((0, 1), (length, -1))
    ]


def test_dense():
    """A packing of balls and hooks in a box, at 0.6 of its volume, at rest and on the move."""
    clumps, box = clumps_of([0.005]), (0.1, 0.09, 0.11)
    place = [dict(clump=name, packing_fraction=0.3, speed=2.0, spin=200.0) for name in clumps]
    tables = dict(place=place, domain={"box": box}, dt="0.05 rayleigh", end=0.1, guard={"overlap": False})
    simulation = Simulation(scenario_of(clumps, **tables))
    species = np.array(list(clumps))[simulation.model.species]
    crowd = Crowd(MATERIALS, clumps, species, box_walls(box))
    volume = np.sum(4 / 3 * np.pi * crowd.radius**3) / np.prod(box)
    assert volume == pytest.approx(0.6, abs=0.01)
    assert len(species) > 512  # more than a block
    for steps in (0, 20, 50, 100, 200):
        simulation.advance(steps)
        assert len(assert_forces_are_those_of_trees(simulation, crowd)) > 3 * len(species)


def touching_bodies(rng, clumps, names, normal):
    """Positions and orientations of bodies of these clumps, on the side of a wall through the origin that its normal points
    to: each touches one before it or the wall, and none overlaps anything by more than a tenth of the smaller radius."""
    orientation = random_turns(rng, len(names))
    normal = normal / np.linalg.norm(normal)
    alone = {name: Crowd(MATERIALS, clumps, [name]) for name in clumps}
    position, centre, radius = [], np.empty((0, 3)), np.empty(0)
    while len(position) < len(names):
        k = len(position)
        own = alone[names[k]]
        rows = own.centres(np.zeros((1, 3)), orientation[k : k + 1])
        i, along, pressed = rng.integers(own.radius.size), rng.standard_normal(3), 0.05 * rng.uniform()
        if k == 0 or rng.uniform() < 0.2:
            aside = along - normal * (along @ normal)
            place = aside + (1 - pressed) * own.radius[i] * normal - rows[i]
        else:
            j = rng.integers(radius.size)
            reach = own.radius[i] + radius[j] - pressed * min(own.radius[i], radius[j])
            place = centre[j] + reach * along / np.linalg.norm(along) - rows[i]
        gaps = np.linalg.norm(rows[:, None] + place - centre, axis=2) - own.radius[:, None] - radius
        deep = (gaps < -0.1 * np.minimum(own.radius[:, None], radius)).any()
        if not deep and ((rows + place) @ normal > 0.9 * own.radius).all():
            position.append(place)
            centre, radius = np.concatenate([centre, rows + place]), np.concatenate([radius, own.radius])
    return np.array(position), orientation


def test_polydisperse():
    """Balls and hooks of radii from 1 mm to 1 m, each touching another or a wall; then on the move."""
    rng = np.random.default_rng(5)
    clumps = clumps_of(np.geomspace(1e-3, 1.0, 13))
    sizes = np.array(list(clumps))[::-1]
    names = [*sizes[:4], *rng.choice(sizes[2:], 600)]
    wall = ([0, 0, 0], [2.0, -1.0, 3.0], "cork")
    position, orientation = touching_bodies(rng, clumps, names, np.array(wall[1]))
    speed = rng.standard_normal((2, len(names), 3))
    state = zip(names, position, orientation, speed[0], speed[1], strict=True)
    bodies = [dict(zip(KEYS, row, strict=True)) for row in state]
    simulation = simulated(scenario_of(clumps, bodies, [wall], dt=1e-6, end=1.0))
    crowd = Crowd(MATERIALS, clumps, names, [wall])
    assert crowd.radius.max() > 999 * crowd.radius.min()
    for steps in (0, 1, 50, 200):
        simulation.advance(steps)
        assert len(assert_forces_are_those_of_trees(simulation, crowd)) > 0.5 * len(names)


def gas(rng, count, radius, edge, corner, speed, spin):
    """[[body]] tables of balls and hooks of a radius and half of it, anywhere in a cube, and their clumps; half of them are
    a hundred times slower."""
    clumps = clumps_of([radius, radius / 2])
    names = rng.choice(list(clumps), count)
    pace = rng.choice([0.01, 1.0], (count, 1))
    velocity, spinning = (size * pace * rng.standard_normal((count, 3)) for size in (speed, spin))
    place = corner + edge * rng.uniform(size=(count, 3))
    rows = zip(names, place, random_turns(rng, count), velocity, spinning, strict=True)
    return clumps, names, [dict(zip(KEYS, row, strict=True)) for row in rows]


@pytest.mark.parametrize("edges", ["plain", "corrected"])
@pytest.mark.parametrize("count", [150, 900])
@pytest.mark.parametrize("pace", [0.5, 0.03])
def test_fast(count, edges, pace, long):
    """Bodies that fly through each other, so soft are they for their speed, in one block of bodies and in two. They move by
    half a radius with each step, many a skin, or by so much that lists last for some steps only. 5 gases; 50 with --long."""
    dt, radius = 1e-5, 0.01
    edge = radius * (60 * count) ** (1 / 3)
    wall = ([0, 0, 0], [1.0, 2.0, -0.5], "cork")
    for seed in range(50 if long else 5):
        rng = np.random.default_rng(seed)
        clumps, names, bodies = gas(rng, count, radius, edge, -edge / 2, pace * radius / dt, 0.4 * pace / dt)
        simulation = simulated(scenario_of(clumps, bodies, [wall], dt=dt, end=1.0, contact={"edges": edges}))
        crowd = Crowd(MATERIALS, clumps, names, [wall])
        before, new = [], 0
        for _ in range(12):
            numbers = assert_forces_are_those_of_trees(simulation, crowd, edges == "corrected")
            assert len(numbers) > count
            new += len(np.setdiff1d(numbers, before))
            before = numbers
            simulation.advance(1)
        assert new > (2 if pace == 0.5 else 1.1) * len(before)


def test_far():
    """A million radii from the origin, in the far corner of a box, where a coordinate is known to 2e-12 m."""
    rng = np.random.default_rng(3)
    radius, count, far = 0.01, 700, 1e4
    edge = radius * (40 * count) ** (1 / 3)
    clumps, names, bodies = gas(rng, count, radius, edge, far - edge, 5.0, 200.0)
    tables = dict(dt=1e-6, end=1.0, domain={"box": [far] * 3, "material": "rubber"})
    simulation = simulated(scenario_of(clumps, bodies, **tables))
    crowd = Crowd(MATERIALS, clumps, names, box_walls([far] * 3))
    for steps in (0, 1, 10, 100):
        simulation.advance(steps)
        assert len(assert_forces_are_those_of_trees(simulation, crowd)) > 600
