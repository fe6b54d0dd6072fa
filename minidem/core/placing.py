"""Random sequential placement: accept a random pose if none of its spheres touches a wall or another body."""

import math
from typing import NamedTuple

import numpy as np

from .compiling import inlined, kernel
from .neighbours import apart
from .quaternion import matrix


class Crowd(NamedTuple):
    """Bodies on their way into the box; those that stand are chained up in the cells of a grid."""

    position: np.ndarray  # (3, n) world, m
    orientation: np.ndarray  # (4, n) principal axes -> world
    reach: np.ndarray  # (n,) bounding radius, m
    shape: np.ndarray  # (n,) int64, index into Shapes
    offset: np.ndarray  # (n+1,) int64, first sphere of each body
    place: np.ndarray  # (3, s) centres of all the spheres, world, m
    radius: np.ndarray  # (s,) m
    head: np.ndarray  # (gx, gy, gz) int64, last body in each cell, -1 for none
    previous: np.ndarray  # (n,) int64, the body before it in the same cell, -1 for none
    cell_size: float  # m, at least twice the largest reach; the grid starts at the origin


@inlined
def cell_of(crowd, b, c):
    return min(max(math.floor(crowd.position[c, b] / crowd.cell_size), 0), crowd.head.shape[c] - 1)


@kernel
def set_pose(crowd, shapes, b, position, orientation):
    rx, ry, rz = matrix((orientation[0], orientation[1], orientation[2], orientation[3]))
    for c in range(3):
        crowd.position[c, b] = position[c]
    for c in range(4):
        crowd.orientation[c, b] = orientation[c]
    first = shapes.first[crowd.shape[b]]
    for i in range(crowd.offset[b], crowd.offset[b + 1]):
        t = first + i - crowd.offset[b]
        x, y, z = shapes.centre[0, t], shapes.centre[1, t], shapes.centre[2, t]
        crowd.place[0, i] = position[0] + (rx[0] * x + rx[1] * y + rx[2] * z)
        crowd.place[1, i] = position[1] + (ry[0] * x + ry[1] * y + ry[2] * z)
        crowd.place[2, i] = position[2] + (rz[0] * x + rz[1] * y + rz[2] * z)
        crowd.radius[i] = shapes.radius[t]


@kernel
def stand(crowd, b):
    x, y, z = cell_of(crowd, b, 0), cell_of(crowd, b, 1), cell_of(crowd, b, 2)
    crowd.previous[b] = crowd.head[x, y, z]
    crowd.head[x, y, z] = b


@kernel
def clear_of_walls(crowd, b, walls):
    for i in range(crowd.offset[b], crowd.offset[b + 1]):
        for w in range(walls.material.size):
            height = 0.0
            for c in range(3):
                height += (crowd.place[c, i] - walls.point[c, w]) * walls.normal[c, w]
            if height < crowd.radius[i]:
                return False
    return True


@kernel
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


@kernel
def clear_of_others(crowd, b):
    x, y, z = cell_of(crowd, b, 0), cell_of(crowd, b, 1), cell_of(crowd, b, 2)
    for cx in range(max(x - 1, 0), min(x + 2, crowd.head.shape[0])):
        for cy in range(max(y - 1, 0), min(y + 2, crowd.head.shape[1])):
            for cz in range(max(z - 1, 0), min(z + 2, crowd.head.shape[2])):
                other = crowd.head[cx, cy, cz]
                while other >= 0:
                    if not clear_of_body(crowd, b, other):
                        return False
                    other = crowd.previous[other]
    return True


@kernel
def fill(crowd, shapes, walls, waiting, tries, most_tries, positions, orientations):
    """Try the poses (m, 3), (m, 4) one after the other, each for the first body still waiting.

    Returns how many of the `waiting` bodies stand and how often the next has been tried in vain. Stops when all stand, when
    the poses are used up, or when one body has been tried `most_tries` times.
    """
    stood = 0
    for p in range(positions.shape[0]):
        if stood == waiting.size or tries == most_tries:
            break
        b = waiting[stood]
        set_pose(crowd, shapes, b, positions[p], orientations[p])
        tries += 1
        if clear_of_walls(crowd, b, walls) and clear_of_others(crowd, b):
            stand(crowd, b)
            stood += 1
            tries = 0
    return stood, tries
