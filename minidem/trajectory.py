"""Reading a run back: finished, still going on, or killed."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from . import quaternions
from .errors import InputError

Array = NDArray[np.float64]
FRAME = ("position", "velocity", "orientation", "angular_velocity")


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
        if isinstance(run, h5py.File):
            self._file = run
        else:
            path = Path(run)
            self._file = opened(path / "trajectory.h5" if path.is_dir() else path)
        if "parameters/minidem" not in self._file:
            raise InputError(f"{run}: not a minidem trajectory; give a run directory or its trajectory.h5")
        bodies = self._file["particles/bodies"]
        self.species: NDArray[np.int64] = bodies["species"][:].astype(np.int64)  # (n,) index into `clumps`
        self.mass: Array = bodies["mass"][:]  # (n,) kg
        self.box: Array | None = bodies["box/edges"][:] if "edges" in bodies["box"] else None  # (3,) m
        parameters = self._file["parameters/minidem"]
        self.scenario: str = parameters["scenario"][()].decode()  # as its author wrote it
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
        return self._whole_rows("particles/bodies", FRAME)

    def __enter__(self) -> "Trajectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def step(self) -> NDArray[np.int64]:
        """(frames,)"""
        return self._fresh("particles/bodies/position/step")[: len(self)]

    @property
    def time(self) -> Array:
        """(frames,) s"""
        return self._fresh("particles/bodies/position/time")[: len(self)]

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
        names = tuple(self._file["observables"])
        count = self._whole_rows("observables", names)
        log = {name: self._fresh(f"observables/total/{name}")[:count] for name in ("step", "time")}
        return log | {name: self._fresh(f"observables/{name}/value")[:count] for name in names}

    def spheres(self, frame: int) -> tuple[Array, Array, NDArray[np.int64]]:
        """Centres (s, 3) in m, radii (s,) in m and the body (s,) of every sphere at a frame."""
        frame = range(len(self))[frame]
        position = self._fresh("particles/bodies/position/value")[frame]
        orientation = self._fresh("particles/bodies/orientation/value")[frame]
        body = np.repeat(np.arange(self.species.size), [len(self.clumps[k].spheres) for k in self.species])
        local = np.concatenate([self.clumps[k].spheres[:, :3] - self.clumps[k].center for k in self.species])
        radius = np.concatenate([self.clumps[k].spheres[:, 3] for k in self.species])
        return position[body] + quaternions.rotated(orientation[body], local), radius, body

    def _whole_rows(self, group: str, names: tuple[str, ...]) -> int:
        """Rows that all elements have: HDF5 writes them in an order of its own, and a writer may have been killed."""
        parts = [f"{names[0]}/step", f"{names[0]}/time", *(f"{name}/value" for name in names)]
        return min(len(self._fresh(f"{group}/{part}")) for part in parts)

    def _frames(self, name: str) -> Array:
        return self._fresh(f"particles/bodies/{name}/value")[: len(self)]

    def _fresh(self, name: str) -> h5py.Dataset:
        dataset = self._file[name]
        if self._file.swmr_mode:
            dataset.refresh()
        return dataset


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
