"""A run that can no longer be right stops, says why and what to do, and keeps what was right."""

import json
import re
from dataclasses import replace

import h5py
import numpy as np
import pytest
from runs import scene

import minidem
from minidem import InputError, resume, run
from minidem.engine.watching import INSPECT_EVERY
from minidem.files.checkpoint import read_checkpoint, write_checkpoint
from minidem.model.building import build_model
from minidem.running.restart import UNITS
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

BALL = """\
name = "ball"
time = {{dt = {dt}, end = {end}}}
domain = {{box = [1, 1, 1], material = "soft"}}
material.soft = {{young = {young}, poisson = 0.2, density = 1000}}
clump.ball = {{spheres = [[0, 0, 0, 0.05]], material = "soft"}}
clump.rod = {{spheres = [[-0.05, 0, 0, 0.02], [0.05, 0, 0, 0.04]], material = "soft"}}
body = [{{clump = "ball", position = [0.3, 0.5, 0.5], velocity = [{speed}, 0, 0]}},
        {{clump = "rod", position = [0.7, 0.5, 0.5], angular_velocity = [0, 0, {spin}]}}]
output = {{frames = {frames}, energies = {frames}}}
guard = {{{guard}}}
"""


def ball(speed=1.0, dt=1e-5, end=0.5, young=1e7, spin=0.0, frames=101, guard=""):
    text = BALL.format(speed=speed, dt=dt, end=end, young=young, spin=spin, frames=frames, guard=guard)
    return parse(text, "ball.toml")


def stopped(scenario, directory):
    """By a guard: the reason, and the frames that were right."""
    result = run(scenario, directory, on_note=lambda note: None, checkpoint_every=0.0)
    assert result.summary["status"] == "failed" and result.summary["steps"] < round(scenario.time.end / scenario.time.dt)
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["status"] == "failed" and manifest["reason"] == result.reason
    frames = result.trajectory.position
    assert np.isfinite(frames).all()
    result.trajectory.close()
    with h5py.File(directory / "checkpoint.h5", "r") as file:  # of before
        assert file["state/step"][()] < result.summary["steps"]
        assert np.isfinite(file["state/bodies/position"][:]).all() and np.isfinite(file["state/bodies/velocity"][:]).all()
    return result.reason, frames


def test_overlap_of_two_bodies(tmp_path):
    """So soft that the ball sinks into the rod: at the step where half the smaller radius is passed, and not before."""
    scenario = ball(speed=4, young=2e4, end=0.4)
    reason, frames = stopped(scenario, tmp_path / "run")
    assert reason.startswith("body 0 (ball) and body 1 (rod) overlap by 0.5")
    assert "(guard.overlap = 0.5)" in reason and "bodies are too fast or too soft: use stiffer materials" in reason
    step = int(reason.split("at step ")[1].split(";")[0])
    model = build_model(scenario)
    free = Simulation.from_model(model, "spiral")
    for number, deeper in ((step - 1, False), (step, True)):
        free.advance(number - free.step)
        (x, y, z), turned = free.frame().position[0], free.frame().orientation[1]
        assert np.allclose(turned, [1, 0, 0, 0], atol=1e-3)  # still along x: its near end is the small sphere
        near = free.frame().position[1] + model.clumps[1].spheres[0, :3] - model.clumps[1].center
        overlap = 0.05 + 0.02 - np.linalg.norm(near - (x, y, z))
        assert (overlap > 0.5 * 0.02) == deeper
    assert len(frames) > 1


def test_overlap_with_a_wall(tmp_path):
    scenario = ball(speed=-4, young=2e3, end=0.4)
    reason, _ = stopped(scenario, tmp_path / "run")
    assert reason.startswith("body 0 (ball) and the box at x = 0 overlap by 0.50")


@pytest.mark.parametrize("threads", [1, 2])
def test_overlap_in_a_large_system(tmp_path, threads):
    """Bodies are sorted in space: the message has the numbers of the trajectory. The same step for any number of threads."""
    scenario = scene("spheres", count=600).with_changes({"guard.overlap": 0.02})
    result = run(scenario, tmp_path / "run", threads=threads)
    assert result.summary["status"] == "failed" and "overlap by 0.0" in result.reason
    expected = run(scenario, threads=1)
    assert result.reason == expected.reason and result.summary["steps"] == expected.summary["steps"]
    first, second = (int(word.split(" (")[0]) for word in result.reason.split("body ")[1:3])
    free = Simulation.from_model(build_model(scenario), "spiral")
    free.advance(result.summary["steps"])
    centres = free.frame().position
    assert 0.02 - np.linalg.norm(centres[first] - centres[second]) > 0.02 * 0.01


def test_behind_a_wall(tmp_path):
    """So fast that it flies through the wall within a step, with no guard that would see it earlier."""
    reason, _ = stopped(ball(speed=-4e4, guard="travel = false, contact = false, overlap = false"), tmp_path / "run")
    assert reason.startswith("body 0 (ball) is behind a wall (guard.outside) at step ")
    assert "the time step of 1e-05 s is probably too long: take time.dt = " in reason


def test_travel(tmp_path):
    reason, _ = stopped(ball(speed=600, guard="contact = false, outside = false, overlap = false"), tmp_path / "run")
    found = re.match(r"body 0 \(ball\) moves by (\S+) m in a step, more than 0\.25 smallest radii \(guard\.travel\)", reason)
    assert 0.25 * 0.02 < float(found[1]) < 0.0061


def test_travel_with_two_threads():
    """Alarms are raised between barriers: no thread waits for one that has left."""
    scenario = scene("spheres", count=600, steps=2000).with_changes({"guard.travel": 1e-3})
    reasons = {run(scenario, threads=threads).reason for threads in (1, 2, 2, 2, 2)}
    assert len(reasons) == 1 and "(guard.travel) at step 250" in reasons.pop()


def test_short_runs_are_inspected_at_their_end():
    result = run(ball(speed=600, end=1e-3, guard="contact = false, overlap = false"), on_note=lambda note: None)
    assert result.summary["steps"] == 100 and "(guard.travel) at step 100" in result.reason


def test_a_body_that_can_touch_nothing_may_travel():
    text = "\n".join(line for line in BALL.splitlines() if "rod" not in line and "domain" not in line)
    text = text.replace("}},\n", "}}]\n").format(dt=1e-3, end=2, young=1e7, speed=600, frames=3, guard="")
    assert run(parse(text, "ball.toml")).summary["status"] == "ok"


def test_advice_is_the_same_after_a_restart(tmp_path):
    """It is made from the speeds at the start, which the model of a restart does not know."""
    scenario = ball(speed=4, young=2e4, end=0.4, dt=1e-3, guard="contact = false, rayleigh = false")
    expected = run(scenario, tmp_path / "run").reason
    run(scenario, tmp_path / "parts", max_wall=0.0).trajectory.close()
    assert resume(tmp_path / "parts").reason == expected and "is probably too long" in expected


def test_energy_that_starts_from_zero():
    """A ball that falls from height 0 onto a wall below: at every apex all parts of its energy are next to nothing."""
    text = """
        name = "drop"
        time = {dt = 2e-4, end = 3}
        domain.gravity = [0, 0, -9.81]
        material.soft = {young = 1e7, poisson = 0.2, density = 1000}
        clump.ball = {spheres = [[0, 0, 0, 0.05]], material = "soft"}
        body = [{clump = "ball", position = [0, 0, 0]}]
        wall = [{point = [0, 0, -0.5], normal = [0, 0, 1], material = "soft"}]
        guard = {energy = 1}
    """
    result = run(parse(text))
    assert result.summary["energy"]["initial"] == 0 and result.summary["status"] == "ok"
    assert np.ptp(result.energy["elastic"]) > 0


def test_check_tells_what_a_run_would_be_stopped_by(minidem_command, directory):
    (directory / "ball.toml").write_text(ball(speed=4, young=2e3, end=0.4).to_toml().replace("0.3,", "0.06,", 1))
    outcome = minidem_command("check", "ball.toml", "--json", "--set", "body[0].velocity=[-9,0,0]")
    assert outcome.code == 0 and "(guard.overlap = 0.5)" in outcome.json["notes"][-1]


def test_turn(tmp_path):
    """Asked for where the energy log has a row: here at once."""
    result = run(ball(speed=0, spin=6e4, guard="contact = false"), tmp_path / "run", on_note=lambda note: None)
    assert result.summary["status"] == "failed" and result.summary["steps"] == 0
    assert result.reason.startswith("body 1 (rod) turns by 0.6 rad in a step (guard.turn = 0.5) at step 0; ")
    assert "the time step of 1e-05 s is probably too long: take time.dt = " in result.reason


def test_no_longer_a_number(tmp_path):
    """A state with a NaN in it, as a checkpoint of a broken machine would have."""
    run(ball(frames=3), tmp_path / "run", max_wall=0.0).trajectory.close()
    last = read_checkpoint(tmp_path / "run/checkpoint.h5")
    velocity = last.state["bodies/velocity"].copy()
    velocity[1, 1] = np.nan
    write_checkpoint(tmp_path / "run", replace(last, state=last.state | {"bodies/velocity": velocity}), UNITS)
    result = resume(tmp_path / "run")
    assert result.summary["status"] == "failed"
    assert result.reason.startswith("body 1 (rod) has a position that is not a number at step ")
    assert result.summary["steps"] == INSPECT_EVERY
    assert np.isfinite(result.trajectory.position).all()


def test_energy(tmp_path):
    scenario = scene("rods", steps=400).with_changes({"guard.energy": 1e-5})
    result = run(scenario, tmp_path / "run")
    assert result.summary["status"] == "failed" and "(guard.energy = 1e-05)" in result.reason


def test_guards_can_be_switched_off():
    """All of them: then a run goes wherever it goes."""
    names = ("energy", "overlap", "travel", "turn", "outside", "rayleigh", "contact")
    wild = ball(dt=0.01, end=0.3, guard=", ".join(f"{name} = false" for name in names))
    assert run(wild).summary["status"] == "ok"
    with pytest.raises(InputError, match=r"guard\.contact"):
        run(wild.with_changes({"guard.contact": 1.0}))


def test_time_step_beyond_a_contact(tmp_path):
    with pytest.raises(InputError) as caught:
        run(ball(dt=0.05), tmp_path / "run", source="ball.toml")
    assert str(caught.value).startswith("ball.toml: time.dt: 0.05 s is ") and "set guard.contact = false" in str(
        caught.value
    )
    good = float(str(caught.value).split("take ")[1].split(" s")[0])
    assert run(ball(dt=good, end=0.3)).summary["energy"]["drift_max"] < 1e-2
    assert not (tmp_path / "run").exists()


def test_time_step_beyond_the_rayleigh_time():
    notes = []
    scenario = ball(dt=5e-3, speed=0.01, end=0.05)
    assert run(scenario, on_note=notes.append).summary["status"] == "ok"
    assert "Rayleigh times" in notes[0] and "warning" in notes[0] and len(notes) == 1
    with pytest.warns(UserWarning, match="Rayleigh times"):
        run(scenario)
    notes.clear()
    run(scenario.with_changes({"guard.rayleigh": 1e3}), on_note=notes.append)
    assert notes == []


@pytest.mark.parametrize("key", ["energy", "overlap", "travel", "turn", "rayleigh", "contact"])
@pytest.mark.parametrize("value", ["0", "-1", "true", "nan", '"much"'])
def test_limits_are_numbers_above_0(key, value):
    with pytest.raises(minidem.ScenarioError, match=rf"ball.toml: guard.{key}: must be .*; false for no limit"):
        ball(guard=f"{key} = {value}")


def test_resolved_scenario_reads_back():
    scenario = ball(guard="overlap = false, outside = false")
    assert parse(scenario.to_toml()).guard == scenario.guard
    assert scenario.guard.overlap == np.inf and scenario.guard.turn == 0.5


def test_command(minidem_command, directory):
    """Exit code 3, and nothing on stdout but the summary."""
    outcome = minidem_command(
        "run", "box.toml", "--out", "run", "--json", "--set", "guard.overlap=1e-9", "--set", "time.end=0.4"
    )
    assert outcome.code == 3 and outcome.json["status"] == "failed"
    assert outcome.stderr.startswith("box.toml: body ")
    outcome = minidem_command("run", "box.toml", "--out", "other", "--set", "time.dt=0.003", "--quiet")
    assert outcome.code == 2 and "time.dt: 0.003 s is " in outcome.stderr
