"""A study with an integrator of one's own, on processes and on Dask workers."""

import json

import pytest
from command import in_a_shell

PLUGIN = """
import minidem
from minidem.schemes import acceleration, kicked, turned

def start(q, omega, torque, inertia, dt):
    return q, omega

def advance(q, omega, torque, inertia, dt):
    middle = kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)
    return turned(q, middle, dt), kicked(omega, acceleration(middle, torque, inertia), dt)

def on_step(q, omega, torque, inertia, dt):
    return q, omega

minidem.register("mine", start, advance, on_step)
"""
STUDY = """
scenario = "box.toml"
[axes]
integrator = ["mine", "spiral"]
"""


@pytest.fixture
def home(directory):
    (directory / "own.toml").write_text(STUDY)
    (directory / "mine.py").write_text(PLUGIN)
    return directory


def test_study_with_a_plugin(home):
    """The same table on processes and on Dask workers, which get the text of the plugin; a changed one is refused."""

    def study(*arguments):
        return in_a_shell(home, "study", "own.toml", "--quiet", *arguments)

    refused = study()
    assert refused.code == 2 and 'unknown integrator "mine"' in refused.stderr
    local = study("--plugin", "mine.py", "--out", "local", "--processes", 2)
    assert local.code == 0, local.stderr
    dask = study("--plugin", "mine.py", "--out", "dask", "--dask", "local", "--processes", 2)
    assert dask.code == 0, dask.stderr
    table = (home / "local" / "table.csv").read_text()
    assert table == (home / "dask" / "table.csv").read_text()
    mine, spiral = (line.split(",")[2:] for line in table.splitlines()[1:])
    assert mine[0] == spiral[0] == "ok" and mine != spiral
    (recorded,) = json.loads((home / "local" / "study.json").read_text())["plugins"]
    assert recorded.startswith("mine.py sha256 ")
    (home / "mine.py").write_text(PLUGIN + "# changed\n")
    changed = study("--plugin", "mine.py", "--out", "local", "--resume")
    assert changed.code == 2 and "local: was made by another study" in changed.stderr
    assert f"-plugins: {recorded}" in changed.stderr.splitlines()


def test_a_faulty_plugin_is_the_reason_of_a_failed_run(home):
    (home / "mine.py").write_text(PLUGIN.replace("turned(q, middle, dt)", "spun(q, middle, dt)"))
    done = in_a_shell(home, "study", "own.toml", "--plugin", "mine.py", "--out", "out", "--only", "integrator=mine")
    assert done.code == 1
    (record,) = map(json.loads, (home / "out" / "records.jsonl").read_text().splitlines())
    assert record["status"] == "failed"
    first, second, _ = record["reason"].splitlines()
    assert "advance cannot be compiled" in first and second == "  NameError: name 'spun' is not defined"
