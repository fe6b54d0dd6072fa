"""Conservative Hertz contacts between the spheres of different bodies and between spheres and walls.

F = 4/3 E* sqrt(R*) d^(3/2) along the line of centres, with the potential U = 8/15 E* sqrt(R*) d^(5/2) = 2/5 F d (Hertz
1881; Johnson, Contact Mechanics, 1985, Sec. 4.2). The force acts along the line of centres, so its torque about a body's
centre of mass is the same whether taken at the contact point or at the centre of the sphere; the latter is used.
"""

import math

from .compiling import inlined, internal
from .geometry import FOUR, ONE, TWO, height, index, sphere
from .quaternion import to_body
from .state import CONTACTS
from .team import bodies_of
from .watching import SUSPECT, find_too_deep


@inlined
def hertz(stiffness, overlap):
    """Force (N) and potential energy (J) of one contact; `stiffness` is 4/3 E* sqrt(R*)."""
    force = stiffness * overlap * math.sqrt(overlap)
    return force, 0.4 * force * overlap


# Contacts are collected in rows of `touch` and `pair` (see state.Team), CONTACTS at a time, and their forces found in vector
# lanes. Rows of a fixed length in one array: that is one address for the processor to keep, and no row can be another.
DX, DY, DZ, SQUARED, REACH, STIFFNESS = (index(row * CONTACTS) for row in range(6))
FORCE, ENERGY = SQUARED, REACH  # take the places of what they are found from
FIRST, SECOND = index(0), index(CONTACTS)
NEXT_TO_NOTHING = 1e-9  # radii: the direction from a wall must not vanish


@internal
def add_contacts(count, pair, touch, push, first_sphere, last_sphere, spheres_in_all, suspect):
    """Add the forces of `count` contacts to their spheres; returns the elastic energy, and how many overlap by more than
    `suspect` (m)."""
    deep = 0
    for c in range(count):
        distance = math.sqrt(touch[SQUARED + c])
        overlap = touch[REACH + c] - distance
        deep += overlap > suspect
        force, energy = hertz(touch[STIFFNESS + c], overlap)
        touch[FORCE + c], touch[ENERGY + c] = force / distance, energy
    elastic = 0.0
    for c in range(count):
        f, energy = touch[FORCE + c], touch[ENERGY + c]
        i, j = pair[FIRST + c], pair[SECOND + c]
        fx, fy, fz = f * touch[DX + c], f * touch[DY + c], f * touch[DZ + c]
        add(push, index(i - first_sphere), fx, fy, fz)
        if first_sphere <= j < last_sphere:
            add(push, index(j - first_sphere), -fx, -fy, -fz)
            elastic += energy
        elif j < spheres_in_all:  # the other half of the energy is the other block's, and so is the force on j
            elastic += 0.5 * energy
        else:  # a wall
            elastic += energy
    return elastic, deep


@inlined
def add(push, s, fx, fy, fz):
    push[s * FOUR] += fx
    push[s * FOUR + ONE] += fy
    push[s * FOUR + TWO] += fz


@inlined
def contact_forces(block, me, bodies, walls, spheres, lists, team):
    """Set force and torque of the bodies of a block, and its elastic energy; an alarm for what overlaps too much.

    The limit for an overlap is in radii of the smaller sphere; whether it is passed is asked only for overlaps that are
    beyond the limit for the smallest sphere of all.
    """
    first, owner, place = spheres.first, spheres.owner, spheres.place
    push, touch, pair = team.push[me], team.touch[me], team.pair[me]
    listed, row = lists.listed, lists.row
    candidate, stiffness = lists.candidate, lists.stiffness
    point, normal = walls.point, walls.normal
    base = lists.room[block]
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    first_sphere, last_sphere, spheres_in_all = first[begin], first[end], owner.size
    own = (index(first_sphere), index(first_sphere + lists.listed_count[block]))
    for k in range(own[0], own[1]):
        s = index(listed[k] - first_sphere) * FOUR
        push[s], push[s + ONE], push[s + TWO] = 0.0, 0.0, 0.0

    elastic, contacts = 0.0, index(0)
    suspect = team.limit[SUSPECT]
    count = index(0)  # contacts found that are not added yet
    for k in range(own[0], own[1]):
        i = listed[k]
        x, y, z, radius = sphere(place, i)
        r = k + index(block)
        for p in range(index(base + row[r]), index(base + row[r + ONE])):
            if count == index(CONTACTS):
                energy, deep = add_contacts(count, pair, touch, push, first_sphere, last_sphere, spheres_in_all, suspect)
                if deep > 0:
                    find_too_deep(count, pair, SECOND, place, walls, spheres_in_all, team.limit, team.alarm[me])
                elastic += energy
                contacts, count = contacts + count, index(0)
            j = candidate[p]
            if j < spheres_in_all:
                xj, yj, zj, other = sphere(place, j)
                dx, dy = x - xj, y - yj
                dz, reach = z - zj, radius + other
            else:  # from the wall up to the centre, wherever that is; the overlap is reach - away = radius - above
                w = index(j - spheres_in_all)
                above = height(point, normal, w, (x, y, z))
                away = max(abs(above), NEXT_TO_NOTHING * radius)
                dx, dy = away * normal[0, w], away * normal[1, w]
                dz, reach = away * normal[2, w], radius - above + away
            squared = dx * dx + dy * dy + dz * dz
            # Written in any case, and kept if they touch: a branch that is hard to foresee would take longer.
            touch[DX + count], touch[DY + count], touch[DZ + count] = dx, dy, dz
            touch[SQUARED + count], touch[REACH + count], touch[STIFFNESS + count] = squared, reach, stiffness[p]
            pair[FIRST + count], pair[SECOND + count] = i, j
            count += index(squared < reach * reach)
    energy, deep = add_contacts(count, pair, touch, push, first_sphere, last_sphere, spheres_in_all, suspect)
    if deep > 0:
        find_too_deep(count, pair, SECOND, place, walls, spheres_in_all, team.limit, team.alarm[me])
    contacts += count
    lists.elastic[block] = elastic + energy

    position, orientation, swing = bodies.position, bodies.orientation, bodies.swing
    force_on, torque_on = bodies.force, bodies.torque
    for c in range(3):
        for b in range(begin, end):
            force_on[c, b] = 0.0
            torque_on[c, b] = 0.0
    if contacts > 0:
        for k in range(own[0], own[1]):
            i = listed[k]
            s, b = index(i - first_sphere) * FOUR, owner[i]
            fx, fy, fz = push[s], push[s + ONE], push[s + TWO]
            force_on[0, b] += fx
            force_on[1, b] += fy
            force_on[2, b] += fz
            if swing[b] > 0.0:
                x, y, z, _ = sphere(place, i)
                x, y, z = x - position[0, b], y - position[1, b], z - position[2, b]
                torque_on[0, b] += y * fz - z * fy
                torque_on[1, b] += z * fx - x * fz
                torque_on[2, b] += x * fy - y * fx
        for b in range(begin, end):
            torque = (torque_on[0, b], torque_on[1, b], torque_on[2, b])
            if torque != (0.0, 0.0, 0.0):
                q = (orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b])
                torque_on[0, b], torque_on[1, b], torque_on[2, b] = to_body(q, torque)
