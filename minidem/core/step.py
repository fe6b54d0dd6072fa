"""The time step: leapfrog for the centres of mass, any scheme for the rotation, contacts at the new positions."""

from .compiling import inlined, kernel
from .contact import contact_forces
from .neighbours import candidates, next_skin, outdated


@inlined
def kick_and_drift(bodies, gravity, dt):
    """v(n+1/2) = v(n-1/2) + dt a(n);  x(n+1) = x(n) + dt v(n+1/2)"""
    mass = bodies.mass
    for c in range(3):
        x, v, f, g = bodies.position[c], bodies.velocity[c], bodies.force[c], gravity[c]
        for b in range(mass.size):
            v[b] += dt * (f[b] / mass[b] + g)
            x[b] += dt * v[b]


@kernel
def advance(steps, dt, gravity, rotate, bodies, shapes, walls, modulus, near, elastic):
    """From step n, with the forces of n, to step n + `steps` with the forces of that step.

    Returns the candidate lists and the elastic energy (J; of the present step, given as `elastic`, if there are no steps to
    make). `rotate` is the `advance` of a rotational integrator over all
    bodies (see compiling.rotation_kernel).
    """
    for _ in range(steps):
        kick_and_drift(bodies, gravity, dt)
        rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, 0, bodies.orientation.shape[1], dt)
        near.age[0] += 1
        if outdated(bodies, near):
            near = candidates(bodies, shapes, walls, modulus, next_skin(bodies, near))
        elastic = contact_forces(bodies, walls, near)
    return near, elastic


@kernel
def half_back(start, bodies, gravity, dt):
    """From on-step values to the staggered ones of step 0: v(-1/2) = v(0) - dt/2 a(0), and the scheme's own start."""
    for c in range(3):
        for b in range(bodies.mass.size):
            bodies.velocity[c, b] -= 0.5 * dt * (bodies.force[c, b] / bodies.mass[b] + gravity[c])
    start(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, 0, bodies.orientation.shape[1], dt)
