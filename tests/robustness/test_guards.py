"""A run that can no longer be right stops, says why and what to do, and keeps what was right."""

import json
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from brute_force import walls_of
from runs import scene

import minidem
from minidem import InputError, resume, run
from minidem.engine.state import Limits
from minidem.engine.watching import INSPECT_EVERY
from minidem.files.checkpoint import read_checkpoint, write_checkpoint
from minidem.model.building import build_model
from minidem.model.times import contact_time, fastest, good_step, smallest_rayleigh_time
from minidem.running.faults import can_touch, limits
from minidem.running.guards import advice, bad_frame, bad_observables, check_time_step
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


def contact_time_of(scenario, model):
    return contact_time(model, fastest(model))


def rayleigh_time_of(scenario, model):
    return smallest_rayleigh_time(scenario, model.spheres_by_clump)


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


@pytest.mark.parametrize("speed", [np.nan, np.inf, 1e200])
def test_energy_that_is_no_longer_a_number(tmp_path, speed):
    """At a row of the log, before the motion is inspected: comparisons with NaN are false, those with infinity tell nothing
    of use."""
    scenario = ball(frames=5001)  # a row every ten steps
    run(scenario, tmp_path / "run", max_wall=0.0).trajectory.close()
    last = read_checkpoint(tmp_path / "run/checkpoint.h5")
    step = int(last.state["step"])
    velocity = last.state["bodies/velocity"].copy()
    velocity[1, 1] = speed
    write_checkpoint(tmp_path / "run", replace(last, state=last.state | {"bodies/velocity": velocity}), UNITS)
    result = resume(tmp_path / "run")
    result.trajectory.close()
    row = 10 * (step // 10 + 1)
    assert row < INSPECT_EVERY
    assert result.summary["status"] == "failed" and result.summary["steps"] == row
    assert result.reason.startswith(f"the energy is no longer a number at step {row}; ")


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


# --- the limits themselves ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spinning():
    return Simulation(ball(spin=50.0), on_note=lambda note: None)


@pytest.mark.parametrize(
    ("limit", "off", "parts", "stops"),
    [
        (1.0, 1.0, 1.0, False),  # just the limit; the parts allow half of theirs, if that is less
        (1.0, 1.001, 1.0, True),
        (0.75, 1.0, 2.0, False),  # just half of the parts
        (0.75, 1.0, 1.999, True),
        (0.25, 0.5, 2.0, False),  # the limit is below a half: it is that of the parts, too
        (0.25, 0.5, 1.999, True),
        (2.0, 1.5, 1.0, False),
        (0.75, 0.625, 1.0, False),  # more than half of the parts, and less than the limit
        (1.0, -1.0, 1.0, False),
        (1.0, -1.001, 1.0, True),
    ],
)
def test_limit_of_the_energy(spinning, monkeypatch, limit, off, parts, stops):
    """All in first total energies; `parts` is the largest sum so far of the magnitudes of kinetic, elastic and potential
    energy. Factors of two are exact. The energy itself may well be below zero."""
    scenario, size = ball(spin=50.0, guard=f"energy = {limit}"), spinning.initial_energy
    start = f"the energy deviates by {abs(off):.3g} times its first value (guard.energy = {limit:g}) at step 0; "
    for first in (size, -size):
        monkeypatch.setattr(spinning, "initial_energy", first)
        reason = bad_observables(spinning, scenario, first + off * size, parts * size)
        assert reason.startswith(start) == stops
        assert stops or reason == ""


def test_limit_of_an_energy_that_starts_from_zero(spinning, monkeypatch):
    monkeypatch.setattr(spinning, "initial_energy", 0.0)
    scenario = ball(spin=50.0)
    assert bad_observables(spinning, scenario, 0.5, 1.0) == ""
    assert bad_observables(spinning, scenario, 0.501, 1.0).startswith("the energy deviates from its first value (")


def test_limit_of_the_angle(spinning):
    first, scenario = spinning.initial_energy, ball(spin=50.0)
    angle = spinning.model.dt * spinning.fastest_spin[0]
    assert angle == pytest.approx(5e-4, rel=1e-9)
    for limit, stops in ((angle, False), (np.nextafter(angle, 0.0), True), (2 * angle, False)):
        some = scenario.model_copy(update={"guard": scenario.guard.model_copy(update={"turn": limit})})
        reason = bad_observables(spinning, some, first, first)
        assert reason.startswith("body 1 (rod) turns by 0.0005 rad in a step (guard.turn = 0.0005) at step 0; ") == stops
        assert stops or reason == ""


def test_advice_without_the_clump_files(tmp_path):
    """Then it is a rule of thumb: what the messages of `check` and `run` said when the files were there."""
    text = BALL.format(speed=1.0, dt=1e-4, end=0.5, young=1e7, spin=0.0, frames=3, guard="")
    text = text.replace("spheres = [[0, 0, 0, 0.05]]", 'file = "ball.csv"')
    (tmp_path / "ball.csv").write_text("0,0,0,0.05\n")
    scenario = parse(text, directory=tmp_path)
    simulation = Simulation(scenario, on_note=lambda note: None)
    (tmp_path / "ball.csv").unlink()
    good = good_step(scenario, simulation.model, simulation.initial_speed)
    for dt, too_long in ((good, False), (np.nextafter(good, 1.0), True)):
        simulation.model = replace(simulation.model, dt=dt)
        said = f"the time step of {good:.3g} s is probably too long: take time.dt = {good:.2g}"
        assert (advice(simulation, scenario) == said) == too_long
        assert too_long or advice(simulation, scenario).startswith("the time step is short enough, so bodies are too fast")


def test_a_time_step_is_right_for_what_can_touch_nothing(spinning):
    """However long it is."""
    alone = replace(spinning.model, walls=walls_of([], []), species=spinning.model.species[:1], dt=1e9)
    assert check_time_step(Simulation.from_model, ball(), alone, "ball.toml") == []


def test_frames_that_are_not_finite(spinning):
    frame = spinning.frame()
    assert bad_frame(frame) == ""
    position = frame.position.copy()
    position[1, 2] = np.inf
    assert bad_frame(replace(frame, position=position, step=7)) == "bodies have positions that are not numbers at step 7"


@pytest.mark.parametrize(("key", "scale"), [("contact", contact_time_of), ("rayleigh", rayleigh_time_of)])
def test_limit_of_the_time_step(spinning, key, scale):
    """At the limit itself a run starts without a word."""
    model = spinning.model
    scenario = ball(spin=50.0, guard=f"{'rayleigh' if key == 'contact' else 'contact'} = false, {key} = 2.0")
    longest = 2.0 * scale(scenario, model)
    assert check_time_step(Simulation.from_model, scenario, replace(model, dt=longest), "ball.toml") == []
    longer = replace(model, dt=np.nextafter(longest, 1.0))
    if key == "rayleigh":
        (note,) = check_time_step(Simulation.from_model, scenario, longer, "ball.toml")
        assert " is 2 Rayleigh times of the smallest sphere (guard.rayleigh = 2); " in note
    else:
        with pytest.raises(InputError, match=r" is 2 times the shortest contact \(guard.contact = 2\); take "):
            check_time_step(Simulation.from_model, scenario, longer, "ball.toml")


def test_contacts_of_no_duration_are_refused_too(spinning):
    """A law of a plugin may say so."""
    model = replace(spinning.model, law=spinning.model.law._replace(contact_time=lambda *of: 0.0))
    with pytest.raises(InputError, match=r" is any number of times the shortest contact \(guard.contact = 1\); take "):
        check_time_step(Simulation.from_model, ball(), model, "ball.toml")


def test_notes_are_warnings_of_the_caller():
    """Python shows the line that called."""
    with pytest.warns(UserWarning, match="Rayleigh times") as found:
        run(ball(dt=5e-3, speed=0.01, end=0.05))
    assert [Path(each.filename).name for each in found] == ["test_guards.py"]


def test_limits_of_the_kernels():
    """In metres, from those in radii: the smallest sphere has 20 mm."""
    model = build_model(ball())
    guard = ball(guard="overlap = 0.25, travel = 0.5").guard
    assert limits(guard, model) == Limits(0.25, 0.25 * 0.02, 0.5 * 0.02, True, True)
    assert limits(ball(guard="outside = false").guard, model).outside is False
    assert limits(None, model) == Limits() == Limits(np.inf, np.inf, np.inf, False, False)
    two, one = replace(model, walls=walls_of([], [])), replace(model, species=model.species[:1])
    assert [can_touch(each) for each in (two, one, replace(two, species=model.species[:1]))] == [True, True, False]
