"""Alarms: signs that a run can no longer be right. The kernels look for them and stop at that step."""

import math

from .compile.kernels import inlined, internal
from .geometry import column, index, sphere, squared_distance
from .surfaces.plane import gap

INSPECT_EVERY = 250  # steps between looks at the motion, which stays wrong once it is; overlaps are checked at every step
# Columns of Team.alarm: what is wrong, by how much, and the two spheres (the second may be a wall) or the body.
WHAT, HOW_MUCH, FIRST, SECOND = range(4)
NOTHING, TOO_DEEP, NO_NUMBER, BEHIND_WALL, TOO_FAR = range(5)


@internal
def find_too_deep(count, pair, second, place, walls, spheres_in_all, limits, alarm):
    """Raise an alarm for the first of `count` contacts, spheres pair[c] and pair[second + c], that overlap too much."""
    for c in range(count):
        i, j = pair[c], pair[second + index(c)]
        this = sphere(place, i)
        smaller = this[3]
        if j < spheres_in_all:
            other = sphere(place, j)
            overlap = smaller + other[3] - math.sqrt(squared_distance(this, other))
            smaller = min(smaller, other[3])
        else:
            overlap = smaller - gap(walls, index(j - spheres_in_all), (this[0], this[1], this[2]))[0]
        if overlap > limits.overlap * smaller and alarm[WHAT] == NOTHING:
            alarm[WHAT], alarm[HOW_MUCH], alarm[FIRST], alarm[SECOND] = TOO_DEEP, overlap / smaller, i, j


@internal
def inspect(begin, end, bodies, walls, dt, limits, alarm):
    """Raise an alarm for the first of bodies `begin` to `end` that moved too far in the last step, left the walls or has
    numbers that are not finite."""
    q = bodies.orientation
    for b in range(begin, end):
        x, y, z = column(bodies.position, b)
        u, v, w = column(bodies.velocity, b)
        moved = dt * math.sqrt(u * u + v * v + w * w)
        nowhere = x + y + z + moved + q[0, b] + q[1, b] + q[2, b] + q[3, b]
        fault = NOTHING
        if nowhere - nowhere != 0.0:  # infinite, or not a number
            fault = NO_NUMBER
        elif moved > limits.travel:
            fault = TOO_FAR
        elif limits.outside:
            for k in range(walls.material.size):
                if gap(walls, index(k), (x, y, z))[0] < 0.0:
                    fault = BEHIND_WALL
        if fault != NOTHING and alarm[WHAT] == NOTHING:
            alarm[WHAT], alarm[HOW_MUCH], alarm[FIRST] = fault, moved, b


@inlined
def steps_to_inspection(team):
    """Steps until the motion is next inspected; -1 for never. The last step of a run is always inspected."""
    if not team.limits.motion:
        return -1
    start, end = team.step[0], team.step[1]
    regular = INSPECT_EVERY - start % INSPECT_EVERY
    return min(regular, end - start) if end > start else regular


@inlined
def alarmed(team):
    """Whether any thread has raised an alarm before the last barrier."""
    raised = False
    for t in range(team.size):
        raised |= team.alarm[t, WHAT] != NOTHING
    return raised
