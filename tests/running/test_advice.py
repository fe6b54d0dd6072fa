"""The advised time step: that it holds, what limits it, and that check, guards and dt = "drift x" agree."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidem
from minidem.errors import PhysicsError, ScenarioError
from minidem.running import given as given_module
from minidem.running.advice import PATHS, Adviser, expectation_of, rounded_down
from minidem.running.conduct import initial_state, resume, run
from minidem.running.outlook import advise, outlook
from minidem.running.pilots import Pilot
from minidem.scenario.reading import Scenario, load, parse

SCENARIOS = Path(__file__).parents[2] / "scenarios"
BALLS = """
name = "balls"
time = {dt = 1e-5, end = 0.02}
domain = {box = [0.2, 0.2, 0.2], material = "steel"}
material.steel = {young = 1e9, poisson = 0.3, density = 7800}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "steel"}
output = {frames = 3, energies = 50}
"""
TWO = """
[[body]]
clump = "ball"
position = [0.05, 0.1, 0.1]
velocity = [2, 0, 0]
[[body]]
clump = "ball"
position = [0.08, 0.1, 0.1]
"""

SOFT = """
name = "soft"
seed = 6
time = {dt = 1e-5, end = 0.3}
domain = {box = [0.2, 0.2, 0.2], material = "soft", gravity = [0, 0, -9.81]}
material.soft = {young = 7.5e5, poisson = 0.3, density = 1000.0}
clump.pear = {spheres = [[0, 0, 0, 0.01], [0.012, 0, 0, 0.005]], material = "soft"}
place = [{clump = "pear", count = 15, speed = 1.0}]
"""


@pytest.fixture(scope="module")
def rods():
    return load(SCENARIOS / "rods.toml")


@pytest.fixture(scope="module")
def short_rods(rods):
    """Some 400 contacts."""
    return rods.with_changes({"time.end": 1.0, "output.energies": 200, "output.frames": 2})


def measured(scenario: Scenario, choice: dict, seeds: int) -> float:
    """Median of the drifts of runs with the advised time step."""
    changes = {"time.dt": choice["dt"], "integrator.rotation": choice["integrator"], "contact.edges": choice["edges"]}
    runs = [run(scenario.with_changes(changes | {"seed": seed}), threads=1).summary["energy"] for seed in range(seeds)]
    return float(np.median([max(energy["drift_mean"], energy["drift_last"]) for energy in runs]))


@pytest.mark.parametrize("edges", ["plain", "corrected"])
def test_the_advice_holds(rods, edges, long):
    """Runs of the whole scenario with the advised time step, of other seeds than the pilots."""
    for wish in (1e-4, 1e-5, 1e-6) if long else (1e-5,):
        choices = advise(rods.with_changes({"contact.edges": edges}), wish)["choices"]
        assert [choice["edges"] for choice in choices] == [edges, *({"plain", "corrected"} - {edges})]
        own = choices[0]
        assert own["integrator"] == "spiral" and own["limit"] == ""
        assert own["low"] <= own["drift"] <= own["high"] <= wish and own["drift"] <= 0.5 * wish
        assert 0.1 * wish < measured(rods, own, 8 if long else 5) < wish


def test_plain_edges_follow_the_law(short_rods):
    """dt^(5/2): two digits of the ratio are lost by rounding down to two digits."""
    steps = [advise(short_rods, wish, threads=1)["choices"][0]["dt"] for wish in (1e-5, 1e-6, 1e-7)]
    slopes = -np.diff(np.log10(steps))
    assert slopes == pytest.approx([0.4, 0.4], abs=0.04)


def test_the_same_call_gives_the_same_advice(short_rods):
    def advised(threads):
        choices = advise(short_rods, 1e-5, ["no-squish", "spiral"], threads=threads)["choices"]
        return [{key: value for key, value in choice.items() if key != "estimated_s"} for choice in choices]

    first = advised(1)
    assert first == advised(1) == advised(2)
    assert [(choice["integrator"], choice["edges"]) for choice in first] == [
        ("spiral", "plain"),
        ("spiral", "corrected"),
        ("no-squish", "plain"),
        ("no-squish", "corrected"),
    ]
    for choice in first:
        assert choice["dt"] == float(f"{choice['dt']:.1e}") and choice["steps"] == round(1.0 / choice["dt"])
        assert 0 < choice["uncertainty"] < 0.5 and choice["contacts"] > 100


def test_a_scheme_of_first_order(short_rods):
    """The rotation's error decides, not that of the edges: dt is proportional to the wish."""
    loose, tight = (advise(short_rods, wish, ["fincham-yade"])["choices"] for wish in (1e-4, 1e-5))
    assert np.log10(loose[1]["dt"] / tight[1]["dt"]) == pytest.approx(1.0, abs=0.25)
    assert 0.1e-4 < measured(short_rods, loose[1], 3) < 1e-4


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, "the shortest contact (5 steps)"),
        ({"guard.contact": 0.02}, "guard.contact = 0.02"),
        ({"guard.travel": 1e-3}, "half of guard.travel"),
        ({"guard.turn": 1e-4}, "half of guard.turn"),
    ],
)
def test_limits(short_rods, changes, limit):
    """A wish that any time step fulfils."""
    base = short_rods.with_changes({"contact.edges": "corrected", "guard.rayleigh": False} | changes)
    choice = advise(base, 0.5)["choices"][0]
    assert choice["limit"] == limit and choice["drift"] < 0.25
    notes = []
    result = run(base.with_changes({"time.dt": choice["dt"]}), on_note=notes.append)
    assert result.summary["status"] == "ok" and notes == []


def test_the_rayleigh_guard_warns_and_does_not_limit(short_rods):
    free, guarded = (
        advise(short_rods.with_changes({"contact.edges": "corrected", "guard.rayleigh": most}), 1e-4)["choices"][0]
        for most in (False, 0.05)
    )
    assert (guarded["dt"], guarded["limit"]) == (free["dt"], free["limit"])
    assert (guarded["warning"], free["warning"]) == ("guard.rayleigh = 0.05", "")
    suggested = outlook(short_rods.with_changes({"guard.rayleigh": 0.05}))
    assert suggested["dt_good_reason"] == "for a drift below 0.0001, limited by guard.rayleigh = 0.05"


@pytest.mark.parametrize(
    ("text", "wish", "reason"),
    [
        (BALLS + TWO, 1e-15, "no time step keeps the drift within 1e-15: round-off alone exceeds it; allow a larger drift"),
        (BALLS.replace("0.02", "0.001") + TWO, 1e-5, "there is no contact in 0.001 s, so the energy says nothing"),
        (
            re.sub("domain.*", "", BALLS) + TWO.partition('[[body]]\nclump = "ball"\nposition = [0.08')[0],
            1e-5,
            "nothing can touch: there is one body and no wall; give dt in seconds",
        ),
        (BALLS + TWO.replace("[2, 0, 0]", "[0, 0, 0]"), 1e-5, "the initial energy is 0 J, so there is no relative drift"),
    ],
)
def test_no_advice(text, wish, reason):
    scenario = parse(text, "balls.toml")
    with pytest.raises(ScenarioError) as caught:
        advise(scenario, wish, source="balls.toml")
    assert str(caught.value).startswith(f"balls.toml: time.dt: {reason}")
    with pytest.raises(ScenarioError) as caught:
        minidem.Simulation(scenario.with_changes({"time.dt": f"drift {wish}"}), source="balls.toml")
    assert str(caught.value).startswith(f"balls.toml: time.dt: {reason}")


def test_overlaps_are_found_before_pilots():
    text = BALLS.replace("dt = 1e-5", 'dt = "drift 1e-5"') + TWO.replace("0.08", "0.06")
    with pytest.raises(ScenarioError, match="overlap"):
        minidem.Simulation(parse(text))


# --- dt = "drift x" -----------------------------------------------------------------------------------------


def test_drift_as_time_step(short_rods, tmp_path, monkeypatch):
    """The run directory has the number: a resumed run does not ask again."""
    wished = short_rods.with_changes({"time.dt": "drift 1e-5"})
    expected = advise(short_rods, 1e-5)["choices"][0]["dt"]
    assert minidem.Simulation(wished).model.dt == expected and outlook(wished)["dt"] == expected
    stopped = run(wished, tmp_path / "run", every=20_000, call=lambda simulation: simulation.step > 0)
    assert stopped.summary["status"] == "interrupted" and stopped.summary["dt"] == expected
    assert load(tmp_path / "run" / "resolved.toml").time.dt == expected
    monkeypatch.setattr(given_module, "advised_step", None)
    done = resume(tmp_path / "run").summary
    whole = run(short_rods.with_changes({"time.dt": expected})).summary
    assert done["energy"] == whole["energy"] and done["steps"] == whole["steps"]
    assert len(initial_state(wished).position) == 1  # needs no time step


# --- what check and guards suggest --------------------------------------------------------------------------


def test_check_and_guards_suggest_the_same(short_rods):
    report = outlook(short_rods)
    suggested = advise(short_rods, 1e-4)["choices"][0]
    assert report["dt_good"] == suggested["dt"] and report["dt_good_reason"] == "for a drift below 0.0001"
    assert report["drift"]["low"] < report["drift"]["expected"] < report["drift"]["high"]
    with pytest.raises(ScenarioError, match=f"take {report['dt_good']:.2g} s or less"):
        minidem.Simulation(short_rods.with_changes({"time.dt": 0.01}))
    result = run(short_rods.with_changes({"time.dt": 5e-5, "guard.overlap": 1e-3}), on_note=lambda note: None)
    assert "use stiffer materials" in result.reason or "take time.dt = " in result.reason  # no pilot gets past this guard
    result = run(short_rods.with_changes({"time.dt": 5e-5, "guard.energy": 1e-6}), on_note=lambda note: None)
    assert result.reason.endswith(f"take time.dt = {report['dt_good']:.2g}")


def test_guards_stop_pilots_with_any_time_step():
    """Soft clumps that fall and collide: the overlap that stops some motions does not depend on the time step. `check` and
    the messages of guards then say what they can."""
    scenario = parse(SOFT, "soft.toml")
    report = outlook(scenario)
    assert report["drift"] is None and report["dt_good_reason"].startswith("a rule of thumb")
    softer = scenario.with_changes({"material.soft.young": 3e5})
    with pytest.raises(ScenarioError, match=r"guards stop every pilot run .*; use stiffer materials"):
        advise(softer, 1e-4, source="soft.toml")
    result = run(softer, on_note=lambda note: None)
    assert re.search(
        rf"guard.overlap = 0.5\) at step {result.summary['steps']}; the time step .* short enough", result.reason
    )


def test_pilots_that_guards_stop_are_left_out():
    """If others are not, these say what to expect."""
    scenario = parse(SOFT).with_changes({"seed": 2, "time.end": 0.6})
    adviser = Adviser(minidem.Simulation.from_model, scenario)
    with pytest.raises(PhysicsError, match=r"guard.overlap = 0.5"):
        adviser.pilots("spiral", "plain", 1e-4, 8)
    assert 0 < len(adviser.pilots("spiral", "plain", 1e-4, 8, stopped=True)) < 8


def test_expected_drift_of_a_given_step(short_rods):
    """check says what a run with its time step does."""
    base = short_rods.with_changes({"time.dt": 3e-5})
    expected = outlook(base)["drift"]
    found = measured(base, {"dt": 3e-5, "integrator": "spiral", "edges": "plain"}, 5)
    assert expected["low"] < found < expected["high"]


def test_rules_of_thumb_without_contacts():
    report = outlook(parse(BALLS.replace("0.02", "0.001") + TWO))
    assert report["drift"] is None and report["dt_good_reason"].startswith(
        "a rule of thumb, 30 steps for the shortest contact"
    )
    report = outlook(parse(BALLS + TWO.replace("[2, 0, 0]", "[0, 0, 0]")))
    assert report["drift"] is None and report["dt_good_reason"].startswith("a rule of thumb, 0.1 Rayleigh times")


# --- arithmetic ---------------------------------------------------------------------------------------------


def walk(dt, sigma, part=1.0, rest=0.0, inside=0.0):
    """A pilot whose edges make a random walk with a standard deviation at the end of its part."""
    rows = np.linspace(1 / 200, 1.0, 200)
    zero = np.zeros(200)
    made = Pilot(dt, part, sigma**2 * rows, zero + rest * rows, zero.copy(), 100, True, 1.0, 1.0, 1.0, 1e-6, 1e-5)
    made.inside[::2] = inside
    return made


def test_drift_of_a_random_walk():
    """The median of max(mean |W|, |W(1)|) of Brownian motion is 0.75, measured with 10^6 paths. A pilot of a quarter of the
    time sees half of the deviation."""
    tolerance = 3 * 0.65 / np.sqrt(2 * PATHS)  # three standard errors of a median
    for part in (1.0, 0.25):
        fine = walk(1e-5, 1e-3 * np.sqrt(part), part)
        groups = [[walk(2e-5, 2**2.5 * 1e-3 * np.sqrt(part), part)], [fine, fine]]
        expected = expectation_of(groups, 2.5, 1.0)
        low, median, high = expected.drift(1e-5)
        assert median == pytest.approx(0.75e-3, rel=tolerance) and low < 0.4e-3 and 1.4e-3 < high < 2e-3
        assert expected.drift(0.5e-5)[1] == pytest.approx(median / 2**2.5, rel=1e-6)


def test_parts_of_the_drift_scale():
    """The rest with its measured power, contacts under way as dt^2."""
    groups = [[walk(2e-5, 0.0, rest=8e-6)], [walk(1e-5, 0.0, rest=1e-6)]]
    expected = expectation_of(groups, 2.5, 1.0)
    assert expected.rest_power == pytest.approx(3.0) and expected.drift(0.5e-5)[1] == pytest.approx(1e-6 / 8, rel=1e-5)
    groups = [[walk(2e-5, 0.0, inside=4e-6)], [walk(1e-5, 0.0, inside=1e-6)]]
    assert expectation_of(groups, 2.5, 1.0).drift(0.5e-5)[0] == pytest.approx(0.5e-6 / 4, rel=1e-5)  # in half of the rows
    assert expectation_of(groups, 2.5, 1.0).drift(0.5e-5)[2] == pytest.approx(1e-6 / 4, rel=1e-5)


@given(st.floats(1e-12, 1e3))
def test_rounding_down(value):
    found = rounded_down(value)
    assert found <= value * (1 + 1e-9) and found > value / 1.101 and found == float(f"{found:.1e}")
