"""Small files that mean harm: whatever reads one reads it whole, or says which file and line is wrong, and what to do."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command import BOX
from studies import invented_study

import minidem
from minidem.errors import InputError
from minidem.files.manifest import manifest_of
from minidem.files.series import logged_lines
from minidem.scenario.reading import load, parse
from minidem.shapes.mesh_files import read_mesh
from minidem.shapes.sphere_files import read_mesh_moments, read_spheres
from minidem.small_files import MAX_DIGITS, MAX_NESTING, MAX_PARTS, csv_of, json_of, lines_of, text_of, toml_of
from minidem.study.identity import difference, identity_of
from minidem.study.plan import load_study
from minidem.study.records import Records, read_records
from minidem.views.report.elements import read

PACKAGE = Path(minidem.__file__).parent
PATIENCE = 120  # s, after which a reader hangs
SPHERES = "spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]"


@pytest.fixture(autouse=True)
def no_hang():
    """A reader that waits for a pipe, or takes quadratic time, fails instead of stopping all tests."""

    def hangs(number, frame):
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# --- files that are none ---------------------------------------------------------------------------------------


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def itself(path):
    path.symlink_to(path)


def huge(path):
    """A terabyte that takes no room on the disk."""
    with open(path, "wb") as file:
        file.truncate(2**40)


def binary(path):
    """Good text in two lines, but not in the third."""
    path.write_bytes(b"\n\n\xff\xfe\x00")


PLACES = {
    pipe: "not a regular file",
    Path.mkdir: "is a directory",
    endless: "not a regular file",
    itself: "too many levels of symbolic links",
    huge: "larger than",
    binary: "line 3: not UTF-8 text (byte 1 of the line)",
}


def enter_records(path):
    with Records(path):
        pass


READERS = {  # name of the file: what reads it
    "scenario.toml": lambda path: load(path),
    "base.toml": lambda path: load_study(study_of(path)),
    "study.toml": load_study,
    "rod.csv": read_spheres,
    "fitted.csv": read_mesh_moments,
    "clump.csv": lambda path: parse(BOX.replace(SPHERES, f'file = "{path}"')),
    "manifest.json": lambda path: manifest_of(path.parent),
    "study.json": lambda path: identity_of(path.parent),
    "records.jsonl": lambda path: read_records(path.parent, 3),
    "energy.csv": lambda path: logged_lines(path, 3),
    "resolved.toml": read,
}


def study_of(base):
    path = base.with_name("study-of-it.toml")
    path.write_text(f'scenario = "{base.name}"\n[axes]\nseed = [1]\n')
    return path


@pytest.mark.parametrize(
    ("name", "place"),
    [
        (name, place)
        for name in READERS
        for place in PLACES
        if name not in ("scenario.toml", "study.toml") or place not in (pipe, endless)  # users may name a pipe: see below
    ],
)
def test_what_is_no_small_file_is_refused(tmp_path, name, place):
    path = tmp_path / name
    place(path)
    with pytest.raises(InputError) as caught:
        READERS[name](path)
    message = str(caught.value)
    line_by_line = {
        ("records.jsonl", huge): "larger than 8192 MB",
        ("energy.csv", huge): "larger than 8192 MB",
        ("records.jsonl", binary): "not UTF-8 text (byte 1 of the line)",
        ("energy.csv", binary): "line 2: not a row",
    }
    expected = line_by_line.get((name, place), PLACES[place])
    assert str(path) in message and expected in message and ";" in message, message


@pytest.mark.parametrize("place", [pipe, Path.mkdir, endless, itself], ids=lambda place: place.__name__)
def test_records_are_written_to_regular_files_only(tmp_path, place):
    """Opening another file for writing may hang, or cut off a file elsewhere."""
    place(tmp_path / "records.jsonl")
    with pytest.raises(InputError, match=r"records\.jsonl: .*another --out"):
        enter_records(tmp_path / "records.jsonl")


def test_records_are_not_written_through_links(tmp_path):
    (tmp_path / "precious").write_text("no line end")
    (tmp_path / "records.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="is a symbolic link"):
        enter_records(tmp_path / "records.jsonl")
    assert (tmp_path / "precious").read_text() == "no line end"


def test_records_without_line_ends_are_not_cut_off(tmp_path):
    """What is dropped is a part of a record, not a file that holds something else."""
    huge(tmp_path / "records.jsonl")
    with pytest.raises(InputError, match="the last line is longer than"):
        enter_records(tmp_path / "records.jsonl")
    assert (tmp_path / "records.jsonl").stat().st_size == 2**40


@pytest.mark.parametrize("place", [Path.mkdir, endless, itself, huge], ids=lambda place: place.__name__)
def test_meshes(tmp_path, place):
    place(tmp_path / "a.stl")
    with pytest.raises(InputError, match=rf"a\.stl: {PLACES[place]}.*; give a mesh file"):
        read_mesh(tmp_path / "a.stl")


# --- pipes that the user names -----------------------------------------------------------------------------------


def test_scenario_from_a_named_pipe(directory):
    """Its writer may come later."""
    os.mkfifo(directory / "pipe.toml")
    writer = threading.Thread(target=(directory / "pipe.toml").write_text, args=(BOX,))
    writer.start()
    assert load(directory / "pipe.toml") == load(directory / "box.toml")
    writer.join()


def test_scenario_from_an_open_pipe(directory):
    """As of `cat box.toml | minidem run /dev/stdin` or `minidem run <(cat box.toml)`."""
    reading, writing = os.pipe()
    os.write(writing, BOX.encode())
    os.close(writing)
    assert load(f"/dev/fd/{reading}") == load(directory / "box.toml")
    os.close(reading)


def test_endless_scenario(minidem_command):
    outcome = minidem_command("check", "/dev/zero")
    assert (outcome.code, outcome.stderr) == (2, "/dev/zero: larger than 16 MB; give a scenario file\n")


# --- texts that parsers cannot stand -----------------------------------------------------------------------------

DEEP, MANY = 200_000, 100_001
PARTS = ["a"] * MANY
TOML = {  # text: line and what is wrong
    "brackets": ("x = 1\ny = " + "[" * DEEP, "line 2: tables and lists are nested too deeply"),
    "closed brackets": ("x = " + "[" * DEEP + "]" * DEEP, "line 1: tables and lists are nested too deeply"),
    "brackets in lines": ("x = [\n" * DEEP, f"line {MAX_NESTING + 1}: "),
    "tables": ("\nx = " + "{a=" * DEEP + "1" + "}" * DEEP, "line 2: tables and lists are nested too deeply"),
    "brackets after strings": ("x = ['''[''', \"\\\"]\", '#']\ny = " + "[" * DEEP, "line 2: tables and lists"),
    "parts": ("\n\n" + ".".join(PARTS) + " = 1", f"line 3: a key of more than {MAX_PARTS} parts"),
    "parts of a table": ("[" + ".".join(PARTS) + "]", "line 1: a key of more than"),
    "parts in quotes": ("[" + ".".join(["'a.b'", '"c\\".d"'] * 50_000) + "]", "line 1: a key of more than"),
    "parts with spaces": (" \t.  ".join(PARTS) + " = 1", "line 1: a key of more than"),
    "parts in a table": ("x = {" + ".".join(PARTS) + " = 1}", "line 1: a key of more than"),
    "digits": ("# 1\nx = " + "9" * 4000, f"line 2: a number of more than {MAX_DIGITS} digits"),
    "digits with lines": ("x = " + "9_" * 4000 + "9", "line 1: a number of more than"),
    "hexadecimal digits": ("x = 0x" + "f" * 4000, "line 1: a number of more than"),
    "digits after the point": ("x = 1." + "3" * 10**6, "line 1: a number of more than"),
    "no end": ("x = [1", "line 1: not valid TOML: Unclosed array"),
    "no value": ("x = 1\ny = \n", "line 2, column 5: invalid value"),
}


@pytest.mark.parametrize("case", TOML)
def test_toml(case):
    text, message = TOML[case]
    with pytest.raises(InputError) as caught:
        toml_of(text, "a.toml", "remedy")
    assert str(caught.value).startswith(f"a.toml: {message}") and str(caught.value).endswith("; remedy")


@pytest.mark.parametrize(
    "text, value",
    [
        ("x = '" + "[" * DEEP + "'", "[" * DEEP),
        ('x = "' + '[\\"' * DEEP + '"', '["' * DEEP),
        ("x = '''" + "['\n" * DEEP + "'''", "['\n" * DEEP),
        ('x = """' + '[""\\"' * DEEP + '"""""', '["""' * DEEP + '""'),
        ("x = 1 # " + "[" * DEEP + "." * MANY, 1),
        ("x = 'a." + "9" * 5000 + "'", "a." + "9" * 5000),
        ("x = " + "[" * MAX_NESTING + "]" * MAX_NESTING, None),
        ("x = [" + "[1.5, 2.5], " * DEEP + "]", [[1.5, 2.5]] * DEEP),
        ("x" + ".x" * (MAX_PARTS - 1) + " = 1", None),
        ("x = 1" + "0" * (MAX_DIGITS - 1), 10 ** (MAX_DIGITS - 1)),
    ],
    ids=range(10),
)
def test_toml_that_only_looks_deep(text, value):
    """Strings and comments may hold anything, and long lists are not deep."""
    found = toml_of(text, "a.toml")["x"]
    assert value is None or found == value


@pytest.mark.parametrize(
    "text",
    [
        '"""' + '\n\\"""' * 800_000,  # at each quote a string seems to begin that has no end
        "'''" + "\n''" * 1_000_000,
        '"' + "\\" * 4_000_000,
        '"\\' * 2_000_000,
        "a" * 4_000_000,
        "a " * 2_000_000,
        "a" + " " * 4_000_000,
        (".".join("a" * MAX_PARTS) + " ") * 250_000,
        ("1" * MAX_DIGITS + " ") * 6_500,
        "x." + ("1" * (MAX_DIGITS - 1) + ".") * 6_500,
    ],
    ids=range(10),
)
def test_long_texts_take_linear_time(text):
    """In quadratic time they would take hours."""
    for parsed in (lambda: toml_of(text, "a.toml"), lambda: json_of(text, "a.json", "remedy")):
        with pytest.raises(InputError):
            parsed()


JSON = {
    "brackets": ('{"a": 1,\n"b": ' + "[" * DEEP, "line 2: tables and lists are nested too deeply"),
    "tables": ('{"a":' * DEEP, "line 1: tables and lists are nested too deeply"),
    "after strings": ('["]]", "\\"]",\n' + "[" * DEEP, "line 2: tables and lists"),
    "digits": ("[1,\n\n-" + "9" * 4000 + "]", f"line 3: a number of more than {MAX_DIGITS} digits"),
    "no end": ('{"a": 1,\n', "line 2, column 1: not valid JSON"),
    "nothing": ("", "line 1, column 1: not valid JSON"),
    "more than one": ("1\n2", "line 2, column 1: not valid JSON (Extra data)"),
}


@pytest.mark.parametrize("case", JSON)
def test_json(case):
    text, message = JSON[case]
    with pytest.raises(InputError) as caught:
        json_of(text, "a.json", "remedy")
    assert str(caught.value).startswith(f"a.json: {message}") and str(caught.value).endswith("; remedy")


def test_json_that_only_looks_deep():
    value = {"a": "[" * DEEP, 'b"': ["\\", "{" * DEEP, "9" * 4000], "c": [[1]] * DEEP, "d": 10 ** (MAX_DIGITS - 1)}
    assert json_of(json.dumps(value), "a.json", "remedy") == value


def test_lines(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes("é1\n22\r\n\n333".encode())
    assert list(lines_of(path, 100, 4, "remedy")) == [(1, "é1\n"), (2, "22\r\n"), (3, "\n"), (4, "333")]
    for content, message in (
        (b"1\n22222\n", "line 2: longer than 4 bytes"),
        (b"1\n2\xff\n", "line 2: not UTF-8 text (byte 2"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            list(lines_of(path, 100, 4, "remedy"))
        assert str(caught.value).startswith(f"{path}: {message}") and str(caught.value).endswith("; remedy")


def test_sizes(tmp_path):
    """The limit is a size that is read."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2**20)
    assert len(text_of(path, 2**20, "remedy")) == 2**20
    with open(path, "ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="file: larger than 1 MB; remedy"):
        text_of(path, 2**20, "remedy")


def test_csv(tmp_path):
    """A field with a line end is one; Python's limit for a field is 128 kB."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'1,2\n3,"4\n5,6')
    assert list(csv_of(path, 2**20, 2**20, "remedy")) == [(1, ["1", "2"]), (3, ["3", "4\n5,6"])]
    path.write_bytes(b"1,2\n" + b"3" * 200_000)
    with pytest.raises(InputError, match=r"a\.csv: line 2: not valid CSV .*; remedy"):
        list(csv_of(path, 2**20, 2**20, "remedy"))


# --- damaged directories: every command -----------------------------------------------------------------------------


@pytest.fixture
def sweep(directory):
    return invented_study(directory)


def changed(**changes):
    """study.json with other values; None removes one."""

    def change(path):
        content = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}, indent=1))

    return change


def text(content):
    return lambda path: path.write_text(content)


def line(number, content):
    """Another line in the file; counted from 1."""

    def change(path):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[: number - 1], content + "\n", *lines[number:]]))

    return change


def instead(place):
    def change(path):
        path.unlink()
        place(path)

    return change


OK = '{"cell": 1, "status": "ok", "reason": ""'
WITHOUT_END = "[" * DEEP
DAMAGED_STUDIES = {  # file, how it is damaged, what the message says of it
    "pipe": ("study.json", instead(pipe), "study.json: not a regular file"),
    "folder": ("study.json", instead(Path.mkdir), "study.json: is a directory"),
    "endless": ("study.json", instead(endless), "study.json: not a regular file"),
    "huge": ("study.json", instead(huge), "study.json: larger than 256 MB"),
    "binary": ("study.json", instead(binary), "study.json: line 3: not UTF-8 text"),
    "empty": ("study.json", text(""), "study.json: line 1, column 1: not valid JSON"),
    "no object": ("study.json", text("[]"), "study.json: line 1: must be a JSON object"),
    "deep": ("study.json", text('{\n"cells": ' + WITHOUT_END), "study.json: line 2: tables and lists are nested too deeply"),
    "digits": ("study.json", text('{\n"cells":\n' + "9" * 4000 + "}"), "study.json: line 3: a number of more than"),
    "no scenario": ("study.json", changed(scenario=None), "study.json: line 1: scenario: required, but missing"),
    "scenario": ("study.json", changed(scenario={"a": 1}), "scenario: must be a list of texts"),
    "axes": ("study.json", changed(axes=[1, 2, 3]), "axes: must be a list of texts"),
    "same axes": ("study.json", changed(axes=["seed", "seed", "seed"]), "axes: must have every name once"),
    "cells": ("study.json", changed(cells=5), "cells: must be a list of lists"),
    "rows": ("study.json", changed(cells=[1]), "cells: must be a list of lists"),
    "short rows": ("study.json", changed(cells=[[1]]), "cells: cell 0 has 1 values for 3 axes"),
    "nothing": ("study.json", changed(cells=[[1, "a", None]]), "cells: cell 0 must have texts, numbers"),
    "NaN": ("study.json", changed(cells=[[float("nan"), "a", 1]]), "cells: cell 0 must have texts, numbers"),
    "large": ("study.json", changed(cells=[[10**400, "a", 1]]), "cells: cell 0 must have texts, numbers"),
    "name": ("study.json", changed(name=["sweep"]), "name: must be text"),
    "pipe of records": ("records.jsonl", instead(pipe), "records.jsonl: not a regular file"),
    "folder of records": ("records.jsonl", instead(Path.mkdir), "records.jsonl: "),
    "endless records": ("records.jsonl", instead(endless), "records.jsonl: "),
    "huge records": ("records.jsonl", instead(huge), "records.jsonl: "),
    "binary records": (
        "records.jsonl",
        instead(lambda path: path.write_bytes(b"\xff\n")),
        "records.jsonl: line 1: not UTF-8",
    ),
    "no JSON": ("records.jsonl", line(3, "{"), "records.jsonl: line 3, column 2: not valid JSON"),
    "no record": ("records.jsonl", line(3, "[]"), "records.jsonl: line 3: no record of this study: must be a JSON object"),
    "deep record": ("records.jsonl", line(3, WITHOUT_END), "records.jsonl: line 3: tables and lists are nested too deeply"),
    "digits of a record": (
        "records.jsonl",
        line(2, OK + ', "dt": ' + "9" * 4000 + "}"),
        "records.jsonl: line 2: a number of",
    ),
    "large record": (
        "records.jsonl",
        line(2, OK + ', "dt": ' + "9" * 400 + "}"),
        "line 2: no record of this study: dt must be",
    ),
    "NaN record": ("records.jsonl", line(2, OK + ', "drift_mean": NaN}'), "drift_mean must be a finite number or null"),
    "Infinity": ("records.jsonl", line(2, OK + ', "drift_mean": 1e999}'), "drift_mean must be a finite number or null"),
    "negative": ("records.jsonl", line(2, OK + ', "drift_mean": -1}'), "drift_mean must not be negative"),
    "text": ("records.jsonl", line(2, OK + ', "wall_s": "long"}'), "wall_s must be a finite number or null"),
    "list": ("records.jsonl", line(2, OK + ', "dt_rayleigh": [1]}'), "dt_rayleigh must be a finite number or null"),
    "number": ("records.jsonl", line(2, '{"cell": 1, "status": 3}'), "line 2: no record of this study: status must be text"),
    "reason": ("records.jsonl", line(2, '{"cell": 1, "status": "failed", "reason": {}}'), "reason must be text"),
    "cell": ("records.jsonl", line(2, '{"cell": true, "status": "ok"}'), "cell must be a whole number from 0 to 11"),
    "no such cell": ("records.jsonl", line(2, '{"cell": 12, "status": "ok"}'), "cell must be a whole number from 0 to 11"),
    "long line": ("records.jsonl", line(2, " " * 2**20), "records.jsonl: line 2: longer than 1048576 bytes"),
}
COMMANDS = {
    "plot": ("plot", "sweep"),
    "report": ("report", "sweep"),
    "resume": ("study", "sweep.toml", "--out", "sweep", "--resume"),
    "merge": ("study", "sweep.toml", "--out", "sweep", "--merge"),
    "list": ("study", "sweep.toml", "--out", "sweep", "--list"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", DAMAGED_STUDIES)
def test_damaged_study(minidem_command, sweep, case, command):
    name, damage, message = DAMAGED_STUDIES[case]
    damage(sweep / name)
    outcome = minidem_command(*COMMANDS[command])
    assert outcome.code == 2 and outcome.stdout == "", outcome
    assert f"sweep/{name}: " in outcome.stderr and "Traceback" not in outcome.stderr
    another = command not in ("plot", "report") and "was made by another study" in outcome.stderr
    assert another or message in outcome.stderr, outcome.stderr


def test_study_whose_text_is_damaged(minidem_command, sweep):
    """study.toml is shown in the report only."""
    instead(pipe)(sweep / "study.toml")
    outcome = minidem_command("report", "sweep")
    assert outcome.code == 2 and "sweep/study.toml: not a regular file; remove the file" in outcome.stderr
    (sweep / "study.toml").unlink()
    assert minidem_command("report", "sweep").code == 0


@pytest.mark.parametrize(
    "scenario, message",
    [
        (["a = " + WITHOUT_END], "line 1: tables and lists are nested too deeply"),
        (["", "a = b"], "line 2, column 5: invalid value"),
        (["[integrator]", "rotation = 3"], "integrator.rotation: must be text"),
        (["integrator = 3"], "integrator.rotation: must be text"),
    ],
)
@pytest.mark.parametrize("command", ["plot", "report"])
def test_study_whose_scenario_is_damaged(minidem_command, sweep, command, scenario, message):
    changed(scenario=scenario)(sweep / "study.json")
    outcome = minidem_command(command, "sweep")
    assert outcome.code == 2 and f"sweep/study.json: scenario: {message}" in outcome.stderr, outcome.stderr


def test_difference_of_a_huge_study(sweep):
    """In the time that two long texts without much in common would take, the test would end."""
    now = identity_of(sweep)
    found = difference(now | {"scenario": ["", "x"] * 500_000, "cells": [[1]] * 500_000}, now)
    assert len(found.splitlines()) == 41 and all(len(line) <= 300 for line in found.splitlines())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that was stopped: resume reads all that it has."""
    directory = tmp_path_factory.mktemp("finished") / "run"
    made = []
    minidem.run(parse(BOX), directory, on_progress=made.append, stop=lambda: len(made) >= 3).trajectory.close()
    return directory


FIFO, WRONG = instead(pipe), instead(binary)
DAMAGED_RUNS = {  # file, how it is damaged, what the message says, commands that read the file
    "pipe": ("manifest.json", FIFO, "not a regular file; remove the file", ("plot", "report", "export", "resume")),
    "folder": ("manifest.json", instead(Path.mkdir), "is a directory; remove", ("plot", "report", "export", "resume")),
    "endless": ("manifest.json", instead(endless), "not a regular file; remove", ("plot", "report", "export", "resume")),
    "binary": ("manifest.json", WRONG, "line 3: not UTF-8 text", ("plot", "report", "export", "resume")),
    "deep": ("manifest.json", text("\n" + WITHOUT_END), "line 2: tables and", ("plot", "report", "export", "resume")),
    "digits": ("manifest.json", text('{"pid":\n' + "9" * 4000 + "}"), "line 2: a number of", ("plot", "export", "resume")),
    "list": ("manifest.json", text("[]"), "line 1: must be a JSON object", ("plot", "report", "export", "resume")),
    "pipe of scenario": ("resolved.toml", FIFO, "not a regular file; ", ("plot", "resume")),
    "deep scenario": ("resolved.toml", text("a = " + WITHOUT_END), "line 1: tables and lists are", ("plot", "resume")),
    "parts": ("resolved.toml", text("\n" + ".".join(PARTS) + " = 1"), "line 2: a key of more than", ("plot", "resume")),
    "binary scenario": ("resolved.toml", WRONG, "line 3: not UTF-8 text", ("plot", "resume")),
    "other scenario": ("resolved.toml", text("time = 3\n"), "", ("plot", "resume")),
    "number": ("resolved.toml", text("integrator.rotation = 3\ntime.dt = []\n"), "", ("plot", "resume")),
    "NaN": ("resolved.toml", text('integrator.rotation = "a"\ntime.dt = nan\n'), "", ("plot", "resume")),
    "given": ("scenario.toml", FIFO, "not a regular file; start a new run", ("resume",)),
    "endless given": ("scenario.toml", instead(endless), "not a regular file; start a new run", ("resume",)),
}


@pytest.mark.parametrize("case", DAMAGED_RUNS)
def test_damaged_run(minidem_command, finished, directory, case):
    name, damage, message, commands = DAMAGED_RUNS[case]
    shutil.copytree(finished, directory / "run")
    damage(directory / "run" / name)
    for command in commands:
        more = ("--format", "csv") if command == "export" else ()
        outcome = minidem_command(command, "run", *more)
        assert outcome.code == 2 and outcome.stdout == "", (command, outcome)
        assert f"run/{name}: {message}" in outcome.stderr, (command, outcome.stderr)


@pytest.mark.parametrize("damage", [FIFO, WRONG, instead(endless), line(2, ",".join(["nan"] * 8)), text("step,time\n")])
def test_damaged_log(minidem_command, finished, directory, damage):
    """It is read only if the trajectory is damaged, too."""
    shutil.copytree(finished, directory / "run")
    (directory / "run/trajectory.h5").unlink()
    damage(directory / "run/energy.csv")
    outcome = minidem_command("resume", "run")
    assert outcome.code == 2 and "run/energy.csv: " in outcome.stderr and "; start a new run" in outcome.stderr


def test_damaged_manifest_can_be_removed(minidem_command, finished, directory):
    """As the message says."""
    shutil.copytree(finished, directory / "run")
    (directory / "run/manifest.json").unlink()
    assert minidem_command("plot", "run").code == 0
    assert minidem_command("resume", "run").code == 0


# --- nothing else reads ------------------------------------------------------------------------------------------------

READING = {"json.load", "json.loads", "tomllib.load", "tomllib.loads", "csv.reader", "csv.DictReader", "np.loadtxt"}
READING |= {"np.genfromtxt", "np.fromfile", "np.load", "os.open"}
METHODS = {"read_text", "read_bytes", "open"}  # of Path; functions of these names use small_files
ALLOWED = {  # file: why it reads in another way
    "small_files.py": "is the one way",
    "machine.py": "files of the kernel in /proc and /sys",
    "cli/__init__.py": "the null device, in place of a closed pipe",
    "engine/compile/cache.py": "sources of the program and of the user's own schemes, to name the folder of kernels",
    "engine/compile/sealed.py": "compiled kernels, with checksums",
    "shapes/surfaces.py": "data of the package",
    "views/report/page.py": "data of the package",
    "views/report/scene_part.py": "a picture that the process has just drawn in a folder of its own",
    "files/hdf5.py": "HDF5 files",
    "files/checkpoint.py": "HDF5 files",
    "files/manifest.py": "hashes of the files of a run that it has just written",
    "files/locks.py": "locks of files and directories",
    "files/chunks.py": "rows of a trajectory at places that a checkpoint knows, with a check of their number",
    "running/ended.py": "energy.csv of a run without a checkpoint, a regular file: whether it has rows",
    "scenario/examples.py": "data of the package",
    "scenario/plugins.py": "Python files that the user names and that are then executed",
    "views/shown.py": "a picture that the process has just drawn",
    "views/overlays.py": "a picture that the process has just drawn",
    "files/whole.py": "files that it writes",
    "running/recorder.py": "files that it writes",
    "study/records.py": "files that it writes",
    "views/export/csv.py": "files that it writes",
    "views/export/gsd.py": "files that it writes",
    "views/export/xyz.py": "files that it writes",
}


def reads_in(path):
    """Calls in a source that read a file or parse a text, without those of functions that use small_files."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            method = isinstance(node.func, ast.Attribute) and node.func.attr
            if called in READING or called == "open" or method in METHODS:
                found.add(called)
    return found


def test_one_file_reads_all_small_files():
    """Everything else would have to be made safe again."""
    reading = {str(path.relative_to(PACKAGE)): found for path in PACKAGE.rglob("*.py") if (found := reads_in(path))}
    assert {name: found for name, found in reading.items() if name not in ALLOWED} == {}
    assert {name for name in ALLOWED if name not in reading} == set(), "no longer needed"


@pytest.mark.parametrize(
    "source",
    ["import json\njson.loads(x)", "tomllib.load(f)", "open(x)", "x.open()", "Path(x).read_text()", "(a / b).read_bytes()"],
)
def test_reading_is_found(tmp_path, source):
    (tmp_path / "a.py").write_text(source)
    assert reads_in(tmp_path / "a.py")


def test_small_files_need_the_standard_library_only():
    """`minidem doctor` uses them where other packages may be broken."""
    script = "import sys, minidem.small_files; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pydantic", "h5py", "numba", "typer"} & set(loaded)
