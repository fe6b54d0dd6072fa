"""minidem new: examples from the package; what is said where a file is missing."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command import Outcome

import minidem
from minidem.scenario import examples
from minidem.scenario.examples import EXAMPLES
from minidem.study.plan import load_study

ROOT = Path(__file__).parents[2]
OWN = ("own_scheme", "own_law")


def test_every_scenario_is_an_example():
    scenarios = {path.stem for path in (ROOT / "scenarios").glob("*.toml")}
    assert scenarios == set(EXAMPLES) - {"first", *OWN}


def test_list(minidem_command, directory):
    listed = minidem_command("new", "--list")
    assert listed.code == 0 and listed == minidem_command("new")
    lines = listed.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(EXAMPLES)
    assert all(len(line) <= 100 and len(line.split()) > 3 for line in lines)
    rows = minidem_command("new", "--list", "--json").json["examples"]
    assert [row["name"] for row in rows] == list(EXAMPLES)
    assert [path.name for path in directory.iterdir()] == ["box.toml"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_can_be_loaded(minidem_command, directory, name):
    """Each from an empty folder: what the command names next is there, and is read without an error."""
    report = minidem_command("new", name, "--json", "--out", "there").json
    assert {str(path) for path in Path("there").iterdir()} == set(report["files"])
    words = report["next"].split()
    files = [Path("there", word) for word in words if word.endswith((".toml", ".py"))]
    assert files and all(file.is_file() for file in files)
    if name not in OWN:
        assert (load_study if name == "first" else minidem.load)(files[0]).name == name
    assert report["name"] == name


def test_what_is_there_stays(minidem_command, directory):
    assert minidem_command("new", "first", "--quiet") == Outcome(0, "", "")
    first = (directory / "first.toml").read_bytes()
    again = minidem_command("new", "rods")  # its file is there with the same text
    assert again.code == 0 and again.stdout.startswith("written to    rods.toml")
    (directory / "rods.toml").write_text("mine")
    (directory / "first.toml").unlink()
    refused = minidem_command("new", "first")
    assert refused.code == 2 and refused.stderr.startswith("rods.toml: exists already; give --overwrite")
    assert (directory / "rods.toml").read_text() == "mine" and not (directory / "first.toml").exists()
    assert minidem_command("new", "first", "--overwrite").code == 0
    assert (directory / "first.toml").read_bytes() == first
    assert tomllib.loads((directory / "rods.toml").read_text())["name"] == "rods"


def test_a_schema_that_is_there_stays(minidem_command, directory):
    """It may be of another version, and is no reason to refuse another example."""
    first = minidem_command("new", "chess", "--json").json
    assert first["files"] == ["chess.toml", "scenario.schema.json"]
    (directory / "scenario.schema.json").write_text("{}")
    assert minidem_command("new", "rods", "--json").json["files"] == ["rods.toml"]
    assert (directory / "scenario.schema.json").read_text() == "{}"
    minidem_command("new", "rods", "--overwrite")
    assert len((directory / "scenario.schema.json").read_text()) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "ches"), 'unknown example "ches"; did you mean chess? valid names: chess, rods, '),
        (("new", "chess", "--out", "box.toml"), "box.toml: cannot be written ("),
        (("run", "chess"), "chess: no such file or directory; minidem new chess writes this example\n"),
        (("run", "scenarios/chess.toml"), "scenarios/chess.toml: no such file or directory; minidem new chess writes this"),
        (("run", "two_sphere"), "two_sphere: no such file or directory; minidem new two_spheres writes the example of that"),
        (("run", "box"), "box: no such file or directory; did you mean box.toml?\n"),
        (("run", "zzz.toml"), "zzz.toml: no such file or directory; give a scenario file\n"),
        (("study", "first"), "first: no such file or directory; minidem new first writes this example\n"),
    ],
)
def test_messages(minidem_command, arguments, message):
    outcome = minidem_command(*arguments)
    assert outcome.code == 2 and outcome.stdout == ""
    assert outcome.stderr.startswith(message) and outcome.stderr.count("\n") == 1


def test_names_of_files_are_taken(minidem_command, directory):
    assert minidem_command("new", "chess.toml").code == 0
    assert (directory / "chess.toml").read_bytes() == (ROOT / "scenarios" / "chess.toml").read_bytes()


def test_installed_package(minidem_command, directory, monkeypatch):
    """An installed package has the examples in a folder of its own."""
    installed = directory / "site" / "minidem"
    shutil.copytree(ROOT / "scenarios", installed / "scenarios")
    for name in OWN:
        shutil.copy(ROOT / "docs" / f"{name}.py", installed / "scenarios")
    monkeypatch.setattr(examples, "PACKAGE", installed)
    for name in EXAMPLES:
        for file in EXAMPLES[name].files:
            assert examples.example_file(file).is_relative_to(installed)
        assert minidem_command("new", name, "--out", "there", "--quiet").code == 0


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_completion(minidem_command, option):
    shown = minidem_command(option).stdout
    assert "--install-completion" in shown and "--version" in shown


def test_completion(directory):
    """The shell asks the program itself for the words that fit."""
    asked = {"_MINIDEM_COMPLETE": "complete_bash", "COMP_WORDS": "minidem re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'minidem'; from minidem.cli import main; main()"],
        cwd=directory, env=os.environ | asked, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["resume", "report", "reproduce"], done.stderr


def test_the_package_is_a_command(directory):
    done = subprocess.run([sys.executable, "-m", "minidem", "new", "--list", "--json"], capture_output=True, text=True)
    assert [row["name"] for row in json.loads(done.stdout)["examples"]] == list(EXAMPLES)
