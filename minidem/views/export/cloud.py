"""What every export holds: points that are the spheres, or the centres of mass of the bodies.

Each point has these values (SI units, world frame):

    sphere            number in the run, as in `Trajectory.spheres` (if the points are spheres)
    body, species     numbers in the run
    radius            m; for a body, of the sphere with the same volume
    body_mass         kg
    velocity          m/s, of the point: v + omega x r for a sphere
    body_speed        m/s, of the body's centre of mass
    angular_velocity  rad/s
    quaternion        w, x, y, z: clump as given -> world
    kinetic_energy    J, of the body, translation and rotation

Values of a body are repeated for each of its spheres.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import quaternions
from ...errors import InputError
from ...files.trajectory import Trajectory
from ...printable import printable

Array = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
UNITS = {
    "radius": "m",
    "body_mass": "kg",
    "velocity": "m s-1",
    "body_speed": "m s-1",
    "angular_velocity": "rad s-1",
    "kinetic_energy": "J",
}
MOVING = {"velocity": 3, "body_speed": 1, "angular_velocity": 3, "quaternion": 4, "kinetic_energy": 1}  # components


@dataclass(frozen=True)
class Snapshot:
    """The points at one frame."""

    frame: int  # number in the run
    step: int
    time: float  # s
    position: Array  # (n, 3) m
    moving: Columns  # values that change with time, (n,) or (n, components)


class Cloud:
    """The chosen points of a run; iterating gives a Snapshot for each frame, read one by one."""

    def __init__(self, run: Path, trajectory: Trajectory, frames: list[int], bodies: NDArray[np.int64], what: str):
        self._run, self._trajectory = run, trajectory
        self.frames, self.times, self.steps = frames, trajectory.time[frames], trajectory.step[frames]
        self.box = trajectory.box
        self.names = [printable(clump.name) for clump in trajectory.clumps]
        self.ascii_names = [name.encode("ascii", "replace").decode() for name in self.names]  # for VTK and GSD
        if what == "spheres":
            body, local, radius = trajectory.sphere_layout
            sphere = np.flatnonzero(np.isin(body, bodies))
            self.body, self._local, radius = body[sphere], local[sphere], radius[sphere]
            self.fixed: Columns = {"sphere": sphere}
        else:
            self.body, self._local, self.fixed = bodies, np.zeros((len(bodies), 3)), {}
            volume = np.array([clump.volume for clump in trajectory.clumps])
            radius = np.cbrt(volume / (4 / 3 * np.pi))[trajectory.species[bodies]]
        self.fixed |= {"body": self.body, "species": trajectory.species[self.body], "radius": radius}
        self.fixed |= {"body_mass": trajectory.mass[self.body]}

    def __iter__(self) -> Iterator[Snapshot]:
        for frame, step, time in zip(self.frames, self.steps.tolist(), self.times.tolist(), strict=True):
            yield Snapshot(frame, step, time, *self._points(frame))

    def _points(self, frame: int) -> tuple[Array, Columns]:
        try:
            bodies = self._trajectory.frame(frame)
        except (OSError, RuntimeError) as error:
            raise InputError(f"{self._run}: frame {frame} cannot be read ({error}); leave it out with --frames") from None
        arm = quaternions.rotated(bodies.orientation[self.body], self._local)
        moving = {
            "velocity": bodies.velocity[self.body] + np.cross(bodies.angular_velocity[self.body], arm),
            "body_speed": np.linalg.norm(bodies.velocity, axis=1)[self.body],
            "angular_velocity": bodies.angular_velocity[self.body],
            "quaternion": bodies.orientation[self.body],
            "kinetic_energy": self._trajectory.kinetic_energy(bodies)[self.body],
        }
        return bodies.position[self.body] + arm, moving

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper corner (3,) of the box, or in open space of what all points fill over time, m."""
        if self.box is not None:
            return np.zeros(3), self.box
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for snapshot in self:
            whole = np.isfinite(snapshot.position).all(axis=1)  # a run that blew up may end in NaN
            position, radius = snapshot.position[whole], self.fixed["radius"][whole, None]
            low = np.minimum(low, (position - radius).min(axis=0, initial=np.inf))
            high = np.maximum(high, (position + radius).max(axis=0, initial=-np.inf))
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.ones(3))
