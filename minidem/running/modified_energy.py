"""The modified energy of leapfrog: where forces are smooth it is conserved to fourth order in dt, the energy only to second.

Backward error analysis (Hairer, Lubich, Wanner, Geometric Numerical Integration, IX.3) gives, with the energy E at step n,

    E~ = E + dt^2 (W / 12 - Q / 24),   W = d^2 U / dt^2 in free flight,   Q = sum of f.f / m + t.I^-1 t

for the elastic energy U, forces f (gravity included) and torques t. E - E~ is bounded; while bodies touch it hides drifts.
Packings, whose bodies always touch, need E~. The rotation is taken to be exact between kicks, as in `free-rotor`; other
schemes have terms of their own, but lone spheres feel no torque.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from .contacts import sphere_centres, touching

if TYPE_CHECKING:
    from .simulation import Simulation

Array = NDArray[np.float64]
DIFFERENCE = 1e-3  # of the overlap, for the slope of the force: an error of 1e-6


def bounded_error(simulation: "Simulation", motion: Sequence[Array] | None = None) -> float:
    """Energy minus modified energy at the present step, J. `motion` has on-step velocities (3, n) in world axes, and
    orientations (4, n) and angular velocities (3, n) in principal axes, if they are not those of the simulation."""
    world, law, gravity, dt = simulation._world, simulation.model.law, simulation.model.gravity, simulation.model.dt
    bodies, n = world.bodies, world.bodies.mass.size
    velocity, orientation, omega = (part[:, :n].T for part in motion or simulation._motion(slice(None)))
    inertia, torque = bodies.inertia[:3, :n].T, bodies.torque[:, :n].T
    acceleration = bodies.force.T / bodies.mass[:, None] + gravity
    kicked = np.sum(bodies.mass[:, None] * acceleration**2) + np.sum(torque**2 / inertia)

    turning = np.cross(inertia * omega, omega) / inertia  # Euler's equation without a torque
    omega, turning = quaternions.rotated(orientation, omega), quaternions.rotated(orientation, turning)
    centre = sphere_centres(world, np.arange(world.spheres.owner.size))

    def motion_of(s: NDArray[np.int64]) -> tuple[Array, Array]:
        """Velocities (c, 3) and accelerations (c, 3) of spheres in free flight."""
        body = world.spheres.owner[s]
        arm = centre[s] - bodies.position.T[body]
        around = np.cross(omega[body], arm)
        return velocity[body] + around, np.cross(turning[body], arm) + np.cross(omega[body], around)

    flight = 0.0
    for found in touching(world, centre):
        if not found.i.size:
            continue  # before a first contact the function of the law need not be compiled
        between = (found.wall < 0)[:, None]
        relative, bent = (a - between * b for a, b in zip(motion_of(found.i), motion_of(found.j), strict=True))
        opening = np.sum(relative * found.normal, axis=1)
        across = np.where(between[:, 0], np.sum(relative**2, axis=1) - opening**2, 0.0)
        step = DIFFERENCE * found.overlap
        nearer, farther = (law.force(found.distance + way, *found[6:]) for way in (-step, step))
        slope, force = (nearer - farther) / (2 * step), law.force(*found[5:])
        flight += np.sum(slope * opening**2 - force * (np.sum(bent * found.normal, axis=1) + across / found.distance))
    return float(dt**2 * (kicked / 24 - flight / 12))
