"""The JSON Schema of scenario files, and one row for each key for the reference; both from the fields of the tables."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from ..engine.contact.registry import LAWS
from .accepting import JSON
from .reading import Scenario
from .tables import TABLES, Table
from .values import LEAST_FACTOR, MOST_FACTOR
from .writing import LISTED_TABLES, NAMED_TABLES, value_text

DRAFT = "http://json-schema.org/draft-07/schema#"  # the newest that editors for TOML know
FACTOR = {"type": "number", "minimum": LEAST_FACTOR, "maximum": MOST_FACTOR}


class Row(NamedTuple):
    """A key, as the reference lists it."""

    table: str  # as a header: "[time]", "[material.NAME]", "[[place]]"; "" above the first table
    key: str
    type: str
    unit: str
    default: str  # as TOML or in words; "required"
    range: str
    description: str


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file."""
    properties: dict[str, Any] = _properties(_top_fields())
    required = []
    for name, table in TABLES.items():
        found = table_schema(table)
        if name in NAMED_TABLES:
            found = {"type": "object", "description": found["description"], "additionalProperties": found}
        elif name in LISTED_TABLES:
            found = {"type": "array", "items": found}
        properties[name] = found
        if Scenario.model_fields[name].is_required():
            required.append(name)
    head = {"$schema": DRAFT, "title": "minidem scenario", "description": "SI units only."}
    return head | {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def table_schema(table: type[Table]) -> dict[str, Any]:
    """The JSON Schema of one table."""
    properties = _properties(table.model_fields)
    others: Any = False
    if table is TABLES["material"]:  # the keys of contact laws, also of those of one's own
        for law in LAWS.values():
            for key in law.keys:
                properties.setdefault(key, FACTOR | {"description": f'Needed by contact.law = "{law.name}".'})
        others = FACTOR
    required = [name for name, field in table.model_fields.items() if field.is_required()]
    found = {"type": "object", "description": " ".join((table.__doc__ or "").split()), "properties": properties}
    return found | {"required": required, "additionalProperties": others}


def rows() -> Iterator[Row]:
    """The keys of scenario files, table by table."""
    for name, field in _top_fields().items():
        yield _row("", name, field)
    for name, table in TABLES.items():
        header = f"[{name}.NAME]" if name in NAMED_TABLES else f"[[{name}]]" if name in LISTED_TABLES else f"[{name}]"
        for key, field in table.model_fields.items():
            yield _row(header, key, field)
        if name == "material":
            for law in LAWS.values():
                for key in law.keys:
                    default = f'required by contact.law = "{law.name}"'
                    yield Row(header, key, "number", "", default, range_text(FACTOR), "Constant of a contact law.")


def value_schema(path: str) -> dict[str, Any]:
    """The JSON Schema of the value of a key such as "time.dt"."""
    table, _, key = path.rpartition(".")
    return _schema(TABLES[table].model_fields[key] if table else Scenario.model_fields[key])


def type_text(schema: dict[str, Any]) -> str:
    """The type of a value in words."""
    if "enum" in schema or "pattern" in schema:
        return "text"
    if "const" in schema:
        return value_text(schema["const"])
    if "anyOf" in schema:
        return (schema.get("type") and "text") or " or ".join(map(type_text, schema["anyOf"]))
    if schema["type"] == "array":
        what = {"array": "rows", "string": "names"}.get(schema["items"]["type"], "numbers")
        return f"list of {schema['maxItems']} {what}" if "maxItems" in schema else f"list of {what}"
    return {"number": "number", "integer": "whole number", "string": "text", "boolean": "true or false"}[schema["type"]]


def range_text(schema: dict[str, Any]) -> str:
    """What is allowed of the type, in words; "" for anything."""
    if "enum" in schema:
        return ", ".join(map(value_text, schema["enum"]))
    if "anyOf" in schema:
        return next(filter(None, map(range_text, schema["anyOf"])), "") if "type" not in schema else ""
    if schema["type"] == "array":
        inner = range_text(schema["items"])
        return f"each {inner}" if inner else ""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and low == high:
        return f"{low}"
    if low is not None and high is not None:
        return f"{low} to {high}"
    bounds = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}
    return ", ".join(f"{sign} {schema[name]}" for name, sign in bounds.items() if name in schema)


def _top_fields() -> dict[str, FieldInfo]:
    """The fields above the first table, by key."""
    return {field.alias or name: field for name, field in Scenario.model_fields.items() if name not in TABLES}


def _properties(fields: dict[str, FieldInfo]) -> dict[str, Any]:
    return {name: _schema(field) for name, field in fields.items()}


def _accepted(field: FieldInfo) -> dict[str, Any]:
    """What the check of a field accepts."""
    checks = [getattr(item, "func", None) for item in field.metadata]
    return next(JSON[check]() for check in checks if check in JSON)


def _schema(field: FieldInfo) -> dict[str, Any]:
    found = _accepted(field)
    extra = _extra(field)
    unit = f" Unit: {extra['unit']}." if extra["unit"] else ""
    words = f" Default: {extra['default']}." if extra["default"] else ""
    found["description"] = f"{field.description}{unit}{words}"
    if not field.is_required() and field.default is not None:
        found["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    return found


def _extra(field: FieldInfo) -> dict[str, str]:
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return {name: str(value) for name, value in extra.items()}


def _row(table: str, key: str, field: FieldInfo) -> Row:
    accepted, extra = _accepted(field), _extra(field)
    default = extra["default"] or ("required" if field.is_required() else value_text(field.default))
    names = (table, key, type_text(accepted), extra["unit"], default)
    return Row(*names, range_text(accepted), field.description or "")
