"""Conservative Hertz contacts between the spheres of different bodies and between spheres and walls.

F = 4/3 E* sqrt(R*) d^(3/2) along the line of centres, with the potential U = 8/15 E* sqrt(R*) d^(5/2) = 2/5 F d (Hertz
1881; Johnson, Contact Mechanics, 1985, Sec. 4.2). The force acts along the line of centres, so its torque about a body's
centre of mass is the same whether taken at the contact point or at the centre of the sphere; the latter is used.
"""

import math

import numpy as np

from ..compile.fours import difference, four_at, four_of, fourth_negated, multiple, numbers_of, put_four, total
from ..compile.kernels import inlined, internal
from ..geometry import FOUR, ONE, THREE, TWO, column, height, index, minus, sphere
from ..quaternion import attitude, to_body
from ..state import CONTACTS
from ..threads import bodies_of
from ..watching import SUSPECT, find_too_deep


@inlined
def hertz(strength, overlap):
    """Force (N) and potential energy (J) of one contact; `strength` is (4/3 E*)^2 R*, N^2/m^3."""
    force = overlap * math.sqrt(strength * overlap)
    return force, 0.4 * force * overlap


# Contacts are collected in rows of `touch` and `pair` (see state.Team), CONTACTS at a time, and their forces found in vector
# lanes. Rows of a fixed length in one array: that is one address for the processor to keep, and no row can be another. The
# first four rows are a four for each contact: the way from the other centre, and the reach, negative, which is the distance
# below which they touch: the sum of the radii, if it is two spheres. The fifth is the strength times the reach, R* reach
# being R1 R2 then; it becomes the force over the distance. The sixth is the energy.
STRENGTH_REACH, FORCE, ENERGY = index(4 * CONTACTS), index(4 * CONTACTS), index(5 * CONTACTS)
FIRST, SECOND, SLOT = (index(row * CONTACTS) for row in range(3))
NEXT_TO_NOTHING = 1e-9  # radii: the direction from a wall must not vanish


@internal
def add_contacts(count, pair, touch, push, first_sphere, last_sphere, spheres_in_all, suspect, elastic):
    """Add the forces of `count` contacts to their spheres; returns the elastic energy with theirs added to it, and how many
    overlap by more than `suspect` (m)."""
    begin, own, others = np.uint32(first_sphere), np.uint32(last_sphere - first_sphere), np.uint32(spheres_in_all)
    deep = 0
    for c in range(min(count, index(CONTACTS))):  # a bound that LLVM wants to know of, or it takes no lanes
        dx, dy, dz = touch[FOUR * c], touch[FOUR * c + ONE], touch[FOUR * c + TWO]
        reach = -touch[FOUR * c + THREE]
        distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))  # from one centre to itself there is no direction
        overlap = reach - distance
        deep += overlap > suspect
        # With the strength times reach^2, all comes out times the reach: one quotient does for both.
        force, energy = hertz(touch[STRENGTH_REACH + c] * reach, overlap)
        per_length = 1.0 / (reach * distance)
        touch[FORCE + c] = force * per_length
        # What a sphere of another block gets is for that block to find, and so is half of the energy.
        slot = np.uint32(pair[SECOND + c] - begin)
        across = (slot >= own) & (pair[SECOND + c] < others)
        pair[SLOT + c] = min(slot, own)
        touch[ENERGY + c] = (0.5 if across else 1.0) * (energy * distance) * per_length
    for c in range(count):
        i, j = index(pair[FIRST + c] - begin) * FOUR, index(pair[SLOT + c]) * FOUR
        force = multiple(four_at(touch, FOUR * c), touch[FORCE + c])
        put_four(push, i, total(four_at(push, i), force))
        put_four(push, j, difference(four_at(push, j), force))
        elastic += touch[ENERGY + c]
    return elastic, deep


@inlined
def contact_forces(block, me, world):
    """Set force and torque of the bodies of a block, and its elastic energy; an alarm for what overlaps too much.

    The limit for an overlap is in radii of the smaller sphere; whether it is passed is asked only for overlaps that are
    beyond the limit for the smallest sphere of all.
    """
    bodies, walls, hardness = world.bodies, world.walls, world.hardness
    spheres, lists, team = world.spheres, world.close, world.team
    first, owner = spheres.first, spheres.owner
    material, place = spheres.material, spheres.place
    push, touch, pair = team.push[me], team.touch[me], team.pair[me]
    listed, subject, candidate = lists.listed, lists.subject, lists.candidate
    point, normal = walls.point, walls.normal
    base = lists.room[block]
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    first_sphere, last_sphere, spheres_in_all = first[begin], first[end], owner.size
    own = (index(first_sphere), index(first_sphere + lists.listed_count[block]))
    nothing = four_of(0.0, 0.0, 0.0, 0.0)
    for k in range(own[0], own[1]):
        put_four(push, index(listed[k] - first_sphere) * FOUR, nothing)

    elastic, contacts, suspect = 0.0, index(0), team.limit[SUSPECT]
    count = index(0)  # contacts found that are not added yet
    at, last = index(base), index(base + lists.wanted[block])
    while at < last:
        until = min(at + (index(CONTACTS) - count), last)
        for p in range(at, until):
            i, j = subject[p], candidate[p]
            this, other = FOUR * index(i), FOUR * index(j)
            if j < spheres_in_all:
                apart = difference(fourth_negated(four_at(place, this)), four_at(place, other))
                radii = place[this + THREE] * place[other + THREE]  # first: of a pair across blocks, both get the same
                strength_reach = radii * hardness[index(material[i]), index(material[j])]
            else:  # from the wall up to the centre, wherever that is; the overlap is reach - away = radius - above
                w = index(j - spheres_in_all)
                x, y, z, radius = sphere(place, i)
                above = height(point, normal, w, (x, y, z))
                away = max(abs(above), NEXT_TO_NOTHING * radius)
                reach = radius - above + away
                apart = four_of(away * normal[0, w], away * normal[1, w], away * normal[2, w], -reach)
                strength_reach = radius * reach * hardness[index(material[i]), index(walls.material[w])]  # R* = R
            dx, dy, dz, reach = numbers_of(apart)
            # Written in any case, and kept if they touch: a branch that is hard to foresee would take longer.
            put_four(touch, FOUR * count, apart)
            touch[STRENGTH_REACH + count] = strength_reach
            pair[FIRST + count], pair[SECOND + count] = i, j
            count += index(dx * dx + dy * dy + dz * dz < reach * reach)
        at = until
        if count == index(CONTACTS) or at == last:
            contacts += count
            elastic, deep = add_contacts(
                count, pair, touch, push, first_sphere, last_sphere, spheres_in_all, suspect, elastic
            )
            if deep > 0:
                find_too_deep(count, pair, SECOND, place, walls, spheres_in_all, team.limit, team.alarm[me])
            count = index(0)
    lists.elastic[block] = elastic

    position, orientation, swing = bodies.position, bodies.orientation, bodies.swing
    force_on, torque_on = bodies.force, bodies.torque
    turning = lists.old_orientation.shape[1] > 0  # if not, torques are zero from the start
    for c in range(3):
        for b in range(begin, end):
            force_on[c, b] = 0.0
            if turning:
                torque_on[c, b] = 0.0
    if contacts > 0:
        for k in range(own[0], own[1]):
            i = listed[k]
            s, b = index(i - first_sphere) * FOUR, owner[i]
            fx, fy, fz = push[s], push[s + ONE], push[s + TWO]
            force_on[0, b] += fx
            force_on[1, b] += fy
            force_on[2, b] += fz
            if turning and swing[b] > 0.0:
                x, y, z = minus(sphere(place, i), column(position, b))
                torque_on[0, b] += y * fz - z * fy
                torque_on[1, b] += z * fx - x * fz
                torque_on[2, b] += x * fy - y * fx
        for b in range(begin, end if turning else begin):
            torque = column(torque_on, b)
            if torque != (0.0, 0.0, 0.0):
                torque_on[0, b], torque_on[1, b], torque_on[2, b] = to_body(attitude(orientation, b), torque)
