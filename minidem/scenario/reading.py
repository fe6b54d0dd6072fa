"""Scenario files: TOML in, a checked and frozen Scenario out.

Every mistake of a file is reported in one ScenarioError, a line each: ``file: key.path: what is wrong``.
"""

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, TypeAdapter, ValidationError

from ..engine.contact.registry import LAWS
from ..errors import LISTED, InputError, ScenarioError, nearest
from ..notebook import card
from ..small_files import MAX_PARTS, text_of, toml_of
from . import values
from .describing import facts, one_line
from .examples import advice_for_missing
from .joint import joint_errors
from .plugins import known_after_search
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
    about,
    tables_in,
    valid_keys,
)
from .writing import LISTED_TABLES, NAMED_TABLES, Loc, brief_place, document, place_text, shown

MAX_FILE_BYTES = 16 * 1024**2
MAX_DEPTH = 20  # of nested tables and lists
TOGETHER = 1000  # tables of one list that are checked together


def _in_parts(table: type[Table]) -> Callable[[Any], Any]:
    """The check of a long list of tables in parts, up to one with LISTED errors: an error takes a thousand bytes, a table as
    few as nine."""
    check = TypeAdapter(list[table]).validate_python  # type: ignore[valid-type]

    def checked(tables: Any) -> Any:
        done: list[Any] = []
        wrong = 0
        while len(done) < len(tables) > TOGETHER and wrong < LISTED:
            part = tables[len(done) : len(done) + TOGETHER]
            try:
                done += check(part)
            except ValidationError as failure:
                done += part
                wrong += failure.error_count()
        return done or tables

    return checked


class Scenario(Table):
    """A whole scenario, made by ``load`` or ``parse``, which also check the rules between tables."""

    schema_version: Annotated[int, PlainValidator(values.whole(1, 1)), about("Version of this format.")] = Field(
        default=1, alias="schema"
    )
    name: Annotated[
        str, PlainValidator(values.scenario_name), about("Name of the run directory.", default="the name of the file")
    ]
    seed: Annotated[int, PlainValidator(values.whole(0, 2**63 - 1)), about("Seed of the random placement.")] = 0
    time: Time
    integrator: Integrator = Integrator()
    contact: Contact = Contact()
    domain: Domain = Domain()
    material: Annotated[dict[str, Material], BeforeValidator(values.few_tables(values.MAX_MATERIALS))] = Field(
        default_factory=dict
    )
    clump: Annotated[dict[str, ClumpSpec], BeforeValidator(values.few_tables(values.MAX_CLUMPS))] = Field(
        default_factory=dict
    )
    place: Annotated[tuple[Place, ...], BeforeValidator(_in_parts(Place)), BeforeValidator(values.table_list)] = ()
    body: Annotated[tuple[Body, ...], BeforeValidator(_in_parts(Body)), BeforeValidator(values.table_list)] = ()
    wall: Annotated[
        tuple[Wall, ...], BeforeValidator(values.few_tables(values.MAX_WALLS)), BeforeValidator(values.table_list)
    ] = ()
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

    def __repr__(self) -> str:
        return one_line(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return card(f"Scenario {self.name}", facts(self), {"with every default": self.to_toml()})

    def _as_tables(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def load(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of a file, with "table.key=value" overrides."""
    return parse(read_text(path), Path(path).name, Path(path).parent, overrides)


def read_text(path: str | os.PathLike[str], regular: bool = False, remedy: str = "") -> str:
    """The text of a scenario file, with its line ends. With `regular`, pipes are refused; `remedy` ends messages."""
    if not remedy:
        remedy = "give a scenario file" if os.path.lexists(path) else advice_for_missing(Path(path))
    return text_of(path, MAX_FILE_BYTES, remedy, pipes=not regular)


def parse(
    text: str,
    source: str = "scenario",
    directory: str | os.PathLike[str] = ".",
    overrides: Sequence[str] = (),
) -> Scenario:
    """The scenario of a TOML text. Messages name `source`; clump files are relative to `directory`."""
    try:
        data = _plain(toml_of(text, source))
    except InputError as error:
        raise ScenarioError([str(error)]) from None
    except RecursionError as error:
        raise ScenarioError([f"{source}: not valid TOML: {error}"]) from None
    set_by = {}
    for override in overrides:
        keys, value = _split_override(override)
        set_by[_assign(data, keys, value, f"--set {override}")] = f"--set {override}"
    return _checked(data, source, directory, set_by)


def _checked(data: dict[str, Any], source: str, directory: str | os.PathLike[str], set_by: Mapping[Loc, str]) -> Scenario:
    """The scenario of the data as read, which is changed; `set_by` has the name to use in messages instead of the source
    for the values at and below a place."""
    order = list(data)
    contact = data.get("contact")
    if isinstance(contact, dict) and isinstance(contact.get("law"), str):  # it decides which keys a material may have
        known_after_search(contact["law"], LAWS)
    unknown, renamed = _rename_unknown_keys(data)
    _fill_in(data, source, directory)
    found: list[tuple[Loc, str]] = []
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as failure:
        found = [(error["loc"], _table_message(error)) for error in failure.errors(include_url=False)]
    if len(found) < LISTED:  # else not all that is wrong by itself is known
        found += islice(joint_errors(data, {loc for loc, _ in found}), 2 * LISTED)
    # Values under a misspelt key are judged once the key is right.
    found = [error for error in found if not any(error[0][: len(loc)] == loc for loc in renamed)]

    errors = unknown + found
    errors.sort(key=lambda error: order.index(error[0][0]) if error[0][0] in order else len(order))
    lines = []
    for loc, message in errors[:LISTED]:
        setters = [text for place, text in set_by.items() if loc[: len(place)] == place]
        lines.append(f"{setters[-1] if setters else source}: {brief_place(loc)}: {message}")
    if len(errors) > LISTED:
        lines.append(f"{source}: others: at least {len(errors) - LISTED} more errors; correct these first")
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


def _rename_unknown_keys(data: dict[str, Any]) -> tuple[list[tuple[Loc, str]], set[Loc]]:
    """Remove unknown keys; move their values to the nearest valid keys, so that those are not reported as missing.

    Returns the errors and the places of the moved values.
    """
    errors: list[tuple[Loc, str]] = []
    renamed: set[Loc] = set()

    def rename(loc: Loc, table: dict[str, Any], valid: Sequence[str]) -> None:
        for key in [key for key in table if key not in valid]:
            if len(errors) > LISTED:  # enough to be said; more would take time and memory
                del table[key]
                continue
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
    data.setdefault("name", name_from(source))
    for clump in [table for loc, table in tables_in(data) if loc[0] == "clump"]:
        if isinstance(clump.get("file"), str):
            clump["file"] = located(clump["file"], directory)
        if "builtin" not in clump:
            clump.setdefault("scale", 1.0)
        elif "height" not in clump:
            with contextlib.suppress(ValueError):
                clump["height"] = values.builtin_height(clump["builtin"])


def name_from(source: str) -> str:
    """The name of a scenario or study whose file does not give one."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(source).stem).lstrip(".")
    return stem[:64] or "scenario"


def located(file: str, directory: str | os.PathLike[str]) -> str:
    """The absolute path of a file that a scenario in the directory names: by a path, or by a file: address."""
    if file.startswith("file:///"):
        file = os.fsdecode(unquote_to_bytes(file.removeprefix("file://")))
    return os.path.abspath(os.path.join(directory, file))


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
    keys = [key.strip('"') for key in re.findall(_KEY, path)]
    if len(keys) > MAX_PARTS:
        raise InputError(f"{shown(path)}: must have at most {MAX_PARTS} keys, got {len(keys)}")
    return keys


def _split_override(text: str) -> tuple[list[str], Any]:
    """The keys and the value of "time.end=2.5"."""
    match = re.fullmatch(rf"\s*({_KEY_PATH})\s*=(.*)", text)
    if not match or not text.isprintable():
        raise InputError(f"--set {shown(text)}: must be table.key=value, for example time.end=2.5")
    try:
        value = _plain(toml_of(f"value = {match[2]}", f"--set {shown(text)}")["value"])
    except (InputError, RecursionError):  # here, text needs no quotes
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
