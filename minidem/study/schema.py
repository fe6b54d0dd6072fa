"""The JSON Schema of study files, and one row for each key for the reference."""

from collections.abc import Iterator
from typing import Any

from ..scenario.schema import DRAFT, Row, value_schema
from ..scenario.tables import TABLES
from ..scenario.writing import LISTED_TABLES, NAMED_TABLES
from .plan import KEEP, KEYS, SHORT

RANGES: list[dict[str, Any]] = [  # besides a list of values
    {
        "type": "object",
        "description": "`count` values from `from` to `to`, evenly spaced on a linear or a log scale.",
        "properties": {
            "from": {"type": "number"},
            "to": {"type": "number"},
            "count": {"type": "integer", "minimum": 1},
            "spacing": {"enum": ["linear", "log"], "default": "linear"},
        },
        "required": ["from", "to", "count"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "description": "`count` whole numbers from `first` on.",
        "properties": {"first": {"type": "integer"}, "count": {"type": "integer", "minimum": 1}},
        "required": ["first", "count"],
        "additionalProperties": False,
    },
]
CHANGES, RANGE = "#/definitions/changes", "#/definitions/range"
ABOUT = {  # key: type, default, range, description
    "schema": ("whole number", "1", "1", "Version of this format."),
    "name": ("text", "the name of the file", "", "Name of the study directory."),
    "scenario": ("text", "required", "", "File of the base scenario, relative to the study file."),
    "keep": (
        "text", f'"{KEEP[0]}"', ", ".join(f'"{word}"' for word in KEEP),
        "What is kept: one table of results, or also the directory of each run.",
    ),
    "set": ("table", "none", "scenario keys", "Changes of the base scenario for all runs."),
    "axes": (
        "table", "axes or cell is required", "scenario keys, each with a list or a range",
        "Values of which every combination is run; dt and integrator stand for time.dt and integrator.rotation.",
    ),
    "cell": ("list of tables", "see axes", "scenario keys", "The runs one by one, instead of axes."),
}  # fmt: skip


def study_schema() -> dict[str, Any]:
    """The JSON Schema of a study file."""
    values = {key: value_schema(path) for key, path in _scenario_keys().items()}
    axes = {
        key: {
            "anyOf": [{"type": "array", "items": {"$ref": f"{CHANGES}/properties/{key}"}, "minItems": 1}, {"$ref": RANGE}],
            "description": found["description"],
        }
        for key, found in values.items()
    }
    kinds: dict[str, dict[str, Any]] = {
        "schema": {"const": 1},
        "name": value_schema("name"),
        "scenario": {"type": "string"},
        "keep": {"enum": list(KEEP), "default": KEEP[0]},
        "set": {"allOf": [{"$ref": CHANGES}]},
        "axes": {"type": "object", "properties": axes, "minProperties": 1},
        "cell": {"type": "array", "items": {"$ref": CHANGES}, "minItems": 1},
    }
    properties = {key: kinds[key] | {"description": ABOUT[key][3]} for key in KEYS}
    head: dict[str, Any] = {
        "$schema": DRAFT,
        "title": "minidem study",
        "description": "One scenario with many combinations of values.",
    }
    either = [{"required": ["axes"]}, {"required": ["cell"]}]
    head |= {"type": "object", "properties": properties, "required": ["scenario"], "oneOf": either}
    definitions = {"changes": {"type": "object", "properties": values}, "range": {"anyOf": RANGES}}
    return head | {"additionalProperties": False, "definitions": definitions}


def rows() -> Iterator[Row]:
    """The keys of study files."""
    for key in KEYS:
        type_, default, range_, description = ABOUT[key]
        table = {"set": "[set]", "axes": "[axes]", "cell": "[[cell]]"}.get(key, "")
        yield Row(table, key, type_, "", default, range_, description)


def _scenario_keys() -> dict[str, str]:
    """The path of each scenario key that a study can name without a NAME or a number, by that name; short ones first."""
    tables = {name: table for name, table in TABLES.items() if name not in (*NAMED_TABLES, *LISTED_TABLES)}
    paths = [f"{name}.{key}" for name, table in tables.items() for key in table.model_fields]
    return SHORT | {path: path for path in ("seed", *paths)}
