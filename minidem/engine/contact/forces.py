"""Forces and torques of all contacts of a block: find what touches, apply the law, add to spheres and bodies."""

import numpy as np

from ..compile.kernels import inlined
from ..geometry import index
from ..search.touching import UNKNOWN
from ..state import AT_EDGES, CHUNK, CONTACTS, CORRECTED_WINDOW, HELD, IN_CONTACT
from ..threads import bodies_of
from ..watching import find_too_deep
from .adding import add_contacts, add_to_bodies, clear_forces
from .batch import SECOND
from .edges import mark_edges
from .finding import find_constants, find_touching


@inlined
def contact_forces(block, me, law, bodies, spheres, lists, touching, team, scratch, walls, constants, window):
    """Set force and torque of the bodies of a block, and its elastic energy; raise an alarm for overlaps beyond the limit.

    `law` is the function pointer of a contact law. The limit for an overlap is in radii of the smaller sphere; it is
    compared only for overlaps beyond the limit of the smallest sphere of all. Returns whether contacts may have begun or
    ended in this step or the one before.
    """
    first, spheres_in_all = spheres.first, spheres.owner.size
    sphere_force, batch, pair = scratch.sphere_force[me], scratch.batch[me], scratch.pair[me]
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    first_sphere, last_sphere = first[begin], first[end]
    clear_forces(block, lists, first_sphere, sphere_force)

    elastic, contacts = 0.0, index(0)
    count = index(0)  # contacts found whose forces are still to be added
    first_marked = marked = index(lists.room[block]) // index(CHUNK)
    at, last = index(lists.room[block]), index(lists.room[block] + lists.wanted[block])
    doubt = index(2**64 - 1) if touching.count[block, HELD] == UNKNOWN else index(0)
    few = lists.wanted.size == 1  # pairs on close lists, of a single block
    while at < last:
        until = min(at + index(CHUNK), last)
        count, touches = find_touching(at, until, count, walls, spheres, lists, pair, batch)
        if window > 1:
            marked = mark_edges(touches, until, marked, touching.word, doubt, window == CORRECTED_WINDOW, few)
        at = until
        if count > index(CONTACTS - CHUNK) or (at == last and count > index(0)):
            contacts += count
            find_constants(count, walls, constants, spheres, pair, batch)
            deep = law(np.int64(count), batch, team.limits.suspect)
            elastic = add_contacts(count, pair, batch, sphere_force, first_sphere, last_sphere, spheres_in_all, elastic)
            if deep > 0:
                find_too_deep(count, pair, SECOND, spheres.place, walls, spheres_in_all, team.limits, team.alarm[me])
            count = index(0)
    touching.elastic[block] = elastic
    if contacts > index(0) or touching.count[block, IN_CONTACT] > 0:  # else forces and torques are zero already
        add_to_bodies(begin, end, block, contacts, first_sphere, bodies, spheres, lists, sphere_force)
    touching.count[block, AT_EDGES] = marked - first_marked
    kicked = marked - first_marked if window == CORRECTED_WINDOW else index(0)
    touching.count[block, IN_CONTACT] = contacts + kicked  # what edges add must be cleared, too
    touching.count[block, HELD] = 0
    return marked > first_marked
