"""The command line: what is printed where, exit codes, files written and files left alone."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
import pyvista
from command import BOX, Outcome, in_a_shell

import minidem
from minidem.engine.contact.registry import LAWS
from minidem.engine.rotation.registry import SCHEMES
from minidem.model.times import rayleigh_time
from minidem.scenario.reading import load


def contents(directory):
    """Every file and directory below, with what is in it."""
    return {str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in directory.rglob("*")}


# --- run -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run as a script would start it: `minidem run box.toml --json`."""
    directory = tmp_path_factory.mktemp("plain")
    (directory / "box.toml").write_text(BOX)
    return directory, in_a_shell(directory, "run", "box.toml", "--json")


NUMBERS = {"dt", "wall_s", "us_per_step", "compile_s"}
COUNTS = {"bodies", "spheres", "steps"}
WORDS = {"run_dir", "integrator", "status"}


def test_run_prints_one_json_object(plain):
    _, outcome = plain
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.count("\n") == 1
    summary = outcome.json
    assert set(summary) == NUMBERS | COUNTS | WORDS | {"energy", "edges"}
    assert {key: type(summary[key]) for key in NUMBERS | COUNTS | WORDS} == (
        dict.fromkeys(NUMBERS, float) | dict.fromkeys(COUNTS, int) | dict.fromkeys(WORDS, str)
    )
    assert set(summary["energy"]) == {"initial", "final", "drift_mean", "drift_last", "drift_max"}
    drifts = {"drift", "drift_free", "bounded", "larger"}
    assert set(summary["edges"]) == {"edges", "contacts_entered", "error", "explained"} | drifts
    assert {type(value) for value in summary["energy"].values()} == {float}


def test_run_reports_what_it_did(plain):
    directory, outcome = plain
    summary = outcome.json
    assert (summary["bodies"], summary["spheres"], summary["steps"], summary["dt"]) == (5, 15, 100, 4e-5)
    assert (summary["run_dir"], summary["integrator"], summary["status"]) == ("output/some-rods", "spiral", "ok")
    with minidem.Trajectory(directory / summary["run_dir"]) as trajectory:
        total = trajectory.observables["total"]
        assert trajectory.step.tolist() == [0, 25, 50, 75, 100]
    energy = summary["energy"]
    assert energy["final"] == total[-1]
    assert energy["drift_max"] == pytest.approx(np.abs(total - energy["initial"]).max() / energy["initial"])
    assert summary["us_per_step"] == pytest.approx(1e6 * summary["wall_s"] / 100)


def test_stderr_is_quiet_when_it_is_no_terminal(plain):
    """No bar, no colours; at most the message that kernels are being compiled."""
    _, outcome = plain
    assert "\x1b" not in outcome.stderr and "\r" not in outcome.stderr
    assert all("compiling" in line for line in outcome.stderr.splitlines())


def test_run_prints_a_summary(minidem_command):
    outcome = minidem_command("run", "box.toml")
    assert outcome.code == 0, outcome.stderr
    for word in ("5 bodies, 15 spheres", "integrator", "spiral", "100 steps in ", "energy drift", "output/some-rods", "ok"):
        assert word in outcome.stdout, word
    assert "\x1b" not in outcome.stdout


def test_quiet_run_says_nothing(minidem_command, directory):
    outcome = minidem_command("run", "box.toml", "--quiet", "--threads", "1")
    assert outcome == Outcome(0, "", "")
    assert (directory / "output/some-rods/trajectory.h5").exists()
    outcome = minidem_command("run", "box.toml", "--quiet", "--json", "--overwrite")
    assert outcome.json["status"] == "ok" and outcome.stderr == ""


def test_changes(minidem_command, directory):
    changes = ["--set", "output.frames=3", "--set", "time.end=0.002", "--set=integrator.rotation=omelyan"]
    changes += ["--set", "body[0].velocity=[0, 1, 0]", "--set", 'clump.rod.material="plastic"']
    summary = minidem_command("run", "box.toml", *changes, "--seed", 5, "--out", "deep/down/run", "--json").json
    assert (summary["run_dir"], summary["steps"], summary["integrator"]) == ("deep/down/run", 50, "omelyan")
    resolved = load("deep/down/run/resolved.toml")
    assert (resolved.seed, resolved.output.frames, resolved.body[0].velocity) == (5, 3, (0.0, 1.0, 0.0))
    assert json.loads(Path("deep/down/run/manifest.json").read_text())["seed"] == 5
    assert len(minidem.Trajectory("deep/down/run")) == 3
    assert Path("deep/down/run/scenario.toml").read_bytes() == BOX.encode()  # as given, without the changes


def test_seed_decides_and_nothing_else(minidem_command):
    def energies(*options):
        outcome = minidem_command("run", "box.toml", "--json", "--out", "run", "--overwrite", *options)
        log = minidem.Trajectory("run").observables
        return outcome.json["energy"] | {name: log[name].tolist() for name in log}

    first = energies()
    assert energies() == first == energies("--seed", 3) == energies("--set", "seed=3", "--threads", 1)
    assert energies("--seed", 4) != first


@pytest.mark.parametrize(
    "text",
    [
        BOX.replace("\n", "\r\n"),
        BOX.replace("schema = 1", "schema = 1 # π, µ"),
        BOX.rstrip("\n"),
        "\ufeff" + BOX,
    ],
    ids=["CRLF", "not ASCII", "no last newline", "byte order mark"],
)
def test_scenario_is_kept_byte_for_byte(minidem_command, directory, text):
    (directory / "box.toml").write_bytes(text.encode())
    outcome = minidem_command("run", "box.toml", "--set", "time.end=4e-5", "--quiet")
    assert outcome.code == 0, outcome.stderr
    assert (directory / "output/some-rods/scenario.toml").read_bytes() == text.encode()


def test_scenario_from_a_pipe(directory):
    """A pipe can be read only once."""
    reader, writer = os.pipe()
    os.write(writer, BOX.encode())
    os.close(writer)
    options = ["--set", "time.end=4e-5", "--out", "run", "--json"]
    outcome = in_a_shell(directory, "run", f"/dev/fd/{reader}", *options, pass_fds=[reader])
    os.close(reader)
    assert outcome.code == 0, outcome.stderr
    assert (directory / "run/scenario.toml").read_bytes() == BOX.encode()


def test_scenario_is_utf8_in_every_locale(directory):
    (directory / "box.toml").write_text(BOX.replace("schema = 1", "schema = 1 # π"), encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    outcome = in_a_shell(directory, "run", "box.toml", "--set", "time.end=4e-5", "--json", env=os.environ | ascii_only)
    assert outcome.code == 0, outcome.stderr
    assert (directory / "output/some-rods/scenario.toml").read_bytes() == (directory / "box.toml").read_bytes()


def test_bodies_at_rest_have_no_drift(minidem_command):
    rest = ["--set", "place[0].speed=0", "--set", "place[0].spin=0", "--set", "body[0].velocity=[0, 0, 0]"]
    outcome = minidem_command("run", "box.toml", *rest, "--json")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["energy"] == {"initial": 0, "final": 0, "drift_mean": None, "drift_last": None, "drift_max": None}
    assert minidem_command("run", "box.toml", *rest, "--out", "again").code == 0


@pytest.mark.parametrize("change", ["place[0].speed=1e30", "time.dt=0.002"])
def test_energies_beyond_all_numbers_are_still_json(minidem_command, directory, change):
    """A step far too long, or absurd speeds: the run may end in any way, but prints and writes valid JSON."""
    guards = [word for name in ("contact", "overlap", "travel") for word in ("--set", f"guard.{name}=false")]
    outcome = minidem_command("run", "box.toml", "--set", change, "--set", "time.end=2", *guards, "--json")
    assert set(outcome.json) == NUMBERS | COUNTS | WORDS | {"energy", "edges"}
    manifest = (directory / "output/some-rods/manifest.json").read_text()
    assert not re.search(r"\b(NaN|Infinity)\b", manifest)


def test_first_run_announces_compilation(directory):
    """The only test with an empty cache; it does not wait for the end of the run."""
    command = [sys.executable, "-m", "minidem.cli", "run", "box.toml", "--json"]
    environment = os.environ | {"MINIDEM_CACHE_DIR": str(directory / "cache")}
    with subprocess.Popen(command, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        process.kill()
    assert "compiling" in line


# --- the terminal --------------------------------------------------------------------------------------------


def on_a_terminal(directory, *arguments):
    """The outcome with stderr on a terminal of its own."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "minidem.cli", *arguments]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=end) as process:
        os.close(end)
        shown = b""
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        stdout = process.stdout.read()
    os.close(terminal)
    return Outcome(process.returncode, stdout.decode(), shown.decode())


def test_terminal_shows_progress(directory):
    outcome = on_a_terminal(directory, "run", "box.toml", "--json", "--set", "time.end=0.4")
    assert outcome.json["status"] == "ok"
    assert "\x1b[" in outcome.stderr
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", outcome.stderr)
    assert "some-rods" in shown and "%" in shown
    assert re.search(r"energy drift \d\.\de-\d\d", shown)


def test_quiet_shows_no_progress(directory):
    outcome = on_a_terminal(directory, "run", "box.toml", "--json", "--quiet")
    assert outcome.json["status"] == "ok" and outcome.stderr == ""


def test_closed_pipe(directory):
    """`minidem integrators | head -1`"""
    command = [sys.executable, "-m", "minidem.cli", "integrators"]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        stderr = process.stderr.read()
    assert "Traceback" not in stderr and "BrokenPipeError" not in stderr
    assert process.returncode == 1


# --- earlier runs and foreign files --------------------------------------------------------------------------


def test_earlier_run_is_kept(minidem_command, directory):
    assert minidem_command("run", "box.toml", "--out", "run", "--quiet").code == 0
    before = contents(directory)
    outcome = minidem_command("run", "box.toml", "--out", "run", "--json", "--seed", 9)
    assert outcome.code == 2 and outcome.stdout == ""
    assert "run:" in outcome.stderr and "--overwrite" in outcome.stderr and "--out" in outcome.stderr
    assert contents(directory) == before


def test_earlier_run_is_replaced_on_request(minidem_command, directory):
    minidem_command("run", "box.toml", "--out", "run", "--quiet")
    before = contents(directory)
    assert minidem_command("run", "box.toml", "--out", "run", "--quiet", "--overwrite", "--seed", 9).code == 0
    after = contents(directory)
    assert set(after) == set(before)
    changed = {name for name in after if after[name] != before[name]}
    rewritten = ("resolved.toml", "manifest.json", "trajectory.h5", "energy.csv", "checkpoint.h5", "checkpoint.previous.h5")
    assert changed == {f"run/{name}" for name in rewritten}


def test_earlier_run_outlives_a_bad_scenario(minidem_command, directory):
    minidem_command("run", "box.toml", "--out", "run", "--quiet")
    before = contents(directory)
    for change in ("time.dt=0", "place[0].count=4000", "body[0].position=[0, 0, 0]"):
        assert minidem_command("run", "box.toml", "--out", "run", "--overwrite", "--set", change).code == 2
        assert contents(directory) == before


def test_foreign_directory_is_refused(minidem_command, directory):
    (directory / "thesis").mkdir()
    (directory / "thesis/chapter.tex").write_text("mine")
    before = contents(directory)
    for options in ([], ["--overwrite"]):
        outcome = minidem_command("run", "box.toml", "--out", "thesis", *options)
        assert outcome.code == 2 and "thesis: " in outcome.stderr and "chapter.tex" in outcome.stderr
        assert contents(directory) == before


# --- bad input: exit code 2, what is wrong and where, nothing written -----------------------------------------


def refused(outcome, *words):
    assert outcome.code == 2, outcome
    assert outcome.stdout == ""
    for word in words:
        assert word in outcome.stderr, (word, outcome.stderr)
    assert "Traceback" not in outcome.stderr and "\x1b" not in outcome.stderr


BODY = '[[body]]\nclump = "rod"\nposition = {}\n'
# old text, new text, and words of the message
EDITS = {
    "dt zero": ("dt = 4e-5", "dt = 0", "box.toml: time.dt: must be above 0, got 0"),
    "dt a word": ("dt = 4e-5", 'dt = "fast"', "box.toml: time.dt: ", "rayleigh"),
    "end negative": ("end = 0.004", "end = -1", "box.toml: time.end: must be above 0, got -1"),
    "end not a number": ("end = 0.004", "end = nan", "box.toml: time.end: must be a finite number, got nan"),
    "gravity infinite": ("[domain]", "[domain]\ngravity = [0, 0, -inf]", "box.toml: domain.gravity: ", "finite"),
    "box flat": ("0.5, 0.4, 0.3", "0.5, 0, 0.3", "box.toml: domain.box: each length must be above 0"),
    "young zero": ("young = 1e9", "young = 0", "box.toml: material.plastic.young: must be above 0, got 0"),
    "poisson too large": (
        "poisson = 0.1",
        "poisson = 0.7",
        "box.toml: material.plastic.poisson: must be below 0.5, got 0.7",
    ),
    "poisson too small": ("poisson = 0.1", "poisson = -1", "box.toml: material.plastic.poisson: must be above -1, got -1"),
    "density negative": ("2500.0", "-2500.0", "box.toml: material.plastic.density: must be above 0"),
    "radius zero": ("0, 0, 0, 0.02]", "0, 0, 0, 0.0]", "box.toml: clump.rod.spheres[1]: the radius must be above 0"),
    "count zero": ("count = 4", "count = 0", "box.toml: place[0].count: "),
    "unknown key": ("density =", "densty =", "box.toml: material.plastic.densty: ", 'did you mean "density"'),
    "unknown table": ("[output]", "[outputs]", "box.toml: outputs: ", 'did you mean "output"'),
    "unknown material": (
        'material = "plastic"\n\n[[b',
        'material = "wood"\n\n[[b',
        "box.toml: clump.rod.material: ",
        "plastic",
    ),
    "unknown clump": ('[[place]]\nclump = "rod"', '[[place]]\nclump = "cod"', "box.toml: place[0].clump: ", '"rod"'),
    "unknown integrator": ("[domain]", '[integrator]\nrotation = "spirale"\n[domain]', "integrator.rotation", *SCHEMES),
    "syntax": ("poisson = 0.1", "poisson = ", "box.toml: line 15", "poisson ="),
    "name a path": ('"some-rods"', '"../../etc"', "box.toml: name: "),
    "clump file missing": (
        "spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]",
        'file = "nope.csv"',
        "box.toml: clump.rod.file: ",
        "nope.csv: no such file",
    ),
    "clump file malformed": (
        "spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]",
        'file = "spheres.csv"',
        "box.toml: clump.rod.file: ",
        "spheres.csv: line 3: ",
    ),
    "overlap": ("[[place]]", BODY.format([0.28, 0.2, 0.15]) + "[[place]]", "box.toml: body[0]: overlaps body[1] by 0.04 m"),
    "outside": (
        "[[place]]",
        BODY.format([0.7, 0.2, 0.15]) + "[[place]]",
        "box.toml: body[1]: reaches beyond the box at x = max by 0.25 m",
    ),
    "through a wall of the box": (
        "[0.25, 0.2, 0.15]",
        "[0.25, 0.2, 0.01]",
        "box.toml: body[0]: reaches beyond the box at z = 0 by 0.01 m",
    ),
    "behind a wall": (
        "[output]",
        '[[wall]]\npoint = [0.26, 0, 0]\nnormal = [1, 0, 0]\nmaterial = "plastic"\n[output]',
        "box.toml: body[0]: reaches beyond wall[0] by 0.06 m",
    ),
    "too full": ("count = 4", "count = 4000", "box.toml: place: ", " of 4000 bodies fit"),
    "endless": ("dt = 4e-5", "dt = 1e-200", "box.toml: time.dt: "),
    "endless, in Rayleigh times": ("dt = 4e-5", 'dt = "1e-200 rayleigh"', "box.toml: time.dt: "),
    "too small for numbers": ('"plastic"\n\n[[b', '"plastic"\nscale = 1e-120\n\n[[b', "box.toml: clump.rod"),
    "too large for numbers": ('"plastic"\n\n[[b', '"plastic"\nscale = 1e120\n\n[[b', "box.toml: clump.rod"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_bad_scenario(minidem_command, directory, edit):
    old, new, *words = edit
    assert old in BOX
    (directory / "box.toml").write_text(BOX.replace(old, new, 1))
    (directory / "spheres.csv").write_text("# x, y, z, radius\n0, 0, 0, 1\n0, zero, 0, 1\n")
    before = contents(directory)
    refused(minidem_command("run", "box.toml"), *words)
    refused(minidem_command("check", "box.toml", "--json"), *words)
    assert contents(directory) == before


def test_clump_name_with_a_zero_byte(minidem_command, directory):
    """TOML allows it, but HDF5 cannot store it."""
    text = BOX.replace("[clump.rod]", r'[clump."r\u0000d"]').replace('clump = "rod"', r'clump = "r\u0000d"')
    (directory / "box.toml").write_text(text)
    before = contents(directory)
    refused(minidem_command("run", "box.toml"), "box.toml: clump")
    assert contents(directory) == before


ARGUMENTS = {
    "missing file": (["run", "nope.toml"], "nope.toml: "),
    "a directory": (["run", "."], ".: is a directory"),
    "not text": (["run", "binary.toml"], "binary.toml: "),
    "no scenario": (["run"], "SCENARIO.toml"),
    "unknown command": (["walk", "box.toml"], "walk"),
    "unknown option": (["run", "box.toml", "--colour"], "--colour"),
    "option without value": (["run", "box.toml", "--out"], "--out"),
    "set without value": (["run", "box.toml", "--set", "time.end"], "--set", "time.end", "table.key=value"),
    "set without key": (["run", "box.toml", "--set", "=3"], "--set", "table.key=value"),
    "set unknown key": (["run", "box.toml", "--set", "time.ende=3"], "--set time.ende=3: time.ende: ", 'did you mean "end"'),
    "set bad value": (["run", "box.toml", "--set", "time.end=-3"], "--set time.end=-3: time.end: must be above 0, got -3"),
    "set no such entry": (["run", "box.toml", "--set", "body[7].velocity=[0,0,0]"], "--set body[7].velocity", "7"),
    "set below a number": (["run", "box.toml", "--set", "time.end.x=1"], "--set time.end.x=1: "),
    "second set bad": (["run", "box.toml", "--set", "time.end=1", "--set", "seed=0.5"], "--set seed=0.5: seed: "),
    "seed a word": (["run", "box.toml", "--seed", "x"], "--seed"),
    "seed negative": (["run", "box.toml", "--seed", "-1"], "seed", "-1"),
    "no threads": (["run", "box.toml", "--threads", "0"], "--threads"),
    "out is a file": (["run", "box.toml", "--out", "notes.txt"], "notes.txt: ", "--out"),
    "out below a file": (["run", "box.toml", "--out", "notes.txt/run"], "notes.txt/run: ", "--out"),
    "out too long": (["run", "box.toml", "--out", "x" * 300], "xxx: ", "--out"),
    "check a missing file": (["check", "nope.toml"], "nope.toml: "),
    "check a bad change": (["check", "box.toml", "--set", "time.end=-3"], "time.end: must be above 0"),
    "view nothing": (["view", "nope", "--screenshot", "a.png"], "nope: "),
    "view a text": (["view", "notes.txt", "--screenshot", "a.png"], "notes.txt: "),
    "film of nothing": (["movie", "nope", "--out", "a.mp4"], "nope: "),
    "film of a text": (["movie", "notes.txt", "--out", "b.gif"], "notes.txt: "),
    "film of a scenario": (["movie", "box.toml", "--out", "a.mp4"], "box.toml: ", "run directory"),
    "film without a name": (["movie", "nope"], "--out"),
    "film of another kind": (["movie", "nope", "--out", "a.avi"], "a.avi: ", ".mp4 or .gif"),
    "film into nowhere": (["movie", "nope", "--out", "nowhere/a.mp4"], "nowhere/a.mp4: ", "no directory"),
    "film over a file": (
        ["movie", "nope", "--out", "a.gif"],
        "a.gif: exists already; give --overwrite to replace it, or another --out",
    ),
    "film of odd size": (["movie", "nope", "--out", "a.mp4", "--size", "641x360"], "--size 641x360: ", "642x360"),
    "film too fast": (["movie", "nope", "--out", "b.gif", "--fps", "60"], "--fps 60: ", "50"),
    "film too small": (["movie", "nope", "--out", "a.mp4", "--energy", "--size", "320x200"], "--size 320x200: ", "480x270"),
    "film of no colour": (
        ["movie", "nope", "--out", "a.mp4", "--colour", "sped"],
        "sped",
        "species, body, speed, spin, energy",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS.values(), ids=ARGUMENTS)
def test_bad_usage(minidem_command, directory, case):
    arguments, *words = case
    (directory / "notes.txt").write_text("mine")
    (directory / "binary.toml").write_bytes(b"\x00\xff\xfe")
    (directory / "a.gif").write_text("mine")
    before = contents(directory)
    refused(minidem_command(*arguments), *words)
    assert contents(directory) == before


def test_picture_where_none_can_be(minidem_command, directory):
    minidem_command("run", "box.toml", "--out", "run", "--quiet")
    refused(minidem_command("view", "run", "--frame", "5", "--screenshot", "a.png"), "run: ", "0 to 4")
    refused(minidem_command("view", "run", "--screenshot", "a.txt"), "a.txt: ")
    refused(minidem_command("view", "run", "--screenshot", "nowhere/a.png"), "nowhere/a.png: ")


def test_all_mistakes_at_once(minidem_command, directory):
    """One line per error with the file (or --set) and the key, in the order of the file."""
    text = BOX.replace("seed = 3", "seed = -1").replace("4e-5", "0").replace("poisson = 0.1", "poisson = 0.5")
    text = text.replace("-0.03, 0, 0, 0.02", "-0.03, 0, 0, -1").replace("count = 4", 'count = 4\ncolour = "red"')
    (directory / "box.toml").write_text(text.replace("frames", "framse"))
    outcome = minidem_command("run", "box.toml", "--set", "body[0].position=[0, 0]")
    refused(outcome)
    keys = [line.partition(": ")[0] + ": " + line.split(": ")[1] for line in outcome.stderr.splitlines()]
    assert keys == [
        "box.toml: seed",
        "box.toml: time.dt",
        "box.toml: material.plastic.poisson",
        "box.toml: clump.rod.spheres[0]",
        "--set body[0].position=[0, 0]: body[0].position",
        "box.toml: place[0].colour",
        "box.toml: output.framse",
    ]


def test_all_overlaps_at_once(minidem_command, directory):
    extra = BODY.format([0.25, 0.21, 0.15]) + BODY.format([0.01, 0.2, 0.15])
    (directory / "box.toml").write_text(BOX.replace("[[place]]", extra + "[[place]]"))
    outcome = minidem_command("run", "box.toml")
    refused(outcome, "body[0]: overlaps body[1] by 0.03 m", "body[2]: reaches beyond the box at x = 0 by 0.04 m")
    assert len(outcome.stderr.splitlines()) == 2


def test_bad_scenario_in_a_shell(directory):
    """As a separate process: exit code, stderr, nothing on stdout."""
    refused(in_a_shell(directory, "run", "box.toml", "--set", "time.dt=nan", "--json"), "--set time.dt=nan: time.dt: ")
    assert set(contents(directory)) == {"box.toml"}


# --- check ---------------------------------------------------------------------------------------------------


def test_check_reports_and_writes_nothing(minidem_command, directory):
    before = contents(directory)
    report = minidem_command("check", "box.toml", "--json", "--set", "output.frames=7").json
    assert contents(directory) == before
    assert (report["bodies"], report["spheres"], report["steps"], report["dt"]) == (5, 15, 100, 4e-5)
    scenario = load("box.toml")
    assert report["dt_rayleigh"] == pytest.approx(4e-5 / rayleigh_time(0.02, scenario.material["plastic"]), rel=1e-12)
    assert 0 < report["dt_hertz"] < 1 and report["memory_mb"] > 0 and report["estimated_s"] > 0
    rod = report["clumps"]["rod"]
    assert {"mass", "volume", "center", "inertia", "principal_inertia"} <= set(rod)
    assert rod["mass"] == pytest.approx(2500 * rod["volume"], rel=1e-12)
    assert rod["center"] == pytest.approx([0, 0, 0], abs=1e-15)
    assert np.array(rod["inertia"]).shape == (3, 3)
    assert sorted(np.linalg.eigvalsh(rod["inertia"])) == pytest.approx(sorted(rod["principal_inertia"]), rel=1e-12)


def test_check_for_people(minidem_command):
    outcome = minidem_command("check", "box.toml")
    assert outcome.code == 0 and outcome.stderr == ""
    for word in ("5 bodies, 15 spheres", "memory", "suggested dt", "Rayleigh", "contact times", "steps", "100", "rod"):
        assert word in outcome.stdout, word


def test_check_of_bodies_at_rest(minidem_command):
    """They never collide, so there is no Hertz contact time."""
    rest = ["--set", "place[0].speed=0", "--set", "place[0].spin=0", "--set", "body[0].velocity=[0, 0, 0]"]
    assert minidem_command("check", "box.toml", "--json", *rest).json["dt_hertz"] is None
    assert "contact time unknown: all bodies start at rest" in minidem_command("check", "box.toml", *rest).stdout


# --- the catalogue and the help ------------------------------------------------------------------------------


def test_catalogue(minidem_command):
    outcome = minidem_command("integrators")
    assert outcome.code == 0
    _, *rows = outcome.stdout.splitlines()
    assert [row.split()[0] for row in rows] == list(SCHEMES)
    for row, scheme in zip(rows, SCHEMES.values(), strict=True):
        assert scheme.source in row and scheme.summary in row and scheme.usable_in in row
        assert row.split()[1:3] == [str(scheme.order), str(scheme.torque_evaluations)]


def test_catalogue_as_json(minidem_command):
    rows = minidem_command("integrators", "--json").json["integrators"]
    assert [row["name"] for row in rows] == list(SCHEMES)
    for row, scheme in zip(rows, SCHEMES.values(), strict=True):
        assert (row["order"], row["torque_evaluations"]) == (scheme.order, scheme.torque_evaluations)
        assert (row["source"], row["usable_in"]) == (scheme.source, scheme.usable_in)


def test_laws(minidem_command):
    outcome = minidem_command("laws")
    assert outcome.code == 0
    _, *rows = outcome.stdout.splitlines()
    assert [row.split()[0] for row in rows] == list(LAWS)
    for row, law in zip(rows, LAWS.values(), strict=True):
        assert law.summary in row and law.source in row and all(key in row for key in law.keys)


def test_laws_as_json(minidem_command):
    rows = minidem_command("laws", "--json").json["laws"]
    assert [row["name"] for row in rows] == list(LAWS)
    for row, law in zip(rows, LAWS.values(), strict=True):
        assert (row["summary"], row["source"]) == (law.summary, law.source)
        assert (row["edge_power"], row["keys"]) == (law.edge_power, list(law.keys))


def test_every_integrator_of_the_catalogue_runs(minidem_command):
    for name, scheme in SCHEMES.items():
        if scheme.torque_evaluations == 1:
            changes = ["--set", f"integrator.rotation={name}", "--set", "time.end=4e-5"]
            summary = minidem_command("run", "box.toml", *changes, "--json", "--out", name).json
            assert (summary["integrator"], summary["status"]) == (name, "ok")


def test_help(minidem_command):
    outcome = minidem_command("--help")
    assert outcome.code == 0 and outcome.stderr == ""
    commands = ("run", "check", "integrators", "view", "movie")
    assert all(re.search(rf"^\s+{name}\s", outcome.stdout, re.MULTILINE) for name in commands)
    options = {
        "run": ["--set", "--out", "--seed", "--threads", "--json", "--quiet", "--overwrite"],
        "check": ["--set", "--seed", "--json"],
        "integrators": ["--json"],
        "view": ["--frame", "--screenshot"],
        "movie": ["--out", "--fps", "--size", "--slow", "--orbit", "--energy", "--frames"],
    }
    for name in commands:
        outcome = minidem_command(name, "--help")
        assert outcome.code == 0
        assert all(option in outcome.stdout for option in options[name])


def test_short_help(minidem_command):
    for command in ([], ["run"], ["laws"], ["clump"]):
        assert minidem_command(*command, "-h") == minidem_command(*command, "--help")
        assert minidem_command(*command, "-h").code == 0


def test_order_of_the_commands(minidem_command):
    """What everybody needs first; no summary is cut off."""
    _, _, listed = minidem_command("--help").stdout.partition("Commands:\n")
    assert [line.split()[0] for line in listed.splitlines()][:5] == ["new", "run", "check", "advise", "resume"]
    assert "..." not in listed


def test_version(minidem_command):
    written = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["version"]
    assert minidem_command("--version") == Outcome(0, f"minidem {written}\n", "")


def test_clump_for_people(minidem_command, directory):
    pyvista.Box((0, 10, 0, 20, 0, 10)).triangulate().save(directory / "box.stl")
    options = ("box.stl", "--spheres", 20, "--scale", 0.001, "--overwrite")
    errors = minidem_command("clump", *options, "--json").json["errors"]
    printed = " ".join(minidem_command("clump", *options).stdout.split())
    assert f"relative volume error {errors['volume']:.1e}, centre off by {errors['centre']:.1e} of the size" in printed
    assert f"mean surface distance {errors['mean_distance']:.1e} m, largest {errors['max_distance']:.1e} m" in printed


def test_console_script_is_the_same(directory):
    """`minidem`, as installed beside the interpreter."""
    script = shutil.which("minidem", path=os.path.dirname(sys.executable))
    assert script
    done = subprocess.run(
        [script, "check", "box.toml", "--set", "time.end=0"], cwd=directory, capture_output=True, text=True
    )
    assert done.returncode == 2 and "--set time.end=0: time.end: must be above 0, got 0" in done.stderr
    done = subprocess.run([script, "--help"], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0 and "integrators" in done.stdout


def test_trajectory_of_a_shell_run_is_closed(plain):
    directory, outcome = plain
    with h5py.File(directory / outcome.json["run_dir"] / "trajectory.h5", "r") as file:
        assert len(file["particles/bodies/position/step"]) == 5
