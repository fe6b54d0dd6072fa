"""--plugin: an integrator and a contact law of one's own in every command, and what a run keeps of them."""

import json
import re
from pathlib import Path

import pytest
from runs import assert_same

import minidem
from minidem.engine.contact.registry import LAWS
from minidem.engine.rotation.registry import SCHEMES

SCHEME = """
import minidem
from minidem.schemes import acceleration, kicked, turned

def start(q, omega, torque, inertia, dt):
    return q, kicked(omega, acceleration(omega, torque, inertia), -0.5 * dt)

def advance(q, omega, torque, inertia, dt):
    omega = kicked(omega, acceleration(omega, torque, inertia), dt)
    return turned(q, omega, dt), omega

def on_step(q, omega, torque, inertia, dt):
    return q, kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)

minidem.register("mine", start, advance, on_step, summary="a leapfrog of my own")
"""
LAW = """
import minidem.laws

def contact(distance, reach, radii, constant):
    overlap = reach - distance
    return constant * overlap / distance, 0.5 * constant * overlap * overlap

def constant(a, b):
    return 0.5 * (a["spring"] + b["spring"])

minidem.laws.register("soft", contact, constant, lambda c, m, r, u: 3.14 * (m / c) ** 0.5, edge_power=1.0, keys=("spring",))
"""
MINE = ("--set", "integrator.rotation=mine")


@pytest.fixture(autouse=True)
def catalogues_as_they_were():
    before = dict(SCHEMES), dict(LAWS)
    yield
    for catalogue, rows in zip((SCHEMES, LAWS), before, strict=True):
        catalogue.clear()
        catalogue.update(rows)


@pytest.fixture
def plugin(directory):
    (directory / "mine.py").write_text(SCHEME)
    return directory / "mine.py"


def test_a_run_records_its_plugins(minidem_command, directory, plugin):
    (directory / "soft.py").write_text(LAW)
    own = (*MINE, "--set", "contact.law=soft", "--set", "material.plastic.spring=1e5")
    outcome = minidem_command(
        "run", "box.toml", "--plugin", "mine.py", "--plugin", plugin.parent / "soft.py", *own, "--json"
    )
    assert outcome.code == 0, outcome.stderr
    run = directory / outcome.json["run_dir"]
    recorded = json.loads((run / "manifest.json").read_text())["plugins"]
    assert [(entry["role"], entry["name"], entry["file"]) for entry in recorded] == [
        ("integrator", "mine", "mine.py"),
        ("law", "soft", "soft.py"),
    ]
    assert (run / "integrator.py").read_text() == SCHEME and (run / "law.py").read_text() == LAW
    # A run without them leaves nothing of them.
    assert minidem_command("run", "box.toml", "--plugin", "mine.py", "--overwrite", "--quiet").code == 0
    assert not (run / "integrator.py").exists() and not (run / "law.py").exists()
    assert "plugins" not in json.loads((run / "manifest.json").read_text())


def test_resuming_needs_the_same_plugin(minidem_command, directory, plugin):
    minidem.load_plugin(plugin)
    scenario = minidem.load("box.toml", ["integrator.rotation=mine"])
    minidem.run(scenario, "whole")
    minidem.run(scenario, "cut", every=30, call=lambda sim: sim.step == 60)
    del SCHEMES["mine"]
    Path("cut/integrator.py").write_text(SCHEME + "open('executed', 'w')\n")
    missing = minidem_command("resume", "cut")
    assert missing.code == 2 and missing.stderr == (
        'cut: integrator "mine" is from the plugin "mine.py"; give this file with --plugin '
        "(in Python: minidem.load_plugin); cut/integrator.py is a copy\n"
    )
    assert not Path("executed").exists()  # a run directory may be somebody else's
    Path("cut/integrator.py").write_text(SCHEME)
    plugin.write_text(SCHEME + "# changed\n")
    changed = minidem_command("resume", "cut", "--plugin", "mine.py")
    assert changed.code == 2
    assert re.search(r"plugin.integrator: the plugin has changed: its SHA-256 was \w{16}..., is \w{16}\n", changed.stderr)
    for path in Path("cut").iterdir():
        Path("forced").mkdir(exist_ok=True)
        (Path("forced") / path.name).write_bytes(path.read_bytes())
    assert minidem_command("resume", "forced", "--plugin", "mine.py", "--force", "--quiet").code == 0
    assert_same(Path("forced"), Path("whole"))  # only a comment has changed
    assert Path("forced/integrator.py").read_text() == SCHEME + "# changed\n"
    Path("copy.py").write_bytes(Path("cut/integrator.py").read_bytes())  # under another name, the same file
    again = minidem_command("resume", "cut", "--plugin", "copy.py", "--quiet")
    assert again.code == 0, again.stderr
    assert_same(Path("cut"), Path("whole"))


def test_without_the_plugin_the_name_is_unknown(minidem_command):
    for command in (
        ("run", "box.toml", *MINE),
        ("check", "box.toml", *MINE),
        ("rotor", "free-body", "--integrator", "mine"),
    ):
        outcome = minidem_command(*command)
        assert outcome.code == 2 and 'unknown integrator "mine"' in outcome.stderr
        assert "load your own with --plugin FILE.py" in outcome.stderr


def test_check_advise_rotor_and_lists(minidem_command, directory, plugin):
    own = ("--plugin", "mine.py")
    row = next(row for row in minidem_command("integrators", *own, "--json").json["integrators"] if row["name"] == "mine")
    assert row["summary"] == "a leapfrog of my own"
    checked = minidem_command("check", "box.toml", *own, *MINE, "--json")
    assert checked.code == 0 and checked.json["bodies"] == 5
    SCHEMES.pop("mine")
    result = minidem_command("rotor", "free-body", *own, "--integrator", "mine", "--end", 1, "--json").json
    assert result["integrator"] == "mine" and result["error"] < 0.1
    SCHEMES.pop("mine")
    advised = minidem_command("advise", "box.toml", *own, "--integrators", "mine", "--set", "time.end=1", "--json")
    assert advised.code == 0, advised.stderr
    assert {choice["integrator"] for choice in advised.json["choices"]} == {"mine"}
    (directory / "soft.py").write_text(LAW)
    listed = minidem_command("laws", "--plugin", "soft.py").stdout
    assert re.search(r"^soft +spring", listed, re.MULTILINE)


FAULTS = {
    "undefined": ("kickd(omega, dt)", r"NameError: name 'kickd' is not defined"),
    "too few": ("(omega[0], omega[1])", r"it must return q of 4 and spin of 3 numbers, as two tuples, not \(\(.*"),
    "a sum": ("omega + 1.0", r"No implementation of function .*add.* for add\(UniTuple\(float64 x 3\), float64\)"),
    "a list": ("[1.0, 2.0, 3.0]", r"it makes a list, an array or a text, which kernels cannot"),
    "index": ("(omega[0], omega[1], omega[7])", r"tuple index out of range"),
    "arguments": ("turned(omega)", r"Cannot bind .*missing a required argument.*"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_scheme_gives_three_lines(minidem_command, plugin, fault):
    code, reason = FAULTS[fault]
    plugin.write_text(SCHEME.replace("return turned(q, omega, dt), omega", f"return q, {code}"))
    outcome = minidem_command("rotor", "free-body", "--integrator", "mine", "--plugin", "mine.py")
    assert outcome.code == 2 and outcome.stdout == ""
    first, second, third = outcome.stderr.splitlines()
    line = int(re.fullmatch(r'mine\.py, line (\d+): integrator "mine": advance cannot be compiled', first)[1])
    assert 8 <= line <= 10  # of the function, or in it
    assert re.fullmatch("  " + reason, second), second
    assert "minidem.schemes" in third or "minidem new own_scheme" in third


def test_a_function_with_other_arguments(minidem_command, plugin):
    plugin.write_text(SCHEME.replace("def advance(q, omega, torque, inertia, dt)", "def advance(q, omega)"))
    outcome = minidem_command("rotor", "free-body", "--integrator", "mine", "--plugin", "mine.py")
    assert outcome.code == 2
    assert outcome.stderr.splitlines()[1] == "  it must be a function of (q, spin, torque, inertia, dt)"


@pytest.mark.parametrize(
    ("before", "after", "first", "second"),
    [
        ("overlap / distance", "overlapp / distance", "line 4: .* contact cannot be compiled", ".*overlapp"),
        ('a["spring"]', 'a["sprung"]', "line 8: .* constant fails", "KeyError: 'sprung'"),
        ("(m / c)", "(m / u / 0)", "line 11: .* contact_time fails", "ZeroDivisionError"),
        (
            "return constant * overlap / distance, ",
            "return ",
            "line 4: .* contact returns something else",
            "it must return two",
        ),
    ],
)
def test_a_faulty_law_gives_three_lines(minidem_command, directory, before, after, first, second):
    (directory / "soft.py").write_text(LAW.replace(before, after))
    own = ("--plugin", "soft.py", "--set", "contact.law=soft", "--set", "material.plastic.spring=1e5")
    outcome = minidem_command("run", "box.toml", *own, "--quiet")
    assert outcome.code == 2 and outcome.stdout == ""
    lines = outcome.stderr.splitlines()
    assert len(lines) == 3 and re.search(f"soft.py, {first}", lines[0]) and re.match("  " + second, lines[1]), lines
