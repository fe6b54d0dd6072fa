"""Slow and plain answers to what the kernels compute, and small states to ask about. Rotations are scipy's."""

from threading import Thread

import numpy as np
from scipy.spatial.transform import Rotation

from minidem.engine.compile.kernels import kernel
from minidem.engine.contact.loading import contact_law
from minidem.engine.places import spheres_at
from minidem.engine.rotation.loading import rotation
from minidem.engine.search.lists import find_candidates, travelled
from minidem.engine.state import BLOCK, Bodies, Walls, inertia_rows
from minidem.engine.step import advance
from minidem.engine.world import candidate_pairs, make_room, make_templates, make_world

AT_REST = (0.0, (0.0, 0.0, 0.0))  # no time, no gravity
PATIENCE = 100.0  # s until threads that do not come back count as stuck


def rotations(quaternions):
    """scipy's rotations of quaternions (..., 4) w, x, y, z."""
    return Rotation.from_quat(np.roll(quaternions, -1, axis=-1))


def random_quaternions(rng, count):
    """(count, 4) unit"""
    q = rng.standard_normal((count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def templates_of(clumps, material=None):
    """Clumps (k, 4) of x, y, z relative to the centre of mass in principal axes and radius."""
    return make_templates(clumps, [0] * len(clumps) if material is None else material)


def bodies_of(templates, species, position, orientation):
    """Bodies at rest of unit mass and inertia at positions (n, 3) with principal-axis orientations (n, 4)."""
    n = len(species)
    arm = np.linalg.norm(templates.centre, axis=0)
    spans = [slice(templates.first[k], templates.first[k + 1]) for k in species]
    return Bodies(
        position=np.array(np.transpose(position), dtype=float, order="C"),
        velocity=np.zeros((3, n)),
        orientation=np.array(np.transpose(orientation), dtype=float, order="C"),
        spin=np.zeros((3, n)),
        force=np.zeros((3, n)),
        torque=np.zeros((3, n)),
        mass=np.ones(n),
        inertia=inertia_rows(np.ones((3, n))),
        bounding_radius=np.array([(arm + templates.radius)[span].max() for span in spans]),
        arm=np.array([arm[span].max() for span in spans]),
        species=np.array(species, dtype=np.int64),
    )


def walls_of(points, normals, material=None):
    """Half-spaces from points (w, 3) and normals (w, 3) of any length."""
    count = len(points)
    normals = np.reshape(normals, (count, 3)) / np.linalg.norm(np.reshape(normals, (count, 3)), axis=1, keepdims=True)
    return Walls(
        point=np.array(np.reshape(points, (count, 3)).T, dtype=float, order="C"),
        normal=np.array(normals.T, dtype=float, order="C"),
        material=np.array([0] * count if material is None else material, dtype=np.int64),
    )


def all_spheres(bodies, templates):
    """Centres (s, 3), radii (s,), bodies (s,) and columns of `templates` (s,) of all the spheres of all the bodies."""
    owner = np.concatenate([np.full(templates.first[k + 1] - templates.first[k], b) for b, k in enumerate(bodies.species)])
    column = np.concatenate([np.arange(templates.first[k], templates.first[k + 1]) for k in bodies.species])
    turn = rotations(bodies.orientation.T[owner])
    return bodies.position.T[owner] + turn.apply(templates.centre.T[column]), templates.radius[column], owner, column


def sphere_gaps(centre, radius, owner):
    """Pairs i < j (p,), (p,) of spheres of different bodies and the gaps between their surfaces (p,), m."""
    i, j = np.nonzero(np.triu(owner[:, None] != owner[None, :], 1))
    return i, j, np.linalg.norm(centre[i] - centre[j], axis=1) - radius[i] - radius[j]


def wall_gaps(centre, radius, walls):
    """(s, w) gaps between spheres and walls, m"""
    return np.einsum("swc,cw->sw", centre[:, None, :] - walls.point.T[None, :, :], walls.normal) - radius[:, None]


def contacts(bodies, templates, walls, modulus):
    """Of all that overlaps: spheres (p,), what they touch (p,), wall w being s + w; overlaps, stiffness 4/3 E* sqrt(R*), and
    unit vectors (p, 3) along which the spheres are pushed."""
    centre, radius, owner, _ = all_spheres(bodies, templates)
    material = templates.material[bodies.species[owner]]
    i, j, gap = sphere_gaps(centre, radius, owner)
    i, j, overlap = i[gap < 0], j[gap < 0], -gap[gap < 0]
    root = np.sqrt(radius[i] * radius[j] / (radius[i] + radius[j]))
    along = centre[i] - centre[j]
    pairs = i, j, overlap, 4 / 3 * modulus[material[i], material[j]] * root, along / np.linalg.norm(along, axis=1)[:, None]
    gap = wall_gaps(centre, radius, walls)
    s, w = np.nonzero(gap < 0)
    stiffness = 4 / 3 * modulus[material[s], walls.material[w]] * np.sqrt(radius[s])
    at_walls = s, len(owner) + w, -gap[s, w], stiffness, walls.normal.T[w]
    return tuple(np.concatenate(both) for both in zip(pairs, at_walls, strict=True))


def elastic_energy(bodies, templates, walls, modulus):
    """U = 8/15 E* sqrt(R*) d^(5/2) over all contacts, J."""
    _, _, overlap, stiffness, _ = contacts(bodies, templates, walls, modulus)
    return np.sum(0.4 * stiffness * overlap**2.5)


def forces(bodies, templates, walls, modulus):
    """Forces (3, n) in the world, N, and torques (3, n) about the principal axes, N m."""
    centre, _, owner, _ = all_spheres(bodies, templates)
    i, j, overlap, stiffness, along = contacts(bodies, templates, walls, modulus)
    push = (stiffness * overlap**1.5)[:, None] * along
    force, torque = np.zeros((len(bodies.species), 3)), np.zeros((len(bodies.species), 3))
    other = j < len(owner)
    for s, f in ((i, push), (j[other], -push[other])):
        np.add.at(force, owner[s], f)
        np.add.at(torque, owner[s], np.cross(centre[s] - bodies.position.T[owner[s]], f))
    turn = rotations(bodies.orientation.T[: len(force)])
    return force.T, turn.inv().apply(torque).T


# --- worlds -------------------------------------------------------------------------------------------------


def modulus_of(model):
    """Effective modulus E* of each pair of materials (m, m), Pa, of a model with Hertz contacts."""
    return 0.75 * np.sqrt(model.constants)


def hertz_world(bodies, templates, walls, modulus, threads=1, skin=0.0):
    """A world with Hertz contacts, from the effective modulus (m, m) of each pair of materials."""
    return make_world(bodies, templates, walls, (4 / 3 * modulus) ** 2, threads, skin)


@kernel
def made(world, skin):
    return find_candidates(0, world, spheres_at(0, world.spheres), skin, 0.0)


@kernel
def have_travelled(bodies, position, orientation, distance):
    return travelled(0, bodies.species.size, bodies, position, orientation, distance)


def outdated(bodies, lists):
    """Has a sphere moved by more than half the skin since the lists were made?"""
    return have_travelled(bodies, lists.old_position, lists.old_orientation, 0.5 * lists.skin[0])


def make_lists(world, skin):
    """Anew, by one thread, with this very skin."""
    assert world.team.size == 1
    while not made(world, float(skin)):
        make_room(world)


def go_on(world, steps, dt, gravity, pending=False):
    """Advance a world by all of its threads, with the SPIRAL scheme; `pending`: find the forces of the present state, too.

    Returns how often room had to be made for the lists.
    """
    rooms = 0
    while True:
        outcomes = [None] * world.team.size
        arguments = (steps, dt, gravity, rotation("spiral").advance, *contact_law("hertz").pointers(world), world, pending)

        def part(me, outcomes=outcomes, arguments=arguments):
            outcomes[me] = advance(me, *arguments)

        if world.team.size == 1:
            part(0)
        else:
            threads = [Thread(target=part, args=(me,), daemon=True) for me in range(world.team.size)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            assert not any(thread.is_alive() for thread in threads), "threads wait for each other for ever"
        assert len(set(outcomes)) == 1  # all tell the same
        steps_made, pending = outcomes[0]
        steps -= steps_made
        if not pending:
            assert steps == 0
            return rooms
        make_room(world)
        rooms += 1


def find_forces(world):
    """Of the present state; returns how often room had to be made for the lists."""
    return go_on(world, 0, *AT_REST, pending=True)


def state_of(world):
    """All that moves and all that moves it, with the elastic energy, in one array (rows, n)."""
    bodies, n = world.bodies, world.bodies.species.size
    names = ("position", "velocity", "orientation", "spin", "force", "torque")
    elastic = np.full((1, n), world.touching.elastic.sum())
    return np.concatenate([*(getattr(bodies, name)[:, :n] for name in names), elastic])


def pairs_listed(world):
    """Spheres (p,) and what each may touch (p,), each pair once, of all blocks."""
    first, second = zip(*candidate_pairs(world), strict=True)
    return np.concatenate(first), np.concatenate(second)


def rows_of(world, block):
    """The listed spheres of a block (l,), and its candidates: spheres (p,), what each may touch (p,)."""
    lists, first = world.lists, int(world.spheres.first[block * BLOCK])
    listed = lists.listed[first : first + lists.listed_count[block]].astype(int)
    assert lists.wanted[block] <= lists.room[block + 1] - lists.room[block]
    own = slice(lists.room[block], lists.room[block] + lists.wanted[block])
    return listed, lists.subject[own].astype(int), lists.candidate[own].astype(int)


def assert_lists_are_those_of_all_spheres(world, skin):
    """What is listed, and in which order, against all pairs; returns the pairs of spheres and of walls."""
    bodies, templates, walls = world.bodies, world.templates, world.walls
    centre, radius, owner, _ = all_spheres(bodies, templates)
    assert np.array_equal(world.spheres.owner, owner)
    place = world.spheres.place[0].reshape(-1, 4)
    np.testing.assert_allclose(
        place[:, :3], centre, rtol=0, atol=1e-14 * max(np.abs(centre).max(), bodies.bounding_radius.max())
    )
    assert np.array_equal(place[:, 3], radius)

    count, block_of = len(owner), owner // BLOCK
    i, j, gap = sphere_gaps(centre, radius, owner)
    i, j = i[gap < skin], j[gap < skin]
    across = block_of[i] != block_of[j]  # listed by both blocks
    s, w = np.nonzero(wall_gaps(centre, radius, walls) < skin)
    expected = np.concatenate([np.stack([i, j]), np.stack([j, i])[:, across], np.stack([s, count + w])], axis=1)
    expected = expected[:, np.lexsort(expected[::-1])]

    assert world.lists.wanted.size == block_of[-1] + 1
    blocks = [rows_of(world, block) for block in range(block_of[-1] + 1)]
    for block, (listed, first, second) in enumerate(blocks):
        assert (np.diff(listed) > 0).all()
        own_second = second[second < count]
        own_second = own_second[block_of[own_second] == block]
        assert np.array_equal(listed, np.unique(np.concatenate([first, own_second])))  # both sides, and nothing else
        assert (block_of[listed] == block).all()
    first, second = (np.concatenate([block[k] for block in blocks]) for k in (1, 2))
    assert np.array_equal([first, second], expected)  # ascending by sphere, then by candidate, walls last
    assert np.array_equal(world.spheres.material, templates.material[bodies.species[owner]])
    return i.size, s.size
