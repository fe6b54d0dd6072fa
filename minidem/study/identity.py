"""study.json: what the results in a study directory depend on. `Study.identity` is what it holds."""

import difflib
import json
import math
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..small_files import MissingFile, is_finite, json_of, line_at, text_of, toml_of
from .plan import Cell

LARGEST_FILE = 2**28  # bytes; 10^6 cells have 10^8
REMEDY = "not one of minidem; run the study again"
COMPARED = 1000  # lines of a difference: the time grows as their square
SHOWN, WIDTH = 40, 300  # lines of a difference, and characters of each


def identity_of(directory: Path) -> dict[str, Any]:
    """The content of the study.json of a study directory, checked."""
    path = directory / "study.json"
    try:
        text = text_of(path, LARGEST_FILE, REMEDY)
    except MissingFile:
        raise InputError(f"{directory}: no study here; run one with minidem study STUDY.toml --out {directory}") from None
    identity = json_of(text, path, REMEDY)
    if not isinstance(identity, dict):
        raise InputError(f"{path}: line 1: must be a JSON object; {REMEDY}")
    identity = {"name": ""} | identity
    for key, fault in faults_of(identity).items():
        where = line_at(text, max(0, text.find(f'"{key}"')))
        raise InputError(f"{path}: line {where}: {key}: {fault}; {REMEDY}")
    return identity


def faults_of(identity: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the content of a study.json, by key."""
    faults = {key: "required, but missing" for key in ("scenario", "axes", "cells") if key not in identity}
    if not isinstance(identity["name"], str):
        faults["name"] = "must be text"
    for key in ("scenario", "axes"):
        if key not in faults and not is_list_of(str, identity[key]):
            faults[key] = "must be a list of texts"
    if faults:
        return faults
    axes, cells = identity["axes"], identity["cells"]
    if len(set(axes)) < len(axes):
        faults["axes"] = "must have every name once"
    if not is_list_of(list, cells):
        faults["cells"] = "must be a list of lists"
    else:
        for k, values in enumerate(cells):
            if len(values) != len(axes):
                faults["cells"] = f"cell {k} has {len(values)} values for {len(axes)} axes"
            elif not all(map(is_value, values)):
                faults["cells"] = f"cell {k} must have texts, numbers, true or false, or lists and tables of these"
    return faults


def is_list_of(kind: type, value: Any) -> bool:
    """Whether a value is a list with elements of this kind only."""
    return isinstance(value, list) and all(isinstance(element, kind) for element in value)


def is_value(value: Any) -> bool:
    """Whether a value may be that of a scenario key: infinity may, NaN may not."""
    if isinstance(value, list):
        return all(map(is_value, value))
    if isinstance(value, dict):
        return all(map(is_value, value.values()))
    return isinstance(value, str | bool) or is_finite(value) or value in (math.inf, -math.inf)


def cells_of(identity: Mapping[str, Any]) -> list[Cell]:
    """The cells of a study directory."""
    return [Cell(k, dict(zip(identity["axes"], values, strict=True))) for k, values in enumerate(identity["cells"])]


def scenario_of(directory: Path, identity: Mapping[str, Any]) -> tuple[str, str]:
    """The base scenario of a study directory with every default filled in, as TOML, and its rotational integrator."""
    text, name = "\n".join(identity["scenario"]), f"{directory / 'study.json'}: scenario"
    try:
        integrator = toml_of(text, name, REMEDY)["integrator"]["rotation"]
    except (LookupError, TypeError):
        integrator = None
    if not isinstance(integrator, str):
        raise InputError(f"{name}: integrator.rotation: must be text; {REMEDY}")
    return text, integrator


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The difference between the identities of two studies, as lines of text."""

    def lines_of(identity: Mapping[str, Any]) -> list[str]:
        entries = [(key, entry) for key in {**now, **before} for entry in _listed(identity.get(key))]
        return [f"{key}: {entry if isinstance(entry, str) else json.dumps(entry)}" for key, entry in entries]

    there, here = lines_of(before), lines_of(now)
    for _ in range(2):  # without what is equal at the beginning, then without what is equal at the end
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(there, here, strict=False)))
        there, here = there[equal:][::-1], here[equal:][::-1]
    found = difflib.unified_diff(there[:COMPARED], here[:COMPARED], "there", "here", n=0, lineterm="")
    lines = [line[:WIDTH] for line in found if not line.startswith("@@")]
    more = len(lines) - SHOWN + max(0, len(there) - COMPARED, len(here) - COMPARED)
    return "\n".join(lines[:SHOWN] + ([f"... and {more} lines more"] if more > 0 else []))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
