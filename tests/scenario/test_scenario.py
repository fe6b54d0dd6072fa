"""Scenario files: what is accepted, what is refused, and in which words."""

import copy
import json
import math
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidem.errors import InputError, ScenarioError
from minidem.scenario.reading import load, parse
from minidem.scenario.tables import Material
from minidem.shapes.sphere_files import REMEDY

CHESS = """
schema = 1
name = "chess"
seed = 3

[time]
dt = 1e-5
end = 0.5

[integrator]
rotation = "omelyan"

[domain]
box = [0.5, 0.5, 1]
material = "marble"
gravity = [0, 0, -9.81]

[material.marble]
young = 60e9
poisson = 0.25
density = 3200

[material.steel]
young = 200e9
poisson = 0.3
density = 7800

[clump.rod]
spheres = [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.02], [0.04, 0, 0, 0.03]]
material = "marble"

[clump.pawn]
builtin = "chess/pawn"
height = 0.05
material = "steel"

[[place]]
clump = "pawn"
count = 16
speed = 1.0
spin = 3

[[body]]
clump = "rod"
position = [0.1, 0.2, 0.3]

[[body]]
clump = "rod"
position = [0.4, 0.2, 0.3]
orientation = [2, 0, 0, 0]
velocity = [1, 0, 0]
angular_velocity = [0, 0, 1]

[[wall]]
point = [0, 0, 0]
normal = [0, 0, 5]
material = "steel"

[output]
frames = 10
energies = 20
"""

MINIMAL = """
[time]
dt = 1e-4
end = 1
[material.m]
young = 1e6
poisson = 0
density = 1000
[clump.ball]
spheres = [[0, 0, 0, 0.1]]
material = "m"
[[body]]
clump = "ball"
position = [0, 0, 0]
"""


def errors_of(text, overrides=(), directory="."):
    with pytest.raises(ScenarioError) as caught:
        parse(text, "chess.toml", directory, overrides)
    assert str(caught.value) == "\n".join(caught.value.errors)
    return caught.value.errors


def replaced(old, new, text=CHESS):
    assert text.count(old) >= 1
    return text.replace(old, new, 1)


def test_every_key_of_the_schema_is_read():
    s = parse(CHESS, "chess.toml")
    assert (s.schema_version, s.name, s.seed) == (1, "chess", 3)
    assert (s.time.dt, s.time.end, s.integrator.rotation) == (1e-5, 0.5, "omelyan")
    assert s.domain.box == (0.5, 0.5, 1.0) and s.domain.material == "marble"
    assert s.domain.gravity == (0.0, 0.0, -9.81)
    assert s.material["steel"] == Material(young=200e9, poisson=0.3, density=7800.0)
    assert s.clump["pawn"].builtin == "chess/pawn" and s.clump["pawn"].height == 0.05
    assert (s.place[0].clump, s.place[0].count, s.place[0].speed, s.place[0].spin) == ("pawn", 16, 1.0, 3.0)
    assert s.body[1].velocity == (1.0, 0.0, 0.0) and s.body[1].angular_velocity == (0.0, 0.0, 1.0)
    assert s.wall[0].material == "steel" and s.wall[0].point == (0.0, 0.0, 0.0)
    assert (s.output.frames, s.output.energies) == (10, 20)
    assert s.used_clumps == ["rod", "pawn"]


def test_defaults():
    s = parse(MINIMAL, "two spheres.toml")
    assert (s.schema_version, s.name, s.seed, s.integrator.rotation) == (1, "two_spheres", 0, "spiral")
    assert s.domain.box is None and s.domain.gravity == (0.0, 0.0, 0.0)
    assert s.body[0].orientation == (1.0, 0.0, 0.0, 0.0) and s.body[0].velocity == (0.0, 0.0, 0.0)
    assert s.clump["ball"].scale == 1.0
    piece = 'builtin = "chess/pawn"'
    assert parse(replaced("spheres = [[0, 0, 0, 0.1]]", piece, MINIMAL)).clump["ball"].height == 0.05
    assert (s.output.frames, s.output.energies) == (250, 1000)
    assert s.place == () and s.wall == ()


def test_integers_become_floats_and_directions_become_unit():
    s = parse(replaced("normal = [0, 0, 5]", "normal = [3e300, 0, 4e300]"), "chess.toml")
    assert isinstance(s.time.dt, float) and isinstance(s.material["marble"].density, float)
    assert s.body[1].orientation == (1.0, 0.0, 0.0, 0.0)
    assert s.wall[0].normal == pytest.approx((0.6, 0.0, 0.8), abs=1e-15)


def test_directions_of_any_magnitude_become_unit():
    for huge_or_tiny in (5e-324, 1e-200, 1e300):
        text = replaced("[2, 0, 0, 0]", f"[0, {huge_or_tiny}, -{huge_or_tiny}, 0]")
        quaternion = parse(text, "chess.toml").body[1].orientation
        assert quaternion == pytest.approx((0, math.sqrt(0.5), -math.sqrt(0.5), 0), abs=1e-15)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("chess.toml", "chess"),
        ("my chess/v2.1.toml", "v2.1"),
        (".hidden.toml", "hidden"),
        ("\u00e9t\u00e9.toml", "_t_"),
        ("x" * 99, "x" * 64),
        ("..", "scenario"),
    ],
)
def test_a_scenario_without_a_name_is_named_after_its_file(source, name):
    assert parse(MINIMAL, source).name == name


def test_tables_are_frozen():
    s = parse(CHESS, "chess.toml")
    with pytest.raises(ValueError, match="frozen"):
        s.time.end = 2.0


ROD = "spheres = [[-0.04, 0, 0, 0.03], [0, 0, 0, 0.02], [0.04, 0, 0, 0.03]]"

# old text, new text, the line that must be reported (without the file name)
BAD_VALUES = [
    ("poisson = 0.25", "poisson = 0.7", "material.marble.poisson: must be below 0.5, got 0.7"),
    ("poisson = 0.25", "poisson = 0.5", "material.marble.poisson: must be below 0.5, got 0.5"),
    ("poisson = 0.25", "poisson = -1", "material.marble.poisson: must be above -1, got -1"),
    ("young = 60e9", "young = 0", "material.marble.young: must be above 0, got 0"),
    ("young = 60e9", "young = -1e9", "material.marble.young: must be above 0, got -1000000000.0"),
    ("young = 60e9", "young = 1e200", "material.marble.young: must be between 1e-100 and 1e+100, got 1e+200"),
    ("young = 60e9", "young = 1e-200", "material.marble.young: must be between 1e-100 and 1e+100, got 1e-200"),
    ("young = 60e9", "young = nan", "material.marble.young: must be a finite number, got nan"),
    ("young = 60e9", "young = true", "material.marble.young: must be a number, got true"),
    ("young = 60e9", 'young = "60e9"', 'material.marble.young: must be a number, got "60e9"'),
    ("young = 60e9", "young = 1979-05-27", "material.marble.young: must be a number, got 1979-05-27"),
    ("young = 60e9", "young = [1]", "material.marble.young: must be a number, got [1]"),
    ("young = 60e9", "young = {}", "material.marble.young: must be a number, got a table"),
    (
        "young = 60e9",
        f"young = 1{'0' * 400}",
        "material.marble.young: must be a finite number, got a huge whole",
    ),
    ("density = 3200", "density = 0.0", "material.marble.density: must be above 0, got 0.0"),
    ("density = 3200", "", "material.marble.density: required, but missing"),
    ("dt = 1e-5", "dt = 0", "time.dt: must be above 0, got 0"),
    ("dt = 1e-5", "dt = -1e-5", "time.dt: must be above 0, got -1e-05"),
    ("dt = 1e-5", "dt = inf", "time.dt: must be a finite number, got inf"),
    ("dt = 1e-5", "dt = false", "time.dt: must be a number, got false"),
    (
        "dt = 1e-5",
        'dt = "fast"',
        'time.dt: must be seconds, a positive multiple such as "0.1 rayleigh" or a largest drift such as "drift 1e-5", got',
    ),
    ("dt = 1e-5", 'dt = "-1 rayleigh"', "time.dt: must be seconds, a positive multiple"),
    ("dt = 1e-5", 'dt = "nan rayleigh"', "time.dt: must be seconds, a positive multiple"),
    ("dt = 1e-5", 'dt = "0.1 hertz"', "time.dt: must be seconds, a positive multiple"),
    ("dt = 1e-5", 'dt = "rayleigh"', "time.dt: must be seconds, a positive multiple"),
    ("dt = 1e-5", 'dt = ""', "time.dt: must be seconds, a positive multiple"),
    *(
        (
            "dt = 1e-5",
            f'dt = "{text}"',
            f'time.dt: must have a number between 0 and 1 after "drift", such as "drift 1e-5", got "{text}"',
        )
        for text in ("drift", "drift x", "drift 0", "drift 1", "drift -1e-5", "drift nan", "drift inf", "drift 1e-5 s")
    ),
    ("dt = 1e-5", "", "time.dt: required, but missing"),
    ("end = 0.5", "end = -1", "time.end: must be above 0, got -1"),
    ("end = 0.5", "ends = 0.5", 'time.ends: unknown key; did you mean "end"?'),
    ("end = 0.5", "end = 1\nqqq = 1", "time.qqq: unknown key; valid keys: dt, end"),
    ("seed = 3", "seed = -1", "seed: must be a whole number from 0 to 9223372036854775807, got -1"),
    (
        "seed = 3",
        "seed = 9223372036854775808",
        "seed: must be a whole number from 0 to 9223372036854775807, got 9",
    ),
    ("seed = 3", "seed = 1.0", "seed: must be a whole number from 0 to 9223372036854775807, got 1.0"),
    ("seed = 3", "seed = true", "seed: must be a whole number from 0 to 9223372036854775807, got true"),
    ("schema = 1", "schema = 2", "schema: must be 1, got 2"),
    ("schema = 1", "schema = true", "schema: must be 1, got true"),
    ('"chess"', '"../x"', "name: must be 1 to 64 letters, digits, '_', '-' or '.' and not start with '.'"),
    ('"chess"', '"a/b"', "name: must be 1 to 64 letters"),
    ('"chess"', '""', "name: must be 1 to 64 letters"),
    ('"chess"', '".."', "name: must be 1 to 64 letters"),
    ('"chess"', '"a\\n"', "name: must be 1 to 64 letters"),
    ('"chess"', f'"{"x" * 65}"', "name: must be 1 to 64 letters"),
    ('"chess"', "7", "name: must be text in quotes, got 7"),
    ("[0.5, 0.5, 1]", "[0.5, 0, 1]", "domain.box: each length must be above 0, got [0.5, 0, 1]"),
    ("[0.5, 0.5, 1]", "[0.5, -0.5, 1]", "domain.box: each length must be above 0, got [0.5, -0.5, 1]"),
    (
        "[0.5, 0.5, 1]",
        "[0.5, inf, 1]",
        "domain.box: each entry must be a finite number, got inf in [0.5, inf, 1]",
    ),
    ("[0.5, 0.5, 1]", "[0.5, 1]", "domain.box: must be [x, y, z], got [0.5, 1]"),
    ("[0.5, 0.5, 1]", "1", "domain.box: must be [x, y, z], got 1"),
    ('material = "marble"\ngravity', "gravity", "domain.material: required with a box, but missing"),
    ("[0, 0, -9.81]", "-9.81", "domain.gravity: must be [x, y, z], got -9.81"),
    ("box = [0.5, 0.5, 1]", "", "place: random placement needs a box; add one to [domain] or use [[body]]"),
    (
        '"omelyan"',
        '"spirl"',
        'integrator.rotation: unknown integrator "spirl"; did you mean "spiral"? valid names: ',
    ),
    ('"omelyan"', "1", "integrator.rotation: must be text in quotes, got 1"),
    (
        '"marble"\ngravity',
        '"marbel"\ngravity',
        'domain.material: unknown material "marbel"; did you mean "marble"? valid names: marble, steel',
    ),
    (
        '"steel"\n\n[[place',
        '"wood"\n\n[[place',
        'clump.pawn.material: unknown material "wood"; valid names: marble, steel',
    ),
    (
        '"steel"\n\n[output',
        '"wood"\n\n[output',
        'wall[0].material: unknown material "wood"; valid names: marble, steel',
    ),
    (
        'clump = "pawn"',
        'clump = "prawn"',
        'place[0].clump: unknown clump "prawn"; did you mean "pawn"? valid names: pawn, rod',
    ),
    ('clump = "rod"', 'clump = "xx"', 'body[0].clump: unknown clump "xx"; valid names: pawn, rod'),
    (
        "chess/pawn",
        "chess/pwan",
        'clump.pawn.builtin: unknown built-in shape "chess/pwan"; did you mean "chess/pawn"? valid names: ',
    ),
    ("height = 0.05", "height = 0", "clump.pawn.height: must be above 0, got 0"),
    ("height = 0.05", "scale = 2", "clump.pawn.scale: is for spheres and files; a builtin takes its height"),
    ('builtin = "chess/pawn"\n', "", "clump.pawn: needs exactly one of spheres, file and builtin, got none"),
    (
        "[clump.rod]",
        '[clump.rod]\nbuiltin = "chess/pawn"',
        "clump.rod: needs exactly one of spheres, file and builtin, got spheres and builtin",
    ),
    (
        "[clump.rod]",
        "[clump.rod]\nheight = 1",
        "clump.rod.height: is for a builtin; spheres and files take a scale",
    ),
    ("[clump.rod]", "[clump.rod]\nscale = 0", "clump.rod.scale: must be above 0, got 0"),
    (
        "[clump.rod]",
        "[clump.rod]\nscale = 1e-323",
        "clump.rod.spheres: radii must be at least 1e-30 m, and all numbers at most 1e+30 m, after scaling by 1e-323",
    ),
    ("[0, 0, 0, 0.02]", "[0, 0, 0, 0]", "clump.rod.spheres[1]: the radius must be above 0, got 0.0"),
    ("[0, 0, 0, 0.02]", "[0, 0, 0, -0.02]", "clump.rod.spheres[1]: the radius must be above 0, got -0.02"),
    ("[0, 0, 0, 0.02]", "[0, 0, 0]", "clump.rod.spheres[1]: must be [x, y, z, radius], got [0, 0, 0]"),
    (
        "[0, 0, 0, 0.02]",
        "[0, nan, 0, 0.02]",
        "clump.rod.spheres[1]: each entry must be a finite number, got nan in",
    ),
    ("[0, 0, 0, 0.02]", '"x"', 'clump.rod.spheres[1]: must be [x, y, z, radius], got "x"'),
    (ROD, "spheres = []", "clump.rod.spheres: must be a list of one or more"),
    (ROD, "spheres = 1", "clump.rod.spheres: must be a list of one or more"),
    ("count = 16", "count = 0", "place[0].count: must be a whole number from 1 to 1000000000, got 0"),
    ("count = 16", "count = 1.5", "place[0].count: must be a whole number from 1 to 1000000000, got 1.5"),
    (
        "count = 16",
        f"count = 0x{'f' * 500}",
        "place[0].count: must be a whole number from 1 to 1000000000, got a huge whole number",
    ),
    ("count = 16", "", "place[0].count: required, but missing"),
    ("speed = 1.0", "speed = -1.0", "place[0].speed: must not be negative, got -1.0"),
    ("spin = 3", "spin = nan", "place[0].spin: must be a finite number, got nan"),
    (
        "position = [0.4, 0.2, 0.3]",
        "position = [0.4, 0.2]",
        "body[1].position: must be [x, y, z], got [0.4, 0.2]",
    ),
    ("position = [0.4, 0.2, 0.3]", "", "body[1].position: required, but missing"),
    ("[2, 0, 0, 0]", "[0, 0, 0, 0]", "body[1].orientation: must not be all zeros, got [0, 0, 0, 0]"),
    ("[2, 0, 0, 0]", "[0, 0, 1]", "body[1].orientation: must be [w, x, y, z], got [0, 0, 1]"),
    (
        "velocity = [1, 0, 0]",
        "velocity = [1, inf, 0]",
        "body[1].velocity: each entry must be a finite number, got inf in",
    ),
    (
        "velocity = [1, 0, 0]",
        "velocity = [1, true, 0]",
        "body[1].velocity: each entry must be a number, got true in [1, true, 0]",
    ),
    ("[0, 0, 5]", "[0, 0, 0]", "wall[0].normal: must not be all zeros, got [0, 0, 0]"),
    ("frames = 10", "frames = 0", "output.frames: must be a whole number from 1 to 10000000, got 0"),
    ("energies = 20", "energies = -3", "output.energies: must be a whole number from 1 to 10000000, got -3"),
    ("[[place]]", "[place]", "place: must be a list of tables, written [[place]]"),
    ("[output]", "[[output]]", "output: must be a table, written [output]"),
    (
        "[integrator]",
        '[material."a b"]\nyoung = 1\npoisson = 0\n[integrator]',
        'material."a b".density: required, but missing',
    ),
    (
        "[integrator]",
        "[material]\nyoung = 1\n[integrator]",
        "material.young: must be a table, written [material.NAME]",
    ),
    ("[integrator]", "[solver]\n[integrator]", "solver: unknown key; valid keys: schema, name, seed, time, "),
    ("[integrator]", "[Integrator]", 'Integrator: unknown key; did you mean "integrator"?'),
]


@pytest.mark.parametrize(("old", "new", "line"), BAD_VALUES)
def test_bad_value_is_the_only_thing_reported(old, new, line):
    (error,) = errors_of(replaced(old, new))
    assert error.startswith(f"chess.toml: {line}"), error
    assert "\n" not in error
    assert len(error) < 400


def test_all_errors_at_once_in_the_files_order():
    text = replaced("poisson = 0.25", "poisson = 0.7")
    text = replaced("dt = 1e-5", "dt = nan", text)
    text = replaced('clump = "rod"', 'clump = "rud"', text)
    text = replaced("frames = 10", "frame = 10", text)
    text = replaced('material = "steel"\n\n[output', 'material = "wood"\n\n[output', text)
    assert errors_of(text) == [
        "chess.toml: time.dt: must be a finite number, got nan",
        "chess.toml: material.marble.poisson: must be below 0.5, got 0.7",
        'chess.toml: body[0].clump: unknown clump "rud"; did you mean "rod"? valid names: pawn, rod',
        'chess.toml: wall[0].material: unknown material "wood"; valid names: marble, steel',
        'chess.toml: output.frame: unknown key; did you mean "frames"?',
    ]


def test_a_misspelt_table_causes_no_further_errors():
    text = CHESS.replace("[material.", "[materials.").replace("[[body]]", "[[bodies]]")
    assert errors_of(text) == [
        'chess.toml: materials: unknown key; did you mean "material"?',
        'chess.toml: bodies: unknown key; did you mean "body"?',
    ]


def test_what_a_misspelt_key_holds_is_not_judged():
    assert errors_of(replaced("end = 0.5", 'ends = "x"')) == ['chess.toml: time.ends: unknown key; did you mean "end"?']


def test_a_wrong_table_causes_no_errors_about_those_who_name_it():
    text = replaced("young = 200e9\npoisson = 0.3\ndensity = 7800", "young = 1")
    assert errors_of(text) == [
        "chess.toml: material.steel.poisson: required, but missing",
        "chess.toml: material.steel.density: required, but missing",
    ]
    text = MINIMAL.replace("[material.m]\nyoung = 1e6\npoisson = 0\ndensity = 1000", "")
    assert errors_of("material = 3\n" + text) == ["chess.toml: material: must be a table, written [material.NAME]"]


def test_an_empty_file_says_what_is_needed():
    assert errors_of("") == [
        "chess.toml: time: required, but missing; add a [time] table with dt and end",
        "chess.toml: body: there is nothing to simulate; add at least one [[body]] or [[place]]",
    ]


def test_a_material_without_any_table():
    text = MINIMAL.replace("[material.m]\nyoung = 1e6\npoisson = 0\ndensity = 1000", "")
    assert errors_of(text) == [
        'chess.toml: clump.ball.material: unknown material "m"; the file has no [material.NAME] table'
    ]


def test_an_integrator_with_several_torque_evaluations_is_refused(monkeypatch):
    from minidem.engine.rotation import registry

    monkeypatch.setitem(registry.SCHEMES, "four", SimpleNamespace(torque_evaluations=4))
    assert errors_of(replaced('"omelyan"', '"four"')) == [
        'chess.toml: integrator.rotation: "four" needs 4 torque evaluations per step: only for `minidem rotor`'
    ]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[time]\ndt = 0.1 rayleigh\n", "chess.toml: line 2, column 10: "),
        (
            "[time]\n  dt = fast\n",
            "chess.toml: line 2, column 8: invalid value; text needs quotes, in: dt = fast",
        ),
        ("[time\n", "chess.toml: line 1, column 6: expected ']'"),
        ("a = 1\na = 2\n", "chess.toml: line 2, column 6: cannot overwrite a value, in: a = 2"),
        ("a = [1", "chess.toml: line 1: not valid TOML: "),
        ("a = " + "[" * 100_000, "chess.toml: "),
        ("a = " + "[" * 50 + "]" * 50, "chess.toml: line 1: tables and lists are nested too deeply"),
        ("a = " + "[" * 30 + "]" * 30, "chess.toml: not valid TOML: tables and lists are nested too deeply"),
        (".".join("a" * 5000) + " = 1", "chess.toml: "),
        ("a = " + "9" * 5000, "chess.toml: "),
    ],
)
def test_syntax_errors_name_line_and_column(text, start):
    (error,) = errors_of(text)
    assert error.startswith(start), error


# --- files --------------------------------------------------------------------------------------------------


def test_load_reads_a_file_with_a_byte_order_mark(tmp_path):
    (tmp_path / "balls.toml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load(tmp_path / "balls.toml").name == "balls"
    assert load(str(tmp_path / "balls.toml"), ["time.end=2"]).time.end == 2.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file or directory"),
        ("directory", "is a directory"),
        (b"\x89HDF\r\n\x1a\n\x00\xff", "line 1: not UTF-8 text (byte 1 of the line)"),
        (b" " * (16 * 1024**2 + 1), "larger than 16 MB"),
    ],
)
def test_unreadable_files(tmp_path, content, message):
    path = tmp_path / "chess.toml"
    if content == "directory":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}")


FILE_CLUMP = MINIMAL.replace("spheres = [[0, 0, 0, 0.1]]", 'file = "ball.csv"\nscale = 0.01')


def test_a_clump_file_lies_beside_the_scenario_and_is_scaled(tmp_path):
    (tmp_path / "ball.csv").write_text("# x, y, z, r\n1, 2, 3, 4\n0 0 0 1\n")
    (tmp_path / "balls.toml").write_text(FILE_CLUMP)
    s = load(tmp_path / "balls.toml")
    assert s.clump["ball"].file == str(tmp_path / "ball.csv")
    np.testing.assert_allclose(s.clump["ball"].sphere_rows(), [[0.01, 0.02, 0.03, 0.04], [0, 0, 0, 0.01]], rtol=1e-15)
    assert parse(s.to_toml(), directory="/") == s  # what is written out does not depend on where it is read


def test_missing_and_malformed_clump_files(tmp_path):
    (error,) = errors_of(FILE_CLUMP, directory=tmp_path)
    assert error == f"chess.toml: clump.ball.file: {tmp_path / 'ball.csv'}: no such file or directory; {REMEDY}"
    (tmp_path / "ball.csv").write_text("0, 0, 0, 1\n0, 0, 0, -1\n")
    (error,) = errors_of(FILE_CLUMP, directory=tmp_path)
    assert error.startswith(f"chess.toml: clump.ball.file: {tmp_path / 'ball.csv'}") and "2" in error.split("ball.csv")[1]
    # A wrong scale or material does not hide what is wrong with the file.
    errors = errors_of(FILE_CLUMP.replace("0.01", "0").replace('material = "m"', 'material = "n"'), directory=tmp_path)
    assert [error.split(": ")[1] for error in errors] == [
        "clump.ball.scale",
        "clump.ball.material",
        "clump.ball.file",
    ]


def test_sphere_rows_of_inline_and_builtin_clumps():
    s = parse(replaced("[clump.rod]", "[clump.rod]\nscale = 2"), "chess.toml")
    rows = s.clump["rod"].sphere_rows()
    assert rows.shape == (3, 4) and rows.dtype == float
    np.testing.assert_array_equal(rows[0], [-0.08, 0, 0, 0.06])
    pawn = s.clump["pawn"].sphere_rows()
    assert pawn.ndim == 2 and pawn.shape[1] == 4 and (pawn[:, 3] > 0).all()


# --- overrides ----------------------------------------------------------------------------------------------


def test_overrides():
    s = parse(
        CHESS,
        "chess.toml",
        overrides=[
            "time.end = 2",
            "time.dt=0.2 rayleigh",
            "place.0.count=5",
            "place[0].spin=1",
            "body.1.velocity=[0, 2, 0]",
            "body[0].position[2]=0.5",
            "clump.rod.spheres[1][3]=0.01",
            "integrator.rotation=spiral",
            'name="x"',
            "domain.gravity=[0,0,0]",
            "material.steel={young=1e9,poisson=0.1,density=1}",
            'material."a b".young=1',
            'material."a b".poisson=0',
            'material."a b".density=1',
            "seed=12",
        ],
    )
    assert (s.time.end, s.time.dt, s.place[0].count, s.place[0].spin) == (2.0, "0.2 rayleigh", 5, 1.0)
    assert s.body[1].velocity == (0.0, 2.0, 0.0) and s.body[0].position == (0.1, 0.2, 0.5)
    assert s.clump["rod"].spheres[1][3] == 0.01
    assert (s.integrator.rotation, s.name, s.seed) == ("spiral", "x", 12)
    assert s.domain.gravity == (0.0, 0.0, 0.0)
    assert s.material["steel"].density == 1.0 and s.material["a b"].young == 1.0


def test_wrong_overrides_are_named_in_place_of_the_file():
    overrides = ["time.ends=3", "tims.end=2", "place[0].count=none", "material.wood.young=1"]
    assert errors_of(replaced("poisson = 0.25", "poisson = 0.7"), overrides) == [
        '--set time.ends=3: time.ends: unknown key; did you mean "end"?',
        "chess.toml: material.marble.poisson: must be below 0.5, got 0.7",
        "--set material.wood.young=1: material.wood.poisson: required, but missing",
        "--set material.wood.young=1: material.wood.density: required, but missing",
        '--set place[0].count=none: place[0].count: must be a whole number from 1 to 1000000000, got "none"',
        '--set tims.end=2: tims: unknown key; did you mean "time"?',
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("time.end", '--set "time.end": must be table.key=value, for example time.end=2.5'),
        ("=3", '--set "=3": must be table.key=value'),
        ("", '--set "": must be table.key=value'),
        ("time..end=3", '--set "time..end=3": must be table.key=value'),
        ("time.end\n=3", '--set "time.end\\U0000000a=3": must be table.key=value'),
        ("place[x].count=3", '--set "place[x].count=3": must be table.key=value'),
        ("place[1].count=3", "--set place[1].count=3: place has no 1; it is a list of 1, counted from 0"),
        ("place.count=3", "--set place.count=3: place has no count; it is a list of 1, counted from 0"),
        ("time.dt.x=3", "--set time.dt.x=3: time.dt has no x; it is 1e-05"),
    ],
)
def test_overrides_that_cannot_be_applied(override, message):
    with pytest.raises(InputError) as caught:
        parse(CHESS, "chess.toml", overrides=[override])
    assert str(caught.value).startswith(message)


def test_with_changes():
    s = parse(CHESS, "chess.toml")
    changed = s.with_changes(
        {
            "time.end": 1,
            "body[1].velocity": np.array([0.0, 1.0, 0.0]),
            "seed": np.int64(4),
            "place.0.count": 2,
        }
    )
    assert (changed.time.end, changed.seed, changed.place[0].count) == (1.0, 4, 2)
    assert changed.body[1].velocity == (0.0, 1.0, 0.0)
    assert s.time.end == 0.5 and s.body[1].velocity == (1.0, 0.0, 0.0)
    assert changed.with_changes({"time.end": 0.5, "body[1].velocity": (1, 0, 0), "seed": 3, "place.0.count": 16}) == s
    assert s.with_changes({"domain.box": None, "place": None}).domain.box is None
    with pytest.raises(ScenarioError, match=r'^chess: time.ends: unknown key; did you mean "end"\?$'):
        s.with_changes({"time.ends": 1})
    with pytest.raises(InputError, match="path of keys"):
        s.with_changes({"time end": 1})


# --- writing ------------------------------------------------------------------------------------------------


def test_the_written_scenario_has_every_default():
    text = parse(MINIMAL, "balls.toml").to_toml()
    for line in (
        "schema = 1",
        'name = "balls"',
        "seed = 0",
        'rotation = "spiral"',
        "gravity = [0.0, 0.0, 0.0]",
        "scale = 1.0",
        "orientation = [1.0, 0.0, 0.0, 0.0]",
        "velocity = [0.0, 0.0, 0.0]",
        "angular_velocity = [0.0, 0.0, 0.0]",
        "frames = 250",
        "energies = 1000",
    ):
        assert line in text.splitlines()


finite = st.floats(-1e30, 1e30)
modest = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)
positive = st.floats(1e-6, 1e6)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def vectors(size, entries=finite):
    return st.lists(entries, min_size=size, max_size=size)


def not_zero(vector):
    return any(vector)


@st.composite
def scenarios(draw):
    materials = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    clumps = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    material, clump = st.sampled_from(materials), st.sampled_from(clumps)
    sphere = st.tuples(modest, modest, modest, positive).map(list)
    table = st.fixed_dictionaries
    inline = table(
        {"spheres": st.lists(sphere, min_size=1, max_size=4), "material": material},
        optional={"scale": positive},
    )
    builtin = table({"builtin": st.just("chess/pawn"), "material": material}, optional={"height": positive})
    return {
        "time": {"dt": draw(positive | positive.map(lambda x: f" {x}  rayleigh")), "end": draw(positive)},
        "domain": {
            "box": draw(vectors(3, positive)),
            "material": draw(material),
            "gravity": draw(vectors(3)),
        },
        "material": {
            name: {
                "young": draw(positive),
                "poisson": draw(st.floats(-0.99, 0.49)),
                "density": draw(positive),
            }
            for name in materials
        },
        "clump": {name: draw(inline | builtin) for name in clumps},
        "place": draw(
            st.lists(table({"clump": clump, "count": st.integers(1, 99)}, optional={"speed": positive}), max_size=2)
        ),
        "body": draw(
            st.lists(
                table(
                    {"clump": clump, "position": vectors(3)},
                    optional={"orientation": vectors(4).filter(not_zero), "velocity": vectors(3)},
                ),
                min_size=1,
                max_size=3,
            )
        ),
        "wall": draw(
            st.lists(
                table({"point": vectors(3), "normal": vectors(3).filter(not_zero), "material": material}),
                max_size=2,
            )
        ),
    }


def inline_toml(value):
    """Any value as TOML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline_toml(key)} = {inline_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline_toml, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def document(tables):
    return "".join(f"{inline_toml(key)} = {inline_toml(value)}\n" for key, value in tables.items())


@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_what_is_written_reads_back_equal(tables):
    s = parse(document(tables), "random.toml")
    again = parse(s.to_toml(), "other.toml")
    assert again == s
    assert again.to_toml() == s.to_toml()
    for body in s.body:
        assert math.hypot(*body.orientation) == pytest.approx(1.0, abs=1e-15)


# --- anything at all ----------------------------------------------------------------------------------------

BASE = tomllib.loads(CHESS)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | names
    | st.just(2**2000)
    | st.sampled_from(["rod", "marble", "0.1 rayleigh", "", "chess/pawn", "spiral"])
)
values = st.recursive(
    scalars.filter(lambda value: value is not None),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
keys = names | st.sampled_from(["file", "spheres", "scale", "height", "ends", "materials", "box", "clump", "nam"])


def places(value, at=()):
    """The path of everything inside a nest of dicts and lists."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield (*at, key)
        yield from places(item, (*at, key))


@st.composite
def mutilated(draw):
    tables = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(1, 4))):
        all_places = list(places(tables))
        if not all_places:
            break
        *parents, key = draw(st.sampled_from(all_places))
        parent = tables
        for step in parents:
            parent = parent[step]
        action = draw(st.sampled_from(["replace", "delete", "add"]))
        if action == "replace":
            parent[key] = draw(values)
        elif action == "delete":
            del parent[key]
        elif isinstance(parent, dict):
            parent[draw(keys)] = draw(values)
        else:
            parent.append(draw(values))
    return tables


@settings(max_examples=400, deadline=None)
@given(mutilated())
def test_a_mutilated_scenario_is_read_or_refused_line_by_line(tables):
    try:
        s = parse(document(tables), "chess.toml")
    except ScenarioError as error:
        assert error.errors
        for line in error.errors:
            assert line.startswith("chess.toml: ") and line.count(": ") >= 2, line
            assert line.isprintable(), line
            assert "pydantic" not in line and "Input should" not in line and "Value error" not in line, line
    else:
        assert parse(s.to_toml(), "chess.toml") == s


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(CHESS)), st.integers(0, 30), st.text(max_size=5))
def test_a_text_cut_anywhere_is_read_or_refused(start, length, insert):
    try:
        parse(CHESS[:start] + insert + CHESS[start + length :], "chess.toml")
    except ScenarioError as error:
        assert error.errors and all(line.startswith("chess.toml: ") for line in error.errors)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["", "time.", "place.0.", "place[0].", "body.1.orientation.", "="]),
    st.text(max_size=6),
    st.text(max_size=8),
)
def test_any_override_is_applied_or_refused(prefix, key, value):
    try:
        parse(CHESS, "chess.toml", overrides=[f"{prefix}{key}={value}"])
    except InputError as error:
        assert str(error).startswith(("--set ", "chess.toml: "))


def test_the_module_needs_no_heavy_imports():
    code = (
        "import sys; from minidem.scenario.reading import parse; parse(sys.argv[1]); "
        "heavy = {'numba', 'scipy', 'h5py', 'matplotlib', 'pyvista'} & set(sys.modules); assert not heavy"
    )
    done = subprocess.run([sys.executable, "-c", code, MINIMAL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
