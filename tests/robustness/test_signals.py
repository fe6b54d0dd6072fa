"""Stopping runs by signals: the step is finished, the files are closed, the exit code names the signal."""

import csv
import hashlib
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

import minidem

RODS = """\
name = "rods"
time = {dt = 38e-6, end = 760} # 2e7 steps: longer than anybody waits here
domain = {box = [0.5, 0.5, 0.5], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.rod = {spheres = [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.03], [0.04, 0, 0, 0.03]], material = "plastic"}
place = [{clump = "rod", count = 8, speed = 4, spin = 4}]
output = {frames = 20001, energies = 40001}
"""
PATIENCE = 120  # s, after which a process hangs
EXIT = {signal.SIGINT: 130, signal.SIGTERM: 143}

# Where in a run the signal comes, in seconds after its directory appeared: at the start, before and after the first
# writing to disk.
MOMENTS = [
    (signal.SIGINT, 0.0),
    (signal.SIGTERM, 0.0),
    (signal.SIGINT, 0.2),
    (signal.SIGTERM, 0.4),
    (signal.SIGINT, 0.9),
    (signal.SIGTERM, 1.3),
]


def started(directory: Path, command: list[str]) -> subprocess.Popen:
    (directory / "rods.toml").write_text(RODS)
    command = [sys.executable, *command, "run", "rods.toml", "--out", "run", "--json"]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen) -> None:
    begun = time.monotonic()
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - begun < PATIENCE, "waited in vain"
        time.sleep(0.01)


class Stopped:
    """A run that got a signal, and what it left behind."""

    def __init__(self, directory: Path, number: signal.Signals, delay: float):
        self.directory, self.number = directory / "run", number
        process = started(directory, ["-m", "minidem.cli"])
        try:
            wait_for(self.directory / "manifest.json", process)
            time.sleep(delay)
            process.send_signal(number)
            self.stdout, self.stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        self.code = process.returncode

    @property
    def summary(self):
        return json.loads(self.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All of them, two at a time."""
    directories = [tmp_path_factory.mktemp("stopped") for _ in MOMENTS]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(Stopped, directories, *zip(*MOMENTS, strict=True)))


@pytest.fixture(params=range(len(MOMENTS)), ids=[f"{number.name} after {delay} s" for number, delay in MOMENTS])
def stopped(request, runs):
    return runs[request.param]


def test_exit_code_and_summary(stopped):
    assert stopped.code == EXIT[stopped.number]
    assert stopped.summary["status"] == "interrupted"
    assert 0 <= stopped.summary["steps"] < 20_000_000
    assert stopped.stdout.count("\n") == 1
    assert "Traceback" not in stopped.stderr and "Aborted" not in stopped.stderr


def test_manifest(stopped):
    manifest = json.loads((stopped.directory / "manifest.json").read_text())
    assert manifest["status"] == "interrupted" and manifest["ended"]
    assert {"trajectory.h5", "energy.csv", "scenario.toml", "resolved.toml"} <= set(manifest["sha256"])
    for name, digest in manifest["sha256"].items():
        assert digest == hashlib.sha256((stopped.directory / name).read_bytes()).hexdigest(), name


def test_trajectory_is_closed(stopped):
    """A file left open for writing could not be opened like this."""
    with h5py.File(stopped.directory / "trajectory.h5", "r") as file:
        bodies, log = file["particles/bodies"], file["observables"]
        frames = bodies["position/step"][:]
        assert len(frames) >= 1 and frames[0] == 0 and frames[-1] <= stopped.summary["steps"]
        assert (np.diff(frames) == 1000).all()
        for name in ("position", "velocity", "orientation", "angular_velocity"):
            assert len(bodies[name]["value"]) == len(frames)
            assert np.isfinite(bodies[name]["value"][:]).all()
        for name in log:
            assert len(log[name]["value"]) == len(log["total/step"])
        # Everything that was due has been recorded: the run stopped before the next frame and the next row.
        assert frames[-1] + 1000 > stopped.summary["steps"]
        assert log["total/step"][-1] + 500 > stopped.summary["steps"]


def test_checkpoint_is_of_the_last_step(stopped):
    with h5py.File(stopped.directory / "checkpoint.h5", "r") as file:
        assert file["state/step"][()] == stopped.summary["steps"]


def test_energy_log_has_whole_rows_only(stopped):
    content = (stopped.directory / "energy.csv").read_bytes()
    assert content.endswith(b"\n")
    header, *rows = csv.reader(content.decode().splitlines())
    assert len(header) == 8 and {len(row) for row in rows} == {8}
    with h5py.File(stopped.directory / "trajectory.h5", "r") as file:
        assert [float(row[header.index("total")]) for row in rows] == file["observables/total/value"][:].tolist()


def test_what_was_recorded_is_the_beginning_of_the_whole(stopped):
    """Bit for bit; the first few frames, and the last."""
    with minidem.Trajectory(stopped.directory) as trajectory:
        count, last = len(trajectory), int(trajectory.step[-1])
        position, orientation = np.asarray(trajectory.position), np.asarray(trajectory.orientation)
    if last == 0:
        return
    scenario = minidem.load(stopped.directory / "resolved.toml")
    rest = scenario.with_changes({"time.end": last * 38e-6, "output.frames": count, "output.energies": 2})
    reference = minidem.run(rest).trajectory
    assert reference.step[-1] == last
    assert np.array_equal(reference.position, position) and np.array_equal(reference.orientation, orientation)


# --- while the run is being set up -----------------------------------------------------------------------------

# The command line with a set-up that takes until the file "go" appears: long enough to send two signals, on any machine.
SLOW = """
import pathlib, time
from minidem import cli
from minidem.running import simulation

build = simulation.build_model

def slow(*arguments):
    pathlib.Path("setting-up").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    return build(*arguments)

simulation.build_model = slow
cli.main()
"""


@pytest.fixture
def setting_up(tmp_path):
    process = started(tmp_path, ["-c", SLOW])
    try:
        wait_for(tmp_path / "setting-up", process)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", list(EXIT), ids=lambda number: number.name)
def test_first_signal_waits_for_the_set_up(setting_up, tmp_path, number):
    """And the run then ends at its first step."""
    setting_up.send_signal(number)
    time.sleep(0.3)
    assert setting_up.poll() is None
    (tmp_path / "go").touch()
    stdout, stderr = setting_up.communicate(timeout=PATIENCE)
    assert setting_up.returncode == EXIT[number], stderr
    assert json.loads(stdout)["steps"] == 0 and json.loads(stdout)["status"] == "interrupted"
    assert json.loads((tmp_path / "run/manifest.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("second", list(EXIT), ids=lambda number: f"then {number.name}")
@pytest.mark.parametrize("first", list(EXIT), ids=lambda number: number.name)
def test_second_signal_ends_at_once(setting_up, tmp_path, first, second):
    """Without "go": the set-up would go on for ever."""
    setting_up.send_signal(first)
    time.sleep(0.3)
    assert setting_up.poll() is None
    setting_up.send_signal(second)
    stdout, stderr = setting_up.communicate(timeout=PATIENCE)
    assert setting_up.returncode in (EXIT[second], -second)  # by an exit code, or by the signal itself
    assert stdout == "" and "Traceback" not in stderr
    assert not (tmp_path / "run").exists()
