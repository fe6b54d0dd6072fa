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
def find_forces(me, world):
    """The forces of the present positions, from new lists if the old ones are outdated. False if there was no room for
    the lists: make room and ask again."""
    bodies, spheres = world.bodies, world.spheres
    lists, team = world.lists, world.team
    first, last = share(me, team, lists.wanted.size)
    begin, end = bodies_of(first, last, bodies.mass.size)
    for block in range(first, last):
        place_listed(block, bodies, world.shapes, spheres, lists)
    outdated = travelled(begin, end, bodies, lists.old_position, lists.old_orientation, 0.5 * lists.skin[0])
    if any_says(team, me, outdated):
        skin = next_skin(bodies.reach, lists.skin[0], lists.age[0])
        barrier(team)
        if not find_candidates(me, world, skin):
            return False
    for block in range(first, last):
        contact_forces(block, me, bodies, world.walls, spheres, lists, team)
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
    blocks = lists.wanted.size
    first, last = share(me, team, blocks)
    begin, end = bodies_of(first, last, bodies.mass.size)
    first_lane, last_lane = first * BLOCK, min(last * BLOCK, bodies.orientation.shape[1])
    flight_steps, shortest = 0, 0.0
    made = 0
    while True:
        if pending:
            flight = lists.flight[0]
            if flight > 0.0 and not travelled(begin, end, bodies, lists.flight_position, lists.flight_orientation, flight):
                flight_steps += 1  # nothing can touch yet
            else:
                if not find_forces(me, world):
                    return made, True
                if blocks == 1:
                    if flight > 0.0:
                        shortest = 2.0 * flight if flight_steps < SHORTEST_FLIGHT else 0.9 * shortest
                    lists.flight[0] = free_flight(bodies, lists, shortest)
                    flight_steps = 0
        if made == steps:
            return made, False
        kick_and_drift(begin, end, bodies, gravity, dt)
        rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, first_lane, last_lane, dt)
        made += 1
        pending = True
        if me == 0:
            lists.age[0] += 1


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
        for b in range(n):
            q0[c, b] = q[c, b]
    return flight
