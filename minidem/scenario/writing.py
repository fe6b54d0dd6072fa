"""Values, keys, places and whole scenarios as TOML text."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Loc = tuple[str | int, ...]  # the place of a value: ("body", 2, "position")

NAMED_TABLES = ("material", "clump")  # written [material.NAME]
LISTED_TABLES = ("place", "body", "wall")  # written [[place]]


def value_text(value: Any) -> str:
    """A value as TOML; a table or a huge integer, which only messages show, in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
    if isinstance(value, int):  # Python refuses to print integers of thousands of digits
        return str(value) if value.bit_length() < 200 else "a huge whole number"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return "a table" if isinstance(value, dict) else str(value)


def key_text(key: str) -> str:
    """A key as TOML, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else value_text(key)


def shown(value: Any) -> str:
    """A value as a message shows it: at most 70 characters."""
    return brief(value_text(value))


def brief(text: str) -> str:
    """A text as a message shows it: at most 70 characters."""
    return text if len(text) <= 70 else text[:67] + "..."


def file_text(file: str) -> str:
    """An absolute path as TOML: as a file: address if it has bytes that are not UTF-8, which TOML cannot hold."""
    try:
        file.encode()
    except UnicodeEncodeError:
        file = Path(file).as_uri()
    return value_text(file)


def place_text(loc: Loc) -> str:
    """A place as a path of keys: body[2].position."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key_text(key)}" for key in loc)
    return "".join(parts).removeprefix(".")


def brief_place(loc: Loc) -> str:
    """A place as a message shows it, with keys of at most 70 characters."""
    return place_text(tuple(brief(key) if isinstance(key, str) else key for key in loc))


def document(data: Mapping[str, Any]) -> str:
    """A scenario, given as nested dicts and lists, as a TOML file."""
    tables: list[tuple[str, dict[str, Any]]] = []  # header and content
    lines = []
    for key, value in data.items():
        if key in NAMED_TABLES:
            tables += [(f"[{place_text((key, name))}]", table) for name, table in value.items()]
        elif key in LISTED_TABLES:
            tables += [(f"[[{key}]]", table) for table in value]
        elif isinstance(value, dict):
            tables.append((f"[{key}]", value))
        else:
            lines.append(f"{key} = {value_text(value)}")
    for header, table in tables:
        lines += ["", header]
        for key, value in table.items():
            text = file_text(value) if key == "file" else value_text(value)
            if key == "spheres":
                text = "[\n" + "".join(f"    {value_text(row)},\n" for row in value) + "]"
            lines.append(f"{key} = {text}")
    return "\n".join(lines) + "\n"
