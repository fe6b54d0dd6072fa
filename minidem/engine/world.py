"""The world that the kernels work on, made of bodies, clumps and walls."""

from typing import NamedTuple

import numpy as np

from .contact import batch
from .contact import edges as at_edges
from .search.grid import body_pairs
from .search.touching import UNKNOWN
from .state import (
    BLOCK,
    CHUNK,
    CONTACTS,
    EDGES,
    HELD,
    IN_CONTACT,
    Account,
    Edges,
    Grid,
    Limits,
    Lists,
    Scratch,
    Spheres,
    Team,
    Templates,
    Touching,
    World,
    aligned,
)
from .surfaces.plane import gaps

LEVELS = 24  # size classes of bodies, each twice as large as the one before; the last has no upper bound
SPARE = 1.2  # room for candidates, times their present number
TOGETHER = 2**18  # candidate pairs that NumPy looks at together: about 50 MB
FIRST_ROOM = 4  # candidates per sphere, until their number is known
NO_LIMITS = Limits()
NO_EDGES = Edges()


def make_templates(clumps, material):
    """The clumps from their spheres (s, 4), relative to the centre of mass in principal axes, and their materials."""
    first = np.cumsum([0] + [len(spheres) for spheres in clumps]).astype(np.int64)
    centre, radius = np.vstack(clumps)[:, :3].T, np.vstack(clumps)[:, 3]
    return Templates(
        first=first,
        centre=np.ascontiguousarray(centre),
        radius=radius.copy(),
        material=np.array(material, dtype=np.int64),
        low=np.minimum.reduceat(centre - radius, first[:-1], axis=1),
        high=np.maximum.reduceat(centre + radius, first[:-1], axis=1),
    )


def make_world(bodies, templates, walls, constants, threads=1, skin=0.0, limits=NO_LIMITS, edges=NO_EDGES):
    """All that a step needs. `constants` (m, m) are those of the contact law. The lists are still to be made, the first with
    that skin (m). The steps before are not known."""
    n, m = bodies.species.size, bodies.orientation.shape[1]
    first = np.concatenate([[0], np.cumsum(np.diff(templates.first)[bodies.species])])
    owner = np.repeat(np.arange(n, dtype=np.uint32), np.diff(first))
    rows = edges.rows(bool(bodies.arm.any()))
    place = aligned(1, rows * 4 * owner.size)[0, : rows * 4 * owner.size].reshape(rows, -1)
    place[...] = np.nan
    template = np.arange(owner.size) + (templates.first[bodies.species] - first[:-1])[owner]
    place[:, 3::4] = templates.radius[template]
    bounds = first[np.minimum(np.arange(0, n + BLOCK, BLOCK), n)]  # first sphere of each block
    in_block = np.diff(bounds)
    blocks = in_block.size
    threads = min(threads, blocks)
    turning = m if bodies.arm.any() else 0
    lists = Lists(
        listed=np.empty(owner.size, np.uint32),
        listed_count=np.zeros(blocks, np.int64),
        wanted=np.minimum(FIRST_ROOM * in_block, 1000),
        room=np.zeros(blocks + 1, np.int64),
        capacity=np.zeros(blocks, np.int64),
        subject=np.empty(0, np.uint32),
        candidate=np.empty(0, np.uint32),
        skin=np.array([skin]),
        age=np.zeros(1, np.int64),
        old_position=np.full((3, n), np.nan),  # outdated
        old_orientation=np.zeros((4, turning)),
    )
    close = Lists(*(values.copy() for values in lists)) if blocks == 1 else lists
    touching = Touching(
        elastic=np.zeros(blocks),
        count=np.zeros((blocks, 8), np.int64),
        word=np.empty(0, np.uint64),
        held=np.empty(0, np.uint64),
        listed_in=np.zeros(owner.size, np.uint32),
    )
    touching.count[:, IN_CONTACT] = 1  # not known: the forces in `bodies` may be anything
    team = Team(
        size=threads,
        sync=np.zeros(16, np.int64),
        flag=np.zeros((threads, 8), np.int64),
        step=np.zeros(2, np.int64),
        limits=limits,
        alarm=np.zeros((threads, 8)),
    )
    scratch = Scratch(  # pages that are never written take no memory
        sphere_force=aligned(threads, 4 * in_block.max() + 4),  # one more, for what other blocks and walls would get
        pair=np.empty((threads, batch.PAIR_ROWS * CONTACTS), np.uint32),
        batch=aligned(threads, batch.ROWS * CONTACTS),
        edge_pair=np.empty((threads, at_edges.PAIR_ROWS * EDGES), np.uint32),
        edge_batch=aligned(threads, at_edges.ROWS * EDGES),
        edge_count=np.zeros((threads, 8), np.int64),
        used=np.empty((threads, in_block.max()), np.bool_),
        near=np.empty((threads, n), np.uint32),
        near_wall=np.empty((threads, walls.material.size), np.uint32),
        facing=np.empty((threads, owner.size), np.uint32),
        facing_first=np.empty((threads, n + 1), np.uint32),
        facing_box=np.empty((threads, n, 6)),
    )
    material = templates.material[bodies.species].astype(np.uint16)[owner]
    spheres = Spheres(first, owner, material, place)
    account = Account(np.zeros(blocks), np.zeros(blocks), np.zeros(blocks, np.int64))
    grid = grid_for(bodies.bounding_radius)
    world = World(bodies, templates, walls, constants, spheres, grid, lists, close, touching, team, scratch, edges, account)
    make_room(world)
    return world


def make_room(world):
    """Make room for the wanted number of candidates and some more. The lists are empty and outdated afterwards."""
    capacity = (SPARE * world.lists.wanted).astype(np.int64) + 16
    room = np.cumsum((capacity // CHUNK + 1) * CHUNK)  # blocks begin with a chunk of their own, and have a pair to spare
    touching, both = world.touching, (world.lists, world.close)
    for lists in both:
        lists.old_position[:] = np.nan
    # In place: memory for two sets of lists is not needed. All arrays before the numbers, because memory may be too little.
    for values in (touching.held, *(values for lists in both for values in (lists.subject, lists.candidate))):
        values.resize(room[-1], refcheck=False)
    touching.word.resize(4 * room[-1] // CHUNK, refcheck=False)
    for lists in both:
        lists.room[1:], lists.capacity[:] = room, capacity
    touching.word[:] = 0
    touching.count[:, HELD] = UNKNOWN


def grid_for(bounding):
    """An empty grid for bodies of bounding radii `bounding` (n,), m."""
    with np.errstate(divide="ignore", invalid="ignore"):
        doublings = np.log2(bounding / bounding.min())
    doublings = np.clip(np.nan_to_num(doublings), 0, LEVELS - 1).astype(np.int8)
    used, level = np.unique(doublings, return_inverse=True)
    level = level.astype(np.int8)
    bodies_on = np.bincount(level)
    return Grid(
        level=level,
        level_radius=np.array([bounding[level == k].max() for k in range(used.size)]),
        first_cell=np.concatenate([[0], np.cumsum(2 * bodies_on)]),
        counts=np.ones((used.size, 3), np.int64),
        size=np.ones(used.size),
        origin=np.zeros(3),
        extent=np.zeros(3),
        sample=np.empty(500),
        start=np.zeros(2 * bounding.size + 1, np.uint32),
        member=np.empty(bounding.size, np.uint32),
        slot=np.empty(bounding.size, np.uint32),
    )


def candidate_pairs(world):
    """The listed pairs, up to TOGETHER of a block at a time, each pair once: spheres (p,) and candidates (p,), which are
    spheres or, with the number of spheres added, walls."""
    spheres, lists = world.spheres, world.lists
    for start, count in zip(lists.room, lists.wanted, strict=False):
        for begin in range(start, start + max(count, 1), TOGETHER):
            some = slice(begin, min(begin + TOGETHER, start + count))
            i, j = (values[some].astype(np.int64) for values in (lists.subject, lists.candidate))
            once = (j >= spheres.owner.size) | (i < j)  # a pair across blocks is on the lists of both
            yield i[once], j[once]


class Pairs(NamedTuple):
    """p candidate pairs and how far apart they are. They touch where the distance is below the reach."""

    first: np.ndarray  # (p,) sphere
    second: np.ndarray  # (p,) sphere; `first` again at a wall
    wall: np.ndarray  # (p,) wall, or -1
    distance: np.ndarray  # (p,) of the centres, or of the first centre from the wall (negative behind it), m
    reach: np.ndarray  # (p,) sum of the radii, or the radius at a wall, m
    normal: np.ndarray  # (p, 3) unit vector from the second sphere or the wall towards the first, world


def measured_pairs(world, centre):
    """`candidate_pairs` as Pairs, for spheres with these centres (s, 3), m."""
    radius, count = world.spheres.radius, world.spheres.owner.size
    for i, candidate in candidate_pairs(world):
        at_wall = candidate >= count
        j, wall = np.where(at_wall, i, candidate), np.where(at_wall, candidate - count, -1)
        normal, reach = centre[i] - centre[j], radius[i] + radius[j]
        distance = np.linalg.norm(normal, axis=1)
        normal /= np.maximum(distance, 1e-300)[:, None]  # two centres at one place have no direction
        distance[at_wall], normal[at_wall] = gaps(world.walls, wall[at_wall], centre[i[at_wall]])
        reach[at_wall] = radius[i[at_wall]]
        yield Pairs(i, j, wall, distance, reach, normal)


def near_pairs(position, bounding, skin, most=2**62):
    """(2, p) pairs a < b of bodies at `position` (3, n) whose bounding spheres are closer than the skin, ascending.
    MemoryError if there are more than `most`."""
    pairs, near, grid = np.empty((2, 4 * bounding.size), np.int64), np.empty(bounding.size, np.uint32), grid_for(bounding)
    while (count := body_pairs(position, bounding, skin, grid, near, pairs, most)) > pairs.shape[1]:
        if count > most:
            raise MemoryError(f"more than {most} pairs are near each other")
        pairs = np.empty((2, count), np.int64)
    return pairs[:, :count].copy()
