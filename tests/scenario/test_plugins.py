"""Files and installed packages that register integrators and contact laws."""

import json
import os
import subprocess
import sys

import pytest

import minidem
from minidem.engine.contact.registry import LAWS
from minidem.engine.rotation.registry import SCHEMES
from minidem.scenario.plugins import activate, load_plugins, plugins_of

SCHEME = """
import minidem

def still(q, spin, torque, inertia, dt):
    return q, spin

minidem.register("still", still, still, still)
"""
LAW = """
import minidem.laws

def contact(distance, reach, radii, constant):
    return constant * (reach - distance), 0.5

minidem.laws.register("odd", contact, lambda a, b: 1.0, lambda *_: 1.0, edge_power=None, keys=("oddness",))
"""


@pytest.fixture(autouse=True)
def catalogues_as_they_were():
    before = dict(SCHEMES), dict(LAWS)
    yield
    for catalogue, rows in zip((SCHEMES, LAWS), before, strict=True):
        catalogue.clear()
        catalogue.update(rows)


def test_names_are_known_after_loading(directory):
    (directory / "mine.py").write_text(SCHEME + LAW)
    with pytest.raises(minidem.ScenarioError, match='unknown integrator "still"'):
        minidem.load("box.toml", ["integrator.rotation=still"])
    plugin = minidem.load_plugin("mine.py")
    changes = ["integrator.rotation=still", "contact.law=odd", "material.plastic.oddness=2.0"]
    scenario = minidem.load("box.toml", changes)
    assert scenario.material["plastic"].numbers["oddness"] == 2.0
    assert plugins_of("still", "odd") == {"integrator": plugin, "law": plugin}
    assert plugins_of("spiral", "odd") == {"law": plugin} and plugins_of("spiral", "hertz") == {}
    assert plugin.name == "mine.py"
    digest = subprocess.check_output(["sha256sum", "mine.py"], text=True).split()[0]
    assert plugin.sha256 == digest


def test_a_plugin_is_executed_once_and_another_text_is_another_plugin(directory):
    (directory / "mine.py").write_text(SCHEME)
    first = minidem.load_plugin("mine.py")
    row = SCHEMES["still"]
    minidem.load_plugin("mine.py")
    assert SCHEMES["still"] is row  # so it need not be compiled again
    (directory / "mine.py").write_text(SCHEME + "# changed\n")
    second = minidem.load_plugin("mine.py")
    assert SCHEMES["still"] is not row and second.sha256 != first.sha256
    activate(first)
    assert SCHEMES["still"] is row and plugins_of("still", "hertz") == {"integrator": first}


def test_two_files_with_the_same_name_of_a_scheme(directory):
    (directory / "a.py").write_text(SCHEME)
    (directory / "b.py").write_text(SCHEME + "# another\n")
    with pytest.raises(minidem.InputError, match=r'^b.py: registers "still", as a.py does; give one of them$'):
        load_plugins(["a.py", "b.py"])
    assert len(load_plugins(["a.py", "./a.py"])) == 2  # the same text twice


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "\nx = (1,\n",
            ["bad.py, line 2: the plugin cannot be loaded", "  SyntaxError: '(' was never closed", "  correct it; "],
        ),
        (
            "import minidem\nminidem.registr()\n",
            [
                "bad.py, line 2: the plugin ",
                "  AttributeError: module 'minidem' has no attribute 'registr'",
                "  correct it; ",
            ],
        ),
        (
            "import sys\n\nsys.exit(3)\n",
            ["bad.py, line 3: the plugin cannot be loaded", "  SystemExit: 3", "  correct it; "],
        ),
        (
            SCHEME.replace('"still"', '"spiral"'),
            ["bad.py, line 7: the plugin ", '  ValueError: "spiral" is empty or the name of a built-in', "  correct it; "],
        ),
        (
            "x = 1\n",
            ["bad.py: registers no integrator and no contact law", "  it must call minidem.register", "  `minidem new own_"],
        ),
    ],
)
def test_faulty_files(directory, text, lines):
    (directory / "bad.py").write_text(text)
    with pytest.raises(minidem.InputError) as caught:
        minidem.load_plugin("bad.py")
    found = str(caught.value).splitlines()
    assert len(found) == 3
    assert all(line.startswith(expected) for line, expected in zip(found, lines, strict=True)), found


def test_files_that_are_no_plugins(directory):
    (directory / "latin.py").write_bytes(b"# \xe9\n")
    (directory / "huge.py").write_bytes(b"#" * (2**20 + 1))
    os.mkfifo("pipe.py")
    messages = {
        "none.py": "no such file or directory",
        "latin.py": "not UTF-8 text .byte 3.",
        "huge.py": "larger than 1 MB",
        "pipe.py": "not a regular file",
        ".": "not a regular file",
        "a\0b": "no file can have this name",
    }
    for name, message in messages.items():
        with pytest.raises(minidem.InputError, match=f"{message}; give the Python file of a plugin"):
            minidem.load_plugin(name)


@pytest.fixture
def installed(directory):
    """Runs Python where a package with entry points is installed, beside one that is broken."""
    packages = directory / "packages"
    packages.mkdir()
    for name, source, groups in (
        (
            "theirs",
            SCHEME + f"def law():{LAW.replace(chr(10), chr(10) + '    ')}\n",
            {"schemes": "theirs", "laws": "theirs:law"},
        ),
        ("broken", "import nothing_like_it\n", {"schemes": "broken"}),
    ):
        (packages / f"{name}.py").write_text(source)
        info = packages / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        points = "".join(f"[minidem.{group}]\nx = {target}\n" for group, target in groups.items())
        (info / "entry_points.txt").write_text(points)

    def call(*arguments):
        path = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=directory,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )

    return call


BROKEN = "not loaded: broken 1.2: entry point x: ModuleNotFoundError: No module named 'nothing_like_it'"


def test_installed_packages_are_listed(installed):
    listed = installed("-m", "minidem", "integrators", "--json")
    assert "still" in [row["name"] for row in json.loads(listed.stdout)["integrators"]]
    assert listed.stderr.strip() == BROKEN and listed.returncode == 0
    laws = json.loads(installed("-m", "minidem", "laws", "--json").stdout)["laws"]
    assert [row["keys"] for row in laws if row["name"] == "odd"] == [["oddness"]]


def test_installed_packages_are_found_by_name(installed):
    """An integrator, and a law with a key of its own; nothing is loaded for the names that minidem has."""
    script = """
import sys, minidem
from minidem.scenario.plugins import plugins_of
minidem.load("box.toml")
assert "theirs" not in sys.modules
changes = ["contact.law=odd", "material.plastic.oddness=2", "integrator.rotation=still"]
assert minidem.load("box.toml", changes).contact.law == "odd"
print(plugins_of("still", "odd")["law"].name, len(plugins_of("still", "odd")["integrator"].sha256))
"""
    done = installed("-c", script)
    assert done.stdout == "theirs 1.2 64\n", done.stderr


def test_a_broken_package_is_named_where_a_name_is_unknown(installed):
    done = installed("-m", "minidem", "check", "box.toml", "--set", "integrator.rotation=stil")
    assert done.returncode == 2
    assert 'unknown integrator "stil"; did you mean "still"?' in done.stderr
    assert done.stderr.strip().endswith(BROKEN)
