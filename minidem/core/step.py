"""The time step: leapfrog for the centres of mass, any scheme for the rotation, contacts at the new positions."""

from .compiling import inlined, kernel
from .contact import contact_forces, place_listed
from .neighbours import find_candidates, next_skin, travelled
from .state import BLOCK
from .team import any_says, barrier, bodies_of, share

SHORTEST_FLIGHT = 4  # steps; noticing the start and the end of a free flight costs as much as a few evaluations


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
    bodies, lists = world.bodies, world.lists
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    place_listed(block, bodies, world.shapes, world.spheres, lists)
    return travelled(begin, end, bodies, lists.old_position, lists.old_orientation, 0.5 * lists.skin[0])


@inlined
def find_forces(me, world, outdated):
    """The forces of the present positions, from new lists if the old ones are `outdated` for any thread. False if there was
    no room for the lists: make room and ask again."""
    bodies, lists, team = world.bodies, world.lists, world.team
    if any_says(team, me, outdated):
        skin = next_skin(bodies.reach, lists.skin[0], lists.age[0])
        barrier(team)
        if not find_candidates(me, world, skin):
            return False
    first, last = share(me, team, lists.wanted.size)
    for block in range(first, last):
        contact_forces(block, me, bodies, world.walls, world.spheres, lists, team)
    barrier(team)
    return True


@kernel
def advance(me, steps, dt, gravity, rotate, world, pending):
    """Thread `me`'s part of the way from step n to step n + `steps`, with the forces of that step.

    `pending`: the forces of step n are not known yet. Returns the steps made and whether the forces of the last are still
    pending because the lists need more room. `rotate` is the `advance` of a rotational integrator (see
    compiling.rotation_kernel).
    """
    bodies, lists, team = world.bodies, world.lists, world.team
    blocks, n, lanes = lists.wanted.size, bodies.mass.size, bodies.orientation.shape[1]
    first, last = share(me, team, blocks)
    made, flight_steps, shortest = 0, 0, 0.0
    while pending or made < steps:
        flying, outdated = False, False
        for block in range(first, last):  # all that concerns one block at a time: it stays in the processor's cache
            begin, end = bodies_of(block, block + 1, n)
            if not pending:
                kick_and_drift(begin, end, bodies, gravity, dt)
                last_lane = min((block + 1) * BLOCK, lanes)
                rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, block * BLOCK, last_lane, dt)
            flight = lists.flight[0]
            if flight > 0.0:  # only if there is a single block
                flying = not travelled(begin, end, bodies, lists.flight_position, lists.flight_orientation, flight)
            if not flying:
                outdated |= place_block(block, world)
        if not pending:
            made += 1
            if me == 0:
                lists.age[0] += 1
        if flying:  # nothing can touch yet
            flight_steps += 1
        elif not find_forces(me, world, outdated):
            return made, True
        elif blocks == 1:
            if lists.flight[0] > 0.0:
                shortest = 2.0 * lists.flight[0] if flight_steps < SHORTEST_FLIGHT else 0.9 * shortest
            lists.flight[0] = free_flight(bodies, lists, shortest)
            flight_steps = 0
        pending = False
    return made, False


@inlined
def free_flight(bodies, lists, shortest):
    """How far anything may move before anything can touch or the lists are outdated (m); zero if hardly so."""
    flight = min(0.5 * lists.gap[0], 0.2 * lists.skin[0])
    n, x, q = bodies.mass.size, bodies.position, bodies.orientation
    x0, q0 = lists.flight_position, lists.flight_orientation
    if flight <= shortest:
        return 0.0
    if travelled(0, n, bodies, lists.old_position, lists.old_orientation, 0.5 * lists.skin[0] - flight):
        return 0.0
    for c in range(3):
        for b in range(n):
            x0[c, b] = x[c, b]
    for c in range(4):
        for b in range(q0.shape[1]):
            q0[c, b] = q[c, b]
    return flight
