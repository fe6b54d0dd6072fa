"""Read a run back: finished, running or killed."""

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import h5py
import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..errors import InputError, NotRecorded
from ..machine import available_memory, in_bytes
from ..notebook import card
from ..scenario.values import NEEDED_FIELDS
from .frame_array import FrameArray, no_such_frame
from .hdf5 import DAMAGE, element, group_at, largest_ratio, members, numbers_at, opened, text_at
from .series import ENERGIES, FRAME, VECTORS
from .tables import EnergyLog, dataset_of

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
SPHERE_BYTES = 160  # memory needed to rebuild one sphere


@dataclass(frozen=True)
class Frame:
    """All n bodies at one step, in world axes and in the order of the scenario. What the run did not record (output.fields)
    is not there: asking for it raises NotRecorded."""

    position: Array  # (n, 3) of the centres of mass, m
    velocity: Array  # (n, 3) m/s
    orientation: Array  # (n, 4) w, x, y, z: clump as given -> world
    angular_velocity: Array  # (n, 3) rad/s
    time: float = 0.0  # s
    step: int = 0

    @property
    def finite(self) -> bool:
        """Whether all values are finite numbers."""
        return all(bool(np.isfinite(values).all()) for values in vars(self).values())

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Frame":
        """A frame with these values only."""
        frame = object.__new__(cls)
        vars(frame).update(values)
        return frame

    def __getattr__(self, name: str) -> Any:
        """What is not among the values."""
        if name in (field.name for field in fields(self)):
            raise NotRecorded("the frame", name)
        raise AttributeError(f"a Frame has no {name}")

    def __repr__(self) -> str:
        return f"<Frame of {len(self.position)} bodies at {self.time:.6g} s, step {self.step}: {', '.join(vars(self))}>"


class Spheres(NamedTuple):
    """All s spheres at one step, body by body."""

    centres: Array  # (s, 3) m
    radii: Array  # (s,) m
    body: NDArray[np.int64]  # (s,) the body of each sphere


@dataclass(frozen=True)
class ClumpTemplate:
    """A clump of the scenario, as it was given."""

    name: str
    spheres: Array  # (n, 4) x, y, z, radius as given, m
    center: Array  # (3,) centre of mass, as given, m
    mass: float  # kg
    volume: float  # m^3
    inertia: Array  # (3, 3) about the centre, axes as given, kg m^2
    builtin: str = ""  # name of the built-in shape that it is, such as "chess/pawn"


@dataclass(frozen=True)
class Planes:
    """The scenario's [[wall]] half-spaces; bodies are on the side that the normal points to."""

    point: Array  # (w, 3) m
    normal: Array  # (w, 3) unit


class Trajectory:
    """The frames and the energy log of a run; `run` is a run directory or its trajectory.h5.

    ``len(trajectory)`` is the number of frames, ``trajectory[k]`` one Frame (-1 for the last), ``trajectory[a:b]`` a list of
    them, and iteration yields one after the other. Numbers are read from the file when they are asked for:
    ``trajectory.position[k]`` reads one frame, ``numpy.asarray(trajectory.position)`` all. The run may still be running, or
    may have been killed: then there are as many frames as were written.
    """

    def __init__(self, run: str | PathLike[str] | h5py.File):
        self._path: Path | None = None  # None for a run in memory
        self._seen = 0  # frames that are known to be whole
        self._replaced = False  # whether the file was not there when it was to be opened again
        if isinstance(run, h5py.File):
            self._file = run
        else:
            self._path = Path(run) / "trajectory.h5" if Path(run).is_dir() else Path(run)
            self._file = opened(self._path)
        remedy = "give a run directory or its trajectory.h5"
        try:
            with self._reading(f"{run}: not a minidem trajectory; {remedy}"):
                self._read_constants()
        except InputError:
            if self._path is not None:
                self.close()
            raise

    def _read_constants(self) -> None:
        self._left = math.inf if self._path is None else self._path.stat().st_size  # bytes, compressed, still to be read
        bodies = group_at(self._file, "particles/bodies")
        self.fields = tuple(name for name in FRAME if name in bodies or name in NEEDED_FIELDS)  # what was recorded
        self.mass: Array = self._numbers(bodies, "mass", (None,))  # (n,) kg
        self.species: NDArray[np.int64] = self._numbers(bodies, "species", self.mass.shape, np.int64)  # (n,) into `clumps`
        box = group_at(self._file, "particles/bodies/box")
        self.box: Array | None = self._numbers(box, "edges", (3,)) if "edges" in box else None  # (3,) m
        parameters = group_at(self._file, "parameters/minidem")
        self.scenario: str = text_at(element(parameters, "scenario"), self._path)  # as its author wrote it
        self.resolved: str = text_at(element(parameters, "resolved"), self._path)  # with every default filled in
        self.planes = Planes(np.empty((0, 3)), np.empty((0, 3)))
        if "walls" in parameters:  # absent from files of version 0.1
            walls = group_at(self._file, "parameters/minidem/walls/planes")
            point = self._numbers(walls, "point", (None, 3))
            self.planes = Planes(point, self._numbers(walls, "normal", point.shape))
        self.clumps = []
        for k in range(len(members(group_at(self._file, "parameters/minidem/clumps"), self._path))):
            group = group_at(self._file, f"parameters/minidem/clumps/{k}")
            template = ClumpTemplate(
                name=text_at(group.attrs, self._path, "name"),
                spheres=self._numbers(group, "spheres", (None, 4)),
                center=self._numbers(group, "center", (3,)),
                mass=float(self._numbers(group, "mass", ())),
                volume=float(self._numbers(group, "volume", ())),
                inertia=self._numbers(group, "inertia", (3, 3)),
                builtin=text_at(group.attrs, self._path, "builtin") if "builtin" in group.attrs else "",
            )
            if not len(template.spheres):
                raise ValueError(f"clump {k} has no spheres")
            self.clumps.append(template)
        if not (self.species.size and 0 <= self.species.min() <= self.species.max() < len(self.clumps)):
            raise ValueError("bodies of no clump")

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.step)

    @overload
    def __getitem__(self, frame: int) -> Frame: ...

    @overload
    def __getitem__(self, frame: slice) -> list[Frame]: ...

    def __getitem__(self, frame: int | slice) -> Frame | list[Frame]:
        """One frame, -1 for the last, or the list of frames of a slice."""
        if isinstance(frame, slice):
            return [self.frame(k) for k in range(*frame.indices(len(self)))]
        return self.frame(frame)

    def __iter__(self) -> Iterator[Frame]:
        """The frames, one at a time."""
        return (self.frame(k) for k in range(len(self)))

    def __enter__(self) -> "Trajectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; nothing can be read afterwards."""
        self._file.close()
        self._replaced = False

    def __repr__(self) -> str:
        facts = ", ".join(self._facts().values()) if self._file else "closed"
        return f"<Trajectory of {self._name}: {facts}>"

    def _repr_html_(self) -> str:
        return card(f"Trajectory of {self._name}", self._facts(), {"scenario": self.scenario}) if self._file else repr(self)

    def _facts(self) -> dict[str, str]:
        """The sizes of the run, by name."""
        time, spheres = self.time, sum(len(self.clumps[k].spheres) for k in self.species)
        return {
            "frames": f"{len(time):,} frames" + (f" from {time[0]:.6g} to {time[-1]:.6g} s" if len(time) else ""),
            "bodies": f"{self.mass.size:,} bodies of {spheres:,} spheres",
            "fields": ", ".join(self.fields),
        }

    @property
    def may_grow(self) -> bool:
        """Whether the writer of the run is at work, or was killed."""
        return self._path is not None and bool(self._file.swmr_mode)

    @property
    def step(self) -> NDArray[np.int64]:
        """(frames,) step of each frame"""
        return self._frames("step")

    @property
    def time(self) -> Array:
        """(frames,) time of each frame, s"""
        return self._frames("time")

    @property
    def position(self) -> FrameArray:
        """(frames, n, 3) of the centres of mass, m"""
        return self._frame_array("position")

    @property
    def velocity(self) -> FrameArray:
        """(frames, n, 3) m/s"""
        return self._frame_array("velocity")

    @property
    def orientation(self) -> FrameArray:
        """(frames, n, 4) w, x, y, z: clump as given -> world"""
        return self._frame_array("orientation")

    @property
    def angular_velocity(self) -> FrameArray:
        """(frames, n, 3) world frame, rad/s"""
        return self._frame_array("angular_velocity")

    @property
    def observables(self) -> EnergyLog:
        """The energy log by name: step, time (s), the energies (J), edge_error (J) if the run recorded it, momentum
        (kg m/s), angular_momentum (J s)."""
        shapes: dict[str, tuple[int, ...]] = {name: () for name in ENERGIES} | {name: (3,) for name in VECTORS}
        with self._reading():
            if "edge_error" in group_at(self._file, "observables"):
                shapes["edge_error"] = ()
            return EnergyLog(self._rows("observables", shapes))

    @property
    def energy(self) -> EnergyLog:
        """The energy log: ``trajectory.energy["total"]`` is an array, ``trajectory.energy.to_dataframe()`` a DataFrame."""
        return self.observables

    def to_xarray(self, frames: slice = slice(None)) -> "xarray.Dataset":
        """The frames, or those of a slice, as an xarray.Dataset: position, orientation and the other numbers that were
        recorded, with the dimensions time, body and component (or quaternion), and units in their attributes."""
        return dataset_of(self, frames)

    @property
    def path(self) -> Path | None:
        """The trajectory file; None for a run in memory."""
        return self._path

    def frame(self, frame: int) -> Frame:
        """All bodies at a frame, -1 for the last; reads no other frame. IndexError if there is no such frame."""
        frame = self.number_of(frame)
        states = self._states(frame, *self.fields)
        with self._reading():
            series = group_at(self._file, f"particles/bodies/{self.fields[0]}")
            time = float(numbers_at(series, "time", (None,), self._path, growing=True)[frame])
            step = int(numbers_at(series, "step", (None,), self._path, "iu", growing=True)[frame])
        return Frame.of(states | {"time": time, "step": step})

    def number_of(self, frame: int) -> int:
        """The number of a frame counted from the first, if `frame` may count from the last; IndexError if there is none."""
        if not 0 <= frame < self._seen:  # else a growing file need not be opened again
            self._seen = len(self)
            if not -self._seen <= frame < self._seen:
                raise IndexError(no_such_frame(frame, self._seen))
            frame = range(self._seen)[frame]
        return frame

    def _states(self, frame: int | slice, *names: str) -> dict[str, Array]:
        """(n, 3) or (n, 4) values of all bodies at a frame, or (frames, n, 3) or (frames, n, 4) of a slice, by name."""
        with self._reading():
            bodies = group_at(self._file, "particles/bodies")
            shapes = {name: (None, self.mass.size, FRAME[name][0]) for name in names}
            return {
                name: numbers_at(bodies, f"{name}/value", shape, self._path, growing=True)[frame].astype(float, copy=False)
                for name, shape in shapes.items()
            }

    def _frame_array(self, name: str) -> FrameArray:
        if name not in self.fields:
            raise NotRecorded(self._name, name)
        shape = (len(self), self.mass.size, FRAME[name][0])
        return FrameArray(lambda frames: self._states(frames, name)[name], shape)

    @cached_property
    def sphere_layout(self) -> tuple[NDArray[np.int64], Array, Array]:
        """For every sphere its body (s,), its position (s, 3) relative to the centre of mass in the axes of the clump as
        given, m, and its radius (s,), m."""
        needed = SPHERE_BYTES * sum(len(self.clumps[k].spheres) for k in self.species)
        self._check_memory("its spheres", needed, "look at the bodies instead")
        body = np.repeat(np.arange(self.species.size), [len(self.clumps[k].spheres) for k in self.species])
        local = np.concatenate([self.clumps[k].spheres[:, :3] - self.clumps[k].center for k in self.species])
        radius = np.concatenate([self.clumps[k].spheres[:, 3] for k in self.species])
        return body, local, radius

    def kinetic_energy(self, frame: Frame) -> Array:
        """(n,) kinetic energy of each body, translation and rotation, J."""
        inertia = np.array([clump.inertia for clump in self.clumps])[self.species]
        with np.errstate(over="ignore", invalid="ignore"):  # in a run that blew up
            omega = quaternions.rotated(quaternions.conjugate(frame.orientation), frame.angular_velocity)  # clump as given
            rotation = np.einsum("bi,bij,bj->b", omega, inertia, omega)
            energy: Array = 0.5 * (self.mass * np.sum(frame.velocity**2, axis=1) + rotation)
            return energy

    def spheres(self, frame: int) -> Spheres:
        """Centres (s, 3) in m, radii (s,) in m and the body (s,) of every sphere at a frame."""
        position, orientation = self._states(self.number_of(frame), "position", "orientation").values()
        body, local, radius = self.sphere_layout
        with np.errstate(over="ignore", invalid="ignore"):
            centres = position[body] + quaternions.rotated(orientation[body], local)
        return Spheres(centres, radius.copy(), body.copy())

    def _frames(self, name: str) -> NDArray[Any]:
        shapes = {name: (self.mass.size, FRAME[name][0]) for name in self.fields}
        with self._reading():
            return self._rows("particles/bodies", shapes, (name,))[name]

    def _rows(
        self, where: str, shapes: Mapping[str, tuple[int, ...]], wanted: tuple[str, ...] = ()
    ) -> dict[str, NDArray[Any]]:
        """The `wanted` ones, or all, of step, time and the elements of these shapes. Only complete rows: HDF5 writes the
        elements in any order, and the writer may have been killed in between."""
        self._up_to_date()
        group, first = group_at(self._file, where), next(iter(shapes))
        parts = {name: (f"{name}/value", (None, *shape), "iuf") for name, shape in shapes.items()}
        parts |= {"step": (f"{first}/step", (None,), "iu"), "time": (f"{first}/time", (None,), "iuf")}
        datasets = {
            name: numbers_at(group, path, shape, self._path, kinds, growing=True)
            for name, (path, shape, kinds) in parts.items()
        }
        count = min(map(len, datasets.values()))
        names = wanted or ("step", "time", *shapes)
        needed = 16 * count * sum(math.prod(datasets[name].shape[1:]) for name in names)  # as they are, and as float64
        self._check_memory(f"{count} rows of its {where}", needed, "read one frame at a time")
        return {
            name: datasets[name][:count].astype(np.int64 if name == "step" else np.float64, copy=False) for name in names
        }

    def _check_memory(self, what: str, needed: int, remedy: str) -> None:
        """Raise InputError if there is not as much free memory as is needed, bytes."""
        if (free := available_memory()) is not None and needed > free:
            sizes = f"{what} need about {in_bytes(needed)} of memory, {in_bytes(free)} are free"
            raise InputError(f"{self._name}: {sizes}; {remedy}")

    @property
    def _name(self) -> str:
        """The file, for messages."""
        return str(self._path or "the run in memory")

    @contextlib.contextmanager
    def _reading(self, otherwise: str = "") -> Iterator[None]:
        """Turns any error of h5py about a damaged or foreign file into one InputError."""
        if not self._file and not self._replaced:
            raise ValueError(f"{self._name}: is closed")
        try:
            yield
        except DAMAGE as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise InputError(otherwise or f"{self._name}: is damaged ({what}); run it anew") from None

    def _numbers(self, group: h5py.Group, path: str, shape: tuple[int | None, ...], kind: type = np.float64) -> NDArray[Any]:
        """The values of a dataset."""
        dataset = numbers_at(group, path, shape, self._path, "iu" if kind is np.int64 else "iuf")
        self._left -= dataset.nbytes / largest_ratio(dataset)
        if self._left < 0:
            raise ValueError(f"its constants are larger than the file: {dataset.name} has several names")
        return np.asarray(dataset[()], kind)

    def _up_to_date(self) -> h5py.File:
        """The file, opened again if it may have grown. (The refresh of a dataset fails in HDF5 2.0.)"""
        if self._path is not None and (self._replaced or self.may_grow):
            self._file.close()
            self._replaced = True  # until there is a file to open: its writer may just be replacing it
            self._file = opened(self._path)
            self._replaced = False
        return self._file
