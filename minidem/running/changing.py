"""Look at the state of a simulation between two steps, and change it."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import quaternions
from ..engine.places import forget_all
from ..engine.staggering import stagger_spin, stagger_velocity
from ..engine.watching import NOTHING, WHAT
from ..files.trajectory import Frame
from ..model.building import chunks
from .modified_energy import bounded_error

if TYPE_CHECKING:
    from .simulation import Simulation

# A scheme's `start` and `on_step` undo each other to the order of the scheme. Each correction of what it starts from makes
# the difference smaller by that order, until only round-off is left.
CORRECTIONS = 4


def assign(simulation: "Simulation", **values: ArrayLike) -> None:
    """Set on-step values of all bodies, by their names in Frame: world axes, order of the scenario, SI units.

    Forces and neighbour lists are renewed. Velocities and spins are staggered again for the bodies whose own values, force
    or torque changed; all other on-step values stay what they were.
    """
    model, bodies, world, columns = simulation.model, simulation.bodies, simulation._world, simulation.rank
    n = columns.size
    new = {name: np.array(given, float) for name, given in values.items()}
    for name, array in new.items():
        shape = (n, 4 if name == "orientation" else 3)
        if array.shape != shape:
            raise ValueError(f"{name}: must have the shape {shape}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: all numbers must be finite")
    if "orientation" in new and not np.linalg.norm(new["orientation"], axis=1).all():
        raise ValueError("orientation: quaternions must not be zero")
    before, bounded = simulation.observables()["total"], bounded_error(simulation)
    velocity, orientation, omega = (motion[:, :n] for motion in simulation._motion(slice(None)))
    force, torque = bodies.force.copy(), bodies.torque[:, :n].copy()

    simulation.changed = True  # from here, also if an interrupt comes before all is set
    if "position" in new:
        bodies.position[:, columns] = new["position"].T
    if "velocity" in new:
        velocity[:, columns] = new["velocity"].T
    if "orientation" in new:
        world_omega = quaternions.rotated(orientation.T, omega.T)  # stays
        axes = np.array([clump.principal_axes for clump in model.clumps])[model.species]
        orientation[:, columns] = quaternions.unit(quaternions.product(new["orientation"], axes)).T
        omega = quaternions.rotated(quaternions.conjugate(orientation.T), world_omega).T
        bodies.orientation[:, :n] = orientation
    if "angular_velocity" in new:
        to_principal = quaternions.conjugate(orientation.T[columns])
        omega[:, columns] = quaternions.rotated(to_principal, new["angular_velocity"]).T

    world.team.alarm[:, WHAT] = NOTHING
    forget_all(world)  # what was before does not count
    for known in (world.lists.old_position, world.close.old_position):
        known[...] = np.nan  # lists are renewed
    simulation._find_forces()

    kicked = np.flatnonzero((bodies.force != force).any(axis=0) | ("velocity" in new))
    bodies.velocity[:, kicked] = velocity[:, kicked]
    stagger_velocity(kicked, bodies, model.gravity, model.dt)
    changed = "orientation" in new or "angular_velocity" in new
    turned = np.flatnonzero((bodies.torque[:, :n] != torque).any(axis=0) | changed)
    wanted = omega[:, turned]
    start = wanted.copy()
    for _ in range(CORRECTIONS):
        bodies.orientation[:, turned], bodies.spin[:3, turned] = orientation[:, turned], start
        stagger_spin(turned, simulation._rotation.start, bodies, model.dt)
        start += wanted - simulation._motion(turned)[2]
    simulation.initial_energy += simulation.observables()["total"] - before
    simulation.initial_bounded += bounded_error(simulation) - bounded


def frame_of(simulation: "Simulation") -> Frame:
    """All bodies at the present step."""
    n = len(simulation.rank)
    axes = np.array([clump.principal_axes for clump in simulation.model.clumps])
    frame = Frame(np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 3)), simulation.time, simulation.step)
    for some in chunks(n):
        columns = simulation.rank[some]
        velocity, orientation, omega = simulation._motion(columns)
        clump_axes = quaternions.conjugate(axes[simulation.model.species[some]])
        frame.position[some], frame.velocity[some] = simulation.bodies.position.T[columns], velocity.T
        frame.orientation[some] = quaternions.product(orientation.T, clump_axes)
        frame.angular_velocity[some] = quaternions.rotated(orientation.T, omega.T)
    return frame


def read_only(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The array, which can no longer be written to."""
    values.flags.writeable = False
    return values
