"""Reading a run back: finished, still going on, or killed."""

import contextlib
import ctypes
import json
import mmap
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard

import h5py
import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..errors import InputError
from ..machine import available_memory, in_bytes

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
ENERGIES = ("kinetic_translational", "kinetic_rotational", "elastic", "gravity", "total")  # J
VECTORS = {"momentum": "kg m s-1", "angular_momentum": "kg m+2 s-1"}
UNWRITTEN = 2**26  # bytes that a writer may have made room for without writing them, before it was killed
LARGEST_RATIO = 1100  # of compressed data; deflate reaches 1032
HEAP = b"GCOL\1\0\0\0"  # HDF5 file format: a global heap
READ_ATTEMPTS = 24
LARGEST_MANIFEST = 2**24  # bytes
SPHERE_BYTES = 160  # of memory to rebuild one sphere


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
    builtin: str = ""  # name of the built-in shape that it is, such as "chess/pawn"


@dataclass(frozen=True)
class Planes:
    """The scenario's [[wall]] half-spaces; bodies are on the side that the normal points to."""

    point: Array  # (w, 3) m
    normal: Array  # (w, 3) unit


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
        remedy = "give a run directory or its trajectory.h5"
        try:
            with self._reading(f"{run}: not a minidem trajectory; {remedy}"):
                self._read_what_stays()
        except InputError:
            if self._path is not None:
                self.close()
            raise

    def _read_what_stays(self) -> None:
        bodies = self._group("particles/bodies")
        self.mass: Array = self._numbers(bodies, "mass", (None,))  # (n,) kg
        self.species: NDArray[np.int64] = self._numbers(bodies, "species", self.mass.shape, np.int64)  # (n,) into `clumps`
        box = self._group("particles/bodies/box")
        self.box: Array | None = self._numbers(box, "edges", (3,)) if "edges" in box else None  # (3,) m
        parameters = self._group("parameters/minidem")
        self.scenario: str = self._text(element(parameters, "scenario"))  # as its author wrote it
        self.resolved: str = self._text(element(parameters, "resolved"))  # with every default filled in
        self.planes = Planes(np.empty((0, 3)), np.empty((0, 3)))
        if "walls" in parameters:  # absent from files of version 0.1
            walls = self._group("parameters/minidem/walls/planes")
            point = self._numbers(walls, "point", (None, 3))
            self.planes = Planes(point, self._numbers(walls, "normal", point.shape))
        self.clumps = []
        for k in range(len(self._group("parameters/minidem/clumps"))):
            group = self._group(f"parameters/minidem/clumps/{k}")
            template = ClumpTemplate(
                name=self._text(group.attrs, "name"),
                spheres=self._numbers(group, "spheres", (None, 4)),
                center=self._numbers(group, "center", (3,)),
                mass=float(self._numbers(group, "mass", ())),
                volume=float(self._numbers(group, "volume", ())),
                inertia=self._numbers(group, "inertia", (3, 3)),
                builtin=self._text(group.attrs, "builtin") if "builtin" in group.attrs else "",
            )
            if not len(template.spheres):
                raise ValueError(f"clump {k} has no spheres")
            self.clumps.append(template)
        if not (self.species.size and 0 <= self.species.min() <= self.species.max() < len(self.clumps)):
            raise ValueError("bodies of no clump")

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
        return self._frames("step")

    @property
    def time(self) -> Array:
        """(frames,) s"""
        return self._frames("time")

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
        shapes = {name: () for name in ENERGIES} | {name: (3,) for name in VECTORS}
        with self._reading():
            return self._rows("observables", shapes)

    def frame(self, frame: int) -> Frame:
        """All bodies at a frame, -1 for the last; reads no other."""
        return Frame(**self._states(frame, *FRAME))

    def _states(self, frame: int, *names: str) -> dict[str, Array]:
        if not 0 <= frame < self._seen:  # else there is no need to open a file that grows anew
            self._seen = len(self)
            frame = range(self._seen)[frame]
        with self._reading():
            bodies = self._group("particles/bodies")
            shapes = {name: (None, self.mass.size, FRAME[name][0]) for name in names}
            return {
                name: numbers_at(bodies, f"{name}/value", shape, self._path)[frame].astype(float)
                for name, shape in shapes.items()
            }

    @cached_property
    def sphere_layout(self) -> tuple[NDArray[np.int64], Array, Array]:
        """The body (s,) of every sphere, its place (s, 3) from the centre of mass in the axes of the clump as given, m,
        and its radius (s,), m."""
        needed = SPHERE_BYTES * sum(len(self.clumps[k].spheres) for k in self.species)
        if (free := available_memory()) is not None and needed > free:
            sizes = f"its spheres need about {in_bytes(needed)} of memory, {in_bytes(free)} are free"
            raise InputError(f"{self._name}: {sizes}; look at the bodies instead")
        body = np.repeat(np.arange(self.species.size), [len(self.clumps[k].spheres) for k in self.species])
        local = np.concatenate([self.clumps[k].spheres[:, :3] - self.clumps[k].center for k in self.species])
        radius = np.concatenate([self.clumps[k].spheres[:, 3] for k in self.species])
        return body, local, radius

    def kinetic_energy(self, frame: Frame) -> Array:
        """(n,) of each body, translation and rotation, J."""
        inertia = np.array([clump.inertia for clump in self.clumps])[self.species]
        with np.errstate(over="ignore", invalid="ignore"):  # of a run that blew up
            omega = quaternions.rotated(quaternions.conjugate(frame.orientation), frame.angular_velocity)  # clump as given
            turning = np.einsum("bi,bij,bj->b", omega, inertia, omega)
            return 0.5 * (self.mass * np.sum(frame.velocity**2, axis=1) + turning)

    def spheres(self, frame: int) -> tuple[Array, Array, NDArray[np.int64]]:
        """Centres (s, 3) in m, radii (s,) in m and the body (s,) of every sphere at a frame."""
        position, orientation = self._states(frame, "position", "orientation").values()
        body, local, radius = self.sphere_layout
        with np.errstate(over="ignore", invalid="ignore"):
            return position[body] + quaternions.rotated(orientation[body], local), radius.copy(), body.copy()

    def _frames(self, name: str) -> NDArray[Any]:
        shapes = {name: (self.mass.size, size) for name, (size, _) in FRAME.items()}
        with self._reading():
            return self._rows("particles/bodies", shapes, (name,))[name]

    def _rows(
        self, where: str, shapes: Mapping[str, tuple[int, ...]], wanted: tuple[str, ...] = ()
    ) -> dict[str, NDArray[Any]]:
        """What is wanted, or all, of step, time and the elements of these shapes. Only the rows that all of them have:
        HDF5 writes them in an order of its own, and a writer may have been killed."""
        self._up_to_date()
        group, first = self._group(where), next(iter(shapes))
        datasets = {name: numbers_at(group, f"{name}/value", (None, *shape), self._path) for name, shape in shapes.items()}
        datasets |= {"step": numbers_at(group, f"{first}/step", (None,), self._path, "iu")}
        datasets |= {"time": numbers_at(group, f"{first}/time", (None,), self._path)}
        count = min(map(len, datasets.values()))
        return {
            name: datasets[name][:count].astype(np.int64 if name == "step" else np.float64, copy=False)
            for name in wanted or ("step", "time", *shapes)
        }

    @property
    def _name(self) -> str:
        """In messages."""
        return str(self._path or "the run in memory")

    @contextlib.contextmanager
    def _reading(self, otherwise: str = "") -> Iterator[None]:
        """Says in one line what is wrong with a damaged or a foreign file, whatever HDF5 and h5py make of it."""
        if not self._file:
            raise ValueError(f"{self._name}: is closed")
        try:
            yield
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            MemoryError,
            OSError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise InputError(otherwise or f"{self._name}: is damaged ({what}); run it anew") from None

    def _group(self, path: str) -> h5py.Group:
        group = element(self._file, path)
        if not isinstance(group, h5py.Group):  # to look for a name in a dataset would be to read all of it
            raise TypeError(f"{path} is no group")
        return group

    def _numbers(self, group: h5py.Group, path: str, shape: tuple[int | None, ...], kind: type = np.float64) -> NDArray[Any]:
        """All of a dataset."""
        return numbers_at(group, path, shape, self._path, "iu" if kind is np.int64 else "iuf")[()].astype(kind)

    def _text(self, holder: Any, name: str = "") -> str:
        """Of a dataset, or of the attribute of that name."""
        stored = holder.get_id(name) if name else holder.id
        kind = h5py.check_string_dtype(stored.dtype)
        if stored.shape != () or kind is None:
            raise TypeError(f"{name or holder.name} is no text")
        if kind.length is None and self._path is not None:
            check_heaps(self._path)
        text = holder[name] if name else holder[()]
        return text if isinstance(text, str) else bytes(text).decode()

    def _up_to_date(self) -> h5py.File:
        """The file, opened anew if it may have grown. (A dataset's own refresh fails in HDF5 2.0.)"""
        if self.may_grow and self._path is not None:
            self._file.close()
            self._file = opened(self._path)
        return self._file


def default_directory(name: str) -> Path:
    """Where a scenario or a study of that name is written to. A link there might lead anywhere."""
    directory = Path("output") / name
    if directory.is_symlink():
        raise InputError(f"{directory}: is a link; remove it, or give the directory with --out")
    return directory


def element(group: h5py.Group, path: str) -> Any:
    """What is at that path of this very file: links other than those of the file itself may lead anywhere."""
    for name in path.split("/"):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise KeyError(f"no {name} in {group.name}")
        group = group[name]
    return group


def numbers_at(
    group: h5py.Group, path: str, shape: tuple[int | None, ...], file: Path | None, kinds: str = "iuf"
) -> h5py.Dataset:
    """A dataset of numbers, of that shape, None for any length. Before memory is taken for it, it is compared with what
    the file holds, None for one in memory: a few bytes can declare any size."""
    dataset = element(group, path)
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in kinds or dataset.dtype.itemsize > 16:
        raise TypeError(f"{path} of {group.name} holds no such numbers")
    found = dataset.shape
    if found is None or len(found) != len(shape) or any(k not in (None, n) for k, n in zip(shape, found, strict=True)):
        raise ValueError(f"{dataset.name} has the shape {found}")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} is kept in other files")
    if dataset.nbytes > UNWRITTEN and file is not None:
        held = min(dataset.id.get_storage_size(), file.stat().st_size)
        if dataset.nbytes > UNWRITTEN + held * (LARGEST_RATIO if dataset.id.get_create_plist().get_nfilters() else 1):
            raise ValueError(f"{dataset.name} declares {in_bytes(dataset.nbytes)} and holds {in_bytes(held)}")
    return dataset


def check_heaps(path: Path) -> None:
    """Text of variable length, as in older files, is in heaps without checksums. HDF5 may go round in a damaged one forever:
    each object has to end within its heap, and after its beginning."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(HEAP)
        while at >= 0:
            place, end = at + 16, at + int.from_bytes(data[at + 8 : at + 16], "little")
            while place <= end - 16:
                number, size = int.from_bytes(data[place : place + 2], "little"), data[place + 8 : place + 16]
                length = int.from_bytes(size, "little")
                step = -(-length // 8) * 8 + 16 if number else length  # number 0 is what is free, header and all
                if step < 16 or place + step > end:
                    raise ValueError("a damaged heap")
                place += step
            at = data.find(HEAP, at + 8)


def opened(path: Path) -> h5py.File:
    """The file for reading; in reading-while-writing mode if its writer is at work or was killed."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give a run directory or its trajectory.h5")
    if not h5py.is_hdf5(path):
        raise InputError(f"{path}: not an HDF5 file; give a run directory or its trajectory.h5")
    with open(path, "rb") as file:
        superblock = file.read(12)
    written = superblock[8:9] == b"\3" and superblock[11] & 4 != 0  # HDF5 file format, version 3: the SWMR flag
    try:
        return opened_while_written(path) if written else h5py.File(path, "r")
    except (OSError, RuntimeError, LookupError, ValueError) as error:  # as HDF5 and h5py please
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())})") from None


def opened_while_written(path: Path) -> h5py.File:
    """What is just being written may look damaged, so HDF5 reads it again, and waits twice as long before each attempt. It
    makes a hundred of them, 10^21 s for a file that is damaged indeed; with READ_ATTEMPTS that is 10 to 20 ms."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    with contextlib.suppress(OSError, AttributeError):  # where the library cannot be reached beside h5py
        set_attempts = ctypes.CDLL(h5py.h5p.__file__).H5Pset_metadata_read_attempts
        set_attempts(ctypes.c_int64(access.id), ctypes.c_uint(READ_ATTEMPTS))
    return h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ, access))


def manifest_of(directory: Path) -> dict[str, Any]:
    """Of the run there. Nothing where none can be read, as of a run that was killed at its very start."""
    path = directory / "manifest.json"
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_MANIFEST:  # a pipe might never end
            return {}
        manifest = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def is_summary(found: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it is what `minidem run --json` prints: manifests may be damaged."""
    if not isinstance(found, dict) or not isinstance(found.get("energy"), dict):
        return False
    texts = [found.get(name) for name in ("run_dir", "integrator", "status")]
    numbers: list[Any] = [
        found.get(name) for name in ("bodies", "spheres", "steps", "dt", "wall_s", "us_per_step", "compile_s")
    ]
    numbers += [value for value in found["energy"].values() if value is not None]
    return (
        all(isinstance(text, str) for text in texts)
        and all(type(value) in (int, float) and -1e300 < value < 1e300 for value in numbers)
        and found["energy"].keys() == {"initial", "final", "drift_mean", "drift_last", "drift_max"}
    )


def writer_of(directory: Path) -> int | None:
    """The process that is writing a run there, if it is alive and on this machine."""
    manifest = manifest_of(directory)
    process = manifest.get("pid")
    if manifest.get("status") != "running" or manifest.get("host") != platform.node():
        return None
    if type(process) is not int or process <= 0:
        return None
    try:
        os.kill(process, 0)  # asks whether it exists
    except (OSError, OverflowError):
        return None
    return process
