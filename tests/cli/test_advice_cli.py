"""minidem advise."""

import pytest

LONG = ["--set", "time.end=0.5"]  # 50 contacts


def test_advise(minidem_command):
    outcome = minidem_command("advise", "box.toml", "--drift", "1e-5", "--json", *LONG)
    assert outcome.code == 0 and outcome.stderr == ""
    assert outcome.json["drift"] == 1e-5
    plain, corrected = outcome.json["choices"]
    assert (plain["integrator"], plain["edges"], corrected["edges"]) == ("spiral", "plain", "corrected")
    for choice in (plain, corrected):
        assert 0 < choice["low"] <= choice["drift"] <= choice["high"] <= 1e-5 and choice["estimated_s"] > 0
    assert plain["dt"] < corrected["dt"]
    wished = minidem_command("run", "box.toml", "--set", "time.dt=drift 1e-5", "--out", "wished", "--json", *LONG)
    assert wished.code == 0 and wished.json["dt"] == plain["dt"]


def test_advise_for_people(minidem_command):
    outcome = minidem_command("advise", "box.toml", "--drift", "0.5", "--integrators", "no-squish,spiral", *LONG)
    head, *rows = outcome.stdout.splitlines()
    assert outcome.code == 0 and head.split()[:3] == ["integrator", "edges", "dt"]
    assert [row.split()[:2] for row in rows] == [
        [name, edges] for name in ("spiral", "no-squish") for edges in ("plain", "corrected")
    ]
    assert all(row.endswith(" *") for row in rows)
    assert "* spiral, plain edges: dt is limited by " in outcome.stderr
    assert minidem_command("advise", "box.toml", "--quiet", *LONG).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--drift", "0"], "--drift 0: must be above 0 and below 1, for example 1e-5"),
        (["--drift", "1"], "--drift 1: must be above 0 and below 1"),
        (["--drift", "nan"], "--drift nan: must be above 0 and below 1"),
        (
            ["--drift", "1e-15"],
            "box.toml: time.dt: no time step keeps the drift within 1e-15: round-off alone exceeds",
        ),
        (["--set", "time.end=1e-6"], "box.toml: time.dt: there is no contact in 1e-06 s"),
        (["--integrators", "spirall"], '--integrators spirall: unknown integrator "spirall"; did you mean "spiral"?'),
        (["--integrators", "rk4"], "--integrators rk4: "),
        (["--integrators", ""], "--integrators : unknown integrator"),
        (["--set", "time.dt=drift"], "--set time.dt=drift: time.dt: must have a number between 0 and 1 after"),
        (["--set", "body[0].position=[0, 0, 0]"], "box.toml: "),
    ],
)
def test_bad_wishes(minidem_command, arguments, message):
    outcome = minidem_command("advise", "box.toml", *LONG, *arguments)
    assert outcome.code == 2 and outcome.stdout == "" and outcome.stderr.startswith(message)
    assert "Traceback" not in outcome.stderr


def test_check_of_a_drift(minidem_command):
    outcome = minidem_command("check", "box.toml", "--set", "time.dt=drift 1e-5", *LONG)
    assert outcome.code == 0 and "s or less: for a drift below 0.0001" in outcome.stdout
    assert "energy drift  about " in outcome.stdout
