"""`minidem export`: output, exit codes, unfinished runs, existing files."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from command import BOX, PATIENCE, in_a_shell

import minidem
from minidem import Trajectory
from minidem.errors import InputError
from minidem.scenario.reading import parse


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finished") / "rods"
    minidem.run(parse(BOX), directory, text=BOX)
    return directory


@pytest.fixture
def run(finished, directory):
    """A copy of a run, five frames of five rods, in the working directory."""
    return shutil.copytree(finished, directory / "rods")


def refused(outcome, *words):
    assert outcome.code == 2, outcome
    assert outcome.stdout == "" and outcome.stderr.count("\n") == 1 and "Traceback" not in outcome.stderr
    for word in words:
        assert word in outcome.stderr, (word, outcome.stderr)


def rows_of(path):
    """A CSV file, as lists of texts."""
    return [line.split(",") for line in path.read_text().splitlines()]


# --- files and output ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "file"),
    [("vtkhdf", "rods.vtkhdf"), ("vtp", "rods.pvd"), ("xyz", "rods.xyz"), ("csv", "rods.csv"), ("gsd", "rods.gsd")],
)
def test_file_goes_to_the_run(minidem_command, run, format, file):
    outcome = minidem_command("export", "rods", "--format", format)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert (run / file).stat().st_size > 400
    assert f"written to    rods/{file}" in outcome.stdout
    assert "5, from 0 to 0.004 s" in outcome.stdout and "15 spheres" in outcome.stdout
    assert ("(0.25, 0.2, 0.15) m, the middle of the box" in outcome.stdout) == (format == "gsd")
    refused(
        minidem_command("export", "rods", "--format", format),
        f"rods/{file}",
        "exists already; give --overwrite to replace it, or another --out",
    )
    assert minidem_command("export", "rods", "--format", format, "--overwrite").code == 0
    assert not list(run.glob(".*"))  # no incomplete file is left


def test_old_file_is_kept(minidem_command, directory, run):
    (directory / "mine.csv").write_text("mine")
    refused(minidem_command("export", "rods", "--out", "mine.csv"), "mine.csv: exists already")
    assert (directory / "mine.csv").read_text() == "mine"


def test_json_and_quiet(minidem_command, directory, run):
    options = ("--frames", "-1", "--bodies", "0:2", "--species", "rod", "--what", "bodies")
    outcome = minidem_command("export", "rods/trajectory.h5", "--out", "new/place/last.csv", *options, "--json")
    assert outcome.stderr == ""
    size = (directory / "new/place/last.csv").stat().st_size
    assert outcome.json == {
        "format": "csv",
        "file": "new/place/last.csv",
        "files": 1,
        "bytes": size,
        "what": "bodies",
        "points": 2,
        "frames": 1,
        "first_time": 0.004,
        "last_time": 0.004,
        "middle": None,
        "note": None,
    }
    assert [row[0] for row in rows_of(directory / "new/place/last.csv")] == ["frame", "4", "4"]
    quiet = minidem_command("export", "rods", "--out", "quiet.xyz", "--quiet")
    assert (quiet.code, quiet.stdout, quiet.stderr) == (0, "", "") and (directory / "quiet.xyz").exists()


def test_full_precision(minidem_command, directory, run):
    """Numbers read back from text are exactly those of the run."""
    for file in ("all.csv", "all.xyz"):
        assert minidem_command("export", "rods", "--out", file).code == 0
    with Trajectory(run) as trajectory:
        centres = np.concatenate([trajectory.spheres(frame)[0] for frame in range(5)])
        header, *rows = rows_of(directory / "all.csv")
        x = header.index("x")
        assert [[float(text) for text in row[x : x + 3]] for row in rows] == centres.tolist()
        assert [float(row[1]) for row in rows] == np.repeat(trajectory.time, 15).tolist()
        lines = (directory / "all.xyz").read_text().splitlines()
        rows = [line.split()[1:4] for k, line in enumerate(lines) if k % 17 > 1]
        assert [[float(text) for text in row] for row in rows] == centres.tolist()


# --- unfinished runs -----------------------------------------------------------------------------------------


def test_run_that_goes_on_and_is_killed(minidem_command, directory):
    """Both are exported up to their last frame, with a note."""
    (directory / "box.toml").write_text(BOX.replace("end = 0.004", "end = 4000").replace("frames = 5", "frames = 100001"))
    arguments = [
        sys.executable,
        "-m",
        "minidem.cli",
        "run",
        "box.toml",
        "--out",
        "long",
        "--quiet",
    ]  # a frame every 1000 steps
    process = subprocess.Popen(arguments, cwd=directory)
    try:
        begun = time.monotonic()
        while frames_of(directory / "long") < 2:
            assert process.poll() is None and time.monotonic() - begun < PATIENCE
            time.sleep(0.02)
        going_on = minidem_command("export", "long", "--out", "going-on.csv", "--json")
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
    killed = minidem_command("export", "long", "--out", "killed.vtkhdf", "--json", "--what", "bodies")
    assert going_on.code == killed.code == 0
    assert f"long: is still being written, by process {process.pid}; there are " in going_on.stderr
    assert "long: was killed before its end; there are " in killed.stderr
    count, last = going_on.json["frames"], killed.json["frames"]
    assert 2 <= count <= last == frames_of(directory / "long")
    assert f"there are {last} frames, up to {0.04 * (last - 1):.6g} s" in killed.stderr
    with Trajectory(directory / "long") as trajectory, h5py.File(directory / "killed.vtkhdf", "r") as file:
        rows = rows_of(directory / "going-on.csv")[1:]
        assert [int(row[0]) for row in rows] == np.repeat(np.arange(count), 15).tolist()
        assert [float(text) for text in rows[-1][7:10]] == trajectory.spheres(count - 1)[0][-1].tolist()
        assert np.array_equal(file["VTKHDF/Points"][:].reshape(last, 5, 3), trajectory.position)


def frames_of(run):
    try:
        with Trajectory(run) as trajectory:
            return len(trajectory)
    except InputError:  # there is no file yet
        return 0


def test_no_frames(minidem_command, directory, run):
    with h5py.File(run / "trajectory.h5", "r+") as file:
        for name in ("position/step", "position/time", "position/value", "velocity/value"):
            file[f"particles/bodies/{name}"].resize(0, axis=0)
    refused(minidem_command("export", "rods", "--out", "out.csv"), "rods: has no frames; ", "run it again")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "pid": 2**22 + 1}))
    refused(minidem_command("export", "rods", "--out", "out.csv"), "rods: has no frames, as it was killed before its end")
    assert not (directory / "out.csv").exists()


# --- bad input -----------------------------------------------------------------------------------------------


def test_no_run(minidem_command, directory, run):
    (directory / "empty").mkdir()
    with h5py.File(directory / "other.h5", "w") as file:
        file["particles/atoms/position/value"] = np.zeros((2, 3, 3))
    with open(run / "trajectory.h5", "rb") as file:
        (directory / "half.h5").write_bytes(file.read(20_000))
    cases = {"nothing": "no such file", "empty": "no such file", "box.toml": "not an HDF5 file", "half.h5": "cannot be read"}
    for path, word in (cases | {"other.h5": "not a minidem trajectory"}).items():
        refused(minidem_command("export", path, "--out", "out.csv"), path, word)
    assert not (directory / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "out.csv", "--frames", "5"], ["--frames 5: there is no 5", "rods has frames 0 to 4"]),
        (["--out", "out.csv", "--bodies", "0,5"], ["--bodies 0,5: there is no 5", "rods has bodies 0 to 4"]),
        (["--out", "out.csv", "--species", "rot"], ["did you mean rod?"]),
        (["--out", "out.csv", "--format", "cvs"], ["did you mean csv?"]),
        (["--out", "out.csv", "--what", "sphere"], ["did you mean spheres?"]),
        ([], ["--format: give one of vtkhdf, vtp, xyz, csv, gsd"]),
        (["--out", "rods", "--format", "csv"], ["--out rods: is a directory"]),
        (["--out", "box.toml/out.csv"], ["--out box.toml/out.csv: box.toml is not a directory"]),
        (["--out", "box.toml/there/out.pvd"], ["cannot be written: Not a directory"]),
        (["--out", "x" * 300 + ".csv"], ["cannot be written: File name too long"]),
        (["--out", "rods/energy.csv", "--overwrite"], ["a file of the run itself"]),
    ],
)
def test_bad_arguments(minidem_command, directory, run, arguments, words):
    before = sorted(path.name for path in [*directory.iterdir(), *run.iterdir()])
    refused(minidem_command("export", "rods", *arguments), *words)
    assert sorted(path.name for path in [*directory.iterdir(), *run.iterdir()]) == before


def test_gsd_may_be_missing(minidem_command, directory, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "gsd", None)
    monkeypatch.setitem(sys.modules, "gsd.hoomd", None)
    refused(minidem_command("export", "rods", "--out", "out.gsd"), "pip install 'minidem[export]'")
    assert not list(directory.glob("*out.gsd*"))


@pytest.mark.parametrize("suffix", [".csv", ".xyz", ".vtkhdf", ".gsd", ".pvd"])
def test_disk_full(directory, run, suffix):
    """The old file stays, no incomplete file is left, and the exit code is 1."""

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    (directory / f"out{suffix}").write_text("old")
    outcome = in_a_shell(directory, "export", "rods", "--out", f"out{suffix}", "--overwrite", preexec_fn=limit_file_size)
    assert outcome.code == 1 and outcome.stdout == ""
    assert f"out{suffix}: cannot be written to (" in outcome.stderr and "Traceback" not in outcome.stderr
    assert (directory / f"out{suffix}").read_text() == "old"
    assert not list(directory.glob(".*"))
