"""Runs in the formats of other programs. Reads run directories only; never sees a kernel.

Every format holds the same: points that are the spheres, or the centres of mass of the bodies, with (SI units, world frame)

    sphere            number in the run, as in `Trajectory.spheres` (where the points are spheres)
    body, species     numbers in the run
    radius            m; of a body: of the ball of the same volume
    body_mass         kg
    velocity          m/s, of the point: of a sphere v + omega x r
    body_speed        m/s, of the body's centre of mass
    angular_velocity  rad/s
    quaternion        w, x, y, z: clump as given -> world
    kinetic_energy    J, of the body, translation and rotation

What belongs to a body is repeated at each of its spheres. Frames are copied one by one: no run is too
large for the memory.
"""

import contextlib
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

import h5py
import numpy as np
from numpy.typing import NDArray

from ... import quaternions
from ...errors import InputError, WriteError, unknown_name
from ...files.manifest import manifest_of, writer_of
from ...files.names import FILES
from ...files.trajectory import Trajectory

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
LARGEST_CHUNK = 2**15  # rows


def export_run(
    run: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    format: str | None = None,
    frames: str = ":",
    bodies: str = ":",
    species: Sequence[str] = (),
    what: str = "spheres",
    overwrite: bool = False,
) -> dict[str, Any]:
    """Writes a run, or the frames and bodies of it that are chosen, and reports what was written."""
    run = Path(run)
    format = format_of(format, out)
    if what not in ("spheres", "bodies"):
        raise unknown_name("--what", what, ("spheres", "bodies"))
    with Trajectory(run) as trajectory, np.errstate(over="ignore", invalid="ignore"):  # of a run that blew up
        note = why_unfinished(run, trajectory)  # first: more frames may come
        times = trajectory.time
        if not len(times):
            raise InputError(f"{run}: has no frames{f', as it {note}' if note else ''}; wait for the first, or run it anew")
        cloud = Cloud(
            run,
            trajectory,
            selected(frames, len(times), "--frames", f"{run} has frames"),
            selected_bodies(trajectory, run, bodies, species),
            what,
        )
        path = target_of(format, run, out, overwrite)
        try:
            files = FORMATS[format][1](cloud, path)
        except (OSError, RuntimeError) as error:  # RuntimeError is h5py's word for some of HDF5's
            raise WriteError(f"{path}: cannot be written to ({error})") from error
    return {
        "format": format,
        "file": str(path),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "what": what,
        "points": len(cloud.body),
        "frames": len(cloud.frames),
        "first_time": float(cloud.times[0]),
        "last_time": float(cloud.times[-1]),
        "middle": np.mean(cloud.bounds, axis=0).tolist() if format == "gsd" else None,
        "note": note and f"{run}: {note}; there are {len(times)} frames, up to {times[-1]:.6g} s",
    }


def why_unfinished(run: Path, trajectory: Trajectory) -> str | None:
    """Why a run has less than its scenario asks for; None if it ended well."""
    directory = run if run.is_dir() else run.parent
    copied = run.is_file() and run.name != "trajectory.h5"  # the manifest beside it, if any, is of another run
    manifest = {} if copied else manifest_of(directory)
    status, host, process = (manifest.get(key) for key in ("status", "host", "pid"))
    if None in (status, host, process):
        return "is still being written, or was killed" if trajectory.may_grow else None
    if status == "running" and host != platform.node():
        return f"is still being written on {host}, or was killed there"
    if status == "running":
        return f"is still being written, by process {process}" if writer_of(directory) else "was killed before its end"
    return None if status == "ok" else "failed before its end" if status == "failed" else f"was {status} before its end"


# --- choosing ------------------------------------------------------------------------------------------------


def selected(text: str, count: int, option: str, there_are: str) -> list[int]:
    """Numbers and slices as in Python, as in 0,5,-1 or 0:100:10; in order, each once."""
    found: set[int] = set()
    for part in text.split(","):
        try:
            numbers = [int(number) if number.strip() else None for number in part.split(":")]
            if len(numbers) > 3 or numbers == [None]:
                raise ValueError
            if len(numbers) > 1:
                found.update(range(count)[slice(*numbers)])
                continue
        except ValueError:  # no number, or a slice of step 0
            raise InputError(f"{option} {text}: must be numbers and slices, as in 0,5,-1 or 0:100:10") from None
        try:
            found.add(range(count)[numbers[0]])  # type: ignore[index]
        except IndexError:
            raise InputError(f"{option} {text}: there is no {numbers[0]}; {there_are} 0 to {count - 1}") from None
    if not found:
        raise InputError(f"{option} {text}: selects nothing; {there_are} 0 to {count - 1}")
    return sorted(found)


def selected_bodies(trajectory: Trajectory, run: Path, text: str, species: Sequence[str]) -> NDArray[np.int64]:
    bodies = np.array(selected(text, trajectory.species.size, "--bodies", f"{run} has bodies"))
    names = [clump.name for clump in trajectory.clumps]
    for name in species:
        if name not in names:
            raise unknown_name("--species", name, names)
    if species:
        bodies = bodies[np.isin(trajectory.species[bodies], [names.index(name) for name in species])]
    if not len(bodies):
        raise InputError(f"--species {' '.join(species)}: {run} has no such body among --bodies {text}")
    return bodies


# --- what is exported ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Snapshot:
    frame: int  # number in the run
    step: int
    time: float  # s
    position: Array  # (n, 3) m
    moving: Columns  # what changes with time, (n,) or (n, components)


class Cloud:
    """The chosen points of a run, frame by frame."""

    def __init__(self, run: Path, trajectory: Trajectory, frames: list[int], bodies: NDArray[np.int64], what: str):
        self._run, self._trajectory = run, trajectory
        self.frames, self.times, self.steps = frames, trajectory.time[frames], trajectory.step[frames]
        self.box = trajectory.box
        self.names = [clump.name for clump in trajectory.clumps]
        self.ascii_names = [name.encode("ascii", "replace").decode() for name in self.names]  # for VTK's strings and GSD's
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
        """Lower and upper corner of the box, or in open space of what all the spheres pass through, m."""
        if self.box is not None:
            return np.zeros(3), self.box
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for snapshot in self:
            whole = np.isfinite(snapshot.position).all(axis=1)  # a run that blew up may end in no numbers
            position, radius = snapshot.position[whole], self.fixed["radius"][whole, None]
            low = np.minimum(low, (position - radius).min(axis=0, initial=np.inf))
            high = np.maximum(high, (position + radius).max(axis=0, initial=-np.inf))
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.ones(3))


# --- where it goes -------------------------------------------------------------------------------------------


def format_of(name: str | None, out: str | PathLike[str] | None) -> str:
    """As named, or as the suffix of the file tells."""
    suffix = "" if out is None else Path(out).suffix.lower()
    told = next((format for format, (suffixes, _) in FORMATS.items() if suffix in suffixes), None)
    if name is not None and name not in FORMATS:
        raise unknown_name("--format", name, FORMATS)
    if name is None and told is None:
        known = ", ".join(suffix for suffixes, _ in FORMATS.values() for suffix in suffixes)
        raise InputError(f"--format: give one of {', '.join(FORMATS)}, or --out FILE with one of {known}")
    if name is not None and told is not None and name != told:
        raise InputError(f"--out {out}: is the name of a {told} file; leave out --format {name}, or give another name")
    return name or told or ""


def target_of(format: str, run: Path, out: str | PathLike[str] | None, overwrite: bool) -> Path:
    """The file to write. It is not there yet, or may be replaced, and it can be made."""
    directory = run if run.is_dir() else run.parent
    home = directory.resolve()
    suffix = ".pvd" if format == "vtp" else FORMATS[format][0][0]
    path = directory / f"{home.name}{suffix}" if out is None else Path(out)
    if path.suffix.lower() == ".vtp":
        path = path.with_suffix(".pvd")
    try:
        there = [place for place in (path, *([series_of(path)] if format == "vtp" else [])) if place.exists()]
        if path.is_dir():
            raise InputError(f"--out {path}: is a directory; give a file")
        if path.resolve() == run.resolve() or (path.resolve().parent == home and path.name in FILES):
            raise InputError(f"--out {path}: is a file of the run itself; give another name")
        if there and not overwrite:
            raise InputError(f"--out {there[0]}: exists already; choose another name or give --overwrite")
        path.parent.mkdir(parents=True, exist_ok=True)
        part_of(path).touch()
        part_of(path).unlink()
    except FileExistsError:
        raise InputError(f"--out {path}: {path.parent} is no directory; give another") from None
    except OSError as error:
        raise InputError(f"--out {path}: cannot be written: {error.strerror}") from None
    return path


def part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of another when it is whole: what fails leaves no half file behind."""
    try:
        yield part_of(path)
        os.replace(part_of(path), path)
    finally:
        part_of(path).unlink(missing_ok=True)


def series_of(path: Path) -> Path:
    """The directory of the frames of a .pvd. Not NAME itself: of output/chess.pvd that would be the run's."""
    return path.with_name(f"{path.stem}_frames")


# --- VTK -----------------------------------------------------------------------------------------------------


def write_vtkhdf(cloud: Cloud, path: Path) -> list[Path]:
    """VTKHDF 2, PolyData that changes with time: https://docs.vtk.org, VTK File Formats.

    The rows of all frames lie behind each other; Steps tells at which row each frame begins. What does not change is there
    once, and begins at row 0 in every frame.
    """
    points, count = len(cloud.body), len(cloud.frames)
    first_row, row_0 = points * np.arange(count), np.zeros(count, np.int64)
    with replaced(path) as part, h5py.File(part, "w") as file:
        file.attrs["species"] = cloud.names
        root = file.create_group("VTKHDF")
        root.attrs["Version"], root.attrs["Type"] = np.array([2, 0]), np.bytes_("PolyData")
        put(root, {"NumberOfPoints": [points]})
        for kind in ("Vertices", "Lines", "Polygons", "Strips"):
            cells = points if kind == "Vertices" else 0  # a vertex a point
            sizes = {"NumberOfCells": [cells], "NumberOfConnectivityIds": [cells]}
            put(root.create_group(kind), sizes | {"Offsets": np.arange(cells + 1), "Connectivity": np.arange(cells)})
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = count
        put(steps, {"Values": cloud.times, "NumberOfParts": row_0 + 1, "PartOffsets": row_0, "PointOffsets": first_row})
        put(
            steps, dict.fromkeys(("CellOffsets", "ConnectivityIdOffsets"), np.zeros((count, 4), np.int64))
        )  # by kind of cell
        if cloud.box is not None:
            put(root, {"FieldData/box": cloud.box[None]})
            put(steps, {"FieldDataOffsets/box": row_0, "FieldDataSizes/box": np.tile([3, 1], (count, 1))})
        put(root, {f"PointData/{name}": values for name, values in cloud.fixed.items()})
        put(steps, {f"PointDataOffsets/{name}": row_0 for name in cloud.fixed})
        put(steps, {f"PointDataOffsets/{name}": first_row for name in MOVING})
        rows = min(points * count, max(1024, min(points, LARGEST_CHUNK)))
        # What is repeated at all the spheres of a body shrinks to nothing.
        packed = {"dtype": np.float64, "compression": "gzip", "compression_opts": 1, "shuffle": True}
        positions = root.create_dataset("Points", (points * count, 3), chunks=(rows, 3), **packed)
        moving = {}
        for name, width in MOVING.items():
            shape, chunks = ((points * count, width), (rows, width)) if width > 1 else ((points * count,), (rows,))
            moving[name] = root.create_dataset(f"PointData/{name}", shape, chunks=chunks, **packed)
        for name, unit in UNITS.items():
            root[f"PointData/{name}"].attrs["unit"] = unit
        for row, snapshot in zip(first_row.tolist(), cloud, strict=True):
            positions[row : row + points] = snapshot.position
            for name, dataset in moving.items():
                dataset[row : row + points] = snapshot.moving[name]
        file.flush()
    return [path]


def put(group: h5py.Group, values: dict[str, Any]) -> None:
    for name, value in values.items():
        group.create_dataset(name, data=value).flush()  # here a full disk is an error; later h5py would only complain


def write_vtp(cloud: Cloud, path: Path) -> list[Path]:
    """A .vtp file for each frame, in a directory of their own, and the .pvd that lists them with their times."""
    import pyvista
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    series = series_of(path)
    series.mkdir(exist_ok=True)
    number = re.compile(re.escape(path.stem) + r"_\d+\.vtp")
    for old in [file for file in series.iterdir() if number.fullmatch(file.name)]:
        old.unlink()
    digits = max(4, len(str(cloud.frames[-1])))
    files, entries = [], []
    for snapshot in cloud:
        mesh = pyvista.PolyData(snapshot.position)
        for name, values in (cloud.fixed | snapshot.moving).items():
            mesh.point_data[name] = values
        mesh.field_data["TimeValue"], mesh.field_data["species_names"] = [snapshot.time], cloud.ascii_names
        if cloud.box is not None:
            mesh.field_data["box"] = cloud.box[None]
        file = series / f"{path.stem}_{snapshot.frame:0{digits}}.vtp"
        writer = vtkXMLPolyDataWriter()
        writer.SetFileName(str(file))
        writer.SetInputData(mesh)
        writer.EncodeAppendedDataOff()
        if not writer.Write() or writer.GetErrorCode():
            raise OSError(f"{file} is not whole")
        files.append(file)
        entries.append(f'    <DataSet timestep="{snapshot.time!r}" file={quoteattr(f"{series.name}/{file.name}")}/>')
    with replaced(path) as part:
        lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "  <Collection>", *entries]
        part.write_text("\n".join([*lines, "  </Collection>", "</VTKFile>"]) + "\n", encoding="utf-8")
    return [path, *files]


# --- text ----------------------------------------------------------------------------------------------------


def write_xyz(cloud: Cloud, path: Path) -> list[Path]:
    """Extended XYZ. Columns have the names that OVITO knows, where it knows some: type, pos, velo, id.

    The names of the species are in `type`, as ASE takes `species` for chemical elements.
    """
    known = {"velocity": "velo", "sphere": "id"}
    names = np.array([re.sub(r"\s", "_", name) for name in cloud.names])[cloud.fixed["species"]]
    numbers = {name: values for name, values in cloud.fixed.items() if name != "species"}
    lattice = "" if cloud.box is None else 'Lattice="{!r} 0 0 0 {!r} 0 0 0 {!r}" Origin="0 0 0" '.format(*cloud.box.tolist())
    with replaced(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
        for snapshot in cloud:
            columns = {"type": names, "pos": snapshot.position} | {
                known.get(name, name): values for name, values in (numbers | snapshot.moving).items()
            }
            kinds = {"U": "S", "f": "R", "i": "I"}
            properties = ":".join(
                f"{name}:{kinds[values.dtype.kind]}:{values.shape[1] if values.ndim > 1 else 1}"
                for name, values in columns.items()
            )
            head = f'{lattice}Properties={properties} Time={snapshot.time!r} Step={snapshot.step} pbc="F F F"'
            file.write(f"{len(cloud.body)}\n{head}\n")
            write_rows(file, " ", columns.values())
    return [path]


def write_csv(cloud: Cloud, path: Path) -> list[Path]:
    """A row for each point of each frame."""
    quoted = ['"' + name.replace('"', '""') + '"' if re.search('[",\\s]', name) else name for name in cloud.names]
    names = np.array(quoted)[cloud.fixed["species"]]
    numbers = {name: values for name, values in cloud.fixed.items() if name != "species"}
    with replaced(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
        for snapshot in cloud:
            same = np.ones(len(names), np.int64)
            columns: Columns = {"frame": snapshot.frame * same, "time": snapshot.time * same, "species": names, **numbers}
            columns |= {"": snapshot.position} | snapshot.moving
            if snapshot.frame == cloud.frames[0]:
                file.write(",".join(header_of(columns)) + "\n")
            write_rows(file, ",", columns.values())
    return [path]


def header_of(columns: Columns) -> list[str]:
    """A name for each component: x, velocity_x, quaternion_w."""
    axes = {name: "wxyz"[-values.shape[1] :] if values.ndim > 1 else "" for name, values in columns.items()}
    return [f"{name}_{axis}".strip("_") for name in columns for axis in axes[name] or [""]]


def write_rows(file: TextIO, separator: str, columns: Iterable[NDArray[Any]]) -> None:
    texts = [text_of(part) for values in columns for part in (values.T if values.ndim > 1 else [values])]
    file.writelines(separator.join(row) + "\n" for row in zip(*texts, strict=True))


def text_of(values: NDArray[Any]) -> list[str]:
    """Numbers with as many digits as they need to be read back the same. Equal ones, as of a body's spheres, are put into
    words once, as that is what takes the time."""
    different, which = np.unique(values, return_inverse=True)
    words = [str(value) for value in different.tolist()]
    return [words[k] for k in which.tolist()]


# --- GSD -----------------------------------------------------------------------------------------------------


def write_gsd(cloud: Cloud, path: Path) -> list[Path]:
    """GSD with HOOMD's schema, which has numbers of 32 bits and a box around the origin.

    Positions are relative to the middle of the box, or in open space of what the run fills; `log/middle` has it.
    """
    try:
        import gsd.hoomd
    except ImportError:
        raise InputError("--format gsd: needs the package gsd; pip install 'minidem[export]', or pip install gsd") from None
    low, high = cloud.bounds
    middle = (low + high) / 2
    with replaced(path) as part, gsd.hoomd.open(str(part), "w") as file:
        for snapshot in cloud:
            frame = gsd.hoomd.Frame()
            frame.configuration.step, frame.configuration.box = snapshot.step, [*(high - low), 0, 0, 0]
            particles = frame.particles
            particles.N, particles.types = len(cloud.body), cloud.ascii_names
            particles.typeid, particles.body = cloud.fixed["species"], cloud.fixed["body"]
            particles.diameter, particles.position = 2 * cloud.fixed["radius"], snapshot.position - middle
            particles.velocity, particles.orientation = snapshot.moving["velocity"], snapshot.moving["quaternion"]
            frame.log["time"], frame.log["middle"] = np.array([snapshot.time]), middle
            if "sphere" not in cloud.fixed:
                particles.mass = cloud.fixed["body_mass"]
            for name in ("body_speed", "angular_velocity", "kinetic_energy"):
                frame.log[f"particles/{name}"] = snapshot.moving[name].astype(np.float32)
            file.append(frame)
    return [path]


Write = Callable[[Cloud, Path], list[Path]]
FORMATS: dict[str, tuple[tuple[str, ...], Write]] = {  # name: (suffixes, how)
    "vtkhdf": ((".vtkhdf",), write_vtkhdf),
    "vtp": ((".pvd", ".vtp"), write_vtp),
    "xyz": ((".xyz", ".extxyz"), write_xyz),
    "csv": ((".csv",), write_csv),
    "gsd": ((".gsd",), write_gsd),
}
