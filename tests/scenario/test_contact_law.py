"""The [contact] table, and the keys of materials that contact laws declare."""

import numpy as np
import pytest

from minidem.engine.contact.loading import contact_law
from minidem.engine.contact.registry import LAWS, register_law
from minidem.errors import ScenarioError
from minidem.model.building import model_at_rest
from minidem.scenario.reading import parse

TEXT = """
time = {dt = 1e-4, end = 1}
contact = {law = "linear"}
domain = {box = [1, 1, 1], material = "glass"}
material.steel = {young = 2e11, poisson = 0.3, density = 7800, stiffness = 3e5}
material.glass = {young = 6e10, poisson = 0.2, density = 2500, stiffness = 1e5}
material.rubber = {young = 1e7, poisson = 0.48, density = 1100, stiffness = 1e3}
material.unused = {young = 1e7, poisson = 0.48, density = 1100}
clump.ball = {spheres = [[0, 0, 0, 0.1]], material = "steel"}
clump.idle = {spheres = [[0, 0, 0, 0.1]], material = "unused"}
body = [{clump = "ball", position = [0.5, 0.5, 0.5]}]
wall = [{point = [0, 0, 0], normal = [0, 0, 1], material = "rubber"}]
"""
HERTZ = TEXT.replace('contact = {law = "linear"}\n', "")


@pytest.fixture(autouse=True)
def linear():
    """Hertz, and a law that needs a stiffness, are all laws; the catalogue is as before afterwards."""
    others = {name: LAWS.pop(name) for name in list(LAWS) if name != "hertz"}

    def contact(distance, reach, radii, constant):
        overlap = reach - distance
        return constant * overlap / distance, 0.5 * constant * overlap**2

    def constant(a, b):
        return 1 / (1 / a["stiffness"] + 1 / b["stiffness"])

    law = register_law("linear", contact, constant, lambda *_: 1.0, edge_power=1, keys=("stiffness",))
    yield law
    del LAWS["linear"]
    LAWS.update(others)


def errors_of(text):
    with pytest.raises(ScenarioError) as caught:
        parse(text, "balls.toml")
    return caught.value.errors


def test_hertz_is_the_default_and_written():
    s = parse(HERTZ)
    assert s.contact.law == "hertz"
    assert s.contact.edges == "plain"
    assert '\n[contact]\nlaw = "hertz"\nedges = "plain"\n' in s.to_toml()
    assert model_at_rest(s).law is contact_law("hertz")
    for unknown in ('\n[contact]\nlaw = "hertz"\nedges = "plain"\n', 'edges = "plain"\n'):
        assert parse(s.to_toml().replace(unknown, "")) == s  # as written before there was a choice


def test_a_registered_law(linear):
    s = parse(TEXT)
    model = model_at_rest(s)
    assert s.contact.law == "linear" and model.law is contact_law("linear")
    table = model.constants[np.ix_(model.templates.material, model.walls.material)]  # the ball at the box and at the wall
    assert table == pytest.approx(np.array([[7.5e4] * 6 + [1 / (1 / 3e5 + 1 / 1e3)]]))
    steel, glass = s.material["steel"].numbers, s.material["glass"].numbers
    assert steel == {"young": 2e11, "poisson": 0.3, "density": 7800.0, "stiffness": 3e5}
    assert linear.parts["constant"](steel, glass) == pytest.approx(7.5e4)
    assert parse(s.to_toml()) == s and "stiffness = 300000.0" in s.to_toml()
    assert parse(TEXT, overrides=["contact.law=hertz"]).contact.law == "hertz"
    assert s.with_changes({"material.steel.stiffness": 5}).material["steel"].numbers["stiffness"] == 5.0


OWN = "; load your own with --plugin FILE.py"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"herz"', 'unknown contact law "herz"; did you mean "hertz"? valid names: hertz, linear' + OWN),
        ('"qqq"', 'unknown contact law "qqq"; valid names: hertz, linear' + OWN),
        ("1", "must be text in quotes, got 1"),
    ],
)
def test_unknown_laws(value, message):
    assert errors_of(TEXT.replace('"linear"', value)) == [f"balls.toml: contact.law: {message}"]


def test_contact_must_be_a_table():
    text = TEXT.replace('{law = "linear"}', '"linear"')
    assert errors_of(text) == ["balls.toml: contact: must be a table, written [contact]"]
    assert errors_of(TEXT.replace("law =", "laws =")) == ['balls.toml: contact.laws: unknown key; did you mean "law"?']


@pytest.mark.parametrize(("value", "shown"), [('"exact"', '"exact"'), ("1", "1"), ("true", "true"), ('"Plain"', '"Plain"')])
def test_unknown_edges(value, shown):
    text = TEXT.replace('law = "linear"', f'law = "linear", edges = {value}')
    assert errors_of(text) == [f'balls.toml: contact.edges: must be "plain" or "corrected", got {shown}']


def test_corrected_edges_need_an_edge_power(linear, minidem_command, directory):
    corrected = TEXT.replace('law = "linear"', 'law = "linear", edges = "corrected"')
    assert parse(corrected).contact.edges == "corrected"
    parts = dict(linear.parts)
    assert register_law("linear", **parts, edge_power=None, keys=("stiffness",)).edge_power is None
    refusal = (
        'balls.toml: contact.edges: must be "plain", got "corrected"; contact.law = "linear" has no edge_power: '
        "its force does not begin with a power of the overlap"
    )
    assert errors_of(corrected) == [refusal]
    assert parse(TEXT).contact.edges == "plain"
    (directory / "balls.toml").write_text(corrected)
    outcome = minidem_command("run", "balls.toml", "--out", "run")
    assert outcome.code == 2 and refusal in outcome.stderr and not (directory / "run").exists()


@pytest.mark.parametrize("name", ["steel", "glass", "rubber"])  # of a clump, the box and a wall
def test_a_key_that_the_law_needs(name):
    lines = [line.split(", stiffness")[0] + "}" if f"material.{name}" in line else line for line in TEXT.splitlines()]
    missing = f'balls.toml: material.{name}.stiffness: required by contact.law = "linear", but missing'
    assert errors_of("\n".join(lines)) == [missing]
    parse("\n".join(lines).replace('law = "linear"', 'law = "hertz"'))
    parse("\n".join(lines).replace('contact = {law = "linear"}', ""))


def test_materials_that_nothing_is_made_of_need_no_key():
    open_space = TEXT.replace("box = [1, 1, 1], ", "").replace("density = 2500, stiffness = 1e5", "density = 2500")
    assert parse(open_space).domain.material == "glass"
    idle = 'body = [{clump = "idle", position = [0.2, 0.5, 0.5]}, '
    assert errors_of(TEXT.replace("body = [", idle)) == [
        'balls.toml: material.unused.stiffness: required by contact.law = "linear", but missing'
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "must be above 0, got 0"),
        ("-1e5", "must be above 0, got -100000.0"),
        ("inf", "must be a finite number, got inf"),
        ("true", "must be a number, got true"),
        ('"soft"', 'must be a number, got "soft"'),
    ],
)
def test_extra_keys_are_numbers_above_zero(value, message):
    text = TEXT.replace("stiffness = 3e5", f"stiffness = {value}")
    assert errors_of(text) == [f"balls.toml: material.steel.stiffness: {message}"]


def test_keys_that_no_law_declares_are_unknown(monkeypatch):
    misspelt = TEXT.replace("stiffness = 3e5", "stifness = 3e5")
    assert errors_of(misspelt) == ['balls.toml: material.steel.stifness: unknown key; did you mean "stiffness"?']
    valid = "valid keys: young, poisson, density, stiffness"
    assert errors_of(TEXT.replace("stiffness = 3e5", "stiffness = 3e5, colour = 1")) == [
        f"balls.toml: material.steel.colour: unknown key; {valid}"
    ]
    monkeypatch.setattr("minidem.engine.contact.registry.LAWS", {"hertz": LAWS["hertz"]})
    assert errors_of(HERTZ)[0] == "balls.toml: material.steel.stiffness: unknown key; valid keys: young, poisson, density"
