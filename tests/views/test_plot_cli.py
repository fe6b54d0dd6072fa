"""`minidem plot`: output, exit codes, files."""

import json

import matplotlib.image
import numpy as np
import pytest

from minidem.study.plan import parse_study
from minidem.study.records import Records, prepare_directory


@pytest.fixture
def study(directory):
    """A study of twelve runs, one of which failed and one of which is missing."""
    axes = 'dt = [1e-5, 2e-5, 4e-5]\nintegrator = ["spiral", "buss"]\nseed = [0, 1]'
    made = parse_study(f'scenario = "box.toml"\n[axes]\n{axes}\n', "sweep.toml", directory)
    prepare_directory(directory / "sweep", made)
    with Records(directory / "sweep" / "records.jsonl") as records:
        for cell in made.cells[:-1]:
            dt = cell.changes["time.dt"]
            deviation = dt**2 if cell.changes["integrator.rotation"] == "spiral" else 1e-3 * dt
            drifts = {f"drift_{name}": deviation for name in ("mean", "last", "max")}
            status = {"status": "failed", "reason": "it blew up"} if cell.number == 0 else {"status": "ok", "reason": ""}
            records.add({"cell": cell.number, **status, "dt": dt, "dt_rayleigh": dt / 2e-4, **drifts})
    return directory / "sweep"


def is_a_picture(path):
    picture = matplotlib.image.imread(path)
    return len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50


def test_study(minidem_command, study):
    outcome = minidem_command("plot", "sweep")
    assert (outcome.code, outcome.stderr) == (0, "")
    lines = outcome.stdout.splitlines()
    assert "11 of 12 runs finished (1 failed, not plotted)" in lines[0] and "0.0002 s" in lines[2]
    table = {line.split()[0]: line.split()[1:5] for line in lines[5:7]}
    assert table == {"spiral": ["3", "5", "1", "2.00"], "buss": ["3", "5", "0", "1.00"]}
    assert {path.name for path in study.glob("plot.*")} == {"plot.png", "plot.svg", "plot.csv"}
    assert is_a_picture(study / "plot.png")
    again = minidem_command("plot", "sweep")
    assert again.code == 2 and "exists already" in again.stderr and "--overwrite" in again.stderr
    assert minidem_command("plot", "sweep", "--overwrite").code == 0


def test_study_as_json(minidem_command, study):
    result = minidem_command("plot", "sweep", "--json", "--measure", "paper", "--out", "figures/dt").json
    assert result["files"] == ["figures/dt.png", "figures/dt.svg", "figures/dt.csv"]
    assert (result["measure"], result["cells"], result["ended"], result["failed"]) == ("paper", 12, 11, 1)
    assert {line["label"]: line["slope"] for line in result["lines"]} == pytest.approx({"spiral": 2.0, "buss": 1.0})
    assert result["lines"][0]["points"][0]["standard_error"] is None  # a single run


def test_quiet(minidem_command, study):
    outcome = minidem_command("plot", "sweep", "--quiet")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "", "")
    assert (study / "plot.csv").exists()


def test_runs(minidem_command, directory):
    for integrator in ("spiral", "buss"):
        arguments = ("--set", f"integrator.rotation={integrator}", "--out", integrator, "--quiet")
        assert minidem_command("run", "box.toml", *arguments).code == 0
    alone = minidem_command("plot", "spiral")
    assert alone.code == 0 and alone.stdout.splitlines()[1].startswith("spiral, dt 4e-05 s  ok")
    assert is_a_picture(directory / "spiral" / "plot.png")
    both = minidem_command("plot", "spiral", "buss", "--json")
    assert both.json["files"] == ["energy.png", "energy.svg", "energy.csv"] and is_a_picture("energy.png")
    assert [run["integrator"] for run in both.json["runs"]] == ["spiral", "buss"]
    summary = json.loads((directory / "buss" / "manifest.json").read_text())["summary"]
    assert both.json["runs"][1]["drift_mean"] == pytest.approx(summary["energy"]["drift_mean"], rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("Missing argument",)),
        (("nothing",), ("nothing", "no such directory", "minidem study or minidem run")),
        (("box.toml",), ("box.toml", "is a file")),
        ((".",), ("holds neither a study", "nor a run")),
        ((300 * "a",), ("aaa", "minidem run")),
        (("sweep", "nothing"), ("nothing", "no such directory")),
        (("sweep", "--measure", "meen"), ("meen", "did you mean mean?", "paper")),
        (("sweep", "--out", "box.toml/plot"), ("--out", "box.toml/plot", "cannot be written")),
        (("sweep", "--out", 300 * "a"), ("--out", "aaa", "cannot be written")),
        (("sweep", "--out", "sweep"), ("--out", "sweep is a directory", "sweep/plot")),
    ],
)
def test_bad_use(minidem_command, study, directory, arguments, words):
    before = {path for path in directory.rglob("*")}
    outcome = minidem_command("plot", *arguments)
    assert outcome.code == 2 and outcome.stdout == ""
    assert all(word in outcome.stderr for word in words), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert {path for path in directory.rglob("*")} == before


def test_study_without_a_finished_run(minidem_command, study):
    (study / "records.jsonl").unlink()
    outcome = minidem_command("plot", "sweep", "--json")
    assert outcome.code == 2 and outcome.stdout == "" and "sweep: nothing to plot: no run has ended yet" in outcome.stderr
    assert not list(study.glob("plot.*"))
