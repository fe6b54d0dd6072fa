"""A simulation that a program steps, looks at, changes and records."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from brute_force import contacts as all_contacts
from brute_force import modulus_of
from runs import CLUMPS, assert_same, crowd, scene

import minidem
from minidem import quaternions
from minidem.engine.rotation.registry import SCHEMES
from minidem.running import simulation as module
from minidem.running.conduct import initial_state

SINGLE = [name for name, scheme in SCHEMES.items() if scheme.torque_evaluations == 1]
STATE = ("positions", "orientations", "velocities", "angular_velocities")
FRAME = ("position", "orientation", "velocity", "angular_velocity")
FALLING = """
name = "falling"
time = {dt = 1e-4, end = 0.1}
domain = {gravity = [0, 0, -10]}
material.steel = {young = 1e9, poisson = 0.3, density = 7800}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "steel"}
clump.rod = {spheres = [[-0.02, 0, 0, 0.01], [0.02, 0, 0, 0.01]], material = "steel"}
body = [{clump = "ball", position = [0, 0, 1]}, {clump = "rod", position = [1, 0, 1], velocity = [0, 2, 0]}]
"""


@pytest.fixture
def falling(tmp_path):
    path = tmp_path / "falling.toml"
    path.write_text(FALLING)
    return path


def two_blocks():
    """600 bodies, which the engine sorts in two blocks: 300 rods, then 300 balls."""
    return crowd(CLUMPS["rods"] | CLUMPS["spheres"], 300, 0.33, "crowd", steps=200)


@pytest.fixture
def often_sorted(monkeypatch):
    monkeypatch.setattr(module, "SORT_EVERY", 20)


# --- stepping ------------------------------------------------------------------------------------------------


def test_from_a_path_and_from_a_scenario(falling):
    """Free fall: v = -g t exactly to round-off, z = z0 - g t^2 / 2."""
    for scenario in (falling, str(falling), minidem.load(falling)):
        sim = minidem.Simulation(scenario)
        assert (sim.step, sim.time) == (0, 0.0)
        sim.advance(100)
        assert sim.step == 100 and sim.time == pytest.approx(0.01)
        assert sim.velocities == pytest.approx(np.array([[0, 0, -0.1], [0, 2, -0.1]]), abs=1e-13)
        assert sim.positions == pytest.approx(np.array([[0, 0, 1 - 0.0005], [1, 0.02, 1 - 0.0005]]), abs=1e-13)
        assert sim.orientations == pytest.approx(np.array([[1, 0, 0, 0]] * 2))
        assert sim.energies["total"] == pytest.approx(sum(list(sim.energies.values())[:4]))


def test_the_same_as_a_run():
    scenario = scene("rods")
    result = minidem.run(scenario)
    sim = minidem.Simulation(scenario)
    for k, frame in enumerate(result.trajectory):
        sim.advance(frame.step - sim.step)
        assert frame.time == sim.time
        for name, values in zip(FRAME, STATE, strict=True):
            assert np.array_equal(getattr(frame, name), getattr(sim, values)), (k, name)
        row = result.energy["step"].tolist().index(frame.step)
        assert {name: result.energy[name][row] for name in sim.energies} == sim.energies


@pytest.mark.parametrize(("steps", "error"), [(-3, ValueError), (2.5, TypeError), ("2", TypeError)])
def test_numbers_of_steps_that_are_refused(falling, steps, error):
    sim = minidem.Simulation(falling)
    with pytest.raises(error):
        sim.advance(steps)
    sim.advance(np.int64(2))
    sim.advance(0)
    assert sim.step == 2


def test_time_step_that_does_not_resolve_contacts_is_refused(falling):
    """As by a run; guard.contact = false allows it. The initial state can be seen all the same."""
    falling.write_text(FALLING.replace("dt = 1e-4", "dt = 1e-2"))
    scenario = minidem.load(falling)
    for refuse in (minidem.Simulation, minidem.run):
        with pytest.raises(minidem.ScenarioError, match=r"time.dt: 0.01 s is \S+ times the shortest contact"):
            refuse(scenario)
    with pytest.warns(UserWarning, match="Rayleigh times"):
        assert minidem.Simulation(scenario.with_changes({"guard.contact": False})).step == 0
    assert len(initial_state(scenario)) == 1


def test_overlap_at_the_start_is_refused(falling):
    falling.write_text(FALLING.replace("position = [1, 0, 1]", "position = [0.02, 0, 1]"))
    with pytest.raises(minidem.ScenarioError, match=r"falling.toml: body\[0\]: overlaps body\[1\] by"):
        minidem.Simulation(falling)


def test_a_guard_stops_it(falling):
    """At the step where it fires; the state stays to be looked at, and can be put right."""
    falling.write_text(
        FALLING.replace("velocity = [0, 2, 0]", "velocity = [-100, 0, 0]").replace("young = 1e9", "young = 1e4")
    )
    sim = minidem.Simulation(falling)
    with pytest.raises(minidem.PhysicsError, match=r"body 0 \(ball\) and body 1 \(rod\) overlap by \S+ radii") as caught:
        sim.advance(1000)
    step = sim.step
    assert 0 < step < 1000 and f"at step {step};" in str(caught.value)
    with pytest.raises(minidem.PhysicsError):
        sim.advance(1)
    assert sim.step == step and len(sim.contacts.overlap) == 1 and sim.contacts.overlap[0] > 0.5 * 0.01
    sim.positions = [[0, 0, 1], [1, 0, 1]]
    sim.advance(1)
    assert sim.step == step + 1


# --- order of the bodies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_order_of_the_scenario_where_the_engine_sorts(often_sorted, threads):
    """The first half are rods, and each body moves on from where it was."""
    scenario = two_blocks()
    sim = minidem.Simulation(scenario, threads=threads)
    before = sim.positions
    assert not np.array_equal(sim.rank, np.arange(600))  # sorted
    sim.advance(60)
    assert np.linalg.norm(sim.positions - before, axis=1).max() < 60 * 2e-5 * 30
    spheres = sim.spheres
    assert np.array_equal(np.sort(spheres.body), spheres.body)
    assert np.bincount(spheres.body).tolist() == [3] * 300 + [1] * 300
    last = minidem.run(scenario.with_changes({"time.end": 60 * 2e-5})).trajectory.spheres(-1)
    np.testing.assert_allclose(spheres.centres, last.centres, rtol=0, atol=1e-12)
    assert np.array_equal(spheres.radii, last.radii) and np.array_equal(spheres.body, last.body)


@pytest.mark.parametrize("scenario", [scene("rods"), two_blocks()], ids=["rods", "crowd"])
def test_contacts_are_those_of_brute_force(often_sorted, scenario):
    sim = minidem.Simulation(scenario)
    while not ((sim.contacts.wall >= 0).any() and (sim.contacts.second >= 0).any()):
        sim.advance(50)
    touching, spheres = sim.contacts, sim.spheres
    # Every pair of spheres of different bodies, and every sphere and wall.
    found = set()
    for s in range(len(spheres.radii)):
        apart = np.linalg.norm(spheres.centres - spheres.centres[s], axis=1)
        near = np.flatnonzero((apart < spheres.radii + spheres.radii[s]) & (spheres.body != spheres.body[s]))
        found |= {(s, int(j)) for j in near if s < j}
    sphere_pairs = touching.wall < 0
    first, second = touching.first_sphere[sphere_pairs], touching.second_sphere[sphere_pairs]
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == found and len(found) == first.size
    assert np.array_equal(touching.first[sphere_pairs], spheres.body[first])
    assert np.array_equal(touching.second[sphere_pairs], spheres.body[second])
    way = spheres.centres[first] - spheres.centres[second]
    distance = np.linalg.norm(way, axis=1)
    np.testing.assert_allclose(touching.normal[sphere_pairs], way / distance[:, None], atol=1e-12)
    np.testing.assert_allclose(
        touching.overlap[sphere_pairs], spheres.radii[first] + spheres.radii[second] - distance, atol=1e-15
    )
    for sphere in (first, second):  # the point is in the middle of the overlap
        to_point = np.linalg.norm(touching.point[sphere_pairs] - spheres.centres[sphere], axis=1)
        np.testing.assert_allclose(to_point, spheres.radii[sphere] - touching.overlap[sphere_pairs] / 2, atol=1e-15)
    at_wall = ~sphere_pairs
    walls = sim.model.walls
    s, w = touching.first_sphere[at_wall], touching.wall[at_wall]
    height = np.einsum("sc,sc->s", spheres.centres[s] - walls.point.T[w], walls.normal.T[w])
    np.testing.assert_allclose(touching.overlap[at_wall], spheres.radii[s] - height, atol=1e-15)
    heights = np.einsum("swc,cw->sw", spheres.centres[:, None] - walls.point.T, walls.normal)
    assert at_wall.sum() == np.count_nonzero(heights < spheres.radii[:, None])
    assert (touching.second[at_wall] == -1).all() and (touching.second_sphere[at_wall] == -1).all()
    assert (
        touching.force.size == all_contacts(sim.bodies, sim.model.templates, sim.model.walls, modulus_of(sim.model))[0].size
    )


def test_forces_of_the_contacts_accelerate_the_bodies(often_sorted):
    """Their sums are the forces of the engine, and their torques about the centres turn the bodies."""
    sim = minidem.Simulation(two_blocks())
    sim.advance(50)
    touching = sim.contacts
    push = touching.force[:, None] * touching.normal
    force, torque = np.zeros((600, 3)), np.zeros((600, 3))
    for bodies, sign in ((touching.first, 1), (touching.second, -1)):
        known = bodies >= 0
        np.add.at(force, bodies[known], sign * push[known])
        arm = touching.point[known] - sim.positions[bodies[known]]
        np.add.at(torque, bodies[known], sign * np.cross(arm, push[known]))
    scale = np.abs(touching.force).max()
    np.testing.assert_allclose(force, sim.bodies.force.T[sim.rank], atol=1e-9 * scale)
    turned = quaternions.rotated(sim.bodies.orientation.T[sim.rank], sim.bodies.torque.T[sim.rank])
    np.testing.assert_allclose(torque, turned, atol=1e-9 * scale * 0.04)


# --- changes -------------------------------------------------------------------------------------------------


def test_arrays_are_read_only(falling):
    sim = minidem.Simulation(falling)
    for name in STATE:
        with pytest.raises(ValueError, match="read-only"):
            getattr(sim, name)[0] += 1.0


@pytest.mark.parametrize("rotation", SINGLE)
@pytest.mark.parametrize("name", STATE)
def test_what_is_assigned_is_read_back(name, rotation):
    """And nothing else changes, in the midst of contacts, with every integrator."""
    sim = minidem.Simulation(scene("rods", rotation).with_changes({"guard.travel": False}))
    sim.advance(40)
    before = {other: getattr(sim, other).copy() for other in STATE}
    random = np.random.default_rng(1)
    new = before[name] * (1 + 1e-3 * random.standard_normal(before[name].shape))
    setattr(sim, name, new)
    expected = before | {name: new / np.linalg.norm(new, axis=1)[:, None] if name == "orientations" else new}
    for other in STATE:
        tolerance = 1e-10 if other == "angular_velocities" else 1e-12
        np.testing.assert_allclose(getattr(sim, other), expected[other], rtol=0, atol=tolerance, err_msg=other)
    sim.advance(10)
    assert sim.step == 50


def test_velocities_alone_leave_the_spins_their_bits():
    sim = minidem.Simulation(scene("rods"))
    sim.advance(40)
    spins = sim.angular_velocities
    sim.velocities = 2 * sim.velocities
    assert np.array_equal(sim.angular_velocities, spins)


def test_forces_are_those_of_the_new_positions():
    """A simulation that was moved there has the forces of one that starts there."""
    scenario = scene("rods")
    sim, other = minidem.Simulation(scenario), minidem.Simulation(scenario)
    other.advance(100)
    sim.positions, sim.orientations = other.positions, other.orientations
    sim.velocities, sim.angular_velocities = other.velocities, other.angular_velocities
    assert sim.contacts.overlap.size > 0
    np.testing.assert_allclose(sim.contacts.force, other.contacts.force, rtol=1e-7)
    assert sim.energies["total"] == pytest.approx(other.energies["total"], rel=1e-9)
    sim.advance(50)
    other.advance(50)
    np.testing.assert_allclose(sim.positions, other.positions, rtol=0, atol=1e-7)


def test_assigning_where_the_engine_sorts(often_sorted):
    sim = minidem.Simulation(scene("spheres", count=600), threads=2)
    sim.advance(30)
    velocities = np.zeros((600, 3))
    velocities[:, 0] = np.arange(600)
    sim.velocities = velocities
    np.testing.assert_allclose(sim.velocities, velocities, atol=1e-10)
    turned = np.random.default_rng(2).standard_normal((600, 4))
    sim.orientations = turned
    np.testing.assert_allclose(sim.orientations, turned / np.linalg.norm(turned, axis=1)[:, None], atol=1e-14)


def test_a_change_back_conserves_energy_and_momentum():
    """Turned round, the rods run back to where they came from."""
    sim = minidem.Simulation(scene("rods").with_changes({"domain.gravity": [0, 0, 0]}))
    start = sim.positions
    energy = sim.energies["total"]
    sim.advance(60)
    sim.velocities, sim.angular_velocities = -sim.velocities, -sim.angular_velocities
    assert sim.energies["total"] == pytest.approx(energy, rel=1e-3)
    sim.advance(60)
    np.testing.assert_allclose(sim.positions, start, rtol=0, atol=1e-6)
    assert sim.initial_energy == pytest.approx(energy, rel=1e-6)


def test_energy_of_a_change_is_added_to_the_initial_energy(falling):
    sim = minidem.Simulation(falling)
    sim.advance(10)
    before, initial = sim.energies["total"], sim.initial_energy
    sim.velocities = sim.velocities + np.array([0, 0, 5.0])
    assert sim.initial_energy - initial == pytest.approx(sim.energies["total"] - before, rel=1e-12)
    assert abs(sim.initial_energy - initial) > 0.1


@pytest.mark.parametrize(
    ("name", "values"),
    [("positions", [[0, 0, 0]]), ("velocities", np.zeros((2, 4))), ("positions", [[0, 0, np.nan], [1, 1, 1]]),
     ("orientations", np.zeros((2, 4)))],
)  # fmt: skip
def test_bad_values_are_refused(falling, name, values):
    sim = minidem.Simulation(falling)
    before = [getattr(sim, other) for other in STATE]
    with pytest.raises(ValueError, match=name.removesuffix("s")[:5]):
        setattr(sim, name, values)
    assert all(np.array_equal(getattr(sim, other), old) for other, old in zip(STATE, before, strict=True))


# --- the callback of a run -----------------------------------------------------------------------------------


def test_callback_changes_no_bit(tmp_path):
    scenario, seen = scene("rods"), []

    def look(sim):
        seen.append((sim.step, sim.positions, sim.contacts, sim.energies["total"]))

    minidem.run(scenario, tmp_path / "whole").trajectory.close()
    minidem.run(scenario, tmp_path / "looked at", every=7, call=look).trajectory.close()
    assert [step for step, *_ in seen] == list(range(0, 161, 7))
    assert_same(tmp_path / "looked at", tmp_path / "whole")


def test_callback_stops_the_run_which_can_be_resumed(tmp_path):
    scenario = scene("rods")
    result = minidem.run(scenario, tmp_path / "run", every=10, call=lambda sim: sim.step == 70)
    assert result.summary["status"] == "interrupted" and result.summary["steps"] == 70
    result.trajectory.close()
    minidem.run(scenario, tmp_path / "whole").trajectory.close()
    minidem.resume(tmp_path / "run").trajectory.close()
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_callback_that_raises(tmp_path):
    def fail(sim):
        if sim.step == 80:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        minidem.run(scene("rods"), tmp_path / "run", every=20, call=fail)
    assert json.loads((tmp_path / "run/manifest.json").read_text())["status"] == "failed"
    assert minidem.Trajectory(tmp_path / "run").step.tolist() == [0, 20, 40, 60, 80]


def test_callback_that_changes_the_state(tmp_path):
    """As a thermostat would; such a run cannot be resumed, and says so at once."""

    def slower(sim):
        if sim.step == 80:
            sim.velocities = 0.1 * sim.velocities
        return sim.step == 120

    result = minidem.run(scene("rods"), tmp_path / "run", every=40, call=slower)
    energy = result.energy
    assert energy["kinetic_translational"][-1] < 0.1 * energy["kinetic_translational"][0]
    assert result.summary["energy"]["drift_last"] < 1e-2
    result.trajectory.close()
    assert json.loads((tmp_path / "run/manifest.json").read_text())["resumable"] is False
    with pytest.raises(minidem.InputError, match="a program made or changed this run step by step"):
        minidem.resume(tmp_path / "run")


def test_drifts_of_a_run_with_a_changed_state():
    """Each row is compared with the initial energy at that row: the energy taken out at step 80 is no drift."""

    def slower(sim):
        if sim.step == 80:
            sim.velocities = 0.1 * sim.velocities

    whole = minidem.run(scene("rods"))
    changed = minidem.run(scene("rods"), every=40, call=slower)
    drifts = changed.summary["energy"]
    assert changed.energy["total"][-1] < 0.5 * changed.energy["total"][0]
    before = np.abs(whole.energy["total"][:17] / whole.summary["energy"]["initial"] - 1)
    assert drifts["drift_max"] >= before.max() and drifts["drift_max"] < 1e-2
    assert drifts["drift_last"] == pytest.approx(abs(drifts["final"] / drifts["initial"] - 1))


@pytest.mark.parametrize("options", [{"every": 5}, {"call": print}, {"every": -1, "call": print}])
def test_half_a_callback_is_refused(options):
    with pytest.raises(ValueError, match="every"):
        minidem.run(scene("rods"), **options)


def test_run_from_a_path(falling, tmp_path):
    result = minidem.run(falling, out=tmp_path / "run")
    assert result.summary["status"] == "ok" and (tmp_path / "run/scenario.toml").read_text() == FALLING
    assert len(minidem.run(str(falling)).trajectory) == len(result.trajectory)


@pytest.mark.parametrize("threads", [0, -2])
def test_numbers_of_threads_that_are_refused(falling, tmp_path, threads):
    for begin in (minidem.Simulation, minidem.run):
        with pytest.raises(ValueError, match=f"threads: must be 1 or more, or None for an automatic choice, got {threads}"):
            begin(falling, threads=threads)
    with pytest.raises(TypeError):
        minidem.Simulation(falling, threads=1.5)


def test_errors_name_arguments_of_python(falling, tmp_path):
    """Not options of the command line; see tests/cli for those."""
    minidem.run(falling, tmp_path / "run").trajectory.close()
    with pytest.raises(minidem.InputError, match=r"give overwrite=True to replace it, or another out$"):
        minidem.run(falling, tmp_path / "run")
    with pytest.raises(minidem.InputError, match=r"give a directory with out$"):
        minidem.run(falling, falling)
    with pytest.raises(minidem.InputError, match=r"holds other files .*; give an empty directory with out$"):
        minidem.run(falling, tmp_path)


# --- recording, reading --------------------------------------------------------------------------------------


def test_recording(tmp_path):
    sim = minidem.Simulation(scene("rods"))
    with sim.recording(tmp_path / "mine") as record:
        for _ in range(4):
            sim.advance(25)
            record()
            record()  # once per step
        sim.velocities = 0 * sim.velocities
    with minidem.Trajectory(tmp_path / "mine") as trajectory:
        assert trajectory.step.tolist() == [0, 25, 50, 75, 100] == trajectory.observables["step"].tolist()
        assert np.array_equal(trajectory[-1].position, sim.positions)
    manifest = json.loads((tmp_path / "mine/manifest.json").read_text())
    assert manifest["status"] == "ok" and manifest["resumable"] is False and manifest["summary"]["steps"] == 100
    with (
        pytest.raises(minidem.InputError, match=r"holds a run already; give overwrite=True"),
        sim.recording(tmp_path / "mine"),
    ):
        pass
    with sim.recording(tmp_path / "mine", overwrite=True):
        pass
    assert len(minidem.Trajectory(tmp_path / "mine")) == 1


def test_recording_that_fails(tmp_path):
    """Keeps what it had; there is nothing to resume."""
    sim = minidem.Simulation(scene("rods").with_changes({"guard.energy": 1e-9}))
    with pytest.raises(minidem.PhysicsError, match=r"the energy deviates"), sim.recording(tmp_path / "mine") as record:
        sim.advance(50)
        record()
    assert json.loads((tmp_path / "mine/manifest.json").read_text())["status"] == "failed"
    with minidem.Trajectory(tmp_path / "mine") as trajectory:  # as of a run: the row that shows the fault, no frame of it
        assert trajectory.step.tolist() == [0] and trajectory.observables["step"].tolist() == [0, 50]
    with pytest.raises(minidem.InputError, match="run that program again"):
        minidem.resume(tmp_path / "mine")


def test_recording_beyond_the_disk(tmp_path):
    """10^7 frames of 2000 balls are 2 TB."""
    scenario = scene("spheres", count=2000, steps=10**7).with_changes({"output.frames": 10**7})
    sim = minidem.Simulation(scenario)
    with (
        pytest.raises(minidem.InputError, match=r"output.frames: .* are free; record fewer"),
        sim.recording(tmp_path / "mine"),
    ):
        pass
    assert not (tmp_path / "mine").exists()


def test_trajectory_is_a_sequence_of_frames():
    trajectory = minidem.run(scene("rods")).trajectory
    assert len(trajectory) == 9
    assert [frame.step for frame in trajectory] == trajectory.step.tolist() == list(range(0, 161, 20))
    assert [frame.time for frame in trajectory] == trajectory.time.tolist()
    assert np.array_equal(trajectory[-1].position, trajectory.position[-1])
    assert [frame.step for frame in trajectory[1:7:3]] == [20, 80] and trajectory[5:5] == []
    for beyond in (9, -10):
        with pytest.raises(IndexError):
            trajectory[beyond]


# --- the package ---------------------------------------------------------------------------------------------


def test_public_names():
    assert {"laws", "schemes"} <= set(minidem.__all__)
    for name in minidem.__all__:
        assert getattr(minidem, name).__doc__, name
    assert set(minidem.__all__) <= set(dir(minidem)) and "__version__" in dir(minidem)
    assert minidem.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = minidem.nothing
    shown = subprocess.run([sys.executable, "-c", "import minidem; help(minidem)"], capture_output=True, text=True).stdout
    assert all(word in shown for word in ("class Simulation", "advance(self, steps", "run(scenario", "class Trajectory"))


def test_import_loads_little():
    script = "import sys, minidem; dir(minidem); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.split()
    assert "minidem" in loaded and not {"numba", "numpy", "h5py", "minidem.running"} & set(loaded)


def test_a_run_leaves_the_process_as_it_was(falling):
    script = f"""
import os, signal, sys, warnings
import h5py, numba, numpy, pydantic, scipy.sparse  # some have filters of their own
before = dict(os.environ), list(warnings.filters), [signal.getsignal(k) for k in (2, 15)], sys.excepthook
import minidem
minidem.run({str(falling)!r})
sim = minidem.Simulation({str(falling)!r})
sim.advance(1)
after = dict(os.environ), list(warnings.filters), [signal.getsignal(k) for k in (2, 15)], sys.excepthook
print([a == b for a, b in zip(before, after)])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.stdout == "[True, True, True, True]\n", done.stderr + done.stdout


def test_notes_are_warnings(falling):
    falling.write_text(
        FALLING.replace("dt = 1e-4", "dt = 1e-5").replace("end = 0.1", "end = 1e-4") + "guard = {rayleigh = 1e-3}\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        minidem.run(falling)
    assert any("Rayleigh times" in str(warning.message) for warning in caught)
