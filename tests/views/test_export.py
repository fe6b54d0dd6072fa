"""Exported runs, read back with VTK, ASE, gsd and as plain text."""

import csv
import json
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import ase.io
import gsd.hoomd
import h5py
import numpy as np
import pytest
import pyvista
import vtk
from scipy.spatial.transform import Rotation

import minidem
from minidem import Trajectory
from minidem.errors import InputError
from minidem.scenario.reading import parse
from minidem.views.export.registry import FORMATS
from minidem.views.export.writing import export_run

RODS = """\
name = "rods"
time = {dt = 38e-6, end = 0.0038}
domain = {box = [0.5, 0.4, 0.6], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.rod = {spheres = [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.03], [0.04, 0, 0, 0.03]], material = "plastic"}
clump."pair of, ä" = {spheres = [[0.1, 0.1, 0, 0.03], [0.1, 0.13, 0, 0.02]], material = "plastic"}
place = [{clump = "rod", count = 4, speed = 4, spin = 40}, {clump = "pair of, ä", count = 3, speed = 4, spin = 40}]
output = {frames = 5, energies = 11}
"""
SPINNING = """\
name = "spinning"
time = {dt = 1e-4, end = 0.02}
material.m = {young = 1e9, poisson = 0.1, density = 1000}
clump.bent = {spheres = [[0, 0, 0, 0.1], [0.2, 0, 0, 0.1], [0.2, 0.2, 0, 0.05]], material = "m"}
body = [{clump = "bent", position = [-3, 20, 5], velocity = [10, 0, -3], angular_velocity = [1, 2, 30]}]
output = {frames = 201, energies = 2}
"""
VECTORS = ("velocity", "angular_velocity", "quaternion")
SCALARS = ("body_speed", "kinetic_energy")


@pytest.fixture(scope="module")
def rods(tmp_path_factory):
    """The directory of a run of two species in a box."""
    directory = tmp_path_factory.mktemp("run") / "rods"
    minidem.run(parse(RODS), directory)
    return directory


@pytest.fixture(scope="module")
def spinning(tmp_path_factory):
    """The directory of a run in open space with a frame every step."""
    directory = tmp_path_factory.mktemp("run") / "spinning"
    minidem.run(parse(SPINNING), directory)
    return directory


# --- readers: each frame as (time, positions, columns by name) -----------------------------------------------


@dataclass
class Read:
    time: float
    position: np.ndarray
    columns: dict


def read_vtkhdf(path):
    reader = pyvista.get_reader(path).reader  # pyvista does not read the times of this format
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    frames = {}
    for time in [*times[1:], times[0]]:  # not in order: the result must not depend on what was read before
        reader.UpdateTimeStep(time)
        frames[time] = read_mesh(time, pyvista.wrap(reader.GetOutputDataObject(0)))
    return [frames[time] for time in times]


def read_vtp(path):
    reader = pyvista.get_reader(path)
    frames = []
    for time in reader.time_values:
        reader.set_active_time_value(time)
        mesh = reader.read()[0]
        assert mesh.field_data["TimeValue"].tolist() == [time]
        frames.append(read_mesh(time, mesh))
    return frames


def read_mesh(time, mesh):
    assert mesh.n_verts == mesh.n_cells == mesh.n_points
    assert np.array_equal(mesh.verts.reshape(-1, 2)[:, 1], np.arange(mesh.n_points))
    return Read(time, np.array(mesh.points), {name: np.array(mesh.point_data[name]) for name in mesh.point_data})


def read_xyz(path):
    frames = []
    for atoms in ase.io.read(path, index=":", format="extxyz"):
        columns = dict(atoms.arrays)
        names = {"velo": "velocity", "id": "sphere", "type": "name"}
        columns = {names.get(name, name): values for name, values in columns.items() if name not in ("numbers", "positions")}
        frames.append(Read(atoms.info["Time"], atoms.positions, columns))
    return frames


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    frames = []
    for number in dict.fromkeys(row["frame"] for row in rows):
        own = [row for row in rows if row["frame"] == number]
        columns = {name: np.array([float(row[name]) for row in own]) for name in own[0] if name not in ("species", "frame")}
        assert len(set(columns["time"])) == 1
        for name in VECTORS:
            axes = "wxyz" if name == "quaternion" else "xyz"
            columns[name] = np.column_stack([columns.pop(f"{name}_{axis}") for axis in axes])
        position = np.column_stack([columns.pop(axis) for axis in "xyz"])
        columns["name"] = np.array([row["species"] for row in own])
        frames.append(Read(columns.pop("time")[0], position, columns))
    return frames


def read_gsd(path):
    frames = []
    with gsd.hoomd.open(str(path), "r") as file:
        for frame in file:
            particles, log = frame.particles, frame.log
            columns = {name: log[f"particles/{name}"] for name in ("body_speed", "kinetic_energy", "angular_velocity")}
            columns |= {"velocity": particles.velocity, "quaternion": particles.orientation, "body": particles.body}
            columns |= {"radius": particles.diameter / 2, "species": particles.typeid}
            frames.append(Read(log["time"][0], particles.position + log["middle"], columns))
    return frames


READERS = {"vtkhdf": read_vtkhdf, "vtp": read_vtp, "xyz": read_xyz, "csv": read_csv, "gsd": read_gsd}
SUFFIXES = {"vtkhdf": ".vtkhdf", "vtp": ".pvd", "xyz": ".xyz", "csv": ".csv", "gsd": ".gsd"}


def exported(run, tmp_path, format, **options):
    """The export as another program reads it."""
    path = tmp_path / f"out{SUFFIXES[format]}"
    report = export_run(run, path, **options)
    assert (report["format"], report["file"]) == (format, str(path))
    frames = READERS[format](path)
    assert report["frames"] == len(frames) and {len(frame.position) for frame in frames} == {report["points"]}
    return frames


def expected(run, frame, bodies=None):
    """The spheres of some bodies, computed one by one from the HDF5 file with rotations of scipy."""
    rows = {name: [] for name in ("sphere", "body", "species", "radius", "body_mass", "position", *VECTORS, *SCALARS)}
    sphere = 0
    with h5py.File(run / "trajectory.h5", "r") as file:
        group = file["particles/bodies"]
        for body, kind in enumerate(group["species"][:]):
            clump = file[f"parameters/minidem/clumps/{kind}"]
            place, velocity, q, omega = (
                group[name]["value"][frame, body] for name in ("position", "velocity", "orientation", "angular_velocity")
            )
            turn = Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix()
            inertia = turn @ clump["inertia"][:] @ turn.T
            mass = group["mass"][body]
            for x, y, z, radius in clump["spheres"][:]:
                arm = turn @ (np.array([x, y, z]) - clump["center"][:])
                if bodies is None or body in bodies:
                    energy = mass * velocity @ velocity / 2 + omega @ inertia @ omega / 2
                    row = (sphere, body, kind, radius, mass, place + arm, velocity + np.cross(omega, arm), omega, q)
                    row = (*row, np.sqrt(velocity @ velocity), energy)
                    for values, value in zip(rows.values(), row, strict=True):
                        values.append(value)
                sphere += 1
    return {name: np.array(values) for name, values in rows.items()}


# --- all formats, all frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_the_run(rods, tmp_path, format):
    frames = exported(rods, tmp_path, format)
    single = format == "gsd"  # has 32-bit numbers
    with Trajectory(rods) as trajectory:
        assert [frame.time for frame in frames] == trajectory.time.tolist() and len(frames) == 5
        names = [clump.name for clump in trajectory.clumps]
        for number, read in enumerate(frames):
            known = expected(rods, number)
            centres, radii, body = trajectory.spheres(number)
            if single:
                assert read.position == pytest.approx(centres, abs=0.6 * 2**-24)  # half the box is 0.3 m
            else:
                assert np.array_equal(read.position, centres)
                assert np.array_equal(read.columns["radius"], radii)
                assert np.array_equal(read.columns["body_mass"], known["body_mass"])
                assert np.array_equal(read.columns["sphere"], known["sphere"])
            assert np.array_equal(read.columns["body"], body)
            if "species" in read.columns:
                assert np.array_equal(read.columns["species"], known["species"])
            if "name" in read.columns:
                written = [name.replace(" ", "_") if format == "xyz" else name for name in names]
                assert read.columns["name"].tolist() == [written[kind] for kind in known["species"]]
            assert read.position == pytest.approx(known["position"], abs=1e-7 if single else 1e-14)
            for name in ("radius", *VECTORS, *SCALARS):
                size = np.abs(known[name]).max()
                assert read.columns[name] == pytest.approx(known[name], abs=size * (1e-7 if single else 1e-14)), name
        assert not np.allclose(frames[0].position, frames[1].position, atol=1e-3)  # they move
        assert np.ptp(expected(rods, 0)["kinetic_energy"]) > 0.1


@pytest.mark.parametrize("format", FORMATS)
def test_bodies(rods, tmp_path, format):
    """Points at the centres of mass, with the radius of a sphere of the same volume."""
    frames = exported(rods, tmp_path, format, what="bodies")
    with Trajectory(rods) as trajectory:
        radius = [(clump.volume * 3 / 4 / np.pi) ** (1 / 3) for clump in trajectory.clumps]
        for number, read in enumerate(frames):
            assert read.columns["body"].tolist() == list(range(7)) and "sphere" not in read.columns
            assert read.position == pytest.approx(trajectory.position[number], abs=3e-8 if format == "gsd" else 0)
            assert read.columns["velocity"] == pytest.approx(trajectory.velocity[number], rel=1e-7 if format == "gsd" else 0)
            assert read.columns["radius"] == pytest.approx([radius[kind] for kind in trajectory.species], rel=1e-7)
    if format == "gsd":
        with gsd.hoomd.open(str(tmp_path / "out.gsd"), "r") as file:
            assert file[4].particles.mass == pytest.approx(trajectory.mass, rel=1e-7)


@pytest.mark.parametrize("format", FORMATS)
def test_choice(rods, tmp_path, format):
    """Frames, bodies and species are chosen together."""
    frames = exported(rods, tmp_path, format, frames="-1,0:3:2,0", bodies="1:,0", species=["pair of, ä", "pair of, ä"])
    with Trajectory(rods) as trajectory:
        assert [frame.time for frame in frames] == trajectory.time[[0, 2, 4]].tolist()
    for number, read in zip((0, 2, 4), frames, strict=True):
        known = expected(rods, number, bodies=(4, 5, 6))
        assert read.columns["body"].tolist() == [4, 4, 5, 5, 6, 6]
        assert read.position == pytest.approx(known["position"], abs=1e-7 if format == "gsd" else 1e-14)
        assert read.columns["velocity"] == pytest.approx(known["velocity"], abs=1e-6 if format == "gsd" else 1e-13)
        if "sphere" in read.columns:
            assert read.columns["sphere"].tolist() == [12, 13, 14, 15, 16, 17]


@pytest.mark.parametrize("format", ["vtkhdf", "gsd"])
def test_velocities_are_those_of_the_spheres(spinning, tmp_path, format):
    """Compared with differences of positions, in a run without contacts."""
    frames = exported(spinning, tmp_path, format)
    position = np.array([frame.position for frame in frames])
    velocity = np.array([frame.columns["velocity"] for frame in frames])
    step = 10 if format == "gsd" else 1  # differences of 32-bit positions are coarse
    differences = (position[2 * step :] - position[: -2 * step]) / (2e-4 * step)
    error = np.abs(velocity[step:-step] - differences).max()
    turning = (30 * 1e-4 * step) ** 2 / 6 * 30 * 0.3  # third derivative of a circular motion, r omega^3
    assert error < 1.1 * turning + (0.01 if format == "gsd" else 1e-9)
    assert np.ptp(velocity, axis=1).max() > 3  # the spheres have different velocities


def test_kinetic_energies_add_up(rods, tmp_path):
    """Their sum is that of the energy log, which the engine computes."""
    frames = exported(rods, tmp_path, "csv", what="bodies")
    with Trajectory(rods) as trajectory:
        log, steps = trajectory.observables, trajectory.step
    common = [(k, log["step"].tolist().index(step)) for k, step in enumerate(steps) if step in log["step"]]
    assert len(common) >= 3
    for k, row in common:
        total = log["kinetic_translational"][row] + log["kinetic_rotational"][row]
        assert frames[k].columns["kinetic_energy"].sum() == pytest.approx(total, rel=1e-12)


# --- single formats ------------------------------------------------------------------------------------------


def test_vtkhdf_stores_once_what_stays(rods, tmp_path):
    exported(rods, tmp_path, "vtkhdf")
    with h5py.File(tmp_path / "out.vtkhdf", "r") as file:
        root = file["VTKHDF"]
        rows = {name: len(root[f"PointData/{name}"]) for name in root["PointData"]}
        stays = ("sphere", "body", "species", "radius", "body_mass")
        assert rows == dict.fromkeys(stays, 18) | dict.fromkeys((*VECTORS, *SCALARS), 5 * 18)
        assert len(root["Vertices/Connectivity"]) == 18 and len(root["Points"]) == 5 * 18
        assert root["Points"].dtype == np.float64
        assert file.attrs["species"].tolist() == ["rod", "pair of, ä"]
        assert root["PointData/velocity"].attrs["unit"] == "m s-1"


@pytest.mark.parametrize("suffix", [".vtkhdf", ".pvd"])
def test_box_in_vtk(rods, spinning, tmp_path, suffix):
    for run, box in ((rods, [[0.5, 0.4, 0.6]]), (spinning, None)):
        export_run(run, tmp_path / f"{run.name}{suffix}", frames="0")
        mesh = pyvista.get_reader(tmp_path / f"{run.name}{suffix}").read()
        fields = (mesh if suffix == ".vtkhdf" else mesh[0]).field_data
        assert (fields["box"].reshape(1, 3).tolist() if "box" in fields else None) == box


def test_pvd_lists_its_files(rods, tmp_path):
    report = export_run(rods, tmp_path / "a & b.vtp", frames="1:")  # either suffix names a series
    assert report["file"] == str(tmp_path / "a & b.pvd") and report["files"] == 5
    sets = ElementTree.parse(tmp_path / "a & b.pvd").findall("Collection/DataSet")
    assert [entry.get("file") for entry in sets] == [f"a & b_frames/a & b_000{k}.vtp" for k in (1, 2, 3, 4)]
    assert all((tmp_path / entry.get("file")).is_file() for entry in sets)
    with Trajectory(rods) as trajectory:
        assert [float(entry.get("timestep")) for entry in sets] == trajectory.time[1:].tolist()
    sizes = [path.stat().st_size for path in (tmp_path / "a & b.pvd", *(tmp_path / "a & b_frames").iterdir())]
    assert report["bytes"] == sum(sizes)


def test_pvd_is_replaced_with_its_files_only(rods, tmp_path):
    export_run(rods, tmp_path / "out.pvd")
    (tmp_path / "out_frames" / "mine.vtp").write_text("")
    with pytest.raises(InputError, match="--overwrite"):
        export_run(rods, tmp_path / "out.pvd", frames="0")
    export_run(rods, tmp_path / "out.pvd", frames="0", overwrite=True)
    assert {path.name for path in (tmp_path / "out_frames").iterdir()} == {"out_0000.vtp", "mine.vtp"}
    (tmp_path / "out.pvd").unlink()
    with pytest.raises(InputError, match="out_frames: exists"):
        export_run(rods, tmp_path / "out.pvd")


def test_xyz_has_the_box(rods, spinning, tmp_path):
    export_run(rods, tmp_path / "rods.extxyz")
    export_run(spinning, tmp_path / "spinning.xyz", frames="7")
    atoms = ase.io.read(tmp_path / "rods.extxyz", index=3, format="extxyz")
    assert atoms.cell.tolist() == [[0.5, 0, 0], [0, 0.4, 0], [0, 0, 0.6]] and not atoms.pbc.any()
    assert atoms.info["Step"] == 75
    (atoms,) = ase.io.read(tmp_path / "spinning.xyz", index=":", format="extxyz")
    assert not atoms.cell.any() and not atoms.pbc.any()


def test_gsd_is_around_the_origin(rods, spinning, tmp_path):
    report = export_run(rods, tmp_path / "rods.gsd")
    assert report["middle"] == [0.25, 0.2, 0.3]
    with gsd.hoomd.open(str(tmp_path / "rods.gsd"), "r") as file:
        assert [frame.configuration.step for frame in file] == [0, 25, 50, 75, 100]
        assert file[0].configuration.box == pytest.approx([0.5, 0.4, 0.6, 0, 0, 0], rel=1e-7)
        assert file[0].particles.types == ["rod", "pair of, ?"]
        assert file[4].particles.position[:, 0].min() < 0 < file[4].particles.position[:, 0].max()
    report = export_run(spinning, tmp_path / "spinning.gsd")
    with gsd.hoomd.open(str(tmp_path / "spinning.gsd"), "r") as file, Trajectory(spinning) as trajectory:
        centres = np.array([trajectory.spheres(frame)[0] for frame in range(201)])
        radius = trajectory.spheres(0)[1][:, None]
        low, high = (centres - radius).min(axis=(0, 1)), (centres + radius).max(axis=(0, 1))
        assert report["middle"] == pytest.approx((low + high) / 2, abs=1e-12)
        assert {tuple(frame.configuration.box) for frame in file} == {tuple(np.float32([*(high - low), 0, 0, 0]))}


def test_csv_columns(rods, tmp_path):
    exported(rods, tmp_path, "csv", frames="2,4", bodies="0")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == (
        "frame,time,species,sphere,body,radius,body_mass,x,y,z,velocity_x,velocity_y,velocity_z,body_speed,"
        "angular_velocity_x,angular_velocity_y,angular_velocity_z,quaternion_w,quaternion_x,quaternion_y,quaternion_z,"
        "kinetic_energy"
    )
    assert [line.split(",")[0] for line in lines[1:]] == ["2"] * 3 + ["4"] * 3


@pytest.mark.parametrize("format", FORMATS)
def test_run_that_blew_up(spinning, tmp_path, format):
    """NaN and infinity are written as such."""
    run = shutil.copytree(spinning, tmp_path / "run")
    with h5py.File(run / "trajectory.h5", "r+") as file:
        for name in ("position", "velocity", "orientation", "angular_velocity"):
            file[f"particles/bodies/{name}/value"][200] = np.nan
    frames = exported(run, tmp_path, format, frames="199:")
    assert np.isfinite(frames[0].position).all() and np.isnan(frames[1].position).all()
    assert np.isnan(frames[1].columns["kinetic_energy"]).all()
    if format == "gsd":  # its box holds the finite positions
        with gsd.hoomd.open(str(tmp_path / "out.gsd"), "r") as file, Trajectory(run) as trajectory:
            centres, radii, _ = trajectory.spheres(199)
            size = (centres + radii[:, None]).max(axis=0) - (centres - radii[:, None]).min(axis=0)
            assert file[1].configuration.box[:3] == pytest.approx(size, rel=1e-6)


# --- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frames": "5"}, "--frames 5: there is no 5; .* has frames 0 to 4"),
        ({"frames": "0,-6"}, "there is no -6"),
        ({"frames": "5:"}, "--frames 5:: selects nothing"),
        ({"frames": ""}, "must be numbers"),
        ({"frames": "1,,2"}, "must be numbers"),
        ({"frames": "first"}, "must be numbers"),
        ({"frames": "1.5"}, "must be numbers"),
        ({"frames": "::0"}, "must be numbers"),
        ({"frames": "0:1:1:1"}, "must be numbers"),
        ({"bodies": "7"}, "--bodies 7: there is no 7; .* has bodies 0 to 6"),
        ({"species": ["rods"]}, 'unknown --species "rods"; did you mean rod'),
        ({"bodies": "4:", "species": ["rod"]}, "has no such body among --bodies 4:"),
        ({"what": "walls"}, "valid names: spheres, bodies"),
        ({"format": "vtk"}, 'unknown --format "vtk"'),
        ({"format": "xyz"}, "is the name of a csv file"),
    ],
)
def test_bad_choice(rods, tmp_path, options, message):
    with pytest.raises(InputError, match=message) as caught:
        export_run(rods, tmp_path / "out.csv", **options)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_format_must_be_told(rods, tmp_path):
    for out in (None, tmp_path / "out", tmp_path / "out.vtu"):
        with pytest.raises(InputError, match="--format: give one of vtkhdf, vtp, xyz, csv, gsd, or --out"):
            export_run(rods, out)
    export_run(rods, tmp_path / "out.vtu", format="csv")  # an unknown suffix is allowed with --format
    assert (tmp_path / "out.vtu").read_text().startswith("frame,time")


def test_run_itself_is_never_overwritten(rods, tmp_path):
    run = shutil.copytree(rods, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for name in ("energy.csv", "trajectory.h5", "manifest.json"):
        with pytest.raises(InputError, match="a file of the run itself"):
            export_run(run, run / name, format="csv", overwrite=True)
    shutil.copy(run / "trajectory.h5", tmp_path / "copy.h5")
    with pytest.raises(InputError, match="a file of the run itself"):
        export_run(tmp_path / "copy.h5", tmp_path / "copy.h5", format="csv", overwrite=True)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_export_that_fails_leaves_the_old_file(rods, tmp_path, monkeypatch):
    export_run(rods, tmp_path / "out.csv", frames="0")
    before = (tmp_path / "out.csv").read_bytes()
    frame = Trajectory.frame

    def broken(trajectory, number):
        if number == 3:
            raise OSError("no such sector")
        return frame(trajectory, number)

    monkeypatch.setattr(Trajectory, "frame", broken)
    for format in ("csv", "vtkhdf", "gsd"):
        with pytest.raises(InputError, match=r"frame 3 cannot be read \(no such sector\)"):
            export_run(rods, tmp_path / f"out.{format}", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"status": "interrupted"}, "was interrupted before its end; there are 5 frames, up to 0.0038 s"),
        ({"status": "failed"}, "failed before its end"),
        ({"status": "running", "pid": 2**22 + 1}, "was killed before its end"),
        ({"status": "running", "host": "elsewhere"}, "is still being written on elsewhere, or was killed there"),
        ({}, None),
    ],
)
def test_note_on_what_became_of_the_run(rods, tmp_path, change, note):
    run = shutil.copytree(rods, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | change))
    for given in (run, run / "trajectory.h5"):
        found = export_run(given, tmp_path / "out.csv", overwrite=True)["note"]
        assert found is None if note is None else (note in found and str(given) in found)
    shutil.copy(run / "trajectory.h5", run / "other.h5")
    assert export_run(run / "other.h5", tmp_path / "out.csv", overwrite=True)["note"] is None
