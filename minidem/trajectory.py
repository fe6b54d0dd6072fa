"""Reading a run back: finished, still going on, or killed."""

import json
import os
import platform
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from . import quaternions
from .errors import InputError

Array = NDArray[np.float64]
FILES = (
    "scenario.toml",
    "resolved.toml",
    "manifest.json",
    "trajectory.h5",
    "energy.csv",
    "checkpoint.h5",
    "checkpoint.previous.h5",
    "trajectory.damaged.h5",
)
FRAME = {  # name: (components, unit)
    "position": (3, "m"),
    "velocity": (3, "m s-1"),
    "orientation": (4, "1"),
    "angular_velocity": (3, "rad s-1"),
}


@dataclass(frozen=True)
class Frame:
    """All bodies at one time, world frame."""

    position: Array  # (n, 3) of the centres of mass, m
    velocity: Array  # (n, 3) m/s
    orientation: Array  # (n, 4) clump as given -> world
    angular_velocity: Array  # (n, 3) rad/s

    @property
    def finite(self) -> bool:
        return all(bool(np.isfinite(values).all()) for values in vars(self).values())


@dataclass(frozen=True)
class ClumpTemplate:
    name: str
    spheres: Array  # (n, 4) x, y, z, radius as given, m
    center: Array  # (3,) centre of mass, as given, m
    mass: float  # kg
    volume: float  # m^3
    inertia: Array  # (3, 3) about the centre, axes as given, kg m^2


class Trajectory:
    """The frames of a run. Arrays are read when asked for; of a run that goes on, as far as it has been written."""

    def __init__(self, run: str | PathLike[str] | h5py.File):
        self._path: Path | None = None  # None: a run in memory
        self._seen = 0  # frames that are known to be whole
        if isinstance(run, h5py.File):
            self._file = run
        else:
            self._path = Path(run) / "trajectory.h5" if Path(run).is_dir() else Path(run)
            self._file = opened(self._path)
        try:
            self._read_what_stays()
        except (KeyError, AttributeError, TypeError, ValueError):
            raise InputError(f"{run}: not a minidem trajectory; give a run directory or its trajectory.h5") from None

    def _read_what_stays(self) -> None:
        bodies = self._file["particles/bodies"]
        self.species: NDArray[np.int64] = bodies["species"][:].astype(np.int64)  # (n,) index into `clumps`
        self.mass: Array = bodies["mass"][:]  # (n,) kg
        self.box: Array | None = bodies["box/edges"][:] if "edges" in bodies["box"] else None  # (3,) m
        parameters = self._file["parameters/minidem"]
        self.scenario: str = parameters["scenario"][()].decode()  # as its author wrote it
        self.resolved: str = parameters["resolved"][()].decode()  # with every default filled in
        self.clumps = [
            ClumpTemplate(
                name=str(group.attrs["name"]),
                spheres=group["spheres"][:],
                center=group["center"][:],
                mass=float(group["mass"][()]),
                volume=float(group["volume"][()]),
                inertia=group["inertia"][:],
            )
            for group in (parameters["clumps"][str(k)] for k in range(len(parameters["clumps"])))
        ]

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.step)

    def __enter__(self) -> "Trajectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def may_grow(self) -> bool:
        """Whether its writer is at work, or was killed."""
        return self._path is not None and bool(self._file.swmr_mode)

    @property
    def step(self) -> NDArray[np.int64]:
        """(frames,)"""
        return self._frames("position", "step")

    @property
    def time(self) -> Array:
        """(frames,) s"""
        return self._frames("position", "time")

    @property
    def position(self) -> Array:
        """(frames, n, 3) of the centres of mass, m"""
        return self._frames("position")

    @property
    def velocity(self) -> Array:
        """(frames, n, 3) m/s"""
        return self._frames("velocity")

    @property
    def orientation(self) -> Array:
        """(frames, n, 4) w, x, y, z: clump as given -> world"""
        return self._frames("orientation")

    @property
    def angular_velocity(self) -> Array:
        """(frames, n, 3) world frame, rad/s"""
        return self._frames("angular_velocity")

    @property
    def observables(self) -> dict[str, Array]:
        """The energy log by name: step, time (s), the energies (J), momentum (kg m/s), angular_momentum (J s)."""
        group = self._up_to_date()["observables"]
        names = tuple(group)
        count = whole_rows(group, names)
        log = {name: group["total"][name][:count] for name in ("step", "time")}
        return log | {name: group[name]["value"][:count] for name in names}

    def frame(self, frame: int) -> Frame:
        """All bodies at a frame, -1 for the last; reads no other."""
        if not 0 <= frame < self._seen:  # else there is no need to open a file that grows anew
            self._seen = len(self)
            frame = range(self._seen)[frame]
        return Frame(**{name: self._file[f"particles/bodies/{name}/value"][frame] for name in FRAME})

    @cached_property
    def sphere_layout(self) -> tuple[NDArray[np.int64], Array, Array]:
        """The body (s,) of every sphere, its place (s, 3) from the centre of mass in the axes of the clump as given, m,
        and its radius (s,), m."""
        body = np.repeat(np.arange(self.species.size), [len(self.clumps[k].spheres) for k in self.species])
        local = np.concatenate([self.clumps[k].spheres[:, :3] - self.clumps[k].center for k in self.species])
        radius = np.concatenate([self.clumps[k].spheres[:, 3] for k in self.species])
        return body, local, radius

    def kinetic_energy(self, frame: Frame) -> Array:
        """(n,) of each body, translation and rotation, J."""
        inertia = np.array([clump.inertia for clump in self.clumps])[self.species]
        omega = quaternions.rotated(quaternions.conjugate(frame.orientation), frame.angular_velocity)  # clump as given
        turning = np.einsum("bi,bij,bj->b", omega, inertia, omega)
        return 0.5 * (self.mass * np.sum(frame.velocity**2, axis=1) + turning)

    def spheres(self, frame: int) -> tuple[Array, Array, NDArray[np.int64]]:
        """Centres (s, 3) in m, radii (s,) in m and the body (s,) of every sphere at a frame."""
        frame = range(len(self))[frame]
        position, orientation = (self._file[f"particles/bodies/{name}/value"][frame] for name in ("position", "orientation"))
        body, local, radius = self.sphere_layout
        return position[body] + quaternions.rotated(orientation[body], local), radius.copy(), body.copy()

    def _frames(self, name: str, part: str = "value") -> NDArray[Any]:
        bodies = self._up_to_date()["particles/bodies"]
        return bodies[name][part][: whole_rows(bodies, tuple(FRAME))]

    def _up_to_date(self) -> h5py.File:
        """The file, opened anew if it may have grown. (A dataset's own refresh fails in HDF5 2.0.)"""
        if self.may_grow and self._path is not None:
            self._file.close()
            self._file = opened(self._path)
        return self._file


def whole_rows(group: h5py.Group, names: tuple[str, ...]) -> int:
    """Rows that all elements have: HDF5 writes them in an order of its own, and a writer may have been killed."""
    parts = [f"{names[0]}/step", f"{names[0]}/time", *(f"{name}/value" for name in names)]
    return min(len(group[part]) for part in parts)


def opened(path: Path) -> h5py.File:
    """The file for reading; in reading-while-writing mode if its writer is at work or was killed."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give a run directory or its trajectory.h5")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path}: not an HDF5 file; give a run directory or its trajectory.h5")
    with open(path, "rb") as file:
        superblock = file.read(12)
    written = superblock[8] == 3 and superblock[11] & 4 != 0  # HDF5 file format, version 3: the SWMR flag
    try:
        return h5py.File(path, "r", swmr=written)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def writer_of(directory: Path) -> int | None:
    """The process that is writing a run there, if it is alive and on this machine."""
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
        if manifest["status"] != "running" or manifest["host"] != platform.node():
            return None
        os.kill(manifest["pid"], 0)  # asks whether the process exists
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return int(manifest["pid"])
