"""Random sequential placement: accept a random pose if none of its spheres touches a wall or another body."""

import math
from typing import NamedTuple

import numpy as np

from .compile.kernels import inlined, internal, kernel
from .geometry import apart, column, index
from .quaternion import carried, matrix
from .surfaces.plane import gap


class Crowd(NamedTuple):
    """Bodies to be inserted. Placed bodies are linked by cell, each in a grid for its size: the cells of level l
    are 2^l times `finest` wide."""

    position: np.ndarray  # (3, n) world, m
    bounding_radius: np.ndarray  # (n,) bounding radius, m
    depth: np.ndarray  # (n,) radius of a ball around the centre of mass that lies inside the body, m
    level: np.ndarray  # (n,) int64, whose cells are no smaller than twice the bounding radius
    offset: np.ndarray  # (n+1,) int64, first sphere of each body
    place: np.ndarray  # (3, s) centres of all the spheres, world, m
    centre: np.ndarray  # (3, s) the same in principal axes, relative to the centre of mass, m
    radius: np.ndarray  # (s,) m
    head: np.ndarray  # (2^k,) int64, last body in each slot of the table of cells, -1 for none
    previous: np.ndarray  # (n,) int64, the body before it in the same slot, -1 for none


@inlined
def cell_of(position, b, size):
    """Cell (x, y, z) of body b in a grid of cells of that size (m)."""
    return math.floor(position[0, b] / size), math.floor(position[1, b] / size), math.floor(position[2, b] / size)


@inlined
def slot_of(x, y, z, level, slots):
    """Slot of a cell in the hash table."""
    return (x + 73856093 * y + 19349663 * z + 83492791 * level) & (slots - 1)


@internal
def clear_of_body(position, bounding, offset, place, radius, a, b):
    """Whether no sphere of body a overlaps one of body b."""
    far = bounding[a] + bounding[b]
    if apart(position, a, position, b) >= far * far:
        return True
    for i in range(offset[a], offset[a + 1]):
        near = radius[i] + bounding[b]
        if apart(place, i, position, b) < near * near:
            for j in range(offset[b], offset[b + 1]):
                touching = radius[i] + radius[j]
                if apart(place, i, place, j) < touching * touching:
                    return False
    return True


@kernel
def fill(crowd, walls, box, finest, levels, fixed, waiting, tries, most_tries, positions, orientations, accepted):
    """Try the poses (m, 3), (m, 4) one by one, each for the first body still waiting, largest bodies first. Positions are
    fractions of the room that the centre of a body has in the box.

    Bodies before `fixed` are placed as they are, without a trial. They must be on the last level: every body looks there,
    and on the levels from its own upwards, for bodies no smaller than half of it.

    Returns how many of the `waiting` bodies are placed, with the numbers of their poses in `accepted`, and the failed tries
    of the next one. Stops when all are placed, the poses are used up, or one body has been tried `most_tries` times.
    """
    position, place, radius = crowd.position, crowd.place, crowd.radius
    bounding, depth, level = crowd.bounding_radius, crowd.depth, crowd.level
    offset, head, previous = crowd.offset, crowd.head, crowd.previous
    stood = 0
    p = 0
    while stood < waiting.size and tries < most_tries and p < positions.shape[0]:
        b = waiting[stood]
        clear = True
        if b >= fixed:
            for c in range(3):
                position[c, b] = depth[b] + positions[p, c] * (box[c] - 2.0 * depth[b])
            rotation = matrix((orientations[p, 0], orientations[p, 1], orientations[p, 2], orientations[p, 3]))
            for i in range(offset[b], offset[b + 1]):
                at = carried(column(position, b), rotation, crowd.centre, i)
                place[0, i], place[1, i], place[2, i] = at
                for w in range(walls.material.size):
                    clear = clear and gap(walls, index(w), at)[0] >= radius[i]
            for grid in range(level[b], levels):
                x, y, z = cell_of(position, b, finest * (1 << grid))
                for cx in range(x - 1, x + 2):
                    for cy in range(y - 1, y + 2):
                        for cz in range(z - 1, z + 2):
                            other = head[slot_of(cx, cy, cz, grid, head.size)]
                            while clear and other >= 0:
                                clear = clear_of_body(position, bounding, offset, place, radius, b, other)
                                other = previous[other]
            accepted[stood] = p
            p += 1
            tries += 1
        if clear:
            x, y, z = cell_of(position, b, finest * (1 << level[b]))
            slot = slot_of(x, y, z, level[b], head.size)
            previous[b] = head[slot]
            head[slot] = b
            stood += 1
            tries = 0
    return stood, tries
