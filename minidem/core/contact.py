"""Conservative Hertz contacts between the spheres of different bodies and between spheres and walls.

F = 4/3 E* sqrt(R*) d^(3/2) along the line of centres, with the potential U = 8/15 E* sqrt(R*) d^(5/2) = 2/5 F d (Hertz
1881; Johnson, Contact Mechanics, 1985, Sec. 4.2). The force acts along the line of centres, so its torque about a body's
centre of mass is the same whether taken at the contact point or at the centre of the sphere; the latter is used.
"""

import math

from .compiling import inlined, kernel
from .geometry import height
from .quaternion import carried, matrix


@inlined
def hertz(stiffness, overlap):
    """Force (N) and potential energy (J) of one contact; `stiffness` is 4/3 E* sqrt(R*)."""
    force = stiffness * overlap * math.sqrt(overlap)
    return force, 0.4 * force * overlap


@inlined
def push(load, k, arm, force):
    """Add a force (world) at `arm` from the centre of mass to the load of listed body k."""
    load[0, k] += force[0]
    load[1, k] += force[1]
    load[2, k] += force[2]
    load[3, k] += arm[1] * force[2] - arm[2] * force[1]
    load[4, k] += arm[2] * force[0] - arm[0] * force[2]
    load[5, k] += arm[0] * force[1] - arm[1] * force[0]


@inlined
def arm_of(place, s, position, b):
    return place[0, s] - position[0, b], place[1, s] - position[1, b], place[2, s] - position[2, b]


@kernel
def contact_forces(bodies, walls, near):
    """Set force and torque of every body from the candidates; return the elastic energy (J)."""
    # Arrays by themselves: reaching into a tuple in a loop counts references, which takes longer than a contact.
    position, orientation, load, place, owner = bodies.position, bodies.orientation, near.load, near.place, near.sphere_owner
    body, centre = near.body, near.sphere_centre
    pair, pair_reach, pair_stiffness = near.pair, near.pair_reach, near.pair_stiffness
    wall, wall_reach, wall_stiffness, point, normal = (
        near.wall,
        near.wall_reach,
        near.wall_stiffness,
        walls.point,
        walls.normal,
    )
    force_on, torque_on = bodies.force, bodies.torque
    s = 0
    for k in range(body.size):
        b = body[k]
        rotation = matrix((orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b]))
        while s < owner.size and owner[s] == k:
            place[0, s], place[1, s], place[2, s] = carried(position, b, rotation, centre, s)
            s += 1
        for c in range(6):
            load[c, k] = 0.0

    elastic = 0.0
    for p in range(pair_reach.size):
        i, j = pair[0, p], pair[1, p]
        dx, dy, dz = place[0, i] - place[0, j], place[1, i] - place[1, j], place[2, i] - place[2, j]
        squared = dx * dx + dy * dy + dz * dz
        reach = pair_reach[p]
        if squared < reach * reach:
            distance = math.sqrt(squared)
            force, energy = hertz(pair_stiffness[p], reach - distance)
            elastic += energy
            f = force / distance
            on_i, on_j = (f * dx, f * dy, f * dz), (-f * dx, -f * dy, -f * dz)
            push(load, owner[i], arm_of(place, i, position, body[owner[i]]), on_i)
            push(load, owner[j], arm_of(place, j, position, body[owner[j]]), on_j)

    for p in range(wall_reach.size):
        i, w = wall[0, p], wall[1, p]
        overlap = wall_reach[p] - height(point, normal, w, place, i)
        if overlap > 0.0:
            force, energy = hertz(wall_stiffness[p], overlap)
            elastic += energy
            inward = (force * normal[0, w], force * normal[1, w], force * normal[2, w])
            push(load, owner[i], arm_of(place, i, position, body[owner[i]]), inward)

    for k in range(body.size):
        b = body[k]
        rx, ry, rz = matrix((orientation[0, b], orientation[1, b], orientation[2, b], orientation[3, b]))
        for c in range(3):
            force_on[c, b] = load[c, k]
            torque_on[c, b] = rx[c] * load[3, k] + ry[c] * load[4, k] + rz[c] * load[5, k]
    return elastic
