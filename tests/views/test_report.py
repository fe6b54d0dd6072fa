"""Reports: the content of the page, that it loads nothing, and that the scene shows the trajectory."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import h5py
import numpy as np
import pytest

import minidem
from minidem.errors import InputError
from minidem.files.trajectory import Trajectory
from minidem.scenario.reading import parse
from minidem.study.plan import parse_study
from minidem.study.records import Records, prepare_directory
from minidem.views.report import scene_part
from minidem.views.report.elements import address
from minidem.views.report.page import write_report
from minidem.views.report.scene_data import chosen_frames

EVIL = "<script>alert(1)</script>"
BOX = f"""\
# </pre>{EVIL}<img src="http://example.org/a.png">
name = "box"
time = {{dt = 4e-5, end = 0.04}}
domain = {{box = [0.5, 0.4, 0.3], material = "plastic"}}
material.plastic = {{young = 1e9, poisson = 0.1, density = 2500}}
clump."{EVIL}" = {{spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.04, 0, 0, 0.02]], material = "plastic"}}
clump.ball = {{spheres = [[1, 0, 0, 0.02]], material = "plastic"}}
place = [{{clump = "{EVIL}", count = 4, speed = 4, spin = 10}}, {{clump = "ball", count = 3, speed = 4}}]
output = {{frames = 21, energies = 11}}
"""
CHESS = """\
name = "chess"
time = {dt = 1e-5, end = 4e-5}
guard = {rayleigh = false}
domain = {box = [0.5, 0.5, 0.5], material = "marble"}
material.marble = {young = 60e9, poisson = 0.25, density = 3200}
""" + "".join(
    f'[clump.{piece}]\nbuiltin = "chess/{piece}"\nheight = 0.05\nmaterial = "marble"\n'
    f'[[place]]\nclump = "{piece}"\ncount = 5\nspeed = 1\nspin = 1\n'
    for piece in ("king", "queen", "bishop", "knight", "rook", "pawn")
)


class Page(html.parser.HTMLParser):
    """The elements of a page with their first texts, and the content of its tables."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.source = path.read_text(encoding="utf-8")
        self.tags, self.texts, self._open = [], [], False
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self._open = True

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        if self._open:
            self.texts[-1] += data

    def text_of(self, tag):
        return [text for (name, _), text in zip(self.tags, self.texts, strict=True) if name == tag]

    @property
    def summary(self):
        pairs = re.findall(r"<tr><th>(.*?)</th><td>(.*?)</td></tr>", self.source)
        return {html.unescape(name): html.unescape(value) for name, value in pairs}

    @property
    def notes(self):
        """Notes on what is missing, without those for browsers that cannot draw the scene."""
        said = [text for (tag, own), text in zip(self.tags, self.texts, strict=True) if own.get("class") == "note"]
        return [text for text in said if text and "JavaScript" not in text]

    @property
    def scene(self):
        found = re.search(r'<script type="application/json" id="scene-data">(.*?)</script>', self.source)
        return found and json.loads(found[1])


def decoded(text, kind, columns):
    return np.frombuffer(base64.b64decode(text), kind).reshape(-1, columns)


def made(directory, **options):
    """The page of a directory, without the still picture, which takes seconds."""
    return Page(Path(write_report(directory, still=False, **options)["file"]))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "a <b> & %41"
    minidem.run(parse(BOX, "box.toml"), directory, text=BOX).trajectory.close()
    return directory


@pytest.fixture
def run_dir(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / finished.name)


def test_numbers_are_those_of_the_manifest(run_dir):
    page = made(run_dir)
    manifest = json.loads((run_dir / "manifest.json").read_text())
    summary, energy = manifest["summary"], manifest["summary"]["energy"]
    shown = page.summary
    assert shown["status"] == "ok" and shown["integrator"] == "spiral" and page.notes == []
    assert (int(shown["bodies"]), int(shown["spheres"]), int(shown["steps"])) == (7, 15, 1000)
    for name, value in {
        "time step": summary["dt"],
        "simulated time": 0.04,
        "wall time": summary["wall_s"],
        "time per step": summary["us_per_step"],
        "energy at the start": energy["initial"],
        "energy at the end": energy["final"],
        "energy drift, mean": energy["drift_mean"],
        "energy drift, last": energy["drift_last"],
        "energy drift, max": energy["drift_max"],
    }.items():
        assert float(shown[name].split()[0]) == pytest.approx(value, rel=1e-5), name
    assert f"minidem {manifest['minidem']}" in shown["versions"] and f"numpy {np.__version__}" in shown["versions"]
    assert page.text_of("h1") == ["minidem run a <b> & %41"] and page.text_of("title") == page.text_of("h1")


def test_user_text_is_only_text(run_dir):
    page = made(run_dir)
    scripts = [own for tag, own in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "scene-data"}, {}]
    assert EVIL not in page.source and "alert(1)" in page.source
    assert page.text_of("pre")[0] == BOX
    assert not [own for tag, own in page.tags if tag == "img"] and not [tag for tag, _ in page.tags if tag == "b"]
    assert any(text == EVIL for text in page.text_of("td"))


def test_only_its_own_script_may_run(run_dir):
    page = made(run_dir)
    script = re.findall(r"<script>(.*?)</script>", page.source, re.DOTALL)[-1]
    policy = next(own["content"] for tag, own in page.tags if tag == "meta" and "http-equiv" in own)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy and "http" not in policy


def test_nothing_is_loaded_from_elsewhere(run_dir):
    page = made(run_dir)
    for tag, own in page.tags:
        for name in ("src", "srcset", "data", "action", "poster", "background"):
            assert (own.get(name) or "data:").startswith("data:"), (tag, own)
        if tag == "link":
            assert own["href"].startswith("data:")
        for name in ("href", "xlink:href"):
            assert tag in ("a", "link") or (own.get(name) or "#").startswith("#"), (tag, own)
    styles = " ".join([*page.text_of("style"), *(own.get("style") or "" for _, own in page.tags)])
    assert "@import" not in styles and not re.search(r"url\((?!#)", styles)
    assert not re.search(r"\b(fetch|XMLHttpRequest|importScripts|WebSocket|import)\b", page.text_of("script")[-1])


def test_links_lead_to_the_data(run_dir, tmp_path):
    out = tmp_path / "pages" / "deep" / "mine.html"
    page = made(run_dir, out=out)
    targets = [own["href"] for tag, own in page.tags if tag == "a"]
    names = {"trajectory.h5", "energy.csv", "manifest.json", "scenario.toml", "resolved.toml"}
    assert {(out.parent / unquote(target)).resolve() for target in targets} == {(run_dir / name).resolve() for name in names}
    assert all(target.startswith("../../a%20%3Cb%3E%20%26%20%2541/") for target in targets)


def test_addresses(tmp_path):
    assert address(tmp_path / "javascript:x", tmp_path / "a.html") == "javascript%3Ax"
    assert address(tmp_path / "ä?#", tmp_path / "a.html") == "%C3%A4%3F%23"


def test_the_scene_is_the_trajectory(run_dir):
    scene = made(run_dir).scene
    with Trajectory(run_dir) as trajectory:
        numbers = [frame["number"] for frame in scene["frames"]]
        assert numbers == [0, 3, 6, 9, 11, 14, 17, 20] and scene["last"] == 20
        position = decoded(scene["position"], "<f4", 3).reshape(8, 7, 3)
        orientation = decoded(scene["orientation"], "<f4", 4).reshape(8, 7, 4)
        assert (position == trajectory.position[numbers].astype(np.float32)).all()
        assert (orientation == trajectory.orientation[numbers].astype(np.float32)).all()
        assert [frame["time"] for frame in scene["frames"]] == trajectory.time[numbers].tolist()
        assert scene["box"] == trajectory.box.tolist() and scene["frames"][0]["middle"] == [0.25, 0.2, 0.15]
        bodies = [decoded(kind["bodies"], "<u4", 1)[:, 0].tolist() for kind in scene["species"]]
        assert bodies == [np.flatnonzero(trajectory.species == kind).tolist() for kind in range(2)]
        for kind, clump in zip(scene["species"], trajectory.clumps, strict=True):
            given = clump.spheres - [*clump.center, 0]
            assert decoded(kind["spheres"], "<f4", 4) == pytest.approx(given, abs=1e-8)
        assert len(set(map(tuple, decoded(scene["colour"], "u1", 3).tolist()))) == 2


def test_chess_pieces_are_surfaces_and_the_page_is_small(tmp_path):
    minidem.run(parse(CHESS, "chess.toml"), tmp_path / "run").trajectory.close()
    page = made(tmp_path / "run")
    assert len(page.source) < 2e6
    for kind in page.scene["species"]:
        points, normals = decoded(kind["points"], "<f4", 3), decoded(kind["normals"], "i1", 4)
        faces = decoded(kind["faces"], "<u2", 3)
        assert len(points) == len(normals) == faces.max() + 1
        assert np.ptp(points[:, 2]) == pytest.approx(0.05, rel=0.02)
        assert np.linalg.norm(normals[:, :3], axis=1) == pytest.approx(127, abs=2)
        corners = points[faces].astype(float)  # triangles face outwards and enclose the volume of a piece
        volume = np.einsum("fi,fi->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
        assert 0.02 < volume / 0.05**3 < 0.2
        outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert np.mean(np.einsum("fi,fi->f", outward, normals[faces[:, 0], :3]) > 0) > 0.98
    assert len(set(map(tuple, decoded(page.scene["colour"], "u1", 3).tolist()))) == 2


@pytest.mark.parametrize(
    ("count", "bodies", "expected"), [(1, 5, [0]), (3, 5, [0, 1, 2]), (250, 1_000_000, [0]), (250, 60_000, [0, 249])]
)
def test_frames(count, bodies, expected):
    assert chosen_frames(count, bodies) == expected


def unfinished(run_dir):
    manifest = json.loads((run_dir / "manifest.json").read_text())
    del manifest["summary"]
    (run_dir / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "ended": None}))


def test_killed_run(run_dir):
    before = json.loads((run_dir / "manifest.json").read_text())["summary"]
    unfinished(run_dir)
    page = made(run_dir)
    assert "still running, or had been killed" in page.notes[0] and page.summary["status"] == "running"
    assert (page.summary["steps"], page.summary["bodies"], page.summary["spheres"]) == ("1000", "7", "15")
    assert float(page.summary["energy drift, max"]) == pytest.approx(before["energy"]["drift_max"], rel=0.1)
    assert "wall time" not in page.summary and page.scene is not None and page.text_of("svg")


def test_without_a_manifest(run_dir):
    (run_dir / "manifest.json").write_text("")
    page = made(run_dir)
    assert "had been killed" in page.notes[0] and page.scene is not None


def test_empty_trajectory(run_dir):
    unfinished(run_dir)
    with h5py.File(run_dir / "trajectory.h5", "r+") as file:
        for group in (file["particles/bodies"], file["observables"]):
            for element in group.values():
                for part in ("step", "time", "value"):
                    if isinstance(element, h5py.Group) and part in element:
                        element[part].resize(0, axis=0)
    page = made(run_dir)
    assert page.scene is None and not [tag for tag, _ in page.tags if tag in ("canvas", "svg")]
    assert any("has no frames yet" in note for note in page.notes) and any("no energies" in note for note in page.notes)
    assert page.summary["bodies"] == "7" and page.text_of("pre")[0] == BOX


def test_without_a_trajectory(run_dir):
    (run_dir / "trajectory.h5").write_text("cut short")
    page = made(run_dir)
    assert page.scene is None and any("not an HDF5 file" in note for note in page.notes)
    assert page.summary["steps"] == "1000" and page.text_of("pre")[0] == BOX


def test_positions_that_are_no_numbers(run_dir):
    with h5py.File(run_dir / "trajectory.h5", "r+") as file:
        file["particles/bodies/position/value"][20] = np.nan
        file["particles/bodies/position/value"][17] = 1e300
        del file["particles/bodies/box/edges"]
    scene = made(run_dir).scene
    assert np.isnan(decoded(scene["position"], "<f4", 3)).any()
    assert scene["frames"][-1]["middle"] == [0, 0, 0] and np.isfinite(scene["size"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "trajectory.h5"}, "ends in .html"),
        ({"out": "there.html"}, "--overwrite"),
        ({"out": "folder.html"}, "is a directory"),
        ({"out": "energy.csv/a.html"}, "cannot be written"),
    ],
)
def test_bad_places(run_dir, options, words):
    (run_dir / "there.html").write_text("mine")
    (run_dir / "folder.html").mkdir()
    with pytest.raises(InputError, match=words):
        write_report(run_dir, run_dir / options["out"], still=False)
    assert (run_dir / "there.html").read_text() == "mine"


def test_no_run_at_all(tmp_path):
    with pytest.raises(InputError, match="no such directory"):
        write_report(tmp_path / "none")
    with pytest.raises(InputError, match="neither a study"):
        write_report(tmp_path)
    (tmp_path / "manifest.json").write_text('{"name": "a web page of others"}')
    with pytest.raises(InputError, match=re.escape("trajectory.h5: no such file")):
        write_report(tmp_path)
    (tmp_path / "study.json").write_text('{"name": "x"}')
    with pytest.raises(InputError, match="not one of minidem"):
        write_report(tmp_path)


def test_still_picture(run_dir, monkeypatch):
    """If it cannot be drawn, the page says so."""
    write_report(run_dir)
    picture = next(own["src"] for tag, own in Page(run_dir / "report.html").tags if tag == "img")
    assert base64.b64decode(picture.partition(",")[2]).startswith(b"\x89PNG")
    monkeypatch.setattr(scene_part.sys, "executable", str(run_dir / "nothing"))
    write_report(run_dir, overwrite=True)
    page = Page(run_dir / "report.html")
    assert "img" not in [tag for tag, _ in page.tags] and "could not be drawn where this page was made" in page.source


# --- studies ------------------------------------------------------------------------------------------------


@pytest.fixture
def study_dir(tmp_path):
    (tmp_path / "box.toml").write_text(BOX)
    axes = 'dt = [1e-5, 2e-5, 4e-5]\nintegrator = ["spiral", "buss"]\nseed = [0, 1]'
    text = f'# {EVIL}\nname = "sweep"\nscenario = "box.toml"\n[axes]\n{axes}\n'
    study = parse_study(text, "sweep.toml", tmp_path)
    prepare_directory(tmp_path / "sweep", study)
    with Records(tmp_path / "sweep" / "records.jsonl") as records:
        for cell in study.cells[:-1]:
            dt = cell.changes["time.dt"]
            status = (
                {"status": "failed", "reason": f"blew up {EVIL}"} if cell.number == 1 else {"status": "ok", "reason": ""}
            )
            drifts = {f"drift_{name}": dt**2 for name in ("mean", "last", "max")}
            records.add({"cell": cell.number, **status, "dt": dt, "dt_rayleigh": dt / 2e-4, "wall_s": 0.5, **drifts})
    return tmp_path / "sweep"


def test_study(study_dir):
    page = made(study_dir)
    shown = page.summary
    assert [shown[name] for name in ("runs", "done", "failed", "missing")] == ["12", "10", "1", "1"]
    assert shown["wall time of all runs"] == "5.5 s" and "time.dt (3 values)" in shown["varied"]
    assert page.notes == ["1 of 12 runs had not ended when this page was made."]
    assert f"blew up {EVIL}" in page.text_of("td") and EVIL not in page.source
    assert "time.dt=1e-05 integrator.rotation=spiral seed=1" in page.text_of("td")
    assert page.text_of("td").count("2.00") == 2  # slopes
    assert "svg" in [tag for tag, _ in page.tags] and page.scene is None
    targets = {own["href"] for tag, own in page.tags if tag == "a"}
    assert targets == {"study.toml", "study.json", "records.jsonl"}  # there are no tables yet


def test_study_that_has_not_begun(study_dir):
    (study_dir / "records.jsonl").unlink()
    page = made(study_dir)
    assert page.summary["missing"] == "12" and any("no run has ended yet" in note for note in page.notes)


def test_study_with_runs(study_dir, finished):
    (study_dir / "runs" / "000000").mkdir(parents=True)  # a run that was killed at its start
    shutil.copytree(finished, study_dir / "runs" / "000001")
    page = made(study_dir)
    assert len(page.scene["frames"]) == 8 and "runs/000001, the first run" in page.source


def test_no_heavy_imports():
    script = "import json, sys, minidem.views.report.page; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"numba", "pyvista", "minidem.running", "minidem.model"} & set(json.loads(done.stdout)) == set()
