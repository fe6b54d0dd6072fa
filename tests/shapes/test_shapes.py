"""Built-in shapes, meshes and the clumps fitted to them."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import pyvista

from minidem.errors import InputError, ScenarioError
from minidem.model.building import build_model
from minidem.scenario.reading import parse
from minidem.shapes import chess
from minidem.shapes.builtin import BUILTINS, builtin_spheres
from minidem.shapes.clump import make_clump
from minidem.shapes.fitting import csv_text, fit_clump, gaps, principal_moments
from minidem.shapes.mesh import FAULT_FINDERS, Mesh, from_polydata
from minidem.shapes.mesh_files import read_mesh
from minidem.shapes.sphere_files import read_mesh_moments, read_spheres
from minidem.shapes.union import union_moments


@pytest.mark.parametrize("name", BUILTINS)
def test_builtins_stand_on_the_ground_at_their_height(name):
    spheres = builtin_spheres(name, 0.2)
    assert len(spheres) == BUILTINS[name].count
    tolerance = 0.02 if name.startswith("chess") else 1e-12  # fitted spheres miss or pass the ends a little
    assert (spheres[:, 2] - spheres[:, 3]).min() == pytest.approx(0.0, abs=0.2 * tolerance)
    assert (spheres[:, 2] + spheres[:, 3]).max() == pytest.approx(0.2, abs=0.2 * tolerance)
    assert builtin_spheres(name)[:, 3].max() == pytest.approx(BUILTINS[name].height / 0.2 * spheres[:, 3].max())


@pytest.mark.parametrize("name,count", [("rod", 5), ("dumbbell", 2), ("tetrapod", 9), ("cube", 8), ("cylinder", 14)])
def test_simple_shapes_of_some_number_of_spheres(name, count):
    spheres = builtin_spheres(name, 1.0, count)
    assert len(spheres) == count
    centre = union_moments(spheres)[1]
    assert centre[:2] == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.fixture(scope="module", params=["king", "knight", "rook"])
def piece(request):
    return request.param, from_polydata(chess.mesh(request.param))


def test_pieces_are_closed_surfaces_of_the_right_size(piece):
    _, mesh = piece
    data = mesh.polydata()
    assert [fault(mesh) for fault in FAULT_FINDERS] == ["", "", "", ""]
    assert data.is_manifold and data.n_open_edges == 0 and len(data.split_bodies()) == 1
    volume = mesh.moments()[0]
    assert volume > 0.03
    assert volume == pytest.approx(data.volume, rel=1e-5)  # VTK's own figure
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    assert (low[2], high[2]) == pytest.approx((0.0, 1.0), abs=0.012)
    base = mesh.points[mesh.points[:, 2] < 0.1]
    assert 0.4 < np.ptp(base[:, 1]) < 0.5  # diameter of the base, in heights


def test_only_the_knight_is_no_body_of_revolution(piece):
    name, mesh = piece
    second = mesh.moments()[2]
    assert (abs(second[0, 0] / second[1, 1] - 1) > 0.2) == (name == "knight")


@pytest.mark.parametrize("name", chess.PIECES)
def test_usual_clumps_have_the_mass_of_their_meshes(name):
    """Volume within 5 %, principal moments within 8 % (the mesh's figures are in the file, from its own triangles)."""
    volume, centre, second = read_mesh_moments(chess.DATA / f"{name}.csv")
    fitted = union_moments(chess.spheres(name, chess.COUNT))
    assert fitted[0] == pytest.approx(volume, rel=0.05)
    assert principal_moments(fitted[2]) == pytest.approx(principal_moments(second), rel=0.08)
    assert fitted[1] == pytest.approx(centre, abs=0.02)


def test_figures_in_the_files_are_those_of_the_meshes(piece):
    name, mesh = piece
    volume, _, second = read_mesh_moments(chess.DATA / f"{name}.csv")
    measured = mesh.moments()  # of a coarser grid
    assert measured[0] == pytest.approx(volume, rel=0.02)
    assert principal_moments(measured[2]) == pytest.approx(principal_moments(second), rel=0.03)


def box(x=1.0, y=1.0, z=1.0):
    return pyvista.Box((0, x, 0, y, 0, z)).triangulate()


def test_moments_of_a_box():
    volume, centre, second = from_polydata(box(1, 2, 3)).moments()
    assert volume == pytest.approx(6.0, rel=1e-12)
    assert centre == pytest.approx([0.5, 1.0, 1.5], rel=1e-12)
    assert second == pytest.approx(np.diag([6 * 1 / 12, 6 * 4 / 12, 6 * 9 / 12]), abs=1e-12)


def test_moments_do_not_depend_on_the_place():
    mesh = from_polydata(box(1, 2, 3))
    volume, centre, second = Mesh(mesh.points + np.array([100, -200, 50]), mesh.faces).moments()
    assert volume == pytest.approx(6.0, rel=1e-9)
    assert centre == pytest.approx([100.5, -199, 51.5], rel=1e-12)
    assert second == pytest.approx(np.diag([0.5, 2, 4.5]), abs=1e-8)


def test_fit_of_a_ball_is_the_ball():
    mesh = from_polydata(pyvista.Sphere(radius=2.0, theta_resolution=60, phi_resolution=60))
    fit = fit_clump(mesh, 1)
    assert fit.spheres[0] == pytest.approx([0, 0, 0, 2.0], abs=0.05)


def test_fit_of_a_box():
    mesh = from_polydata(box(1, 2, 1))
    few, many = fit_clump(mesh, 20), fit_clump(mesh, 100)
    for fit, count in ((few, 20), (many, 100)):
        assert len(fit.spheres) == count
        assert fit.volume_error == pytest.approx(0.0, abs=1e-5)
        inscribed = fit.spheres - np.array([0, 0, 0, fit.growth])
        reach = np.min([*(inscribed[:, :3] - inscribed[:, 3:]).T, *([1, 2, 1] - inscribed[:, :3] - inscribed[:, 3:]).T])
        assert reach > -1e-9  # they were inside before they grew
    assert many.uncovered < 0.7 * few.uncovered
    assert many.distance_mean < few.distance_mean
    assert many.inertia_error < 0.05
    assert many.distance_max == pytest.approx(np.abs(gaps(many.spheres, mesh.points)).max())
    assert many.distance_max < 0.15  # at the corners


def test_fit_stops_at_the_target_and_at_the_smallest_radius():
    mesh = from_polydata(box(1, 1, 1))
    assert len(fit_clump(mesh, 100, target_error=0.4).spheres) < 20
    fit = fit_clump(mesh, 60, min_radius=0.2)
    assert fit.spheres[:, 3].min() - fit.growth >= 0.2
    with pytest.raises(InputError, match=r"no sphere of radius 0\.6 m"):
        fit_clump(mesh, 10, min_radius=0.6)


def test_file_of_a_fit_reads_back(tmp_path):
    mesh = from_polydata(box(1, 2, 3))
    fit = fit_clump(mesh, 30)
    (tmp_path / "box.csv").write_text(csv_text(fit, mesh, "box"))
    assert read_spheres(tmp_path / "box.csv") == pytest.approx(fit.spheres, rel=1e-8)
    for read, exact in zip(read_mesh_moments(tmp_path / "box.csv"), mesh.moments(), strict=True):
        assert np.array_equal(read, exact)


# --- in scenarios --------------------------------------------------------------------------------------------

BASE = """
[time]
dt = 1e-6
end = 1e-5
[material.m]
young = 1e9
poisson = 0.2
density = 1000
[clump.c]
material = "m"
{clump}
[[body]]
clump = "c"
position = [0, 0, 0]
"""


def clump_of(text, directory="."):
    return build_model(parse(BASE.format(clump=text), "s.toml", directory)).clumps[0]


def test_density_and_mass_of_a_clump():
    spheres = "spheres = [[0, 0, 0, 0.1]]"
    volume = 4 / 3 * math.pi * 1e-3
    assert clump_of(spheres).mass == pytest.approx(1000 * volume)
    assert clump_of(spheres + "\ndensity = 500").mass == pytest.approx(500 * volume)
    heavy = clump_of(spheres + "\nmass = 7.0")
    assert heavy.mass == pytest.approx(7.0)
    assert heavy.principal_inertia == pytest.approx(0.4 * 7.0 * 0.01 * np.ones(3))


def test_mass_from_the_mesh(tmp_path):
    mesh = from_polydata(box(1, 2, 3))
    (tmp_path / "box.csv").write_text(csv_text(fit_clump(mesh, 30), mesh, "box"))
    clump = clump_of('file = "box.csv"\nmass_from = "mesh"\nscale = 0.1', tmp_path)
    assert clump.mass == pytest.approx(1000 * 6e-3, rel=1e-12)
    exact = 6.0 / 12 * np.array([4 + 9, 1 + 9, 1 + 4]) * 0.01  # of a cuboid of 6 kg
    assert np.sort(clump.principal_inertia) == pytest.approx(np.sort(exact), rel=1e-9)
    fitted = clump_of('file = "box.csv"\nscale = 0.1', tmp_path)
    assert fitted.mass == pytest.approx(6.0, rel=1e-4)
    assert fitted.principal_inertia != pytest.approx(clump.principal_inertia, rel=1e-4)


BAD = {
    "both": ("spheres = [[0,0,0,1]]\nmass = 1\ndensity = 2", "clump.c.mass: give a mass or a density"),
    "mesh without file": ('builtin = "rod"\nmass_from = "mesh"', "clump.c.mass_from: "),
    "mesh unknown": ('file = "plain.csv"\nmass_from = "mesh"', "mesh volume"),
    "source": ('builtin = "rod"\nmass_from = "water"', 'clump.c.mass_from: must be "spheres" or "mesh"'),
    "count of a cube": ('builtin = "cube"\ncount = 10', 'clump.c.count: must be 1, 8, 27, 64, ... for "cube", got 10'),
    "count of spheres": ("spheres = [[0,0,0,1]]\ncount = 3", "clump.c.count: is for a builtin"),
    "shape": ('builtin = "chess/kink"', "chess/king"),
}


@pytest.mark.parametrize("text,message", BAD.values(), ids=BAD)
def test_bad_clump_tables(text, message, tmp_path):
    (tmp_path / "plain.csv").write_text("0,0,0,1\n")
    with pytest.raises(ScenarioError) as caught:
        clump_of(text, tmp_path)
    assert message in str(caught.value) and str(caught.value).startswith("s.toml: clump.c")


# --- meshes from files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name,binary", [("a.stl", True), ("a.stl", False), ("a.ply", True), ("a.ply", False), ("a.obj", True)]
)
def test_formats(name, binary, tmp_path):
    data = pyvista.Sphere(radius=1.0, theta_resolution=12, phi_resolution=12)
    data.save(tmp_path / name, **({} if name.endswith("obj") else {"binary": binary}))
    mesh = read_mesh(tmp_path / name)
    assert mesh.moments()[0] == pytest.approx(from_polydata(data).moments()[0], rel=1e-5)
    assert len(mesh.faces) == data.n_cells


def spoiled(kind):
    ball = pyvista.Sphere(radius=1.0, theta_resolution=16, phi_resolution=16)
    faces = np.array(ball.regular_faces)
    if kind == "open":
        return pyvista.PolyData.from_regular_faces(ball.points, faces[1:])
    if kind == "inverted":
        return pyvista.PolyData.from_regular_faces(ball.points, faces[:, ::-1])
    if kind == "mixed":
        faces[3] = faces[3, [0, 2, 1]]
        return pyvista.PolyData.from_regular_faces(ball.points, faces)
    if kind == "crossing":
        other = ball.points + np.array([0.7, 0.1, 0.2])
        return pyvista.PolyData.from_regular_faces(np.vstack([ball.points, other]), np.vstack([faces, faces + len(other)]))
    if kind == "degenerate":
        return pyvista.PolyData.from_regular_faces(ball.points, np.vstack([faces, [faces[0, 0], faces[0, 0], faces[0, 1]]]))
    points = ball.points.copy()
    points[5] = np.nan
    return pyvista.PolyData.from_regular_faces(points, faces)


FAULTS = {
    "open": "not closed: 3 open edges",
    "inverted": "inside out",
    "mixed": "orientation",
    "crossing": "intersects itself",
    "degenerate": "degenerate",
    "nan": "not finite",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_bad_meshes(kind, tmp_path):
    spoiled(kind).save(tmp_path / "bad.ply", recompute_normals=False)  # which would mend the orientation
    with pytest.raises(InputError) as caught:
        read_mesh(tmp_path / "bad.ply")
    assert str(caught.value).startswith(str(tmp_path / "bad.ply")) and FAULTS[kind] in str(caught.value)


def test_two_separate_bodies_do_not_cross(tmp_path):
    ball = pyvista.Sphere(radius=1.0, theta_resolution=16, phi_resolution=16)
    (ball + ball.translate((2.5, 0, 0))).save(tmp_path / "two.ply")
    assert read_mesh(tmp_path / "two.ply").moments()[0] == pytest.approx(2 * from_polydata(ball).moments()[0], rel=1e-6)


def command(*arguments, directory):
    call = [sys.executable, "-m", "minidem.cli", "clump", *map(str, arguments)]
    return subprocess.run(call, cwd=directory, capture_output=True, text=True, timeout=300)


def test_clump_command(tmp_path):
    box(10, 20, 10).save(tmp_path / "box.stl")
    done = command("box.stl", "--spheres", 40, "--scale", 0.001, "--density", 2000, "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["mass"] == pytest.approx(2000 * 2e-6, rel=1e-3)
    assert report["spheres"] == 40
    assert report["errors"]["volume"] == pytest.approx(0, abs=1e-4)
    clump = make_clump(read_spheres(tmp_path / "box.csv"), 2000)
    assert clump.principal_inertia == pytest.approx(report["principal_inertia"], rel=1e-6)
    if not report["picture"].startswith("none"):  # a machine without EGL says so instead
        colours = np.unique(np.asarray(pyvista.read(tmp_path / "box.png").active_scalars), axis=0)
        assert len(colours) > 20
    before = (tmp_path / "box.csv").read_bytes()
    again = command("box.stl", directory=tmp_path)
    assert again.returncode == 2 and "box.csv" in again.stderr
    assert "exists already; give --overwrite to replace it, or another --out" in again.stderr
    assert (tmp_path / "box.csv").read_bytes() == before


def test_clump_command_refuses_bad_input(tmp_path):
    (tmp_path / "empty.stl").touch()
    (tmp_path / "junk.stl").write_bytes(b"\0\1junk" * 100)
    (tmp_path / "rows.csv").write_text("0,0,0,1\n")
    box().save(tmp_path / "box.stl")
    spoiled("open").save(tmp_path / "open.ply")
    before = sorted(tmp_path.iterdir())
    for arguments, word in (
        (["empty.stl"], "empty.stl: is empty"),
        (["junk.stl"], "junk.stl: "),
        (["rows.csv"], "rows.csv: give a mesh file"),
        (["nope.stl"], "nope.stl: no such file"),
        (["open.ply"], "open.ply: is not closed"),
        (["box.stl", "--spheres", "0"], "--spheres"),
        (["box.stl", "--scale", "0"], "--scale"),
        (["box.stl", "--out", "nowhere/a.csv"], "nowhere/a.csv: "),
    ):
        refused = command(*arguments, directory=tmp_path)
        assert refused.returncode == 2 and word in refused.stderr, (arguments, refused.stderr)
        assert "Traceback" not in refused.stderr and refused.stdout == ""
    assert sorted(tmp_path.iterdir()) == before
