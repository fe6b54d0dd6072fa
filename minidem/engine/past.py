"""Where the bodies were in the steps before. The overlaps of these steps tell when a contact began or ended."""

import math

import numpy as np

from .compile.fours import four_of
from .compile.kernels import inlined
from .geometry import column, index, sphere, squared_distance
from .quaternion import attitude, carried, matrix, squared_difference
from .separation import from_sphere, from_wall, squared_distance_and_reach
from .state import Past


def unknown_past(depth, n, turning):
    """A Past of `depth` steps that are not known, of n bodies and `turning` columns of orientations."""
    return Past(np.full((depth if depth > 1 else 0, 3, n), np.nan), np.full((depth, 4, turning), np.nan))


@inlined
def slot_of(step, past):
    """The slot that a step has in the past."""
    return step % past.orientation.shape[0]


@inlined
def remember_pose(begin, end, step, bodies, past):
    """Store where bodies `begin` to `end` are at this step, before they move on."""
    if past.position.size > 0:
        copy_rows(begin, end, bodies.position, past.position[slot_of(step, past)])
    if past.orientation.size > 0:
        copy_rows(begin, end, bodies.orientation, past.orientation[slot_of(step, past)])


@inlined
def copy_rows(begin, end, rows, copy):
    """Copy columns `begin` to `end` of all rows."""
    for c in range(rows.shape[0]):
        for b in range(begin, end):
            copy[c, b] = rows[c, b]


@inlined
def farthest_moved(bodies, past, dt):
    """A distance (m) beyond which no sphere was from its place in the known steps of the past; search/lists.travelled
    explains why."""
    farthest = 0.0
    for b in range(bodies.mass.size):
        x, y, z = column(bodies.velocity, b)
        shift = dt * math.sqrt(x * x + y * y + z * z)  # in the last step
        farthest = max(farthest, shift if past.orientation.shape[2] == 0 else 0.0)
        for slot in range(past.orientation.shape[0]):
            if past.position.shape[0] > 0:
                shift = math.sqrt(squared_distance(column(bodies.position, b), column(past.position[slot], b)))
            turn = 0.0
            if past.orientation.shape[2] > 0:
                turn = squared_difference(attitude(bodies.orientation, b), attitude(past.orientation[slot], b))
            away = shift + 2.0 * bodies.arm[b] * math.sqrt(turn)
            if away > farthest:  # not of a NaN
                farthest = away
    return farthest


@inlined
def past_sphere(s, slot, dt, bodies, past, templates, spheres):
    """Sphere s as a tuple x, y, z, radius (m) at the step in a slot of the past, placed as place_listed did."""
    b = index(spheres.owner[s])
    x, y, z, radius = sphere(spheres.place, s)
    off_centre = past.orientation.shape[2] > 0 and bodies.arm[b] > 0.0
    if past.position.shape[0] > 0:
        x, y, z = column(past.position[slot], b)
    else:  # one step back: v is that of the half step between
        u, v, w = column(bodies.velocity, b)
        if off_centre:
            x, y, z = column(bodies.position, b)
        x, y, z = x - dt * u, y - dt * v, z - dt * w
    if off_centre:
        rotation = matrix(attitude(past.orientation[slot], b))
        template = index(templates.first[index(bodies.species[b])] - spheres.first[b] + s)
        x, y, z = carried((x, y, z), rotation, templates.centre, template)
    return x, y, z, radius


@inlined
def past_overlap(i, j, slot, dt, bodies, past, templates, spheres, walls):
    """Overlap (m) of sphere i and sphere or wall j at the step in a slot of the past; NaN if not known."""
    this, others = past_sphere(i, slot, dt, bodies, past, templates, spheres), spheres.owner.size
    if j < others:
        other = past_sphere(j, slot, dt, bodies, past, templates, spheres)
        apart = from_sphere(four_of(this[0], this[1], this[2], this[3]), four_of(other[0], other[1], other[2], other[3]))
    else:
        apart = from_wall(walls, index(j - others), this)
    squared, minus_reach = squared_distance_and_reach(apart)
    return -minus_reach - math.sqrt(squared)
