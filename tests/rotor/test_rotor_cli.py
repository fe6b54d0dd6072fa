"""`minidem rotor` and `minidem reproduce`: output, exit codes, files."""

import csv
import json

import matplotlib.image
import numpy as np
import pytest

from minidem.reproduce import TARGETS
from minidem.rotor.cases import CASES

KEYS = [
    *("case", "integrator", "dt", "steps", "time", "error_q", "error_omega", "error"),
    *("energy_error_max", "energy_error_last", "q", "omega", "axis"),
]


@pytest.mark.parametrize(("integrator", "dt"), [("spiral", 3.044e-3), ("omelyan", 2.943e-4), ("buss", 2.65e-5)])
def test_published_steps_give_the_published_error(minidem_command, integrator, dt):
    outcome = minidem_command("rotor", "constant-torque", "--integrator", integrator, "--dt", dt, "--json")
    assert (outcome.code, outcome.stderr) == (0, "")
    result = outcome.json
    assert list(result) == KEYS
    assert result["steps"] == round(1 / dt) and result["dt"] == 1 / result["steps"] and result["time"] == 1.0
    assert result["error"] == (result["error_q"] + result["error_omega"]) / 2 == pytest.approx(1e-5, rel=0.05)
    assert result["energy_error_max"] is None and result["energy_error_last"] is None


@pytest.mark.parametrize(("integrator", "x"), [("pcdm-improved", 0.293444), ("pcdm", 0.291581)])
def test_table_of_the_forced_sphere(minidem_command, integrator, x):
    """Against Seelen et al., Table 1: 0.293444, and 0.291578 for PCDM."""
    outcome = minidem_command("rotor", "forced-sphere", "--integrator", integrator, "--dt", "1e-4")
    assert f"axis x -> ({x:.6f}, 0.000000, {-np.sqrt(1 - x * x):.6f})" in outcome.stdout


@pytest.mark.parametrize("case", CASES)
def test_every_case(minidem_command, case):
    """The default step of a case is sensible: the error is finite and below 1."""
    result = minidem_command("rotor", case, "--integrator", "no-squish", "--json").json
    assert 0 < result["error"] < 1
    assert (result["energy_error_max"] is None) == (CASES[case].potential is None)


def test_list_of_cases(minidem_command):
    outcome = minidem_command("rotor", "--list")
    assert [line.split()[0] for line in outcome.stdout.splitlines()[1:]] == list(CASES)
    assert [case["name"] for case in minidem_command("rotor", "--list", "--json").json["cases"]] == list(CASES)


def test_unstable_motion(minidem_command):
    """With a step of 1 s, Direct Euler squares omega in every step; numbers that are not finite are null in JSON."""
    arguments = ("rotor", "soft-wall", "--integrator", "direct-euler", "--dt", "1", "--end", "20")
    outcome = minidem_command(*arguments, "--json")
    assert outcome.code == 3 and outcome.json["error"] is None
    outcome = minidem_command(*arguments)
    assert outcome.code == 3 and "unstable at this time step" in outcome.stderr
    earlier = minidem_command(*arguments[:-1], "11")  # q and omega are still finite, the square of omega is not
    assert earlier.code == 0 and "too large" in earlier.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("CASE", "constant-torque", "--list")),
        (("--json",), ("CASE", "constant-torque", "--list")),
        (("fast-tops",), ("fast-tops", "did you mean fast-top?", "soft-wall")),
        (("fast-top", "--integrator", "spirel"), ("spirel", "did you mean spiral?", "free-rotor")),
        (("fast-top", "--dt", "0"), ("--dt", "above 0")),
        (("fast-top", "--dt", "nan"), ("--dt", "above 0")),
        (("fast-top", "--dt", "20"), ("--dt", "at most the end, 10 s")),
        (("fast-top", "--dt", "1e-12"), ("--dt", "too many")),
        (("fast-top", "--end", "-1"), ("--end", "above 0")),
        (("fast-top", "--end", "inf"), ("--end", "at most 100 s")),
        (("constant-torque", "--end", "1e200", "--dt", "1e199"), ("--end", "at most 10 s")),
        (("fast-top", "--plot", "a.txt"), ("--plot", ".png", "a.txt")),
        (("fast-top", "--plot", "box.toml/a.png"), ("--plot", "box.toml")),
        (("fast-top", "--plot", 300 * "a" + ".png"), ("--plot", "aaa")),
    ],
)
def test_bad_arguments_of_rotor(minidem_command, directory, arguments, words):
    outcome = minidem_command("rotor", *arguments)
    assert outcome.code == 2
    assert all(word in outcome.stderr + outcome.stdout for word in words), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert [path.name for path in directory.iterdir()] == ["box.toml"]


def test_figure_of_a_bench_run(minidem_command, directory):
    plot = ("rotor", "soft-wall", "--end", "2", "--plot", "pictures/wall.png")
    assert minidem_command(*plot, "--quiet").stdout == ""
    picture = matplotlib.image.imread(directory / "pictures" / "wall.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50
    again = minidem_command(*plot)
    assert again.code == 2 and "exists already" in again.stderr
    assert minidem_command(*plot, "--overwrite").code == 0


def test_reproduced_table(minidem_command, directory):
    """Files, the table on the terminal, and the same as JSON."""
    outcome = minidem_command("reproduce", "seelen-table1", "--quick")
    assert outcome.code == 0
    assert "published" in outcome.stdout and "ratio" in outcome.stdout and "written to" in outcome.stdout
    folder = directory / "output" / "reproduce" / "seelen-table1"
    names = {"seelen-table1.csv", "seelen-table1.png", "seelen-table1.svg", "comparison.txt"}
    assert {path.name for path in folder.iterdir()} == names
    assert (folder / "comparison.txt").read_text().strip() in outcome.stdout
    rows = list(csv.reader((folder / "seelen-table1.csv").open()))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1
    assert (folder / "seelen-table1.svg").read_text().startswith("<?xml")
    refused = minidem_command("reproduce", "seelen-table1", "--quick")
    assert refused.code == 2 and "--overwrite" in refused.stderr
    replaced = minidem_command("reproduce", "seelen-table1", "--quick", "--overwrite", "--json")
    report = json.loads(replaced.stdout)["seelen-table1"]
    assert report["comparisons"] and all(
        set(row) == {"what", "published", "measured", "ratio"} for row in report["comparisons"]
    )


def test_list_of_targets(minidem_command):
    assert [line.split()[0] for line in minidem_command("reproduce", "--list").stdout.splitlines()] == list(TARGETS)
    assert list(minidem_command("reproduce", "--list", "--json").json["targets"]) == list(TARGETS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("TARGET", "--all", "--list")),
        (("spiral-figg2",), ("spiral-figg2", "did you mean spiral-fig2?")),
        (("--all", "spiral-fig2"), ("--all",)),
        (("spiral-fig2", "--out", "box.toml/here"), ("--out", "box.toml")),
        (("spiral-fig2", "--out", 300 * "a"), ("--out", "aaa")),
    ],
)
def test_bad_arguments_of_reproduce(minidem_command, arguments, words):
    outcome = minidem_command("reproduce", *arguments)
    assert outcome.code == 2 and outcome.stdout == ""
    assert all(word in outcome.stderr for word in words)
