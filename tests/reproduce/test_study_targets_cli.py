"""`minidem reproduce` of targets that run studies: files, --resume, signals."""

import csv
import json
import signal
import subprocess
import sys
import time

import pytest

from minidem.reproduce.powders import rods_fig2
from minidem.reproduce.spiral import cost as spiral_cost
from minidem.reproduce.spiral.fig7 import FILES
from minidem.reproduce.studies import DT, Interrupted, Studies, study_of
from minidem.study.plan import load_study
from minidem.study.records import prepare_directory

PATIENCE = 120  # s, after which a process hangs
NAMES = {"rods-fig2.csv", "rods-fig2.png", "rods-fig2.svg", "comparison.txt", "study"}
QUICK = ("reproduce", "rods-fig2", "--quick", "--out", "out")


@pytest.fixture
def short(monkeypatch):
    """Half a second of the rods."""
    monkeypatch.setattr(rods_fig2, "QUICK_END", 0.5)


def test_target_with_a_study(minidem_command, directory, short):
    outcome = minidem_command(*QUICK, "--processes", "2")
    assert outcome.code == 0, outcome.stderr
    assert "becomes unstable" in outcome.stdout and "3 runs, none failed" in outcome.stdout
    folder = directory / "out" / "rods-fig2"
    assert {path.name for path in folder.iterdir()} == NAMES
    rows = list(csv.DictReader((folder / "rods-fig2.csv").open()))
    assert {row["run"] for row in rows} == {"omelyan", "spiral", "fincham-yade"}
    assert all(0.99 < float(row["energy_ratio"]) < 1.01 for row in rows)
    records = folder / "study" / "rods-fig2-quick" / "records.jsonl"
    before = records.read_bytes()
    assert before.count(b"\n") == 3

    refused = minidem_command(*QUICK)
    assert refused.code == 2 and "--resume" in refused.stderr and "--overwrite" in refused.stderr
    both = minidem_command(*QUICK, "--resume", "--overwrite")
    assert both.code == 2 and "--resume" in both.stderr
    assert records.read_bytes() == before

    for name in NAMES - {"study"}:
        (folder / name).unlink()
    again = minidem_command(*QUICK, "--resume", "--json")
    assert again.code == 0 and len(again.json["rods-fig2"]["comparisons"]) == 10
    assert {path.name for path in folder.iterdir()} == NAMES
    assert records.read_bytes() == before, "nothing was missing"

    anew = minidem_command(*QUICK, "--overwrite", "--quiet")
    assert (anew.code, anew.stdout, anew.stderr) == (0, "", "")
    assert records.read_bytes().count(b"\n") == 3 and records.read_bytes() != before


def test_records_of_a_different_study_are_refused(minidem_command, directory, short, monkeypatch):
    assert minidem_command(*QUICK).code == 0
    monkeypatch.setattr(rods_fig2, "QUICK_END", 0.25)
    outcome = minidem_command(*QUICK, "--resume")
    assert outcome.code == 2 and "another study" in outcome.stderr and "0.25" in outcome.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_resume_after_a_signal(minidem_command, directory, number, code):
    records = directory / "out" / "rods-fig2" / "study" / "rods-fig2-quick" / "records.jsonl"
    command = [sys.executable, "-m", "minidem.cli", *QUICK, "--processes", "1"]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun = time.monotonic()
        while not (records.exists() and records.read_bytes()):  # the first of three runs
            assert process.poll() is None, process.communicate()
            assert time.monotonic() - begun < PATIENCE
            time.sleep(0.01)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == code and stdout == ""
    assert "of 3 runs are done; continue with --resume" in stderr and "Traceback" not in stderr
    kept = records.read_bytes()
    assert 1 <= kept.count(b"\n") < 3
    assert not (directory / "out" / "rods-fig2" / "comparison.txt").exists()

    outcome = minidem_command(*QUICK, "--resume")
    assert outcome.code == 0, outcome.stderr
    assert records.read_bytes().startswith(kept) and records.read_bytes().count(b"\n") == 3
    assert {path.name for path in (directory / "out" / "rods-fig2").iterdir()} == NAMES


def test_figure_from_existing_records(minidem_command, directory):
    """With complete records of both studies, as written by `minidem study`, nothing is run. One run of each failed."""
    folders = [directory / "out" / "spiral-fig7" / "study" / name for name in FILES]
    for folder in folders:
        study = study_of(folder.name)
        prepare_directory(folder, study)
        with (folder / "records.jsonl").open("w") as file:
            for cell in study.cells:
                dt = cell.changes[DT]
                record = {"cell": cell.number, "status": "ok", "reason": "", "dt": dt, "dt_rayleigh": dt / 1.7e-6}
                record |= {"drift_mean": 3 * dt, "drift_last": 2 * dt, "wall_s": 1.0, "host": "elsewhere"}
                if cell.number == 7:
                    record |= {"status": "failed", "reason": "its process died", "drift_mean": None}
                file.write(json.dumps(record) + "\n")
    before = [(folder / "records.jsonl").read_bytes() for folder in folders]
    outcome = minidem_command("reproduce", "spiral-fig7", "--resume", "--out", "out", "--json")
    assert outcome.code == 0, outcome.stderr
    assert [(folder / "records.jsonl").read_bytes() for folder in folders] == before
    report = outcome.json["spiral-fig7"]
    rows = {row["what"]: row["measured"] for row in report["comparisons"]}
    assert rows["fincham-yade: deviation at 3.1e-07 s (%)"] == pytest.approx(200 * 3.1e-7)
    assert rows["fincham-yade / spiral: deviation at 4.85e-06 s"] == pytest.approx(1)
    assert rows["free-rotor: slope"] == pytest.approx(1)
    assert report["notes"][-1].startswith("1710 runs; 2 failed, the first: its process died; 1710 s in all")
    table = list(csv.DictReader((directory / "out" / "spiral-fig7" / "spiral-fig7.csv").open()))
    assert len(table) == 51 and [row["runs"] for row in table[:2]] == ["49", "50"]


@pytest.mark.parametrize("target", ["spiral-cost", "rods-fig2"])
def test_all_runs_failed(minidem_command, directory, target):
    """A message, no traceback, no figure."""
    folder = directory / "out" / target / "study" / target
    study = study_of(target)
    if target == "spiral-cost":
        study = spiral_cost.repeated(study, spiral_cost.REPEATS)
        folder = folder.with_name(study.name)
    prepare_directory(folder, study)
    failed = [{"cell": cell.number, "status": "failed", "reason": "its process died"} for cell in study.cells]
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in failed))
    outcome = minidem_command("reproduce", target, "--out", "out", "--resume")
    assert outcome.code == 1 and "its process died" in outcome.stderr and "--overwrite" in outcome.stderr
    assert [path.name for path in (directory / "out" / target).iterdir()] == ["study"]


SOME = """\
name = "some"
scenario = "box.toml"
axes.seed = {first = 0, count = 2}
axes.dt = [4e-5, 2e-5]
"""


def test_parts_of_a_study_one_after_the_other(directory):
    (directory / "some.toml").write_text(SOME)
    study, parts, began = load_study(directory / "some.toml"), [["seed=1"], ["seed=0"]], []

    def rows(**options):
        return Studies(directory / "studies", processes=1, **options).rows(study, parts)

    first = rows()
    assert [row["status"] for row in first] == ["ok"] * 4
    lines = (directory / "studies" / "some" / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["cell"] for line in lines] == [3, 2, 1, 0]  # in each part, the run with more steps first
    again = rows(overwrite=True)
    assert [row["drift_last"] for row in again] == [row["drift_last"] for row in first] and len(lines) == 4
    assert all(old["wall_s"] != new["wall_s"] for old, new in zip(first, again, strict=True))
    assert rows() == again

    def stop():
        began.append(True)
        return len(began) > 1

    with pytest.raises(Interrupted, match=r"some: [0-3] of 4 runs are done"):
        rows(overwrite=True, stop=stop)
