"""A run that was interrupted and went on is the run that was not, to the last bit."""

import csv
import json
import os
import re
import shutil
import signal
import time
from dataclasses import replace

import h5py
import numpy as np
import pytest
from runs import CLUMPS, assert_same, scene

from minidem import InputError, Trajectory, resume, run
from minidem.engine.rotation.registry import SCHEMES
from minidem.engine.state import Account, Bodies, fields_of
from minidem.files.checkpoint import read_checkpoint, write_checkpoint
from minidem.model.building import build_model
from minidem.running import recorder, simulation, wall_clock
from minidem.running.recorder import Recorder
from minidem.running.restart import FIELDS, PLACES, UNITS

SINGLE = [name for name, scheme in SCHEMES.items() if scheme.torque_evaluations == 1]


@pytest.fixture(autouse=True)
def one_step_at_a_time(monkeypatch):
    """So that runs can be stopped after any step; large systems are sorted anew every 50 steps."""
    monkeypatch.setattr(wall_clock, "PATIENCE", 0.0)
    monkeypatch.setattr(simulation, "SORT_EVERY", 50)


class At:
    """Stops a run after a step."""

    def __init__(self, step):
        self.step, self.now = step, 0

    def on_progress(self, progress):
        self.now = progress.step

    def options(self):
        return {"on_progress": self.on_progress, "stop": lambda: self.now >= self.step}


def interrupted(scenario, directory, steps, **options):
    """Stopped after each of these steps, and at last not."""
    result = run(scenario, directory, **options, **At(steps[0]).options())
    for step, following in zip(steps, [*steps[1:], 10**9], strict=True):
        assert result.summary["status"] == "interrupted" and result.summary["steps"] == step
        result.trajectory.close()
        result = resume(directory, **options, **At(following).options())
    assert result.summary["status"] == "ok"
    result.trajectory.close()
    return result.summary


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text())


def edit_manifest(directory, **changes):
    (directory / "manifest.json").write_text(json.dumps(manifest_of(directory) | changes))


@pytest.mark.parametrize("rotation", SINGLE)
@pytest.mark.parametrize("kind", CLUMPS)
def test_one_thread(kind, rotation, tmp_path):
    scenario = scene(kind, rotation)
    expected = run(scenario, tmp_path / "whole", threads=1)
    assert np.ptp(expected.energy["elastic"]) > 0  # there are contacts, which come and go
    expected.trajectory.close()
    summary = interrupted(scenario, tmp_path / "parts", (1, 40, 97), threads=1)
    assert_same(tmp_path / "parts", tmp_path / "whole")
    assert summary["energy"] == expected.summary["energy"]


def pytest_generate_tests(metafunc):
    if metafunc.function is test_two_threads:
        some = [("spheres", "spiral"), ("rods", "omelyan"), ("chess", "fincham-yade")]
        everything = [(kind, rotation) for kind in CLUMPS for rotation in SINGLE]
        metafunc.parametrize("kind, rotation", everything if metafunc.config.getoption("--long") else some)
    if metafunc.function is test_kills:
        metafunc.parametrize("part", range(PARTS[metafunc.config.getoption("--long")]))


def test_two_threads(kind, rotation, tmp_path, long):
    """Two blocks of bodies, which are sorted anew; interrupted with two threads, gone on with one, and the other way."""
    scenario = scene(kind, rotation, count=600, steps=120)
    run(scenario, tmp_path / "whole", threads=2).trajectory.close()
    for number, steps in enumerate([(50, 77), (3, 49, 51, 100)] if long else [(50, 77)]):
        directory = tmp_path / f"parts{number}"
        run(scenario, directory, threads=2, **At(steps[0]).options()).trajectory.close()
        for following, threads in zip([*steps[1:], 10**9], (1, 2, 1, 2), strict=False):
            resume(directory, threads=threads, **At(following).options()).trajectory.close()
        assert_same(directory, tmp_path / "whole")


def corrected(*arguments, **options):
    return scene(*arguments, **options).with_changes({"contact.edges": "corrected"})


def accounts(directory):
    """What the last checkpoint knows of the edges: error, scale and number of contacts."""
    state = read_checkpoint(directory / "checkpoint.h5").state
    return {name: values for name, values in state.items() if "account" in name}


def known_centres(directory):
    """Where the spheres were in the last steps, (s,) of the listed ones and (h, s, 3)."""
    state = read_checkpoint(directory / "checkpoint.h5").state
    return state["places/sphere"], state["places/centre"]


def assert_same_accounts(directory, other):
    found, expected = accounts(directory), accounts(other)
    assert len(found) == 4 and found["account/entered"].sum() + found["earlier_account"][2] > 0
    for name, values in expected.items():
        assert np.array_equal(found[name], values), name
    (spheres, centres), (others, other_centres) = known_centres(directory), known_centres(other)
    _, some, same = np.intersect1d(spheres, others, return_indices=True)  # what is listed depends on when lists were made
    known = np.isfinite(centres[:, some] + other_centres[:, same])
    assert known.sum() > 20
    assert np.array_equal(centres[:, some][known], other_centres[:, same][known])


def edge_steps(scenario, last):
    """The steps up to `last` in which contacts begin."""
    sim = simulation.Simulation(scenario, on_note=lambda note: None)
    entered, steps = 0, []
    while sim.step < last:
        sim.advance(1)
        if sim.contacts_entered > entered:
            steps.append(sim.step)
        entered = sim.contacts_entered
    return steps


@pytest.mark.parametrize("rotation", SINGLE)
def test_corrected_edges(rotation, tmp_path):
    """Stopped at the step in which a contact begins, and one, two and three steps later."""
    scenario = corrected("rods", rotation)
    first = next(step for step in edge_steps(scenario, 60) if step > 3)
    run(scenario, tmp_path / "whole", threads=1, **At(159).options()).trajectory.close()
    summary = run(scenario, tmp_path / "all", threads=1).summary
    parts = tmp_path / "parts"
    run(scenario, parts, threads=1, **At(1).options()).trajectory.close()
    for step in (first, first + 1, first + 2, first + 3, 97, 159):
        resume(parts, threads=1, **At(step).options()).trajectory.close()
    assert_same_accounts(parts, tmp_path / "whole")
    result = resume(parts, threads=1)
    result.trajectory.close()
    assert_same(parts, tmp_path / "all")
    assert result.summary["energy"] == summary["energy"]


@pytest.mark.parametrize(("kind", "rotation"), [("spheres", "spiral"), ("rods", "no-squish")])
def test_corrected_edges_with_two_threads(kind, rotation, tmp_path):
    """Many contacts begin and end in every step."""
    scenario = corrected(kind, rotation, count=600, steps=120)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(scenario, tmp_path / "all", threads=2).trajectory.close()
    run(scenario, whole, threads=2, **At(119).options()).trajectory.close()
    run(scenario, parts, threads=2, **At(49).options()).trajectory.close()
    for step, threads in ((50, 1), (51, 2), (52, 1), (119, 2)):
        resume(parts, threads=threads, **At(step).options()).trajectory.close()
    assert_same_accounts(parts, whole)
    resume(parts, threads=2).trajectory.close()
    assert_same(parts, tmp_path / "all")


@pytest.mark.parametrize("step", [0, 19, 20, 21, 159])
def test_around_a_recorded_step(step, tmp_path):
    """Frames are at every 20th step: each is there once."""
    scenario = scene("rods")
    run(scenario, tmp_path / "whole").trajectory.close()
    interrupted(scenario, tmp_path / "parts", (step,))
    assert_same(tmp_path / "parts", tmp_path / "whole")


def test_checkpoint_is_the_state(tmp_path):
    """As it is in memory, half-step velocities and all."""
    scenario = scene("rods", "omelyan")
    run(scenario, tmp_path / "run", **At(33).options()).trajectory.close()
    simulated = simulation.Simulation.from_model(build_model(scenario), "omelyan")
    simulated.advance(33)
    with h5py.File(tmp_path / "run/checkpoint.h5", "r") as file:
        assert file["state/step"][()] == 33
        for name, values in simulated.state.items():
            assert np.array_equal(file[f"state/{name}"][()], values, equal_nan=True), name
            assert file[f"state/{name}"].attrs["unit"].decode() == UNITS[name]
        assert not np.array_equal(file["state/bodies/velocity"][()], simulated.frame().velocity.T)


@pytest.mark.parametrize("rotation", ["spiral", "free-rotor", "simo-wong"])
def test_every_array_is_as_its_descriptor_says(rotation):
    """Shape and type; what a checkpoint holds and a restart checks is made from these."""
    for edges in ("plain", "corrected"):
        sim = simulation.Simulation(scene("rods", rotation, count=13).with_changes({"contact.edges": edges}))
        sizes = {"n": 13, "m": 16, "v": sim._rotation.values, "k": 1}
        for part in (Bodies, Account):
            arrays = getattr(sim._world, part.__name__.lower())
            for name, field in fields_of(part).items():
                values = getattr(arrays, name)
                assert values.shape == tuple(sizes.get(size, size) for size in field.shape), name
                assert values.dtype == field.dtype, name
            assert fields_of(part).keys() == set(part._fields)
            assert {name for name, field in fields_of(part).items() if field.kept} == {
                name.partition("/")[2] for name in FIELDS if name.startswith(f"{part.__name__.lower()}/")
            }
        assert sim.state.keys() == FIELDS.keys()
        sizes |= {"h": 4 if edges == "corrected" else 2, "l": sim.state["places/sphere"].size}
        for name, field in PLACES.items():
            assert sim.state[name].shape == tuple(sizes.get(size, size) for size in field.shape), name
            assert sim.state[name].dtype == field.dtype, name


def test_checkpoint_of_another_layout(stopped):
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        data = (stopped / name).read_bytes()
        (stopped / name).write_bytes(data.replace(b"minidem checkpoint 5\n", b"minidem checkpoint 1\n", 1))
        with pytest.raises(InputError, match="not a whole checkpoint for this version of minidem"):
            read_checkpoint(stopped / name)


@pytest.mark.parametrize("frames", [3, 161])
def test_interval(tmp_path, frames):
    """Checkpoints by wall time, the one before kept; also if every step is recorded."""
    steps = []

    def note(progress):
        path = tmp_path / "run/checkpoint.h5"
        if path.exists() and progress.step % 10 == 0:
            with h5py.File(path, "r") as file:
                steps.append(int(file["state/step"][()]))

    scenario = scene("rods").with_changes({"output.frames": frames})
    run(scenario, tmp_path / "run", checkpoint_every=0.0, on_progress=note).trajectory.close()
    assert steps == list(range(9, 160, 10))
    with h5py.File(tmp_path / "run/checkpoint.previous.h5", "r") as file:
        assert file["state/step"][()] == 159


def test_done(tmp_path):
    """There is nothing to go on with."""
    first = run(scene("rods"), tmp_path / "run")
    first.trajectory.close()
    before = (tmp_path / "run/trajectory.h5").read_bytes()
    notes = []
    again = resume(tmp_path / "run", on_note=notes.append)
    assert again.summary == first.summary and len(again.trajectory) == 9
    assert (tmp_path / "run/trajectory.h5").read_bytes() == before
    assert "is done" in notes[0]


@pytest.mark.parametrize("summary", [None, 5, {}, {"steps": 160}])
def test_done_with_a_damaged_manifest(tmp_path, summary):
    """What it said is found again."""
    first = run(scene("rods"), tmp_path / "run")
    first.trajectory.close()
    path = tmp_path / "run/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"summary": summary, "resumed": 7}))
    again = resume(tmp_path / "run")
    again.trajectory.close()
    assert again.summary["energy"] == first.summary["energy"] and again.summary["status"] == "ok"
    assert again.summary.keys() == first.summary.keys() == json.loads(path.read_text())["summary"].keys()


@pytest.mark.parametrize(
    ("status", "change"),
    [("ok", {"steps": 159}), ("ok", {"steps": 161}), ("ok", {"status": "interrupted"}), ("interrupted", {})],
)
def test_done_is_not_believed(tmp_path, status, change):
    """Of a manifest that was edited: its steps are not those of the scenario, or it contradicts itself."""
    first, notes = run(scene("rods"), tmp_path / "run"), []
    first.trajectory.close()
    edit_manifest(tmp_path / "run", status=status, summary=first.summary | change)
    again = resume(tmp_path / "run", on_note=notes.append)
    again.trajectory.close()
    assert notes == []
    assert again.summary["steps"] == 160 and again.summary["energy"] == first.summary["energy"]
    assert manifest_of(tmp_path / "run")["summary"]["status"] == "ok"


def test_done_is_not_believed_without_the_frames(stopped, tmp_path):
    """Of a manifest that was copied from a run that is done."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    shutil.copy(tmp_path / "whole/manifest.json", stopped / "manifest.json")
    resume(stopped).trajectory.close()
    assert_same(stopped, tmp_path / "whole")


@pytest.fixture
def failed(tmp_path):
    """A run that a guard stopped after it was resumed, and why."""
    scenario = scene("rods", steps=400).with_changes({"guard.energy": 1e-5})
    run(scenario, tmp_path / "run", **At(5).options()).trajectory.close()
    result = resume(tmp_path / "run")
    result.trajectory.close()
    assert result.summary["status"] == "failed" and 5 < result.summary["steps"] < 400
    return tmp_path / "run", result


def test_stopped_by_a_guard(failed):
    """It does not begin again, however often it is resumed."""
    directory, result = failed
    before, notes = {path: path.read_bytes() for path in directory.iterdir()}, []
    for _ in range(2):
        again = resume(directory, on_note=notes.append)
        again.trajectory.close()
        assert (again.summary, again.reason, again.steps_planned) == (result.summary, result.reason, 400)
    assert {path: path.read_bytes() for path in directory.iterdir()} == before
    why = f"a guard stopped the run at step {result.summary['steps']}; change the scenario and start a new run"
    assert notes == 2 * [f"{directory}: {why}"]


@pytest.mark.parametrize("change", [{"steps": 5}, {"steps": 401}, {"steps": None}])
def test_stopped_by_a_guard_is_not_believed(failed, change):
    """The run got further than the manifest says, or is not so long: the guard finds the same again."""
    directory, result = failed
    edit_manifest(directory, summary=result.summary | change)
    again = resume(directory, on_note=lambda note: None)
    again.trajectory.close()
    assert again.reason == result.reason and again.summary["steps"] == result.summary["steps"]


def killed(action):
    """Do something in a process of its own, which it ends with exit code 9."""
    child = os.fork()
    if child == 0:  # which never returns from here
        try:
            action()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def killed_at(step, scenario, directory):
    """A run whose process is killed when it reports that step."""
    killed(lambda: run(scenario, directory, on_progress=lambda progress: progress.step < step or os._exit(9)))


LATE = "after the checkpoint of step 0 are dropped, and computed again"


def test_killed_before_any_interval(tmp_path, monkeypatch):
    """There is a checkpoint of the start."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    monkeypatch.setattr(recorder, "FLUSH_EVERY", 0.0)
    killed_at(1, scene("rods"), tmp_path / "run")
    assert not (tmp_path / "run/checkpoint.previous.h5").exists()
    notes = []
    resume(tmp_path / "run", on_note=notes.append).trajectory.close()
    assert notes == [f"{tmp_path / 'run'}: 1 frame and 1 row of the energy log {LATE}"]
    assert manifest_of(tmp_path / "run")["resumed"][0]["step"] == 0
    assert_same(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize(("frames", "rows"), [(1, 33), (9, 1), (1, 1)])
def test_killed_at_the_start_with_few_outputs(tmp_path, frames, rows):
    """Where step 0 is no frame or no row."""
    scenario = scene("rods").with_changes({"output.frames": frames, "output.energies": rows})
    run(scenario, tmp_path / "whole").trajectory.close()
    killed_at(1, scenario, tmp_path / "run")
    resume(tmp_path / "run", on_note=lambda note: None, **At(30).options()).trajectory.close()
    resume(tmp_path / "run").trajectory.close()
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_what_is_dropped_is_counted(tmp_path, monkeypatch):
    """Frames and rows that were recorded after the checkpoint."""
    monkeypatch.setattr(recorder, "FLUSH_EVERY", 0.0)
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    killed_at(105, scene("rods"), tmp_path / "run")  # frames every 20 steps, rows every five; that of step 105 is to come
    notes = []
    resume(tmp_path / "run", on_note=notes.append).trajectory.close()
    assert notes == [f"{tmp_path / 'run'}: 6 frames and 21 rows of the energy log {LATE}"]
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_without_a_checkpoint(stopped):
    """It was lost: what was recorded is not overwritten."""
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        (stopped / name).unlink()
    before = {path: path.read_bytes() for path in stopped.iterdir()}
    for lost in ("trajectory.h5", "energy.csv"):
        content = before.pop(stopped / lost)
        (stopped / lost).unlink()
        with pytest.raises(InputError, match=r"there is no checkpoint to resume from; .* --out ANOTHER"):
            resume(stopped)
        assert {path: path.read_bytes() for path in stopped.iterdir()} == before
        (stopped / lost).write_bytes(content)
        before[stopped / lost] = content


def test_killed_before_anything_was_recorded(tmp_path):
    """It starts again."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "write_checkpoint", lambda *_: os._exit(9))
        killed(lambda: run(scene("rods"), tmp_path / "run"))
    notes = []
    resume(tmp_path / "run", on_note=notes.append).trajectory.close()
    assert notes == [f"{tmp_path / 'run'}: there is no checkpoint yet; starting again"]
    assert_same(tmp_path / "run", tmp_path / "whole")


@pytest.fixture
def stopped(tmp_path):
    """A run that was stopped after 60 steps, with two checkpoints."""
    run(scene("rods"), tmp_path / "run", **At(40).options()).trajectory.close()
    resume(tmp_path / "run", **At(60).options()).trajectory.close()
    return tmp_path / "run"


def test_changed_integrator(stopped):
    text = (stopped / "resolved.toml").read_text()
    (stopped / "resolved.toml").write_text(text.replace('"spiral"', '"omelyan"'))
    with pytest.raises(InputError) as caught:
        resume(stopped, force=True)
    assert '-rotation = "spiral"' in str(caught.value) and '+rotation = "omelyan"' in str(caught.value)
    assert "step 60" in str(caught.value)


def test_changed_scenario(stopped):
    with open(stopped / "scenario.toml", "a") as file:
        file.write("# one more line\n")
    with pytest.raises(InputError, match=r"scenario.toml:(.|\n)*\+# one more line"):
        resume(stopped)


def test_changed_clump_file(tmp_path):
    """The resolved scenario names the file and not what is in it."""
    (tmp_path / "rod.csv").write_text("-0.01,0,0,0.008\n0.01,0,0,0.008\n")
    scenario = scene("rods").with_changes({"clump.rod.spheres": None, "clump.rod.file": str(tmp_path / "rod.csv")})
    run(scenario, tmp_path / "run", **At(20).options()).trajectory.close()
    (tmp_path / "rod.csv").write_text("-0.01,0,0,0.008\n0.01,0,0,0.0080001\n")
    with pytest.raises(InputError, match=r"clump\.rod: its spheres"):
        resume(tmp_path / "run")


def test_other_version(stopped, monkeypatch):
    """Refused, with what differs; --force goes on."""
    monkeypatch.setattr("minidem.running.restart.version", lambda name: "9.9")
    with pytest.raises(InputError, match=r"minidem: was [\d.]+, is 9.9"):
        resume(stopped)
    assert resume(stopped, force=True).summary["status"] == "ok"


def test_forces_that_come_out_differently(stopped):
    """As they would on a processor that rounds in another way."""
    last = read_checkpoint(stopped / "checkpoint.h5")
    other = np.nextafter(last.state["bodies/force"], np.inf)
    write_checkpoint(stopped, replace(last, state=last.state | {"bodies/force": other}), UNITS)
    with pytest.raises(InputError, match=r"the forces of step 60 differ.*force=True"):
        resume(stopped)
    assert resume(stopped, force=True).summary["status"] == "ok"


def test_checkpoint_of_something_else(stopped):
    """Whole, but not of these bodies."""
    last = read_checkpoint(stopped / "checkpoint.h5")
    wrong = {"bodies/position": np.zeros((3, 5)), "rank": np.zeros(16, np.int64)}
    wrong |= {"earlier_account": np.array([0.0, 0.0, np.inf]), "account/edge_scale": np.array([-1.0])}
    wrong |= {"bodies/spin": np.zeros((3, 16), np.float32), "step": np.array(33.0)}
    for name, values in wrong.items():
        write_checkpoint(stopped, replace(last, state=last.state | {name: values}), UNITS)
        with pytest.raises(InputError, match="not a checkpoint of this run"):
            resume(stopped)


@pytest.mark.parametrize("wrong", [{"frames": -1}, {"frames": 10**9}, {"rows": 34}, {"wall_s": np.nan}, {"step": 161}])
def test_checkpoint_of_no_run(stopped, wrong):
    """Whole, with numbers that the run cannot have come to."""
    last = read_checkpoint(stopped / "checkpoint.h5")
    wrong = {"state": last.state | {"step": np.array(161)}} if "step" in wrong else wrong
    write_checkpoint(stopped, replace(last, **wrong), UNITS)
    before = (stopped / "trajectory.h5").read_bytes()
    with pytest.raises(InputError, match=r"checkpoint\.h5: not a checkpoint of this run"):
        resume(stopped)
    assert (stopped / "trajectory.h5").read_bytes() == before


def test_largest_parts_of_the_energy_are_those_of_all_rows(tmp_path):
    """The guard of the energy compares with the largest in any row so far, also of rows before the restart."""
    scenario = scene("rods")
    run(scenario, tmp_path / "run", **At(60).options()).trajectory.close()
    last = read_checkpoint(tmp_path / "run/checkpoint.h5")
    with open(tmp_path / "run/energy.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("kinetic_translational", "kinetic_rotational", "elastic", "gravity")
    parts = [sum(abs(float(row[name])) for name in names) for row in rows]
    assert len(parts) == last.rows > 10 and max(parts) > max(parts[-1], parts[0]) > 0
    with Recorder(tmp_path / "run", scenario, build_model(scenario), "", after=last) as resumed:
        assert resumed.largest_parts == pytest.approx(max(parts), rel=1e-15)


@pytest.mark.parametrize("name", ["checkpoint.h5", "checkpoint.previous.h5", "energy.csv", "trajectory.h5"])
def test_pipe_for_a_file(stopped, name):
    """Reading from it would never end; the run goes on without it."""
    (stopped / name).unlink()
    os.mkfifo(stopped / name)
    resume(stopped, on_note=lambda note: None).trajectory.close()
    assert json.loads((stopped / "manifest.json").read_text())["status"] == "ok"


def test_damaged_checkpoint(stopped, tmp_path):
    """The one before is taken, and said so."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    data = bytearray((stopped / "checkpoint.h5").read_bytes())
    data[len(data) // 2] ^= 1
    (stopped / "checkpoint.h5").write_bytes(data)
    notes = []
    resume(stopped, on_note=notes.append).trajectory.close()
    assert "checkpoint.h5: not a whole checkpoint" in notes[0]
    assert json.loads((stopped / "manifest.json").read_text())["resumed"][-1]["step"] == 40
    assert_same(stopped, tmp_path / "whole")


def test_damaged_checkpoint_is_not_kept(stopped):
    """As the one before: there are two whole ones as soon as one more is saved."""
    os.truncate(stopped / "checkpoint.h5", 1000)
    killed(lambda: resume(stopped, on_note=lambda note: None, on_progress=lambda progress: os._exit(9)))
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        assert int(read_checkpoint(stopped / name).state["step"]) == 40


def test_damaged_checkpoints(stopped):
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        os.truncate(stopped / name, 1000)
    with pytest.raises(InputError, match="no checkpoint is whole; start again with") as caught:
        resume(stopped)
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        assert f"{stopped / name}: not a whole checkpoint\n" in f"{caught.value}\n"


def test_checkpoints_of_another_version(stopped):
    """The message says that they are of another version, not only that none can be used."""
    for name in ("checkpoint.h5", "checkpoint.previous.h5"):
        content = (stopped / name).read_bytes()
        (stopped / name).write_bytes(content.replace(b"minidem checkpoint 5\n", b"minidem checkpoint 1\n", 1))
    with pytest.raises(InputError, match=r"checkpoint.h5: not a whole checkpoint for this version of minidem"):
        resume(stopped)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_trajectory(stopped, tmp_path, damage):
    """Set aside; the energy log is whole all the same, and the frames after the checkpoint are right."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    path = stopped / "trajectory.h5"
    if damage == "gone":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size // 3)
    notes = []
    result = resume(stopped, on_note=notes.append)
    assert "damaged" in notes[0] and (stopped / "trajectory.damaged.h5").exists() == (damage != "gone")
    assert (stopped / "energy.csv").read_bytes() == (tmp_path / "whole/energy.csv").read_bytes()
    with h5py.File(tmp_path / "whole/trajectory.h5", "r") as expected:
        whole = expected["particles/bodies/position/value"][:]
        assert np.array_equal(result.trajectory.position, whole[-len(result.trajectory) :])
    assert result.trajectory.step[-5:].tolist() == [80, 100, 120, 140, 160]
    result.trajectory.close()


@pytest.mark.parametrize("place", [0, 2000])
def test_trajectory_that_hdf5_cannot_read(stopped, tmp_path, place):
    """Half written when the power failed, say: the rows are where the checkpoint says."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    with open(stopped / "trajectory.h5", "r+b") as file:
        file.seek(place)
        file.write(bytes(4000))
    with pytest.raises(InputError):
        Trajectory(stopped)
    notes = []
    resume(stopped, on_note=notes.append).trajectory.close()
    assert notes == []
    assert_same(stopped, tmp_path / "whole")


@pytest.mark.parametrize("slope", [0, 1])
def test_places_in_another_file(stopped, slope):
    """What is there is not taken for rows: its steps are not ascending, or larger than that of the checkpoint."""
    path = stopped / "trajectory.h5"
    path.write_bytes((slope * np.arange(1000, 1001 + path.stat().st_size // 8)).tobytes())
    notes = []
    resume(stopped, on_note=notes.append).trajectory.close()
    assert "trajectory.h5: damaged, set aside" in notes[0]


def test_damaged_trajectory_and_log(stopped):
    (stopped / "trajectory.h5").unlink()
    whole = (stopped / "energy.csv").read_text()
    for damaged in ("step,time\n", re.sub(r"(?m)^20,.*$", "20", whole)):
        (stopped / "energy.csv").write_text(damaged)
        with pytest.raises(InputError, match=r"trajectory.h5 and energy.csv are damaged"):
            resume(stopped)
    (stopped / "energy.csv").write_text(whole)
    resume(stopped, on_note=lambda note: None).trajectory.close()  # nothing is left open or locked


def test_another_writer(stopped):
    """Two at once would write over each other."""
    caught = []

    def try_to_resume(progress):
        if progress.step == 70:
            with pytest.raises(InputError) as refusal:
                resume(stopped)
            caught.append(str(refusal.value))

    resume(stopped, on_progress=try_to_resume).trajectory.close()
    assert f"process {os.getpid()} is writing a run there" in caught[0]


def test_number_of_a_dead_writer_is_used_again(stopped):
    """As in containers, where the only process is always number 1: the lock decides."""
    manifest = json.loads((stopped / "manifest.json").read_text()) | {"status": "running", "pid": os.getpid()}
    (stopped / "manifest.json").write_text(json.dumps(manifest))
    assert resume(stopped).summary["status"] == "ok"


def test_energy_log_after_a_damaged_trajectory_and_another_restart(stopped, tmp_path):
    """The log of before is in energy.csv only, and stays."""
    run(scene("rods"), tmp_path / "whole").trajectory.close()
    os.truncate(stopped / "trajectory.h5", 3000)
    notes = []
    for step in (80, 120, 10**9):
        resume(stopped, on_note=notes.append, **At(step).options()).trajectory.close()
    assert len(notes) == 1 and "damaged" in notes[0]
    assert (stopped / "energy.csv").read_bytes() == (tmp_path / "whole/energy.csv").read_bytes()


@pytest.mark.parametrize("unknown", ["turn = 0.5\n", 'edges = "plain"\n', '[contact]\nlaw = "hertz"\nedges = "plain"\n'])
def test_scenario_that_another_version_wrote_otherwise(stopped, unknown):
    """Without a key or a table that has its defaults, as a version would write that did not know it."""
    last = read_checkpoint(stopped / "checkpoint.h5")
    resolved = last.origin["resolved.toml"].replace(unknown, "")
    assert resolved != last.origin["resolved.toml"]
    (stopped / "resolved.toml").write_text(resolved)
    write_checkpoint(stopped, replace(last, origin=last.origin | {"resolved.toml": resolved}), UNITS)
    assert resume(stopped).summary["status"] == "ok"


def test_killed_before_it_began(tmp_path):
    """Nothing was recorded, so nothing keeps a run from starting there."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/manifest.json").touch()
    (tmp_path / "run/scenario.toml").write_text("name =")
    with pytest.raises(InputError, match="killed before it began; start it again with minidem run"):
        resume(tmp_path / "run")
    assert run(scene("rods"), tmp_path / "run").summary["status"] == "ok"
    with pytest.raises(InputError, match="holds a run already"):
        run(scene("rods"), tmp_path / "run")


KILLS = {False: 30, True: 100}  # in each part
PARTS = {False: 1, True: 10}
made = []  # the kills of each part


def test_kills(part, tmp_path, monkeypatch, long):
    """SIGKILL at random times, again and again: what comes out in the end is the run that nobody killed."""
    monkeypatch.setattr(wall_clock, "PATIENCE", 0.002)
    scenario = scene("rods", steps=60_000)
    run(scenario, tmp_path / "whole").trajectory.close()
    random = np.random.default_rng(1 + part)
    kills = rounds = 0
    while kills < KILLS[long]:
        directory = tmp_path / f"killed{rounds}"
        rounds += 1
        for attempt in range(1000):
            child = os.fork()
            if child == 0:  # which never returns from here
                try:
                    try:
                        resume(directory, checkpoint_every=0.01, on_note=lambda note: None)
                    except InputError as error:
                        begun = directory.is_dir() and any(directory.iterdir())
                        if begun and "killed before it began; start it again" not in str(error):
                            raise
                        run(scenario, directory, checkpoint_every=0.01)
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), flush=True)
                    os._exit(1)
            time.sleep(random.uniform(0.0, 0.25 + 0.01 * attempt))  # on a busy machine a child makes no step in 0.25 s
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                assert os.WEXITSTATUS(status) == 0
                break
            kills += 1
        assert_same(directory, tmp_path / "whole")
    made.append(kills)
    print(f"part {part}: {kills} kills, {rounds} runs; {sum(made)} kills in {len(made)} parts")
