"""Run directories: what is in them, that it is right to the last digit, and that runs repeat themselves bit for bit."""

import csv
import hashlib
import json
import math
import os
import re
import shutil
import tomllib
from dataclasses import replace

import h5py
import numpy as np
import pytest

import minidem
from minidem.errors import InputError
from minidem.files.trajectory import Frame
from minidem.machine import in_bytes
from minidem.model.building import build_model
from minidem.running import recorder as recorder_module
from minidem.running import room as room_module
from minidem.running.recorder import Recorder
from minidem.running.room import check_room
from minidem.scenario.reading import load, parse

# Two kinds of bodies, collisions, gravity; 1000 steps.
SCENARIO = """\
schema = 1 # kept as written: µ, ü
name = "pair"
seed = 4

[time]
dt = 4e-5
end = 0.04

[domain]
box = [0.36, 0.3, 0.33]
material = "plastic"
gravity = [0, 1.5, -9.81]

[material.plastic]
young = 1e8
poisson = 0.1
density = 2500.0

[clump.unused]
spheres = [[0, 0, 0, 1.0]]
material = "plastic"

[clump.hook] # no symmetry at all: principal axes and centre are not the given ones
spheres = [[0, 0, 0, 0.02], [0.03, 0, 0, 0.02], [0.03, 0.02, 0.01, 0.015]]
material = "plastic"

[clump."ball.1"]
spheres = [[0.1, 0.2, 0.3, 0.03]]
material = "plastic"

[[body]]
clump = "ball.1"
position = [0.18, 0.15, 0.165]
velocity = [1, 2, 3]
angular_velocity = [0.5, 0, 1]

[[place]]
clump = "hook"
count = 9
speed = 6.0
spin = 20.0

[output]
frames = 9
energies = 41
"""
DT, STEPS = 4e-5, 1000
FRAME = ("position", "velocity", "orientation", "angular_velocity")
ENERGIES = ("kinetic_translational", "kinetic_rotational", "elastic", "gravity", "total")
LOG = (*ENERGIES, "edge_error")
# The grammar of H5MD's units module: factors with signed powers.
UNITS = {
    "particles/bodies/box/edges": "m",
    "particles/bodies/species": "1",
    "particles/bodies/mass": "kg",
    "particles/bodies/id": "1",
    "particles/bodies/position/value": "m",
    "particles/bodies/velocity/value": "m s-1",
    "particles/bodies/orientation/value": "1",
    "particles/bodies/angular_velocity/value": "rad s-1",
    **{f"particles/bodies/{name}/step": "1" for name in FRAME},
    **{f"particles/bodies/{name}/time": "s" for name in FRAME},
    **{f"observables/{name}/value": "J" for name in LOG},
    "observables/momentum/value": "kg m s-1",
    "observables/angular_momentum/value": "kg m+2 s-1",
    **{f"observables/{name}/step": "1" for name in (*LOG, "momentum", "angular_momentum")},
    **{f"observables/{name}/time": "s" for name in (*LOG, "momentum", "angular_momentum")},
    "parameters/minidem/scenario": "1",
    "parameters/minidem/resolved": "1",
    **{f"parameters/minidem/clumps/{k}/spheres": "m" for k in range(2)},
    **{f"parameters/minidem/clumps/{k}/mass": "kg" for k in range(2)},
    **{f"parameters/minidem/clumps/{k}/volume": "m+3" for k in range(2)},
    **{f"parameters/minidem/clumps/{k}/center": "m" for k in range(2)},
    **{f"parameters/minidem/clumps/{k}/inertia": "kg m+2" for k in range(2)},
    "parameters/minidem/walls/planes/point": "m",
    "parameters/minidem/walls/planes/normal": "1",
}


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def same(one, other):
    """Equal bit for bit, in every array of two trajectories."""
    log, log_other = one.observables, other.observables
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("step", "time", *FRAME))
        and list(log) == list(log_other)
        and all(np.array_equal(log[name], log_other[name]) for name in log)
    )


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "pair.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return load(path)


@pytest.fixture(scope="module")
def result(scenario, tmp_path_factory):
    return minidem.run(scenario, tmp_path_factory.mktemp("run") / "out", source="pair.toml", text=SCENARIO)


@pytest.fixture(scope="module")
def directory(result):
    return result.summary["run_dir"]


@pytest.fixture(scope="module")
def file(directory):
    with h5py.File(os.path.join(directory, "trajectory.h5"), "r") as file:
        yield file


# --- the trajectory file -------------------------------------------------------------------------------------


def test_the_case_is_worth_recording(result):
    """Contacts and every kind of energy occur, or the comparisons below would compare zeros."""
    log = result.trajectory.observables
    assert all(np.ptp(log[name]) > 1e-6 for name in ENERGIES[:4])
    assert log["elastic"].max() > 1e-3 * log["total"][0]
    assert result.summary["status"] == "ok"


def test_h5md_metadata(file):
    assert set(file) == {"h5md", "particles", "observables", "parameters"}
    version = file["h5md"].attrs["version"]
    assert version.shape == (2,) and version.dtype.kind == "i" and version.tolist() == [1, 1]
    assert text(file["h5md/author"].attrs["name"])
    assert text(file["h5md/creator"].attrs["name"]) == "minidem"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", text(file["h5md/creator"].attrs["version"]))
    units = file["h5md/modules/units"].attrs
    assert units["version"].tolist() == [1, 0] and text(units["system"]) == "SI"


def test_h5md_strings_have_fixed_length(file):
    """As H5MD 1.1 demands it of its own attributes, and its units module of every unit."""
    places = [("h5md/author", "name"), ("h5md/creator", "name"), ("h5md/creator", "version")]
    places += [("particles/bodies/box", "boundary"), *((name, "unit") for name in UNITS)]
    kinds = {file[name].attrs.get_id(key).dtype.kind for name, key in places}
    assert kinds == {"S"}


def test_h5md_box(file):
    box = file["particles/bodies/box"]
    assert box.attrs["dimension"] == 3
    assert [text(word) for word in box.attrs["boundary"]] == ["none"] * 3
    assert box["edges"][:].tolist() == [0.36, 0.3, 0.33]


def test_every_dataset_carries_its_unit(file):
    """No dataset without one, none missing, none more."""
    found = {}
    file.visititems_links(lambda name, link: found.update({name: file[name]}))
    units = {name: text(item.attrs["unit"]) for name, item in found.items() if isinstance(item, h5py.Dataset)}
    assert units == UNITS


def test_bodies_do_not_change(file, scenario):
    bodies = file["particles/bodies"]
    model = build_model(scenario)
    assert bodies["species"][:].tolist() == [1] + [0] * 9  # in the order of the scenario, without the unused clump
    assert bodies["id"][:].tolist() == list(range(10))
    assert np.array_equal(bodies["mass"][:], model.mass)
    assert bodies["mass"][0] == pytest.approx(2500 * 4 / 3 * math.pi * 0.03**3, rel=1e-12)


def test_elements_share_their_step_and_time(file):
    """Hard links: one dataset under every name, and as long as the values."""
    for group, names in (("particles/bodies", FRAME), ("observables", list(file["observables"]))):
        for key in ("step", "time"):
            places = {h5py.h5o.get_info(file[f"{group}/{name}/{key}"].id).addr for name in names}
            assert len(places) == 1
        counts = {len(file[f"{group}/{name}/{key}"]) for name in names for key in ("step", "time", "value")}
        assert counts == {9 if group != "observables" else 41}
    assert set(file["observables"]) == {*LOG, "momentum", "angular_momentum"}


def test_shapes_and_types(file):
    for name, size in zip(FRAME, (3, 3, 4, 3), strict=True):
        assert file[f"particles/bodies/{name}/value"].shape == (9, 10, size)
    for name in LOG:
        assert file[f"observables/{name}/value"].shape == (41,)
    for name in ("momentum", "angular_momentum"):
        assert file[f"observables/{name}/value"].shape == (41, 3)
    for group in ("particles/bodies/position", "observables/total"):
        assert file[f"{group}/step"].dtype == np.int64
        assert file[f"{group}/time"].dtype == file[f"{group}/value"].dtype == np.float64


def test_parameters(file, scenario):
    parameters = file["parameters/minidem"]
    assert parameters["scenario"][()].decode() == SCENARIO
    assert parse(parameters["resolved"][()].decode()) == scenario
    model = build_model(scenario)
    assert [text(parameters[f"clumps/{k}"].attrs["name"]) for k in range(2)] == ["hook", "ball.1"]
    assert len(parameters["clumps"]) == 2
    for k, clump in enumerate(model.clumps):
        group = parameters[f"clumps/{k}"]
        assert text(group.attrs["material"]) == "plastic"
        for name in ("spheres", "center", "inertia", "mass", "volume"):
            assert np.array_equal(group[name][()], getattr(clump, name)), name


# --- its values ----------------------------------------------------------------------------------------------


def test_frames_and_rows_are_evenly_spaced(result):
    trajectory = result.trajectory
    assert trajectory.step.tolist() == list(range(0, STEPS + 1, 125))
    assert trajectory.observables["step"].tolist() == list(range(0, STEPS + 1, 25))
    assert result.summary["steps"] == STEPS


def test_time_is_step_times_dt(result):
    assert result.summary["dt"] == DT
    assert np.array_equal(result.trajectory.time, result.trajectory.step * DT)
    assert np.array_equal(result.trajectory.observables["time"], result.trajectory.observables["step"] * DT)


@pytest.mark.parametrize(
    ("frames", "steps"),
    [
        (1, [7]),  # one alone is the end
        (2, [0, 7]),
        (4, [0, 2, 5, 7]),  # to the nearest step
        (8, list(range(8))),
        (100, list(range(8))),  # no step twice
    ],
)
def test_few_and_many_frames(scenario, frames, steps):
    changes = {"time.end": 7 * DT, "output.frames": frames, "output.energies": frames}
    trajectory = minidem.run(scenario.with_changes(changes)).trajectory
    assert trajectory.step.tolist() == steps == trajectory.observables["step"].tolist()


def test_frames_are_the_simulations_own(result, scenario):
    """And do not depend on where the run paused to record."""
    trajectory, log = result.trajectory, result.trajectory.observables
    simulation = minidem.Simulation.from_model(build_model(scenario), scenario.integrator.rotation)
    for i, step in enumerate(trajectory.step):
        simulation.advance(int(step) - simulation.step)
        frame = simulation.frame()
        for name in FRAME:
            assert np.array_equal(getattr(trajectory, name)[i], getattr(frame, name)), (name, step)
        row = int(np.flatnonzero(log["step"] == step)[0])
        for name, value in simulation.observables().items():
            assert np.array_equal(log[name][row], value), (name, step)


def test_first_frame_is_the_initial_state(result, scenario):
    model, trajectory = build_model(scenario), result.trajectory
    assert np.array_equal(trajectory.position[0], model.position)
    # The engine keeps velocities half a step back and principal axes: there and back costs some round-off.
    assert trajectory.velocity[0] == pytest.approx(model.velocity, rel=1e-13, abs=1e-13)
    assert np.abs(np.sum(trajectory.orientation[0] * model.orientation, axis=1)) == pytest.approx(1.0, abs=1e-14)
    # SPIRAL's half step back and forth is of third order: (20 rad/s * 2e-5 s)^3 of 20 rad/s.
    assert trajectory.angular_velocity[0] == pytest.approx(model.angular_velocity, abs=1e-8)
    assert trajectory.velocity[0, 0].tolist() == pytest.approx([1, 2, 3])
    assert np.linalg.norm(trajectory.velocity[0, 1:], axis=1) == pytest.approx([6.0] * 9)
    assert np.linalg.norm(trajectory.angular_velocity[0, 1:], axis=1) == pytest.approx([20.0] * 9)


def test_energies_follow_from_the_frames(result, scenario):
    """From masses, positions and velocities alone; the rows that have a frame."""
    trajectory, log = result.trajectory, result.trajectory.observables
    rows = np.flatnonzero(np.isin(log["step"], trajectory.step))
    mass, gravity = trajectory.mass, np.array([0, 1.5, -9.81])
    momentum = mass[:, None] * trajectory.velocity
    assert log["kinetic_translational"][rows] == pytest.approx(np.sum(momentum * trajectory.velocity, axis=(1, 2)) / 2)
    assert log["gravity"][rows] == pytest.approx(-np.einsum("b,fbk,k->f", mass, trajectory.position, gravity))
    assert log["momentum"][rows] == pytest.approx(momentum.sum(axis=1))


def test_total_is_the_sum_of_its_parts(result):
    log = result.trajectory.observables
    assert log["total"] == pytest.approx(sum(log[name] for name in ENERGIES[:4]), rel=1e-14, abs=0)


def test_drifts_are_those_of_the_log(result):
    energy, total = result.summary["energy"], result.trajectory.observables["total"]
    drift = np.abs(total - energy["initial"]) / abs(energy["initial"])
    assert energy["final"] == total[-1]
    assert energy["drift_last"] == pytest.approx(drift[-1], rel=1e-12)
    assert energy["drift_mean"] == pytest.approx(drift.mean(), rel=1e-12)
    assert energy["drift_max"] == pytest.approx(drift.max(), rel=1e-12)
    assert 0 < energy["drift_mean"] < energy["drift_max"] < 1e-3


def test_energy_csv_is_the_log_to_the_last_digit(directory, result):
    with open(os.path.join(directory, "energy.csv"), newline="") as table:
        header, *rows = csv.reader(table)
    assert header == ["step", "time", *LOG]
    log = result.trajectory.observables
    assert len(rows) == 41
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        assert [float(cell) for cell in cells] == log[name].tolist(), name


# --- the other files -----------------------------------------------------------------------------------------


def test_directory_holds_the_files_of_the_contract(directory):
    assert {"scenario.toml", "resolved.toml", "manifest.json", "trajectory.h5", "energy.csv"} <= set(os.listdir(directory))
    assert not [name for name in os.listdir(directory) if name.endswith((".new", ".tmp"))]


def test_scenario_as_given(directory):
    with open(os.path.join(directory, "scenario.toml"), "rb") as file:
        assert file.read() == SCENARIO.encode()


def test_resolved_scenario(directory, scenario):
    path = os.path.join(directory, "resolved.toml")
    assert load(path) == scenario
    with open(path, "rb") as file:
        tables = tomllib.load(file)
    assert tables["integrator"] == {"rotation": "spiral"}  # a default, filled in
    assert tables["body"][0]["orientation"] == [1, 0, 0, 0]


def test_manifest(directory, result):
    with open(os.path.join(directory, "manifest.json")) as file:
        manifest = json.load(file)
    assert {"versions", "platform", "seed", "threads", "started", "ended", "status", "sha256"} <= set(manifest)
    assert manifest["status"] == "ok" and manifest["seed"] == 4 and manifest["threads"] == 1
    assert manifest["versions"]["numpy"] == np.__version__ and manifest["versions"]["h5py"] == h5py.__version__
    assert manifest["started"] <= manifest["ended"]  # ISO 8601, both in UTC
    assert manifest["started"].endswith("+00:00") and manifest["ended"].endswith("+00:00")
    assert manifest["summary"] == result.summary
    assert set(manifest["sha256"]) == set(os.listdir(directory)) - {"manifest.json"}
    for name, digest in manifest["sha256"].items():
        with open(os.path.join(directory, name), "rb") as file:
            assert digest == hashlib.sha256(file.read()).hexdigest(), name


def test_scenario_without_a_text_records_the_resolved_one(scenario, tmp_path):
    minidem.run(scenario.with_changes({"time.end": DT}), tmp_path / "run")
    assert (tmp_path / "run/scenario.toml").read_bytes() == (tmp_path / "run/resolved.toml").read_bytes()


def test_open_space_has_no_edges(tmp_path):
    run = """
        time = {dt = 1e-3, end = 0.01}
        material.m = {young = 1e9, poisson = 0.1, density = 1.0}
        clump.ball = {spheres = [[0, 0, 0, 1]], material = "m"}
        body = [{clump = "ball", position = [0, 0, 0], velocity = [1, 0, 0]}]
    """
    minidem.run(parse(run), tmp_path / "run")
    with h5py.File(tmp_path / "run/trajectory.h5", "r") as file:
        assert "edges" not in file["particles/bodies/box"]
        assert file["particles/bodies/box"].attrs["dimension"] == 3
        assert file["particles/bodies/position/value"][-1, 0] == pytest.approx([0.01, 0, 0], rel=1e-12)


# --- failing and stopping ------------------------------------------------------------------------------------


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text())


def test_failed_run_says_so_and_keeps_what_it_had(scenario, result, tmp_path):
    class Mishap(Exception):
        pass

    def fail(progress):
        if progress.step >= 500:
            assert manifest_of(tmp_path / "run")["status"] == "running"
            raise Mishap

    with pytest.raises(Mishap):
        minidem.run(scenario, tmp_path / "run", text=SCENARIO, on_progress=fail)
    manifest = manifest_of(tmp_path / "run")
    assert manifest["status"] == "failed" and manifest["ended"]
    with h5py.File(tmp_path / "run/trajectory.h5", "r"):  # closed cleanly
        pass
    trajectory = minidem.Trajectory(tmp_path / "run")
    count = len(trajectory)
    assert 4 <= count <= 5  # steps 0, 125, 250, 375 and perhaps 500
    assert np.array_equal(trajectory.position, result.trajectory.position[:count])
    with open(tmp_path / "run/energy.csv") as table:
        assert len(list(table)) == 1 + len(trajectory.observables["step"])


def test_stopped_run_says_so(scenario, result, tmp_path):
    calls = iter([False] * 3)
    stopped = minidem.run(scenario, tmp_path / "run", stop=lambda: next(calls, True))
    assert stopped.summary["status"] == manifest_of(tmp_path / "run")["status"] == "interrupted"
    assert 0 < stopped.summary["steps"] < STEPS
    count = len(stopped.trajectory)
    assert 1 <= count < 9
    assert np.array_equal(stopped.trajectory.position, result.trajectory.position[:count])
    assert stopped.trajectory.step[-1] <= stopped.summary["steps"]


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_run_that_has_ended_stays_as_it_ended(scenario, tmp_path):
    """Whatever happens to the program afterwards."""
    with pytest.raises(KeyError), Recorder(tmp_path / "run", scenario, build_model(scenario), "") as recorder:
        recorder.finish({"status": "ok"})
        raise KeyError
    assert manifest_of(tmp_path / "run")["status"] == "ok"


def test_earlier_run_is_not_overwritten(scenario, tmp_path):
    short = scenario.with_changes({"time.end": DT})
    minidem.run(short, tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(InputError, match="overwrite"):
        minidem.run(short, tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_of_two_that_claim_a_directory_one_gets_it(scenario, tmp_path):
    """Both found it empty; the other one has recorded its run since, and has ended."""
    short = scenario.with_changes({"time.end": DT})
    minidem.run(short, tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(InputError, match="holds a run already"):
        Recorder(tmp_path / "run", short, build_model(short), "")
    assert contents(tmp_path / "run") == before
    (tmp_path / "run/manifest.json").write_bytes(b"")  # as a process leaves it that was killed there and then
    with Recorder(tmp_path / "run", short, build_model(short), "") as recorder:
        assert manifest_of(tmp_path / "run")["status"] == "running"
        recorder.finish({"status": "ok"})


def test_overwriting_replaces_the_run_and_nothing_else(scenario, tmp_path):
    short = scenario.with_changes({"time.end": DT})
    minidem.run(short, tmp_path / "run")
    (tmp_path / "run/checkpoint.h5").write_bytes(b"of the earlier run")
    (tmp_path / "run/notes.txt").write_text("mine")
    (tmp_path / "run/figures").mkdir()
    (tmp_path / "run/figures/one.png").write_bytes(b"mine too")
    replaced = minidem.run(short.with_changes({"seed": 7}), tmp_path / "run", overwrite=True)
    manifest = manifest_of(tmp_path / "run")
    assert manifest["status"] == "ok" and manifest["seed"] == 7
    assert len(replaced.trajectory) == 2
    assert (tmp_path / "run/checkpoint.h5").read_bytes() != b"of the earlier run"
    assert (tmp_path / "run/notes.txt").read_text() == "mine"
    assert (tmp_path / "run/figures/one.png").read_bytes() == b"mine too"


def test_foreign_directories_are_left_alone(scenario, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match=r"thesis\.tex"):
            minidem.run(scenario, tmp_path, overwrite=overwrite)
    assert contents(tmp_path) == {"thesis.tex": b"mine"}


# --- repeating -----------------------------------------------------------------------------------------------


def test_run_in_memory_gives_the_same_numbers(scenario, result):
    in_memory = minidem.run(scenario)
    assert in_memory.summary["run_dir"] is None
    assert same(in_memory.trajectory, result.trajectory)
    assert in_memory.summary["energy"] == result.summary["energy"]


def test_runs_in_memory_live_side_by_side(scenario):
    short = scenario.with_changes({"time.end": DT})
    one, other = minidem.run(short), minidem.run(short.with_changes({"seed": 5}))
    assert len(one.trajectory) == len(other.trajectory) == 2
    assert not np.array_equal(one.trajectory.position, other.trajectory.position)


def test_run_repeats_itself(scenario, result, tmp_path):
    again = minidem.run(scenario, tmp_path / "again", text=SCENARIO)
    assert same(again.trajectory, result.trajectory)
    first = os.path.join(result.summary["run_dir"], "energy.csv")
    with open(first, "rb") as file:
        assert (tmp_path / "again/energy.csv").read_bytes() == file.read()


def test_recording_more_or_less_changes_nothing(scenario, result):
    often = minidem.run(scenario.with_changes({"output.frames": 81, "output.energies": 3})).trajectory
    assert np.array_equal(often.position[::10], result.trajectory.position)
    assert np.array_equal(often.orientation[-1], result.trajectory.orientation[-1])


def test_other_seeds_differ(scenario, result):
    other = minidem.run(scenario.with_changes({"seed": 5})).trajectory
    assert not np.isclose(other.position[0, 1:], result.trajectory.position[0, 1:]).any(axis=1).all()
    assert np.array_equal(other.position[0, 0], result.trajectory.position[0, 0])  # the [[body]] is where it was put


# --- room and buffers ----------------------------------------------------------------------------------------


def few(scenario, frames, energies, steps=1000):
    changes = {"output.frames": frames, "output.energies": energies, "time.end": steps * DT}
    return scenario.with_changes(changes)


@pytest.mark.parametrize(
    ("frames", "energies", "steps", "largest"),
    [(7, 2, 1000, "frames"), (2, 300, 1000, "energies"), (50, 2, 4, "frames"), (2, 5000, 299, "energies")],
)
def test_room_that_a_run_needs(scenario, tmp_path, monkeypatch, frames, energies, steps, largest):
    """Eight bytes for each number: 13 of each of 10 bodies in a frame, 12 in a row of the log, and step and time in each. No
    more of them are recorded than there are steps."""
    short = few(scenario, frames, energies, steps)
    needed = {"frames": 8 * min(frames, steps + 1) * 132, "energies": 8 * min(energies, steps + 1) * 14}
    total, model = sum(needed.values()), build_model(short)
    run_dir, free = tmp_path / "not/yet/there", {"bytes": total}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 0, free["bytes"]))
    monkeypatch.setattr(room_module, "available_memory", lambda: free["bytes"])
    for directory, where in ((run_dir, f"on the disk of {run_dir}"), (None, "of memory")):
        free["bytes"] = total
        check_room(directory, short, model, copied=False)
        free["bytes"] = total - 1
        with pytest.raises(InputError) as caught:
            check_room(directory, short, model, copied=False)
        rows = {"frames": min(frames, steps + 1), "energies": min(energies, steps + 1)}[largest]
        need = f"{rows} of them need {in_bytes(needed[largest])} {where}, {in_bytes(total - 1)} are free"
        assert str(caught.value) == f"pair: output.{largest}: {need}; record fewer"
    free["bytes"] = None
    check_room(None, short, model, copied=False)  # nothing is known of the memory


def test_room_of_files_that_are_replaced_is_free(scenario, tmp_path, monkeypatch):
    """Not where they are copied, as a resumed run does."""
    short = few(scenario, 2, 2)
    needed, model = 8 * 2 * 132 + 8 * 2 * 14, build_model(short)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 0, needed - 100))
    (tmp_path / "other.h5").write_bytes(bytes(200))
    with pytest.raises(InputError, match="record fewer"):
        check_room(tmp_path, short, model, copied=False)
    (tmp_path / "trajectory.h5").write_bytes(bytes(60))
    (tmp_path / "energy.csv").write_bytes(bytes(40))
    check_room(tmp_path, short, model, copied=False)
    with pytest.raises(InputError, match="record fewer"):
        check_room(tmp_path, short, model, copied=True)


def frames_on_disk(recorder):
    return len(recorder._file["particles/bodies/position/step"])


def test_rows_wait_for_the_disk_until_it_is_time_or_they_are_many(scenario, tmp_path, monkeypatch):
    model = build_model(scenario)
    frame = Frame(model.position, model.velocity, model.orientation, model.angular_velocity)
    monkeypatch.setattr(recorder_module, "FLUSH_EVERY", math.inf)
    monkeypatch.setattr(recorder_module, "LARGEST_BUFFER", 3 * 4 * model.position.nbytes)
    with Recorder(tmp_path / "run", scenario, model, "") as recorder:
        counts = []
        for step in range(9):
            recorder.record_frame(replace(frame, step=step, time=step * DT))
            counts.append(frames_on_disk(recorder))
        assert counts == [0, 0, 0, 4, 4, 4, 4, 8, 8]
        monkeypatch.setattr(recorder_module, "FLUSH_EVERY", 0.0)
        recorder.flush_if_due()
        assert frames_on_disk(recorder) == 9
        assert recorder._file["particles/bodies/position/step"][:].tolist() == list(range(9))
        recorder.finish({"status": "ok"})


def test_a_run_that_was_changed_says_so_once(scenario, tmp_path):
    model = build_model(scenario)
    with Recorder(tmp_path / "run", scenario, model, "") as recorder:
        assert "resumable" not in manifest_of(tmp_path / "run")
        for _ in range(2):
            recorder.not_resumable()
            assert manifest_of(tmp_path / "run")["resumable"] is False
        recorder.finish({"status": "ok"}, "why")
    manifest = manifest_of(tmp_path / "run")
    assert manifest["resumable"] is False and manifest["reason"] == "why" and manifest["summary"] == {"status": "ok"}
    with Recorder(None, scenario, model, "") as recorder:
        recorder.not_resumable()  # there is no manifest
        recorder.finish({})
    with Recorder(tmp_path / "other", scenario, model, "", resumable=False) as recorder:
        recorder.finish({"status": "ok"})
    assert manifest_of(tmp_path / "other")["resumable"] is False and "reason" not in manifest_of(tmp_path / "other")
