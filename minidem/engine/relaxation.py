"""Relaxation of overlaps by FIRE, the fast inertial relaxation engine, on positions and orientations.

Bodies move down the gradient of the elastic energy. While the energy falls, velocities turn towards the forces and the time
step grows; when it rises, all bodies stop (Bitzek et al., Phys. Rev. Lett. 97, 170201, 2006; half a step
back at a stop and semi-implicit Euler as in Guenole et al., Comput. Mater. Sci. 175, 109584, 2020).
"""

import math

from .compile.kernels import internal, kernel
from .places import spheres_at
from .quaternion import product, unit
from .step import find_forces, place_block

STEPS_BEFORE_FASTER, FASTER, SLOWER = 5, 1.02, 0.9
TURNING, LESS_TURNING = 0.1, 0.99  # fraction of the velocity that turns towards the force, and its decay per step
LONGEST_MOVE = 0.03  # of any point of a body in one step, in body sizes


@internal
def drift(bodies, size, first, dt):
    """x += dt v, and the same for the rotation. No point moves farther than LONGEST_MOVE, so that bodies cannot jump over
    each other."""
    x, v = bodies.position, bodies.velocity
    q, w = bodies.orientation, bodies.spin
    for b in range(first, size.size):
        shift = math.sqrt(v[0, b] ** 2 + v[1, b] ** 2 + v[2, b] ** 2)
        turn = math.sqrt(w[0, b] ** 2 + w[1, b] ** 2 + w[2, b] ** 2) * bodies.arm[b]
        move, longest = abs(dt) * (shift + turn), LONGEST_MOVE * size[b]
        if move > longest:
            for c in range(3):
                v[c, b] *= longest / move
                w[c, b] *= longest / move
        for c in range(3):
            x[c, b] += dt * v[c, b]
        if turn > 0.0:
            h = 0.5 * dt  # first order is enough: only the final state matters
            small = (1.0, h * w[0, b], h * w[1, b], h * w[2, b])
            new = unit(product((q[0, b], q[1, b], q[2, b], q[3, b]), small))
            q[0, b], q[1, b], q[2, b], q[3, b] = new


@kernel
def relax(forces, edges, world, size, first, pace, energy):
    """Make up to energy.size steps; bodies before `first` stay in place.

    `forces` and `edges` are the function pointers of a contact law, `size` (n,) a length of each body (m). `pace` holds the
    time step (s), the fraction of the velocity that turns towards the force, and the steps since the last stop, kept between
    calls. `energy` receives the elastic energy (J) before each step. Returns the number of steps made, and whether the lists
    need more room.
    """
    bodies, elastic = world.bodies, world.touching.elastic
    force, torque = bodies.force, bodies.torque
    v, w = bodies.velocity, bodies.spin
    mass, inertia = bodies.mass, bodies.inertia
    spheres = spheres_at(0, world.spheres)
    for step in range(energy.size):
        outdated = False
        for block in range(elastic.size):
            outdated |= place_block(block, bodies, world.templates, spheres, world.close)
        if not find_forces(0, forces, edges, world, spheres, outdated, False, 0.0, 0, False):
            return step, True
        world.close.age[0] += 1
        energy[step] = 0.0
        for block in range(elastic.size):
            energy[step] += elastic[block]
        power = 0.0
        for b in range(first, size.size):
            for c in range(3):
                power += force[c, b] * v[c, b] + torque[c, b] * w[c, b]
        if power > 0.0:
            pace[2] += 1.0
            if pace[2] > STEPS_BEFORE_FASTER:
                pace[0] *= FASTER
                pace[1] *= LESS_TURNING
        elif pace[2] > 0.0 or power < 0.0:
            pace[0] *= SLOWER
            pace[1] = TURNING
            pace[2] = 0.0
            drift(bodies, size, first, -0.5 * pace[0] / SLOWER)
            for b in range(first, size.size):
                for c in range(3):
                    v[c, b] = 0.0
                    w[c, b] = 0.0
        dt = pace[0]
        pull, speed = 0.0, 0.0  # squared force and velocity in mass-weighted coordinates
        for b in range(first, size.size):
            for c in range(3):
                v[c, b] += dt * force[c, b] / mass[b]
                w[c, b] += dt * torque[c, b] / inertia[c, b]
                pull += force[c, b] ** 2 / mass[b] + torque[c, b] ** 2 / inertia[c, b]
                speed += v[c, b] ** 2 * mass[b] + w[c, b] ** 2 * inertia[c, b]
        if pull == 0.0:
            return step + 1, False
        along = pace[1] * math.sqrt(speed / pull)
        for b in range(first, size.size):
            for c in range(3):
                v[c, b] = (1.0 - pace[1]) * v[c, b] + along * force[c, b] / mass[b]
                w[c, b] = (1.0 - pace[1]) * w[c, b] + along * torque[c, b] / inertia[c, b]
        drift(bodies, size, first, dt)
    return energy.size, False
