"""Study files: a base scenario and the values of its keys to run."""

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import LISTED, InputError, ScenarioError, nearest
from ..progress import report
from ..scenario.plugins import Plugin
from ..scenario.reading import Scenario, located, name_from, parse, read_text
from ..scenario.tables import ClumpSpec
from ..scenario.writing import file_text
from ..shapes.sphere_files import LARGEST_FILE, REMEDY
from ..small_files import bytes_of, toml_of

SHORT = {"dt": "time.dt", "integrator": "integrator.rotation"}  # short names of frequent axes
KEYS = ("schema", "name", "scenario", "keep", "set", "axes", "cell")
KEEP = ("records", "runs")
MAX_CELLS = 1_000_000
RANGE = 'a list of values, {from, to, count} with spacing = "log" or "linear", or for whole numbers {first, count}'

Changes = dict[str, Any]  # scenario key: value


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    number: int
    changes: Changes  # to the base scenario, by axis

    @property
    def label(self) -> str:
        """The changes as text, for messages and lists."""
        return " ".join(f"{axis}={value}" for axis, value in self.changes.items())

    @property
    def kind(self) -> str:
        """A key that is equal for cells that differ only in the seed."""
        return json.dumps({axis: value for axis, value in self.changes.items() if axis != "seed"}, default=str)


@dataclass(frozen=True)
class Study:
    """A study file."""

    name: str
    base: Scenario  # with the changes of [set] applied
    axes: tuple[str, ...]  # scenario keys
    cells: tuple[Cell, ...]
    keep: str = "records"  # or "runs": also the run directory of each cell
    source: str = "study"  # name of the file, for messages
    text: str = ""  # of the file
    directory: str = "."  # of the file
    plugins: tuple[Plugin, ...] = ()

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the results depend on, and nothing else; written to study.json."""
        scenario = self.base.to_toml()
        for clump in self.base.clump.values():
            if clump.file is not None:  # the contents matter, not the path
                scenario = scenario.replace(file_text(clump.file), f'"{_digest(clump.file)}"')
        files = {value for cell in self.cells for axis, value in cell.changes.items() if _names_file(axis)}
        return {
            "minidem": version("minidem"),
            "name": self.name,
            "keep": self.keep,
            "scenario": scenario.splitlines(),
            "axes": list(self.axes),
            "cells": [list(cell.changes.values()) for cell in self.cells],
            "files": {file: _digest(located(file, self.directory)) for file in sorted(files)},
            **({"plugins": [f"{plugin.name} sha256 {plugin.sha256}" for plugin in self.plugins]} if self.plugins else {}),
        }

    def scenario(self, cell: Cell) -> Scenario:
        """The scenario of a cell."""
        return changed(self.base, cell.changes, self.keep, self.directory)

    def steps(self, cell: Cell) -> int:
        """Number of steps of a cell; a rough guess for a time step that pilot runs find when the cell is run."""
        from ..model.times import step_count, time_step
        from ..scenario.values import drift_wish

        scenario = self.scenario(cell)
        if drift_wish(scenario.time.dt) is not None:
            scenario = scenario.with_changes({"time.dt": "0.1 rayleigh"})
        used = scenario.used_clumps if isinstance(scenario.time.dt, str) else []
        return step_count(scenario, time_step(scenario, {name: _sphere_rows(scenario.clump[name]) for name in used}))

    def chosen(self, only: list[str]) -> list[Cell]:
        """The cells with the given numbers, or that match "axis=value" for every axis given; several values of one axis are
        alternatives."""
        hint = f"minidem study {self.source} --list shows them"
        numbers, wanted = set(), dict[str, set[str]]()
        for text in only:
            axis, equals, value = text.partition("=")
            axis = SHORT.get(axis.strip(), axis.strip())
            if not equals and text.strip().isdecimal():
                numbers.add(int(text))
                if int(text) >= len(self.cells):
                    raise InputError(f"--only {text}: no such cell; {hint}")
            elif not equals or axis not in self.axes:
                valid = ", ".join((*self.axes, *(short for short, key in SHORT.items() if key in self.axes)))
                raise InputError(f"--only {text}: must be AXIS=VALUE or the number of a cell; axes: {valid}")
            else:
                wanted.setdefault(axis, set()).add(value.strip())
                if not any(_same(cell.changes[axis], value.strip()) for cell in self.cells):
                    raise InputError(f"--only {text}: no cell has this value; {hint}")
        cells = [
            cell
            for cell in self.cells
            if (not numbers or cell.number in numbers)
            and all(any(_same(cell.changes[axis], value) for value in values) for axis, values in wanted.items())
        ]
        if not cells:
            raise InputError(f"--only {' '.join(only)}: no cell fits; {hint}")
        return cells


def changed(base: Scenario, changes: Mapping[str, Any], keep: str, directory: str) -> Scenario:
    """The base scenario with the changes of a cell. If runs are not kept, only the last frame is recorded."""
    return base.with_changes({**_located(changes, directory), **({} if keep == "runs" else {"output.frames": 1})})


def _located(changes: Mapping[str, Any], directory: str) -> Changes:
    """The changes with clump files relative to the directory of the study file."""
    return {
        key: located(value, directory) if _names_file(key) and isinstance(value, str) else value
        for key, value in changes.items()
    }


def _names_file(key: str) -> bool:
    return key.startswith("clump.") and key.endswith(".file")


def _digest(file: str) -> str:
    return f"sha256 {hashlib.sha256(bytes_of(file, LARGEST_FILE, REMEDY)).hexdigest()}"


_sphere_rows = cache(ClumpSpec.sphere_rows)


def _same(value: Any, text: str) -> bool:
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return str(value) == text


def load_study(path: str | Path, plugins: tuple[Plugin, ...] = ()) -> Study:
    """The study in a file, with the plugins that its runs need; ScenarioError lists everything that is wrong with it."""
    path = Path(path)
    return parse_study(read_text(path), path.name, path.parent, plugins)


def parse_study(text: str, source: str = "study", directory: str | Path = ".", plugins: tuple[Plugin, ...] = ()) -> Study:
    """The study in a TOML text; the file of the base scenario is relative to the directory."""
    try:
        data = toml_of(text, source)
    except InputError as error:
        raise ScenarioError([str(error)]) from None
    errors: list[str] = []
    for key in data:
        if key not in KEYS:
            meant = nearest(key, KEYS)
            hint = f'did you mean "{meant}"?' if meant else f"valid keys: {', '.join(KEYS)}"
            errors.append(f"{source}: {key}: unknown key; {hint}")
    if data.get("schema", 1) != 1:
        errors.append(f"{source}: schema: must be 1, got {data['schema']}")
    keep = data.get("keep", KEEP[0])
    if keep not in KEEP:
        rule = 'must be "records" (one table) or "runs" (also the directory of each run)'
        errors.append(f"{source}: keep: {rule}, got {keep!r}")
    name = data.get("name", name_from(source))
    directory = os.path.abspath(directory)

    def found(part: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return part(data, source, *arguments)
        except InputError as error:
            errors.extend(str(error).splitlines())
        except RecursionError:
            errors.append(f"{source}: tables and lists are nested too deeply")

    base, (axes, cells) = found(_base, name, directory), found(_cells) or ((), ())
    if errors:
        raise ScenarioError(errors)
    study = Study(name, base, axes, cells, keep, source, text, directory, plugins)
    _check_cells(study)
    return study


def _base(data: Mapping[str, Any], source: str, name: Any, directory: str) -> Scenario:
    file = data.get("scenario")
    if not isinstance(file, str):
        remedy = 'give the file of the base scenario, as in scenario = "../chess.toml"'
        raise ScenarioError([f"{source}: scenario: {'required, but missing' if file is None else 'must be text'}; {remedy}"])
    changes = data.get("set", {})
    if not isinstance(changes, dict):
        raise ScenarioError([f'{source}: set: must be a table of scenario keys, as in [set] and "time.end" = 0.1'])
    place, base = "scenario", None
    try:
        path = Path(directory, file)
        base = parse(read_text(path, regular=True), path.name, path.parent)
        place = "set"
        base = base.with_changes(_located(_flat(changes), directory))
        place = ""
        return base.with_changes({"name": name})
    except InputError as error:
        raise _named(error, base.name if base else "", f"{source}: {place}".removesuffix(": ")) from None


def _flat(table: Mapping[str, Any], is_value: Callable[[Mapping[str, Any]], bool] = lambda table: False) -> Changes:
    """{"time.end": 1} of {"time": {"end": 1}} and of itself, with short names made long."""
    flat: Changes = {}

    def add(path: str, value: Any) -> None:
        if isinstance(value, dict) and not is_value(value):
            for key, inner in value.items():
                add(f"{path}.{key}", inner)
        elif path in flat:
            raise InputError(f"{path}: is given twice; leave one of them out")
        else:
            flat[path] = value

    for key, value in table.items():
        add(SHORT.get(key, key), value)
    return flat


def _is_range(value: Mapping[str, Any]) -> bool:
    """Whether a table is a range such as {from, to, count}, or was meant to be one."""
    return not any(isinstance(inner, list | dict) for inner in value.values())


def _named(error: InputError, name: str, place: str) -> InputError:
    """The error of a changed scenario, with its place in the study file."""
    return ScenarioError([f"{place}: {line.removeprefix(f'{name}: ')}" for line in str(error).splitlines()])


def _cells(data: Mapping[str, Any], source: str) -> tuple[tuple[str, ...], tuple[Cell, ...]]:
    """Axes and cells: every combination of [axes], the last axis fastest, or the rows of [[cell]]."""
    grid, rows = data.get("axes"), data.get("cell")
    if (grid is None) == (rows is None):
        remedy = "give either [axes], to run every combination, or [[cell]] tables, one per run"
        raise ScenarioError([f"{source}: axes: {remedy}"])
    if rows is not None:
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
            raise ScenarioError([f"{source}: cell: must be tables of scenario keys, each written [[cell]]"])
        try:
            changes = [_flat(row) for row in rows]
        except InputError as error:
            raise _named(error, "", f"{source}: cell") from None
        axes = tuple(changes[0])
        for k, row in enumerate(changes):
            if set(row) != set(axes):
                raise ScenarioError([f"{source}: cell[{k}]: must have the keys of the first: {', '.join(axes)}"])
        return axes, tuple(Cell(k, {axis: row[axis] for axis in axes}) for k, row in enumerate(changes))
    if not isinstance(grid, dict) or not grid:
        raise ScenarioError([f"{source}: axes: must be a table of scenario keys with {RANGE}"])
    try:
        given = _flat(grid, _is_range)
    except InputError as error:
        raise _named(error, "", f"{source}: axes") from None
    values, errors = {}, []
    for axis in given:
        try:
            values[axis] = _once(list(_values(given[axis])))
        except (ValueError, OverflowError) as error:
            errors.append(f"{source}: axes.{axis}: {error}")
    if errors:
        raise ScenarioError(errors)
    if (count := math.prod(map(len, values.values()))) > MAX_CELLS:
        raise ScenarioError([f"{source}: axes: must make at most {MAX_CELLS} cells, got {count}"])
    combinations = itertools.product(*values.values())
    return tuple(values), tuple(Cell(k, dict(zip(values, row, strict=True))) for k, row in enumerate(combinations))


def _once(values: list[Any]) -> list[Any]:
    seen = set()
    for value in values:
        key = value if isinstance(value, int | float | str) else repr(value)
        if key in seen:
            raise ValueError(f"must have every value once, got {value!r} twice")
        seen.add(key)
    return values


def _values(given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        if not given:
            raise ValueError("must not be empty; give at least one value")
        return iter(given)
    if not isinstance(given, dict) or "count" not in given:
        raise ValueError(f"must be {RANGE}, got {given!r}")
    count = given["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_CELLS:
        raise ValueError(f"count must be a whole number from 1 to {MAX_CELLS}, got {count!r}")
    if set(given) == {"first", "count"} and type(given["first"]) is int:
        return iter(range(given["first"], given["first"] + count))
    ends, spacing = [given.get("from"), given.get("to")], given.get("spacing", "linear")
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end) for end in ends)
    if not numbers or set(given) - {"from", "to", "count", "spacing"} or spacing not in ("log", "linear"):
        raise ValueError(f"must be {RANGE}, got {given!r}")
    low, high = float(given["from"]), float(given["to"])
    if spacing == "log" and not (low > 0 and high > 0):
        raise ValueError(f"from and to must be above 0 with log spacing, got {low} and {high}")
    if count > 1 and low == high:
        raise ValueError(f"from and to must differ, got {low} twice")
    return _between(low, high, count, spacing == "log")


def _between(low: float, high: float, count: int, log: bool) -> Iterator[float]:
    for k in range(count):
        part = k / max(count - 1, 1)
        value = low ** (1 - part) * high**part if log else low + part * (high - low)
        yield low if k == 0 else high if k == count - 1 else float(f"{value:.6g}")


def _check_cells(study: Study) -> None:
    """Check the scenarios of all cells, of those that differ only in the seed only the first, and all seeds, until
    LISTED are wrong."""
    seen: set[str] = set()
    wrong: dict[str, str] = {}  # what: label of the first cell
    for cell in study.cells:
        kind, seed = cell.kind, f"seed {cell.changes.get('seed')!r}"
        if kind in seen and seed in seen:
            continue
        if len(wrong) >= LISTED:
            break
        seen |= {kind, seed}
        report(f"checks of {len(study.cells)} cells", cell.number / len(study.cells))
        try:
            study.steps(cell)
        except (InputError, RecursionError) as error:
            for line in str(error).splitlines():
                wrong.setdefault(line.removeprefix(f"{study.base.name}: "), cell.label)
    if wrong:
        raise ScenarioError([f"{study.source}: cell {label}: {what}" for what, label in wrong.items()])
