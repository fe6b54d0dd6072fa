"""Which spheres may touch: bodies near each other first, then the spheres of near bodies.

Bodies are found by a hierarchy of grids (as in Ogarko and Luding, Comput. Phys. Commun. 183, 931, 2012): level l has cells
of 2^l times the smallest body, a body lives in the level whose cells just hold it, and looks for partners in the 27 cells
around it on its own level and on each coarser one. All cells share one table; its slots are taken modulo the table's size
and each entry is checked for its cell, so bodies may fly any distance away.
"""

import math

import numpy as np

from .compiling import internal, kernel
from .geometry import apart, height
from .quaternion import carried, matrix
from .state import Candidates

# Lists are made so as to last about this many steps: older lists have more candidates to go through,
# younger ones are made more often.
STEPS_PER_LIST = 100
SMALLEST_SKIN, LARGEST_SKIN = 0.02, 0.5  # in mean bounding radii


@internal
def appended(pairs, count, a, b):
    """`pairs` (2, m) with (a, b) in column `count`, in a larger copy if there was no room."""
    if count == pairs.shape[1]:
        larger = np.empty((2, 2 * count), np.int64)
        for p in range(count):  # not a slice: numba compiles those for seconds
            larger[0, p], larger[1, p] = pairs[0, p], pairs[1, p]
        pairs = larger
    pairs[0, count], pairs[1, count] = a, b
    return pairs


@internal
def sorted_pairs(pairs, count, n):
    """The first `count` columns in ascending order, for values below n: a counting sort by each row, last row first."""
    for row in (1, 0):
        slot = np.zeros(n + 1, np.int64)
        for p in range(count):
            slot[pairs[row, p] + 1] += 1
        for v in range(n):
            slot[v + 1] += slot[v]
        ordered = np.empty((2, count), np.int64)
        for p in range(count):
            v = pairs[row, p]
            ordered[0, slot[v]], ordered[1, slot[v]] = pairs[0, p], pairs[1, p]
            slot[v] += 1
        pairs = ordered
    return pairs


@internal
def bounds(values):
    low, high = values[0], values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high


@kernel
def near_bodies(position, reach, skin):
    """(2, p) pairs a < b of bodies whose bounding spheres are closer than the skin, in ascending order."""
    n = reach.size
    smallest, largest = bounds(reach)
    finest = 2.0 * smallest + skin
    level = np.empty(n, np.int64)
    in_level = np.zeros(2 + max(0, math.ceil(math.log2((2.0 * largest + skin) / finest))), np.int64)
    for i in range(n):
        level[i] = max(0, math.ceil(math.log2((2.0 * reach[i] + skin) / finest)))
        in_level[level[i]] += 1

    mask = 1
    while mask < 2 * n:
        mask *= 2
    mask -= 1
    # Neighbouring cells of a bounded system lie near each other in the table.
    left, right = bounds(position[0])
    front, back = bounds(position[1])
    extent_x = int(min((right - left) / finest, float(n))) + 3
    extent_y = int(min((back - front) / finest, float(n))) + 3
    cell = np.empty((3, n), np.int64)
    start = np.zeros(mask + 2, np.int64)
    slot = np.empty(n, np.int64)
    for i in range(n):
        size = finest * 2.0 ** level[i]
        for c in range(3):
            cell[c, i] = math.floor(position[c, i] / size)
        slot[i] = (cell[0, i] + extent_x * (cell[1, i] + extent_y * cell[2, i]) + 7919 * level[i]) & mask
        start[slot[i] + 1] += 1
    for s in range(mask + 1):
        start[s + 1] += start[s]
    member = np.empty(n, np.int64)
    fill = start.copy()
    for i in range(n):
        member[fill[slot[i]]] = i
        fill[slot[i]] += 1

    pairs, count = np.empty((2, 4 * n + 16), np.int64), 0
    for i in range(n):
        for coarser in range(level[i], in_level.size):
            if in_level[coarser] == 0:
                continue
            size = finest * 2.0**coarser
            x = math.floor(position[0, i] / size)
            y = math.floor(position[1, i] / size)
            z = math.floor(position[2, i] / size)
            for cz in range(z - 1, z + 2):
                for cy in range(y - 1, y + 2):
                    for cx in range(x - 1, x + 2):
                        s = (cx + extent_x * (cy + extent_y * cz) + 7919 * coarser) & mask
                        for e in range(start[s], start[s + 1]):
                            j = member[e]
                            if cell[0, j] != cx or cell[1, j] != cy or cell[2, j] != cz or level[j] != coarser:
                                continue
                            if coarser == level[i] and j <= i:
                                continue
                            if apart(position, i, position, j) < (reach[i] + reach[j] + skin) ** 2:
                                pairs = appended(pairs, count, min(i, j), max(i, j))
                                count += 1
    return sorted_pairs(pairs, count, n)


@kernel
def candidates(bodies, shapes, walls, modulus, skin):
    """The lists of spheres that may touch while nothing moves more than half the skin."""
    # Arrays by themselves: reaching into a tuple in a loop counts references, which takes longer than a distance.
    position, orientation, reach, shape = bodies.position, bodies.orientation, bodies.reach, bodies.shape
    first, centre, radius_of, material_of = shapes.first, shapes.centre, shapes.radius, shapes.material
    point, normal, wall_material = walls.point, walls.normal, walls.material
    n = reach.size
    near = near_bodies(position, reach, skin)

    near_wall, wall_count = np.empty((2, 16), np.int64), 0  # body, wall
    for b in range(n):
        for w in range(normal.shape[1]):
            if height(point, normal, w, position, b) < reach[b] + skin:
                near_wall = appended(near_wall, wall_count, b, w)
                wall_count += 1

    # World positions of the spheres of bodies with a near neighbour; body b's are columns offset[b] onwards.
    wanted = np.zeros(n, np.bool_)
    for p in range(near.shape[1]):
        wanted[near[0, p]] = True
        wanted[near[1, p]] = True
    for p in range(wall_count):
        wanted[near_wall[0, p]] = True
    offset = np.empty(n + 1, np.int64)
    offset[0] = 0
    for b in range(n):
        offset[b + 1] = offset[b] + (first[shape[b] + 1] - first[shape[b]] if wanted[b] else 0)
    total = offset[n]
    place, radius, template = np.empty((3, total)), np.empty(total), np.empty(total, np.int64)
    owner = np.empty(total, np.int64)
    for b in range(n):
        rotation = matrix((orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b]))
        for i in range(offset[b], offset[b + 1]):
            t = first[shape[b]] + i - offset[b]
            place[0, i], place[1, i], place[2, i] = carried(position, b, rotation, centre, t)
            radius[i], template[i], owner[i] = radius_of[t], t, b

    used = np.zeros(total, np.bool_)
    pairs, pair_count = np.empty((2, 64), np.int64), 0
    facing = np.empty(total, np.int64)  # spheres of b that come near the bounding sphere of a
    for p in range(near.shape[1]):
        a, b = near[0, p], near[1, p]
        facing_count = 0
        for j in range(offset[b], offset[b + 1]):
            if apart(place, j, position, a) < (radius[j] + reach[a] + skin) ** 2:
                facing[facing_count] = j
                facing_count += 1
        for i in range(offset[a], offset[a + 1]):
            if apart(place, i, position, b) < (radius[i] + reach[b] + skin) ** 2:
                for k in range(facing_count):
                    j = facing[k]
                    if apart(place, i, place, j) < (radius[i] + radius[j] + skin) ** 2:
                        pairs = appended(pairs, pair_count, i, j)
                        pair_count += 1
                        used[i] = True
                        used[j] = True

    touching, touching_count = np.empty((2, 64), np.int64), 0  # sphere, wall
    for p in range(wall_count):
        b, w = near_wall[0, p], near_wall[1, p]
        for i in range(offset[b], offset[b + 1]):
            if height(point, normal, w, place, i) < radius[i] + skin:
                touching = appended(touching, touching_count, i, w)
                touching_count += 1
                used[i] = True

    # Keep the spheres and bodies that are on a list, in the same order.
    kept = np.empty(total, np.int64)
    sphere_count, body_count, last = 0, 0, -1
    for i in range(total):
        if used[i]:
            kept[i] = sphere_count
            sphere_count += 1
            if owner[i] != last:
                body_count += 1
                last = owner[i]
    body = np.empty(body_count, np.int64)
    sphere_owner, sphere_centre = np.empty(sphere_count, np.int64), np.empty((3, sphere_count))
    k = -1
    for i in range(total):
        if used[i]:
            if k < 0 or body[k] != owner[i]:
                k += 1
                body[k] = owner[i]
            sphere_owner[kept[i]] = k
            for c in range(3):
                sphere_centre[c, kept[i]] = centre[c, template[i]]

    pair = np.empty((2, pair_count), np.int64)
    pair_reach, pair_stiffness = np.empty(pair_count), np.empty(pair_count)
    for p in range(pair_count):
        i, j = pairs[0, p], pairs[1, p]
        pair[0, p], pair[1, p] = kept[i], kept[j]
        pair_reach[p] = radius[i] + radius[j]
        e = modulus[material_of[shape[owner[i]]], material_of[shape[owner[j]]]]
        pair_stiffness[p] = 4.0 / 3.0 * e * math.sqrt(radius[i] * radius[j] / (radius[i] + radius[j]))
    wall = np.empty((2, touching_count), np.int64)
    wall_reach, wall_stiffness = np.empty(touching_count), np.empty(touching_count)
    for p in range(touching_count):
        i, w = touching[0, p], touching[1, p]
        wall[0, p], wall[1, p] = kept[i], w
        wall_reach[p] = radius[i]
        e = modulus[material_of[shape[owner[i]]], wall_material[w]]
        wall_stiffness[p] = 4.0 / 3.0 * e * math.sqrt(radius[i])

    force, torque = bodies.force, bodies.torque
    for c in range(3):
        for b in range(n):  # bodies that left the lists feel nothing until they are on them again
            force[c, b] = 0.0
            torque[c, b] = 0.0
    return Candidates(
        body,
        sphere_owner,
        sphere_centre,
        pair,
        pair_reach,
        pair_stiffness,
        wall,
        wall_reach,
        wall_stiffness,
        skin,
        np.zeros(1, np.int64),
        position.copy(),
        orientation.copy(),
        np.empty((3, sphere_count)),
        np.empty((6, body_count)),
    )


@kernel
def outdated(bodies, near):
    """Has any sphere moved more than half the skin since the lists were made?

    A point at distance R from the centre of mass has moved by at most |dx| + 2 R |dq|: its chord is 2 R sin(alpha/2) for a
    turn by alpha, and |dq| = 2 sin(alpha/4).
    """
    x, q, x0, q0 = bodies.position, bodies.orientation, near.old_position, near.old_orientation
    half, swing = 0.5 * near.skin, bodies.swing
    beyond = 0
    for b in range(swing.size):
        dx, dy, dz = x[0, b] - x0[0, b], x[1, b] - x0[1, b], x[2, b] - x0[2, b]
        d0, d1, d2, d3 = q[0, b] - q0[0, b], q[1, b] - q0[1, b], q[2, b] - q0[2, b], q[3, b] - q0[3, b]
        shift = math.sqrt(dx * dx + dy * dy + dz * dz)
        turn = 2.0 * swing[b] * math.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3)
        beyond += not (shift + turn <= half)  # also true of a NaN
    return beyond > 0


@kernel
def next_skin(bodies, near):
    """A skin with which lists would last about STEPS_PER_LIST steps at the present speeds. Results do not depend on it."""
    scale = min(max(STEPS_PER_LIST / max(near.age[0], 1), 0.5), 2.0)
    mean_reach = 0.0
    for reach in bodies.reach:
        mean_reach += reach / bodies.reach.size
    return min(max(scale * near.skin, SMALLEST_SKIN * mean_reach), LARGEST_SKIN * mean_reach)
