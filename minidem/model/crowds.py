"""Crowds of [[body]] entries, refused before neighbour lists are made.

Lists have all pairs of spheres that overlap: 3,001 bodies at one place are 4.5 million. Time and memory are linear in the
number of spheres here: spheres of about one size are sorted into cells so small that two of them in one cell overlap.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.state import Walls
from ..engine.surfaces.plane import gaps
from ..errors import LISTED, ScenarioError
from ..shapes.clump import Clump
from .overlaps import TOUCHING, Faults, lines_of, merged
from .placing.random import Poses

Array = NDArray[np.float64]
Index = NDArray[np.int64]
CELL = 1.15  # edge of a cell in radii of its smallest sphere; below 2 / sqrt(3) centres in it are closer than two radii
MOST_PAIRS = 10**7  # of spheres of bodies that overlap: lists of more are not made
TOGETHER = 2**17  # spheres whose places are computed together


@np.errstate(all="ignore")  # sizes may be close to the range of floats
def check_crowds(clumps: Sequence[Clump], species: Index, given: Poses, walls: Walls, boxed: int, source: str) -> None:
    """Raise ScenarioError if more than LISTED of the [[body]] entries surely overlap another one or reach beyond a wall, or
    if two of very many spheres overlap. Other overlaps are left to `check_overlaps`, which finds all.

    `species` (n,) is the clump of each entry, `given` its pose, with the orientation of the clump as given. The first
    `boxed` walls are those of the box.
    """
    n, count = species.size, walls.material.size
    if n == 0:
        return
    centre, radius, owner = placed_spheres(clumps, species, given)
    first, second, depth = in_one_cell(centre, radius, owner)
    faults = merged(first * (n + count) + second, depth)
    total, size = faults.number.size, np.bincount(owner)
    pairs = int(np.sum(size[faults.number // (n + count)] * size[faults.number % (n + count)]))
    for w in range(count):
        depth = radius - gaps(walls, w, centre)[0]
        beyond = np.flatnonzero(depth > TOUCHING * radius)
        behind = merged(owner[beyond] * (n + count) + n + w, depth[beyond])
        total += behind.number.size
        both = merged(np.append(faults.number, behind.number), np.append(faults.depth, behind.depth))
        faults = Faults(both.number[:LISTED], both.depth[:LISTED])
    if total > LISTED or pairs > MOST_PAIRS:
        lines = lines_of(faults, n, count, n, boxed)
        if total > LISTED:
            lines.append(f"body: at least {total - LISTED} more overlaps at the start; move these bodies, too")
        raise ScenarioError([f"{source}: {line}" for line in lines])


def placed_spheres(clumps: Sequence[Clump], species: Index, given: Poses) -> tuple[Array, Array, Index]:
    """Centres (s, 3) and radii (s,) of the spheres of bodies, m, and the body (s,) of each."""
    sizes = np.array([len(clump.spheres) for clump in clumps])
    local = np.concatenate([clump.spheres - np.append(clump.center, 0.0) for clump in clumps])
    count = sizes[species]
    owner = np.repeat(np.arange(species.size), count)
    template = np.arange(owner.size) + np.repeat((np.cumsum(sizes) - sizes)[species] - (np.cumsum(count) - count), count)
    centre = np.empty((owner.size, 3))
    for begin in range(0, owner.size, TOGETHER):
        some = slice(begin, begin + TOGETHER)
        arm = quaternions.rotated(given.orientation[owner[some]], local[template[some], :3])
        centre[some] = given.position[owner[some]] + arm
    return centre, local[template, 3], owner


def in_one_cell(centre: Array, radius: Array, owner: Index) -> tuple[Index, Index, Array]:
    """Pairs a < b of bodies (p,) that have spheres of about one size in one cell, and the overlaps of these spheres (p,), m.

    Of the bodies in a cell each is paired with the next: there are fewer pairs than spheres.
    """
    exponent = np.frexp(radius)[1]
    edge = np.ldexp(CELL, exponent - 1)  # the radius is at least 2^(exponent - 1)
    key = mixed(exponent.astype(np.int64))
    for c in range(3):
        key = mixed(key ^ (np.floor(centre[:, c] / edge) + 0.0).view(np.int64))  # + 0.0: no -0
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero((np.diff(key[order]) == 0) & (np.diff(owner[order]) > 0))
    i, j = order[same], order[same + 1]
    reach = radius[i] + radius[j]
    depth = reach - np.linalg.norm(centre[i] - centre[j], axis=1)
    sure = depth > TOUCHING * reach  # far from the origin cells are as wide as the spacing of floats, and keys may be equal
    return owner[i[sure]], owner[j[sure]], depth[sure]


def mixed(values: Index) -> Index:
    """Numbers of 64 bits whose bits depend on all bits of the values (the finalizer of SplitMix64, Steele et al. 2014)."""
    bits = values.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)
