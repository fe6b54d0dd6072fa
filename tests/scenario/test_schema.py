"""The JSON Schema for editors, and the rows of the reference: they say what the checks do."""

import json
import math
import tomllib
from pathlib import Path

import jsonschema
import pytest
from command import BOX

from minidem.engine.contact.registry import LAWS, Law
from minidem.errors import ScenarioError
from minidem.scenario import schema
from minidem.scenario.accepting import JSON
from minidem.scenario.reading import Scenario, load, parse
from minidem.scenario.tables import TABLES, valid_keys
from minidem.scenario.values import sphere_list
from minidem.study import schema as study_schema
from minidem.study.plan import KEYS, load_study

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
STUDIES = sorted((ROOT / "scenarios" / "studies").glob("*.toml"))
SCHEMAS = {"scenario": schema.scenario_schema, "study": study_schema.study_schema}


def data_of(path):
    return tomllib.loads(path.read_text())


def faults(kind, data):
    """Where and why data do not fit the schema."""
    validator = jsonschema.Draft7Validator(SCHEMAS[kind]())
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(data)]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_committed_schema_is_up_to_date(minidem_command, kind):
    """`python docs/generated.py` writes it."""
    printed = minidem_command("schema", kind)
    assert printed.code == 0
    assert (ROOT / "scenarios" / f"{kind}.schema.json").read_text() == printed.stdout
    jsonschema.Draft7Validator.check_schema(json.loads(printed.stdout))


@pytest.mark.parametrize("path", SCENARIOS + STUDIES, ids=lambda path: path.stem)
def test_examples_fit_the_schema_they_name(path):
    first = path.read_text().splitlines()[0]
    named = path.parent / first.removeprefix("#:schema ")
    assert first.startswith("#:schema .") and named.is_file()
    assert faults(named.name.partition(".")[0], data_of(path)) == []
    (load_study if "studies" in path.parts else load)(path)


SAMPLES = [
    -2, -1, -1.0, -0.5, 0, 0.0, 1e-200, 0.25, 0.4999, 0.5, 0.7, 0.75, 1, 1.0, 2, 2.5, 250, 10_000, 10_001, 10**7,
    10**7 + 1, 10**9, 10**9 + 1, 1e99, 1e101, 2**63 - 1, 2**63, True, False, "", "plain", "corrected", "spheres", "mesh",
    "spiral", "a b", "0.1 rayleigh", "drift 1e-5", "drift\t1e-5", "0.1\trayleigh",
    "0.1 raleigh", ".hidden", "x" * 64, "x" * 65, [], [1], [1, 2, 3],
    [1.0, -2, 3], [1, "2", 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], {"a": 1},
]  # fmt: skip


def accepted(check, value):
    try:
        check(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("check", JSON, ids=lambda check: check.__qualname__)
def test_schema_and_check_agree(check):
    """For each sample; where the schema names a catalogue, other texts may be names of plugins."""
    found = JSON[check]()
    validator = jsonschema.Draft7Validator(found)
    catalogue = found.get("type") == "string" and "anyOf" in found
    for value in SAMPLES:
        fits, good = validator.is_valid(value), accepted(check, value)
        if catalogue and isinstance(value, str):
            assert fits and good == (value in found["anyOf"][0]["enum"]), value
        elif isinstance(value, float) and value.is_integer() and found.get("type") == "integer":
            assert not good  # JSON Schema takes 1.0 for a whole number, the reader does not
        elif check is sphere_list:  # it leaves the rows to `sphere`
            assert good or not fits, value
        else:
            assert fits == good, value


BAD = [
    ("time.dt", "fast"), ("time.dt", -1e-6), ("time.end", 0), ("time.stop", 1.0), ("material.plastic.poisson", 0.5),
    ("domain.box", [1, 2]), ("domain.gravity", 9.81), ("clump.rod.spheres", []), ("clump.rod.spheres", [[0, 0, 0]]),
    ("body.0.clump", 3), ("place.0.count", 0), ("place.0.count", 1.5), ("output.frames", "many"), ("guard.energy", True),
    ("guard.outside", 1), ("contact.edges", "sharp"), ("schema", 2), ("name", "a/b"), ("seed", -1), ("colour", 1),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), BAD)
def test_mistakes_are_seen(path, value):
    """At their place, and by the reader as well."""
    data = tomllib.loads(BOX)
    assert faults("scenario", data) == []
    *above, last = path.split(".")
    at = data
    for key in above:
        at = at[int(key)] if key.isdecimal() else at.setdefault(key, {})
    at[last] = value
    (fault,) = faults("scenario", data)
    assert fault.startswith(path) or repr(last) in fault
    with pytest.raises(ScenarioError):
        parse(BOX, overrides=[f"{path.replace('.0.', '[0].')}={json.dumps(value)}"])


@pytest.mark.parametrize(
    "missing", ["time", "time.dt", "time.end", "clump.rod.material", "material.plastic.young", "body.0.clump"]
)
def test_required_keys(missing):
    data = tomllib.loads(BOX)
    *above, last = missing.split(".")
    at = data
    for key in above:
        at = at[int(key) if key.isdecimal() else key]
    del at[last]
    assert [f"'{last}' is a required property" in fault for fault in faults("scenario", data)] == [True]


STUDY = {"scenario": "box.toml", "axes": {"dt": [1e-5, 2e-5], "seed": {"first": 0, "count": 4}}}


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 0),
        ({"set": {"time.end": 1.0, "clump.rod.scale": 2.0, "time": {"dt": 1e-5}}}, 0),
        ({"set": {"time.end": -1.0}}, 1),
        ({"axes": {"dt": {"from": 1e-6, "to": 1e-5, "count": 3, "spacing": "log"}}}, 0),
        ({"axes": {"dt": {"from": 1e-6, "to": 1e-5, "count": 3, "spacing": "cubic"}}}, 1),
        ({"axes": {"integrator": ["spiral", 3]}}, 1),
        ({"axes": {"dt": []}}, 1),
        ({"cell": [{"dt": 1e-5}]}, 1),  # besides axes
        ({"keep": "everything"}, 1),
        ({"scenarios": "x"}, 1),
    ],
)
def test_studies(change, count):
    assert len(faults("study", STUDY | change)) == count


def test_rows_name_every_key():
    rows = list(schema.rows())
    top = [row.key for row in rows if row.table == ""]
    assert top == ["schema", "name", "seed"]
    for name in TABLES:
        headers = {f"[{name}]", f"[{name}.NAME]", f"[[{name}]]"}
        assert [row.key for row in rows if row.table in headers] == valid_keys(name)
    assert [row.key for row in study_schema.rows()] == list(KEYS)
    for row in (*rows, *study_schema.rows()):
        assert row.type and row.default and row.description[0].isupper() and row.description.endswith("."), row


def test_rows_say_what_the_fields_are():
    rows = {(row.table, row.key): row[2:] for row in schema.rows()}
    assert rows["[time]", "end"] == ("number", "s", "required", "1e-30 to 1e+30", "End of the run.")
    assert rows["[material.NAME]", "poisson"] == ("number", "", "required", "> -1, < 0.5", "Poisson's ratio.")
    assert rows["[guard]", "turn"][:4] == ("number or false", "rad", "0.5", "> 0")
    assert rows["[domain]", "box"][:4] == ("list of 3 numbers", "m", "open space", "each > 0")
    assert rows["[contact]", "edges"][:4] == ("text", "", '"plain"', '"plain", "corrected"')
    assert rows["[output]", "frames"][:4] == ("whole number", "", "250", "1 to 10000000")
    assert rows["[[body]]", "orientation"][:4] == ("list of 4 numbers", "", "[1.0, 0.0, 0.0, 0.0]", "")


def test_keys_of_contact_laws(monkeypatch):
    monkeypatch.setitem(LAWS, "spring", Law("spring", "", "", 1.0, keys=("springiness",)))
    found = schema.scenario_schema()["properties"]
    assert "spring" in found["contact"]["properties"]["law"]["anyOf"][0]["enum"]
    assert 'contact.law = "spring"' in found["material"]["additionalProperties"]["properties"]["springiness"]["description"]
    assert any(row.key == "springiness" and "spring" in row.default for row in schema.rows())


def test_defaults_are_those_of_the_reader(tmp_path):
    (tmp_path / "box.toml").write_text(BOX)
    scenario = load(tmp_path / "box.toml")
    properties = schema.scenario_schema()["properties"]
    for name in ("integrator", "contact", "guard"):
        stated = {key: value["default"] for key, value in properties[name]["properties"].items()}
        assert stated == getattr(scenario, name).model_dump()
    assert properties["seed"]["default"] == Scenario.model_fields["seed"].default == 0
    assert not any(isinstance(value, float) and math.isinf(value) for value in scenario.guard.model_dump().values())


def test_unknown_kind(minidem_command):
    outcome = minidem_command("schema", "stud")
    assert outcome.code == 2 and outcome.stderr.startswith('unknown kind of file "stud"; did you mean study?')
