"""Reading runs back: finished ones, those still going on, killed ones, and what is no run at all."""

import json
import shutil
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

import minidem
from minidem import Trajectory
from minidem.errors import InputError
from minidem.scenario.reading import load, parse

RODS = """\
name = "rods"
time = {dt = 38e-6, end = 0.0038}
domain = {box = [0.5, 0.5, 0.5], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.rod = {spheres = [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.03], [0.04, 0, 0, 0.03]], material = "plastic"}
clump.pair = {spheres = [[0.1, 0.1, 0, 0.03], [0.1, 0.13, 0, 0.02]], material = "plastic"}
place = [{clump = "rod", count = 4, speed = 4, spin = 4}, {clump = "pair", count = 3, speed = 4, spin = 4}]
output = {frames = 5, energies = 11}
"""
FRAME = ("position", "velocity", "orientation", "angular_velocity")
PATIENCE = 120  # s, for other processes, after which something hangs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return minidem.run(parse(RODS), tmp_path_factory.mktemp("rods") / "run", text=RODS)


@pytest.fixture
def copy(run, tmp_path):
    """A trajectory file of one's own to spoil."""
    return shutil.copy(f"{run.summary['run_dir']}/trajectory.h5", tmp_path / "copy.h5")


# --- finished runs -------------------------------------------------------------------------------------------


def test_directory_and_file_are_the_same(run):
    directory = run.summary["run_dir"]
    with Trajectory(directory) as one, Trajectory(f"{directory}/trajectory.h5") as other:
        assert len(one) == len(other) == 5
        for name in ("step", "time", *FRAME):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_what_is_read_is_what_was_written(run):
    """Against a plain look into the file."""
    with h5py.File(f"{run.summary['run_dir']}/trajectory.h5", "r") as file, Trajectory(run.summary["run_dir"]) as trajectory:
        for name in FRAME:
            assert np.array_equal(getattr(trajectory, name), file[f"particles/bodies/{name}/value"][:]), name
        assert trajectory.step.tolist() == [0, 25, 50, 75, 100]
        assert trajectory.time.tolist() == [step * 38e-6 for step in (0, 25, 50, 75, 100)]
        log = trajectory.observables
        assert log["step"].tolist() == list(range(0, 101, 10))
        for name in file["observables"]:
            assert np.array_equal(log[name], file[f"observables/{name}/value"][:]), name
        assert set(log) == {"step", "time", *file["observables"]}
        assert trajectory.box.tolist() == [0.5, 0.5, 0.5]
        assert trajectory.scenario == RODS
        assert trajectory.species.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_clump_templates(run):
    rod, pair = run.trajectory.clumps
    assert (rod.name, pair.name) == ("rod", "pair")
    assert rod.spheres.tolist() == [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.03], [0.04, 0, 0, 0.03]]
    assert rod.center == pytest.approx([0, 0, 0], abs=1e-15)
    assert 0.1 < pair.center[1] < 0.13 and pair.center[0] == pytest.approx(0.1)
    assert rod.mass == pytest.approx(2500 * rod.volume) and run.trajectory.mass[0] == rod.mass
    assert rod.inertia[0, 0] < rod.inertia[1, 1] == pytest.approx(rod.inertia[2, 2])


def test_closing():
    trajectory = minidem.run(parse(RODS)).trajectory
    with trajectory:
        assert len(trajectory) == 5
    with pytest.raises((ValueError, KeyError, RuntimeError)):
        len(trajectory)


def test_spheres_of_known_poses():
    """A slanted rod, given off its centre: as given, turned a quarter about z, and turned a third about the diagonal."""
    scenario = """
        time = {dt = 1e-4, end = 1e-3}
        material.m = {young = 1e9, poisson = 0.1, density = 1000}
        clump.rod = {spheres = [[0, 5, 0, 0.1], [0.18, 5.24, 0, 0.1]], material = "m"}
        clump.ball = {spheres = [[7, 8, 9, 0.25]], material = "m"}
        body = [
            {clump = "rod", position = [1, 2, 3]},
            {clump = "ball", position = [0, 0, -4], orientation = [0.5, -0.5, 0.5, 0.5], velocity = [0, 0, 1]},
            {clump = "rod", position = [-1, 2, 3], orientation = [0.7071067811865476, 0, 0, 0.7071067811865476]},
            {clump = "rod", position = [-3, 2, 3], orientation = [0.5, 0.5, 0.5, 0.5]},
        ]
        output = {frames = 2, energies = 2}
    """
    trajectory = minidem.run(parse(scenario)).trajectory
    centres, radii, body = trajectory.spheres(0)
    assert body.tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert radii.tolist() == [0.1, 0.1, 0.25, 0.1, 0.1, 0.1, 0.1]
    along = np.array([[0.09, 0.12, 0], [-0.12, 0.09, 0], [0, 0.09, 0.12]])  # half the rod, at each of its orientations
    ends = [(np.array([x, 2, 3]) - half, np.array([x, 2, 3]) + half) for x, half in zip((1, -1, -3), along, strict=True)]
    expected = [*ends[0], [0, 0, -4], *ends[1], *ends[2]]
    assert centres == pytest.approx(np.array(expected), abs=1e-12)
    moved, _, _ = trajectory.spheres(-1)
    assert moved[2] == pytest.approx([0, 0, -4 + 1e-3], abs=1e-12)
    assert moved[[0, 1, 3, 4, 5, 6]] == pytest.approx(centres[[0, 1, 3, 4, 5, 6]], abs=1e-12)


def test_spheres_move_with_their_bodies(run):
    """At every frame, against the rotation matrix of the quaternion written out."""
    trajectory = run.trajectory
    for frame in range(len(trajectory)):
        centres, radii, body = trajectory.spheres(frame)
        assert len(centres) == len(radii) == len(body) == 4 * 3 + 3 * 2
        expected = []
        for b, kind in enumerate(trajectory.species):
            w, x, y, z = trajectory.orientation[frame, b]
            rotation = np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            )
            clump = trajectory.clumps[kind]
            expected += [trajectory.position[frame, b] + rotation @ (row[:3] - clump.center) for row in clump.spheres]
        assert centres == pytest.approx(np.array(expected), abs=1e-12)
        reach = 0.8 * radii[:, None]  # in a collision a wall is dented by up to a tenth or so of a radius
        assert ((centres > reach) & (centres < 0.5 - reach)).all()


def test_one_frame(run):
    """As in all of them; numbers as in Python."""
    with Trajectory(run.summary["run_dir"]) as trajectory:
        for number in (0, 4, -1, 2, -5):
            for name in FRAME:
                assert np.array_equal(getattr(trajectory.frame(number), name), getattr(run.trajectory, name)[number]), name
        for number in (5, -6):
            with pytest.raises(IndexError):
                trajectory.frame(number)


def test_frame_numbers(run):
    first, last = run.trajectory.spheres(0)[0], run.trajectory.spheres(4)[0]
    assert np.array_equal(run.trajectory.spheres(-1)[0], last) and np.array_equal(run.trajectory.spheres(-5)[0], first)
    for frame in (5, -6):
        with pytest.raises(IndexError):
            run.trajectory.spheres(frame)


# --- no runs -------------------------------------------------------------------------------------------------


def refused(path):
    with pytest.raises(InputError) as caught:
        Trajectory(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing(tmp_path):
    refused(tmp_path / "nothing")
    refused(tmp_path)  # a directory without a run


def test_not_hdf5(tmp_path):
    for content in (b"", b"step,time\n0,0\n", bytes(4096)):
        (tmp_path / "trajectory.h5").write_bytes(content)
        refused(tmp_path / "trajectory.h5")


def test_not_minidem(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.create_group("h5md").attrs["version"] = [1, 1]
        file["particles/atoms/position/value"] = np.zeros((2, 3, 3))
    refused(tmp_path / "other.h5")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_truncated(copy, part):
    """By a full disk or a broken download."""
    with open(copy, "r+b") as file:
        file.truncate(int(part * file.seek(0, 2)))
    refused(copy)


# --- unfinished runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", ["particles/bodies/velocity/value", "particles/bodies/position/value"])
def test_half_written_frame_does_not_count(run, copy, short):
    """HDF5 writes its datasets in an order of its own: a writer that was killed may leave some of them a row behind."""
    with h5py.File(copy, "r+") as file:
        file[short].resize(4, axis=0)
    with Trajectory(copy) as trajectory:
        assert len(trajectory) == 4
        for name in ("step", "time", *FRAME):
            assert np.array_equal(getattr(trajectory, name), getattr(run.trajectory, name)[:4]), name
        assert np.array_equal(trajectory.spheres(-1)[0], run.trajectory.spheres(3)[0])


@pytest.mark.parametrize("short", ["elastic/value", "total/value", "momentum/value", "total/time"])
def test_half_written_row_does_not_count(run, copy, short):
    with h5py.File(copy, "r+") as file:
        file[f"observables/{short}"].resize(10, axis=0)
    with Trajectory(copy) as trajectory:
        log, whole = trajectory.observables, run.trajectory.observables
        assert {len(values) for values in log.values()} == {10}
        for name in log:
            assert np.array_equal(log[name], whole[name][:10]), name


class LongRun:
    """`minidem run` in a process of its own, with a frame every 1000 steps; it runs until it is killed."""

    def __init__(self, directory, seed):
        (directory / "rods.toml").write_text(RODS)
        self.run_dir = directory / "run"
        changes = [f"seed={seed}", "time.end=760", "output.frames=20001", "output.energies=20001"]  # 2e7 steps
        self.scenario = load(directory / "rods.toml", changes)
        arguments = ["run", "rods.toml", "--out", "run", "--quiet", *(f"--set={change}" for change in changes)]
        self.process = subprocess.Popen([sys.executable, "-m", "minidem.cli", *arguments], cwd=directory)
        self.begun = time.monotonic()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL

    def wait_for(self, condition):
        """The first true value of condition()."""
        while not (value := condition()):
            assert self.process.poll() is None, "the run ended by itself"
            assert time.monotonic() - self.begun < PATIENCE, "waited in vain"
            time.sleep(0.02)
        return value

    def frames(self, more_than=0):
        """What can be read of the run now; None if that is no more than some number of frames."""
        try:
            trajectory = Trajectory(self.run_dir)
        except InputError:  # there is no readable file yet
            return None
        with trajectory:
            step = trajectory.step  # first: more frames may come while the rest is read
            read = {name: getattr(trajectory, name)[: len(step)] for name in ("time", *FRAME)} | {"step": step}
        return read if len(step) > more_than else None


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What was read from a run twice while it went on, and its directory after it was killed."""
    long_run = LongRun(tmp_path_factory.mktemp("killed"), seed=1)
    try:
        first = long_run.wait_for(long_run.frames)
        with Trajectory(long_run.run_dir) as kept:
            before = len(kept)
            long_run.wait_for(lambda: len(kept) > before)  # an open trajectory sees new frames
        second = long_run.wait_for(lambda: long_run.frames(more_than=len(first["step"])))
    finally:
        long_run.kill()
    return long_run, first, second


def test_run_can_be_read_while_it_goes_on(killed):
    _, first, second = killed
    count = len(first["step"])
    assert 0 < count < len(second["step"])
    for read in (first, second):
        assert {len(values) for values in read.values()} == {len(read["step"])}
        assert all(np.isfinite(values).all() for values in read.values())
        assert np.array_equal(read["step"], 1000 * np.arange(len(read["step"])))
        assert np.array_equal(read["time"], read["step"] * 38e-6)
    for name in FRAME:
        assert np.array_equal(first[name], second[name][:count]), name


def test_killed_run_can_be_read(killed):
    long_run, _, second = killed
    with Trajectory(long_run.run_dir) as trajectory:
        count = len(trajectory)
        assert count >= len(second["step"])
        assert {len(getattr(trajectory, name)) for name in ("step", "time", *FRAME)} == {count}
        for name in FRAME:
            assert np.isfinite(getattr(trajectory, name)[-1]).all(), name
        assert np.linalg.norm(trajectory.orientation[-1], axis=1) == pytest.approx(np.ones(7), abs=1e-9)
        log = trajectory.observables
        assert len({len(values) for values in log.values()}) == 1
        assert np.isfinite(log["total"]).all()
        assert len(trajectory.spheres(-1)[0]) == 18
        assert trajectory.scenario == RODS
    assert json.loads((long_run.run_dir / "manifest.json").read_text())["status"] == "running"


def test_killed_run_is_the_beginning_of_the_whole(killed):
    """Bit for bit: of a run to the last frame that was written, without interruption, in this process."""
    long_run, _, _ = killed
    with Trajectory(long_run.run_dir) as trajectory:
        count = len(trajectory)
        end = int(trajectory.step[-1]) * 38e-6
        changes = {"time.end": end, "output.frames": count, "output.energies": count}
        reference = minidem.run(long_run.scenario.with_changes(changes)).trajectory
        assert np.array_equal(reference.step, trajectory.step)
        for name in FRAME:
            assert np.array_equal(getattr(reference, name), getattr(trajectory, name)), name
        log, log_reference = trajectory.observables, reference.observables
        for name in log:
            rows = min(len(log[name]), len(log_reference[name]))
            assert rows > 0  # a kill between two writes leaves one behind the other
            assert np.array_equal(log[name][:rows], log_reference[name][:rows]), name
        assert log_reference["elastic"].max() > 0  # there were collisions


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.7])
def test_killed_at_any_time(tmp_path, delay):
    """Soon after its directory appears, before and after the first frames are on disk: readable, or refused in words."""
    long_run = LongRun(tmp_path, seed=2)
    try:
        long_run.wait_for((long_run.run_dir / "manifest.json").exists)
        time.sleep(delay)
    finally:
        long_run.kill()
    try:
        trajectory = Trajectory(long_run.run_dir)
    except InputError:
        assert delay < 0.5  # before there was anything to read
        return
    with trajectory:
        count = len(trajectory)
        assert {len(getattr(trajectory, name)) for name in ("step", "time", *FRAME)} == {count}
        assert len({len(values) for values in trajectory.observables.values()}) == 1
        assert np.array_equal(trajectory.step, 1000 * np.arange(count))
