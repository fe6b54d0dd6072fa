"""Forces and torques of all contacts of a block: find what touches, apply the law, add to spheres and bodies."""

import numpy as np

from ..compile.kernels import inlined
from ..geometry import index
from ..search.touching import UNKNOWN
from ..state import CHUNK, CONTACTS, CORRECTED_WINDOW
from ..threads import bodies_of
from ..watching import find_too_deep
from .adding import add_contacts, add_to_bodies, clear_forces
from .batch import SECOND
from .edges import mark_edges
from .finding import find_constants, find_touching


@inlined
def contact_forces(block, me, law, bodies, spheres, lists, team, walls, constants, window):
    """Set force and torque of the bodies of a block, and its elastic energy; raise an alarm for overlaps beyond the limit.

    `law` is the function pointer of a contact law. The limit for an overlap is in radii of the smaller sphere; it is
    compared only for overlaps beyond the limit of the smallest sphere of all. Returns whether contacts may have begun or
    ended in this step or the one before.
    """
    first, spheres_in_all = spheres.first, spheres.owner.size
    sphere_force, batch, pair = team.sphere_force[me], team.batch[me], team.pair[me]
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    first_sphere, last_sphere = first[begin], first[end]
    clear_forces(block, lists, first_sphere, sphere_force)

    elastic, contacts = 0.0, index(0)
    count = index(0)  # contacts found whose forces are still to be added
    first_marked = marked = index(lists.room[block]) // index(CHUNK)
    at, last = index(lists.room[block]), index(lists.room[block] + lists.wanted[block])
    doubt = index(2**64 - 1) if lists.held_count[block] == UNKNOWN else index(0)
    while at < last:
        until = min(at + index(CHUNK), last)
        count, touching = find_touching(at, until, count, walls, spheres, lists, pair, batch)
        if window > 1:
            marked = mark_edges(touching, until, marked, lists, doubt, window == CORRECTED_WINDOW)
        at = until
        if count > index(CONTACTS - CHUNK) or (at == last and count > index(0)):
            contacts += count
            find_constants(count, walls, constants, spheres, pair, batch)
            deep = law(np.int64(count), batch, team.limits.suspect)
            elastic = add_contacts(count, pair, batch, sphere_force, first_sphere, last_sphere, spheres_in_all, elastic)
            if deep > 0:
                find_too_deep(count, pair, SECOND, spheres.place, walls, spheres_in_all, team.limits, team.alarm[me])
            count = index(0)
    lists.elastic[block] = elastic
    if contacts > index(0) or lists.contacts[block] > 0:  # else forces and torques are zero already
        add_to_bodies(begin, end, block, contacts, first_sphere, bodies, spheres, lists, sphere_force)
    lists.marked_count[block] = marked - first_marked
    kicked = marked - first_marked if window == CORRECTED_WINDOW else index(0)
    lists.contacts[block] = contacts + kicked  # what edges add must be cleared, too
    lists.held_count[block] = 0
    return marked > first_marked
