"""Collisions in one dimension with leapfrog, many at a time: phases and speeds are random, the time step is fixed.

Units: the stiffness k, the mass m* of a lone collision and the mean speed are 1.
"""

import numpy as np
from numpy.typing import NDArray

from .forms import Array, Form, account, law

DURATION = 2.9432 * 1.25**0.4  # of a collision with speed 1
OUTSIDE = 3  # steps after an end until the last kick is made


def rms(values: Array) -> float:
    """Root mean square of the numbers that are not NaN."""
    return float(np.sqrt(np.nanmean(np.square(values))))


def lone(form: Form, steps: int, count: int, acceleration: float = 0.0, seed: int = 0) -> tuple[Array, Array, Array]:
    """Relative energy error of `count` collisions with a fixed partner, the account of their edges, and their speeds.

    `steps` is the number of steps in a contact at speed 1; a constant `acceleration` towards the partner acts throughout.
    The error is NaN where the body returns before the correction of the end is complete.
    """
    rng = np.random.default_rng(seed)
    speed, dt = rng.uniform(0.5, 1.5, count), DURATION / steps
    overlap = -(4.0 + rng.uniform(0.0, 1.0, count)) * speed * dt
    start = 0.5 * speed**2 - acceleration * overlap
    overlaps = [overlap - back * dt * speed + 0.5 * acceleration * (back * dt) ** 2 for back in range(4)]
    velocity = speed - 0.5 * dt * acceleration  # half a step back
    end, booked, done = np.full(count, np.nan), np.zeros(count), np.zeros(count, bool)
    mobility = np.full(count, dt * dt)
    for _ in range(int(2.2 * steps) + 20):
        force = acceleration - law(overlaps[0]) - form(overlaps, mobility)
        booked += np.where(done, 0.0, account(overlaps))
        on_step = velocity + 0.5 * dt * force
        ready = np.all([o <= 0.0 for o in overlaps[:OUTSIDE]], axis=0) & (on_step < 0.0) & ~done
        end[ready] = (0.5 * on_step**2 - acceleration * overlaps[0])[ready]
        done |= ready
        velocity = velocity + dt * force
        overlaps = [overlaps[0] + dt * velocity, *overlaps[:3]]
    return (end - start) / (0.5 * speed**2), booked / (0.5 * speed**2), speed


def chain(form: Form, steps: int, count: int, seed: int = 1) -> Array:
    """Relative energy error of `count` chains of three bodies, of which the first hits the others.

    Masses are 0.5 to 1.5, stiffnesses 0.7 to 1.4, the gap between the last two up to 1, about the depth of a contact. Chains
    in which two bodies still touch at the end are left out.
    """
    rng = np.random.default_rng(seed)
    mass, stiffness = rng.uniform(0.5, 1.5, (3, count)), rng.uniform(0.7, 1.4, (2, count))
    dt = 0.5**0.4 * DURATION / steps * rng.uniform(0.9, 1.1, count)  # about `steps` steps in a contact
    velocity = np.zeros((3, count))
    velocity[0] = rng.uniform(0.7, 1.3, count)
    gaps = np.array([(5.0 + rng.uniform(0.0, 1.0, count)) * velocity[0] * dt, rng.uniform(0.0, 1.0, count)])
    position = np.concatenate([np.zeros((1, count)), np.cumsum(gaps, axis=0)])
    start = 0.5 * (mass * velocity**2).sum(axis=0)
    overlaps = [-np.diff(position, axis=0) + back * dt * np.diff(velocity, axis=0) for back in range(4)]
    mobility = stiffness * dt**2 * (1.0 / mass[:-1] + 1.0 / mass[1:])
    quiet: NDArray[np.int64] = np.zeros(count, int)
    for _ in range(14 * steps):
        contact = stiffness * (law(overlaps[0]) + form(overlaps, mobility))
        force = np.zeros_like(velocity)
        force[:-1] -= contact
        force[1:] += contact
        quiet = np.where((overlaps[0] <= 0.0).all(axis=0), quiet + 1, 0)
        end = 0.5 * (mass * (velocity + 0.5 * dt * force / mass) ** 2).sum(axis=0)
        velocity = velocity + dt * force / mass
        position = position + dt * velocity
        overlaps = [-np.diff(position, axis=0), *overlaps[:3]]
    return np.asarray(((end - start) / start)[quiet > OUTSIDE])
