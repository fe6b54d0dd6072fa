"""Scenario files: TOML in, a checked and frozen Scenario out.

Every mistake of a file is reported in one ScenarioError, a line each: ``file: key.path: what is wrong``.
"""

import contextlib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, ValidationError

from ..errors import InputError, ScenarioError, nearest
from . import values
from .joint import joint_errors
from .tables import (
    TABLES,
    Body,
    ClumpSpec,
    Contact,
    Domain,
    Guard,
    Integrator,
    Material,
    Output,
    Place,
    Table,
    Time,
    Wall,
    tables_in,
    valid_keys,
)
from .writing import LISTED_TABLES, NAMED_TABLES, Loc, document, place_text, shown

MAX_FILE_BYTES = 16 * 1024**2
MAX_DEPTH = 20  # of nested tables and lists


class Scenario(Table):
    """A whole scenario, made by ``load`` or ``parse``, which also check the rules between tables."""

    schema_version: Annotated[int, PlainValidator(values.whole(1, 1))] = Field(default=1, alias="schema")
    name: Annotated[str, PlainValidator(values.scenario_name)]
    seed: Annotated[int, PlainValidator(values.whole(0, 2**63 - 1))] = 0
    time: Time
    integrator: Integrator = Integrator()
    contact: Contact = Contact()
    domain: Domain = Domain()
    material: dict[str, Material] = Field(default_factory=dict)
    clump: dict[str, ClumpSpec] = Field(default_factory=dict)
    place: Annotated[tuple[Place, ...], BeforeValidator(values.table_list)] = ()
    body: Annotated[tuple[Body, ...], BeforeValidator(values.table_list)] = ()
    wall: Annotated[tuple[Wall, ...], BeforeValidator(values.table_list)] = ()
    output: Output = Output()
    guard: Guard = Guard()

    @property
    def used_clumps(self) -> list[str]:
        """Names of the clumps that have a body, in the file's order."""
        used = {place.clump for place in self.place} | {body.clump for body in self.body}
        return [name for name in self.clump if name in used]

    def with_changes(self, changes: Mapping[str, Any]) -> "Scenario":
        """A checked copy with {"time.end": 1.0, "body[0].velocity": (1, 0, 0)}; None removes a key.

        A relative clump file is relative to the working directory.
        """
        data = _plain(self._as_tables())
        for path, value in changes.items():
            _assign(data, _split_path(path), _plain(value), path)
        return _checked(data, self.name, ".", {})

    def to_toml(self) -> str:
        """The scenario as TOML with every default filled in; it parses back to an equal scenario."""
        return document(self._as_tables())

    def _as_tables(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def load(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of a file, with "table.key=value" overrides."""
    return parse(read_text(path), Path(path).name, Path(path).parent, overrides)


def read_text(path: str | os.PathLike[str], regular: bool = False) -> str:
    """The text of a scenario file, with its line ends. With `regular`, pipes and devices are refused."""
    path = Path(path)
    try:
        if regular and path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: not a regular file; give a scenario file")
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except ValueError:  # a NUL in the name
        raise InputError(f"{path}: no file can have this name; give a scenario file") from None
    except OSError as error:
        reason = "is a directory" if os.path.isdir(path) else str(error.strerror).lower()
        raise InputError(f"{path}: {reason}; give a scenario file") from None
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"{path}: larger than {MAX_FILE_BYTES // 1024**2} MB; give a scenario file")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start + 1}); give a scenario file") from None


def parse(
    text: str,
    source: str = "scenario",
    directory: str | os.PathLike[str] = ".",
    overrides: Sequence[str] = (),
) -> Scenario:
    """The scenario of a TOML text. Messages name `source`; clump files are relative to `directory`."""
    try:
        data = _plain(tomllib.loads(text.removeprefix("\ufeff")))  # the mark that some editors put before UTF-8
    except (ValueError, RecursionError) as error:
        raise ScenarioError([f"{source}: {_syntax_message(str(error), text)}"]) from None
    set_by = {}
    for override in overrides:
        keys, value = _split_override(override)
        set_by[_assign(data, keys, value, f"--set {override}")] = f"--set {override}"
    return _checked(data, source, directory, set_by)


def _checked(data: dict[str, Any], source: str, directory: str | os.PathLike[str], set_by: Mapping[Loc, str]) -> Scenario:
    """The scenario of the data as read, which is changed; `set_by` has the name to use in messages instead of the source
    for the values at and below a place."""
    order = list(data)
    unknown, renamed = _rename_unknown_keys(data)
    _fill_in(data, source, directory)
    found: list[tuple[Loc, str]] = []
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as failure:
        found = [(error["loc"], _table_message(error)) for error in failure.errors(include_url=False)]
    found += joint_errors(data, {loc for loc, _ in found})
    # Values under a misspelt key are judged once the key is right.
    found = [error for error in found if not any(error[0][: len(loc)] == loc for loc in renamed)]

    errors = unknown + found
    errors.sort(key=lambda error: order.index(error[0][0]) if error[0][0] in order else len(order))
    lines = []
    for loc, message in errors:
        setters = [text for place, text in set_by.items() if loc[: len(place)] == place]
        lines.append(f"{setters[-1] if setters else source}: {place_text(loc)}: {message}")
    if lines:
        raise ScenarioError(lines)
    return scenario


def _plain(value: Any, depth: int = 0) -> Any:
    """A copy made of dicts and lists only, with arrays as lists."""
    if depth > MAX_DEPTH:
        raise RecursionError("tables and lists are nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _syntax_message(message: str, text: str) -> str:
    """The message of tomllib, "What (at line 3, column 5)", as place, what, and the line itself."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if not match:
        return f"not valid TOML: {message}"
    hint = "; text needs quotes" if match[1].startswith(("Invalid value", "Expected newline")) else ""
    line = "".join(filter(str.isprintable, text.split("\n")[int(match[2]) - 1])).strip()
    return f"line {match[2]}, column {match[3]}: {match[1][0].lower()}{match[1][1:]}{hint}, in: {line[:70]}"


def _rename_unknown_keys(data: dict[str, Any]) -> tuple[list[tuple[Loc, str]], set[Loc]]:
    """Remove unknown keys; move their values to the nearest valid keys, so that those are not reported as missing.

    Returns the errors and the places of the moved values.
    """
    errors: list[tuple[Loc, str]] = []
    renamed: set[Loc] = set()

    def rename(loc: Loc, table: dict[str, Any], valid: Sequence[str]) -> None:
        for key in [key for key in table if key not in valid]:
            meant = nearest(key, valid)
            hint = f'did you mean "{meant}"?' if meant else f"valid keys: {', '.join(valid)}"
            errors.append(((*loc, key), f"unknown key; {hint}"))
            value = table.pop(key)
            if meant and meant not in table:
                table[meant] = value
                renamed.add((*loc, meant))

    rename((), data, ["schema", "name", "seed", *TABLES])
    for loc, table in tables_in(data):
        if loc[:1] not in renamed:
            rename(loc, table, valid_keys(str(loc[0])))
    return errors, renamed


def _fill_in(data: dict[str, Any], source: str, directory: str | os.PathLike[str]) -> None:
    """Set the defaults that depend on more than their own key."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(source).stem).lstrip(".")
    data.setdefault("name", stem[:64] or "scenario")
    for clump in [table for loc, table in tables_in(data) if loc[0] == "clump"]:
        if isinstance(clump.get("file"), str):
            clump["file"] = os.path.abspath(os.path.join(directory, clump["file"]))
        if "builtin" not in clump:
            clump.setdefault("scale", 1.0)
        elif "height" not in clump:
            with contextlib.suppress(ValueError):
                clump["height"] = values.builtin_height(clump["builtin"])


def _table_message(error: Any) -> str:
    """The message for an error of pydantic's."""
    key = error["loc"][0]
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        remedy = "; add a [time] table with dt and end" if error["loc"] == ("time",) else ""
        return f"required, but missing{remedy}"
    named = f"[{key}.NAME]" if key in NAMED_TABLES else f"[{key}]"
    return f"must be a table, written {f'[{named}]' if key in LISTED_TABLES else named}"


# --- changing single keys -----------------------------------------------------------------------------------

_KEY = r'"[^"]*"|[^\s."=\[\]]+'
_KEY_PATH = rf"(?:{_KEY})(?:\.(?:{_KEY})|\[\d+\])*"


def _split_path(path: str) -> list[str]:
    """The keys of "body[0].velocity"."""
    if not re.fullmatch(_KEY_PATH, path):
        raise InputError(f"{shown(path)}: must be a path of keys such as time.end or body[0].velocity")
    return [key.strip('"') for key in re.findall(_KEY, path)]


def _split_override(text: str) -> tuple[list[str], Any]:
    """The keys and the value of "time.end=2.5"."""
    match = re.fullmatch(rf"\s*({_KEY_PATH})\s*=(.*)", text)
    if not match or not text.isprintable():
        raise InputError(f"--set {shown(text)}: must be table.key=value, for example time.end=2.5")
    try:
        value = _plain(tomllib.loads(f"value = {match[2]}")["value"])
    except (ValueError, RecursionError):  # here, text needs no quotes
        value = match[2].strip()
    return _split_path(match[1]), value


def _assign(data: dict[str, Any], keys: Sequence[str], value: Any, label: str) -> Loc:
    """Set one value, or remove it if None; returns the place of the outermost new table or value."""
    at: Any = data
    loc: Loc = ()
    new: Loc = ()
    for depth, key in enumerate(keys):
        index: Any = key
        if isinstance(at, list) and key in map(str, range(len(at))):
            index = int(key)
        elif not isinstance(at, dict):
            given = f"a list of {len(at)}, counted from 0" if isinstance(at, list) else shown(at)
            raise InputError(f"{label}: {place_text(loc)} has no {key}; it is {given}")
        loc += (index,)
        if depth < len(keys) - 1:
            if isinstance(at, dict) and key not in at:
                at[key] = {}
                new = new or loc
            at = at[index]
    if value is not None:
        at[loc[-1]] = value
    else:
        with contextlib.suppress(KeyError):
            del at[loc[-1]]
    return new or loc
