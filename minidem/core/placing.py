"""Random sequential placement: accept a random pose if none of its spheres touches a wall or another body."""

import math
from typing import NamedTuple

import numpy as np

from .compiling import inlined, internal, kernel
from .geometry import apart, height
from .quaternion import carried, matrix


class Crowd(NamedTuple):
    """Bodies on their way into the box. Those that stand are chained up by cell, each in a grid for bodies of its size:
    level l has cells of 2^l times `finest`."""

    position: np.ndarray  # (3, n) world, m
    orientation: np.ndarray  # (4, n) principal axes -> world
    reach: np.ndarray  # (n,) bounding radius, m
    depth: np.ndarray  # (n,) radius of a ball around the centre of mass that lies inside the body, m
    level: np.ndarray  # (n,) int64, whose cells are no smaller than twice the reach
    levels: int
    shape: np.ndarray  # (n,) int64, index into Shapes
    offset: np.ndarray  # (n+1,) int64, first sphere of each body
    place: np.ndarray  # (3, s) centres of all the spheres, world, m
    radius: np.ndarray  # (s,) m
    head: np.ndarray  # (2^k,) int64, last body in each slot of the table of cells, -1 for none
    previous: np.ndarray  # (n,) int64, the body before it in the same slot, -1 for none
    finest: float  # m


@inlined
def slot_of(crowd, x, y, z, level):
    return (x + 73856093 * y + 19349663 * z + 83492791 * level) & (crowd.head.size - 1)


@inlined
def cell_of(crowd, b, c, level):
    return math.floor(crowd.position[c, b] / (crowd.finest * (1 << level)))


@kernel
def set_pose(crowd, shapes, b, position, orientation):
    for c in range(3):
        crowd.position[c, b] = position[c]
    for c in range(4):
        crowd.orientation[c, b] = orientation[c]
    rotation = matrix((orientation[0], orientation[1], orientation[2], orientation[3]))
    first = shapes.first[crowd.shape[b]]
    for i in range(crowd.offset[b], crowd.offset[b + 1]):
        t = first + i - crowd.offset[b]
        crowd.place[0, i], crowd.place[1, i], crowd.place[2, i] = carried(crowd.position, b, rotation, shapes.centre, t)
        crowd.radius[i] = shapes.radius[t]


@internal
def stand(crowd, b):
    level = crowd.level[b]
    s = slot_of(crowd, cell_of(crowd, b, 0, level), cell_of(crowd, b, 1, level), cell_of(crowd, b, 2, level), level)
    crowd.previous[b] = crowd.head[s]
    crowd.head[s] = b


@internal
def clear_of_walls(crowd, b, walls):
    for i in range(crowd.offset[b], crowd.offset[b + 1]):
        for w in range(walls.material.size):
            if height(walls.point, walls.normal, w, crowd.place, i) < crowd.radius[i]:
                return False
    return True


@internal
def clear_of_body(crowd, a, b):
    place, radius, offset, position, reach = crowd.place, crowd.radius, crowd.offset, crowd.position, crowd.reach
    if apart(position, a, position, b) >= (reach[a] + reach[b]) ** 2:
        return True
    for i in range(offset[a], offset[a + 1]):
        if apart(place, i, position, b) < (radius[i] + reach[b]) ** 2:
            for j in range(offset[b], offset[b + 1]):
                if apart(place, i, place, j) < (radius[i] + radius[j]) ** 2:
                    return False
    return True


@internal
def clear_of_others(crowd, b, fixed):
    """Of the first `fixed` bodies, whatever their size, and of all that stand and are no smaller than half of b."""
    for other in range(fixed):
        if not clear_of_body(crowd, b, other):
            return False
    for level in range(crowd.level[b], crowd.levels):
        x, y, z = cell_of(crowd, b, 0, level), cell_of(crowd, b, 1, level), cell_of(crowd, b, 2, level)
        for cx in range(x - 1, x + 2):
            for cy in range(y - 1, y + 2):
                for cz in range(z - 1, z + 2):
                    other = crowd.head[slot_of(crowd, cx, cy, cz, level)]
                    while other >= 0:
                        if not clear_of_body(crowd, b, other):
                            return False
                        other = crowd.previous[other]
    return True


@kernel
def fill(crowd, shapes, walls, box, fixed, waiting, tries, most_tries, positions, orientations):
    """Try the poses (m, 3), (m, 4) one after the other, each for the first body still waiting, largest bodies first.
    Positions are fractions of the room that the centre of a body has in the box.

    Returns how many of the `waiting` bodies stand and how often the next has been tried in vain. Stops when all stand, when
    the poses are used up, or when one body has been tried `most_tries` times.
    """
    stood = 0
    place = np.empty(3)
    for p in range(positions.shape[0]):
        if stood == waiting.size or tries == most_tries:
            break
        b = waiting[stood]
        for c in range(3):
            place[c] = crowd.depth[b] + positions[p, c] * (box[c] - 2.0 * crowd.depth[b])
        set_pose(crowd, shapes, b, place, orientations[p])
        tries += 1
        if clear_of_walls(crowd, b, walls) and clear_of_others(crowd, b, fixed):
            stand(crowd, b)
            stood += 1
            tries = 0
    return stood, tries
