"""Forces of contacts added to spheres, and forces of spheres to bodies, always in the same order."""

import numpy as np

from ..compile.fours import difference, four_at, four_of, multiple, put_four, total
from ..compile.kernels import inlined, internal
from ..geometry import FOUR, ONE, TWO, column, index, minus, sphere
from ..quaternion import attitude, to_body
from ..state import CONTACTS
from .batch import ENERGY, FIRST, FORCE, SECOND, SLOT


@inlined
def clear_forces(block, lists, first_sphere, sphere_force):
    """Set the forces on the listed spheres of a block to zero."""
    nothing = four_of(0.0, 0.0, 0.0, 0.0)
    for k in range(index(first_sphere), index(first_sphere + lists.listed_count[block])):
        put_four(sphere_force, index(lists.listed[k] - first_sphere) * FOUR, nothing)


@internal
def add_contacts(count, pair, batch, sphere_force, first_sphere, last_sphere, spheres_in_all, elastic):
    """Add the forces of `count` contacts to their spheres. Returns the elastic energy with theirs added (J)."""
    begin, own, others = np.uint32(first_sphere), np.uint32(last_sphere - first_sphere), np.uint32(spheres_in_all)
    for c in range(min(count, index(CONTACTS))):  # LLVM takes no lanes without this bound
        # Each block computes the forces on its own bodies only; a pair across two blocks counts half its energy here.
        slot = np.uint32(pair[SECOND + c] - begin)
        across = (slot >= own) & (pair[SECOND + c] < others)
        pair[SLOT + c] = min(slot, own)
        batch[ENERGY + c] *= 0.5 if across else 1.0
    for c in range(count):
        i, j = index(pair[FIRST + c] - begin) * FOUR, index(pair[SLOT + c]) * FOUR
        force = multiple(four_at(batch, FOUR * c), batch[FORCE + c])
        put_four(sphere_force, i, total(four_at(sphere_force, i), force))
        put_four(sphere_force, j, difference(four_at(sphere_force, j), force))
        elastic += batch[ENERGY + c]
    return elastic


@inlined
def add_to_bodies(begin, end, block, contacts, first_sphere, bodies, spheres, lists, sphere_force):
    """Set force and torque of bodies `begin` to `end`, those of a block, from the forces on its listed spheres.

    A contact force acts along the line of centres, so its torque about the centre of mass may be taken at the centre of the
    sphere.
    """
    owner, place, listed = spheres.owner, spheres.place, lists.listed
    position, orientation, arm = bodies.position, bodies.orientation, bodies.arm
    force_on, torque_on = bodies.force, bodies.torque
    turning = lists.old_orientation.shape[1] > 0  # if not, torques are zero from the start
    for c in range(3):
        for b in range(begin, end):
            force_on[c, b] = 0.0
            if turning:
                torque_on[c, b] = 0.0
    if contacts == 0:
        return
    for k in range(index(first_sphere), index(first_sphere + lists.listed_count[block])):
        i = listed[k]
        s, b = index(i - first_sphere) * FOUR, owner[i]
        fx, fy, fz = sphere_force[s], sphere_force[s + ONE], sphere_force[s + TWO]
        force_on[0, b] += fx
        force_on[1, b] += fy
        force_on[2, b] += fz
        if turning and arm[b] > 0.0:
            x, y, z = minus(sphere(place, i), column(position, b))
            torque_on[0, b] += y * fz - z * fy
            torque_on[1, b] += z * fx - x * fz
            torque_on[2, b] += x * fy - y * fx
    for b in range(begin, end if turning else begin):
        torque = column(torque_on, b)
        if torque != (0.0, 0.0, 0.0):
            torque_on[0, b], torque_on[1, b], torque_on[2, b] = to_body(attitude(orientation, b), torque)
