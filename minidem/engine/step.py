"""The time step: leapfrog for the centres of mass, any scheme for the rotation, contacts at the new positions."""

from .compile.kernels import inlined, kernel
from .contact.forces import contact_forces
from .search.lists import place_listed, renew_lists, travelled
from .state import BLOCK
from .threads import any_says, barrier, bodies_of, share
from .watching import INSPECT_EVERY, alarmed, inspect, steps_to_inspection


@inlined
def kick_and_drift(begin, end, bodies, gravity, dt):
    """v(n+1/2) = v(n-1/2) + dt a(n);  x(n+1) = x(n) + dt v(n+1/2)"""
    x, v = bodies.position, bodies.velocity
    f, mass = bodies.force, bodies.mass
    for c in range(3):
        for b in range(begin, end):
            v[c, b] += dt * (f[c, b] / mass[b] + gravity[c])
            x[c, b] += dt * v[c, b]


@inlined
def place_block(block, world):
    """Where the spheres on the lists are now; returns whether the lists are outdated for this block."""
    bodies, close = world.bodies, world.close
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    if travelled(begin, end, bodies, close.old_position, close.old_orientation, 0.5 * close.skin[0]):
        return True
    place_listed(block, bodies, world.shapes, world.spheres, close)
    return False


@inlined
def find_forces(me, law, world, outdated, inspected, dt):
    """The forces of the present positions, from new lists if the old ones are `outdated` for any thread. False if there was
    no room for the lists: make room and ask again. Alarms are raised here, between two barriers: so all threads know of the
    same ones."""
    bodies, lists, team = world.bodies, world.lists, world.team
    first, last = share(me, team, lists.wanted.size)
    outdated = any_says(team, me, outdated)
    if inspected:
        begin, end = bodies_of(first, last, bodies.mass.size)
        inspect(begin, end, bodies, world.walls, dt, team.limits, team.alarm[me])
    if outdated and not renew_lists(me, world):
        return False
    for block in range(first, last):
        contact_forces(block, me, law, world)
    barrier(team)
    return True


@kernel
def advance(me, steps, dt, gravity, rotate, law, world, pending):
    """Thread `me`'s part of the way from step n to step n + `steps`, or to one with an alarm, with the forces of that step.

    `pending`: the forces of step n are not known yet. Returns the steps made and whether the forces of the last are still
    pending because the lists need more room. `rotate` is the `advance` of a rotational integrator, `law` a contact law, both
    function pointers (see compile/pointers.py).
    """
    bodies, lists, team = world.bodies, world.lists, world.team
    blocks, n, lanes = lists.wanted.size, bodies.mass.size, bodies.orientation.shape[1]
    first, last = share(me, team, blocks)
    until_inspected = steps_to_inspection(team)
    made = 0
    while pending or made < steps:
        outdated = False
        for block in range(first, last):  # all that concerns one block at a time: it stays in the processor's cache
            if not pending:
                begin, end = bodies_of(block, block + 1, n)
                kick_and_drift(begin, end, bodies, gravity, dt)
                last_lane = min((block + 1) * BLOCK, lanes)
                rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, block * BLOCK, last_lane, dt)
            outdated |= place_block(block, world)
        if not pending:
            made += 1
            if me == 0:
                world.close.age[0] += 1
        inspected = made == until_inspected
        if inspected:
            until_inspected += INSPECT_EVERY
        # bool(): one type to compile, not False and bool
        if not find_forces(me, law, world, bool(outdated), inspected, dt):
            return made, True
        pending = False
        if alarmed(team):
            break
    return made, False
