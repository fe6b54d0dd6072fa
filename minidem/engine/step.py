"""The time step: leapfrog for the centres of mass, any scheme for the rotation, contacts at the new positions."""

from .compile.kernels import inlined, kernel
from .contact.edges import edge_scene
from .contact.forces import contact_forces
from .places import spheres_at
from .search.lists import place_listed, renew_lists, travelled
from .state import BLOCK, IN_CONTACT
from .threads import any_says, barrier, bodies_of, share
from .watching import INSPECT_EVERY, alarmed, inspect, steps_to_inspection


@inlined
def kick_and_drift(begin, end, free, bodies, gravity, dt):
    """v(n+1/2) = v(n-1/2) + dt a(n);  x(n+1) = x(n) + dt v(n+1/2). `free`: no contact forces; saves the division."""
    x, v = bodies.position, bodies.velocity
    f, mass = bodies.force, bodies.mass
    for c in range(3):
        if free:
            for b in range(begin, end):
                v[c, b] += dt * gravity[c]
                x[c, b] += dt * v[c, b]
        else:
            for b in range(begin, end):
                v[c, b] += dt * (f[c, b] / mass[b] + gravity[c])
                x[c, b] += dt * v[c, b]


@inlined
def place_block(block, bodies, templates, spheres, close):
    """Set the positions of the listed spheres of a block. Returns whether the lists are outdated for it."""
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    if travelled(begin, end, bodies, close.old_position, close.old_orientation, 0.5 * close.skin[0]):
        return True
    place_listed(block, bodies, templates, spheres, close)
    return False


@inlined
def find_forces(me, forces, edges, world, spheres, outdated, inspected, dt, step, ending):
    """Find the forces at the present positions, of `spheres` with their places at this step, with new lists if the old ones
    are `outdated` for any thread. If `ending`, the account of edges is completed. Returns false if there was no room for the
    lists: make room and call again. Alarms are raised here, between two barriers, so that all threads see the same ones."""
    bodies, close, touching = world.bodies, world.close, world.touching
    team, scratch, walls = world.team, world.scratch, world.walls
    first, last = share(me, team, close.wanted.size)
    outdated = any_says(team, me, outdated)
    if inspected:
        begin, end = bodies_of(first, last, bodies.mass.size)
        inspect(begin, end, bodies, walls, dt, team.limits, team.alarm[me])
    if outdated and not renew_lists(me, world, spheres, step):
        return False
    at_edges, window = False, world.edges.window
    for block in range(first, last):
        at_edges |= contact_forces(
            block, me, forces, bodies, spheres, close, touching, team, scratch, walls, world.constants, window
        )
    if at_edges or (ending and scratch.edge_count[me, 0] > 0):
        edges(first, last, me, step, ending, world.edges.dt, edge_scene(world))
    barrier(team)
    return True


@kernel
def advance(me, steps, dt, gravity, rotate, forces, edges, world, pending):
    """Advance from step n to step n + `steps`, or to a step with an alarm, and find the forces there: thread `me`'s part.

    `pending`: the forces of step n are not known yet. Returns the number of steps made, and whether the forces of the last
    one are still pending because the lists need more room. `rotate`, the `advance` of a rotational scheme, and
    `forces` and `edges` of a contact law are function pointers (see compile/pointers.py).
    """
    bodies, lists, team = world.bodies, world.lists, world.team
    blocks, n, lanes = lists.wanted.size, bodies.mass.size, bodies.orientation.shape[1]
    first, last = share(me, team, blocks)
    until_inspected = steps_to_inspection(team)
    made = 0
    while pending or made < steps:
        made += not pending
        step = team.step[0] + made
        spheres = spheres_at(step, world.spheres)
        outdated = False
        for block in range(first, last):  # one block at a time: it stays in the processor's cache
            if not pending:
                begin, end = bodies_of(block, block + 1, n)
                kick_and_drift(begin, end, world.touching.count[block, IN_CONTACT] == 0, bodies, gravity, dt)
                last_lane = min((block + 1) * BLOCK, lanes)
                rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, block * BLOCK, last_lane, dt)
            outdated |= place_block(block, bodies, world.templates, spheres, world.close)
        if not pending and me == 0:
            world.close.age[0] += 1
        inspected = made == until_inspected
        if inspected:
            until_inspected += INSPECT_EVERY
        # bool(): one type to compile, not False and bool
        pending = not find_forces(me, forces, edges, world, spheres, bool(outdated), inspected, dt, step, made == steps)
        if pending or alarmed(team):
            break
    return made, pending
