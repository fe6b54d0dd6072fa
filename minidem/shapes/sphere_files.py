"""Files of spheres: rows of x, y, z, radius, and the moments of the mesh that they were fitted to."""

import math
import re
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..small_files import line_at, text_of
from . import MAX_SPHERES
from .union import Moments

Array = NDArray[np.float64]
LARGEST_FILE = 8 * 2**20  # bytes; far more than any list of MAX_SPHERES
REMEDY = "give a file of x, y, z, radius rows"


def read_spheres(path: str | PathLike[str]) -> Array:
    """Up to MAX_SPHERES spheres (n, 4) of a text file with rows of x, y, z, radius, in the file's unit of length.

    Commas, semicolons, spaces or tabs separate columns, # starts a comment, the first row may be a header.
    """
    text = _text(Path(path))
    rows: list[list[float]] = []
    header_allowed = True  # in the first row that is not blank
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        fields = re.split(r"\s*[,;]\s*|\s+", re.sub(r"\s*[,;]$", "", content))  # one separator may end a row
        is_header = header_allowed and all(field and _number(field) is None for field in fields)
        header_allowed = False
        if is_header:
            continue
        where = f"{path}: line {number}"
        if len(fields) != 4:
            raise InputError(f"{where}: {len(fields)} columns instead of the 4 of x, y, z, radius")
        row = []
        for field in fields:
            value = _number(field)
            if value is None:
                raise InputError(f"{where}: not a number: {field[:40]!r}")
            if not math.isfinite(value):
                raise InputError(f"{where}: not a finite number: {field[:40]!r}")
            row.append(value)
        if row[3] <= 0.0:
            raise InputError(f"{where}: the radius must be positive, got {fields[3][:40]}")
        if len(rows) == MAX_SPHERES:
            raise InputError(f"{where}: more than the {MAX_SPHERES} spheres that a clump may have; take fewer")
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: no spheres in it; give rows of x, y, z, radius")
    return np.array(rows)


def read_mesh_moments(path: str | PathLike[str]) -> Moments:
    """The moments of the mesh that a file of spheres was fitted to, from the comments at its top; lengths as in the file."""
    path = Path(path)
    text = _text(path)
    found: list[Array] = []
    for key, count in (("mesh volume", 1), ("mesh center", 3), ("mesh second moments", 6)):
        match = re.search(rf"^# {key} = (.*)$", text, re.MULTILINE)
        numbers = [_number(field) for field in match[1].split()] if match else []
        if len(numbers) != count or not all(n is not None and math.isfinite(n) for n in numbers):
            remedy = "make the file with minidem clump, or leave mass_from out"
            raise InputError(f'{path}: no line "# {key} = " with {count} numbers; {remedy}')
        found.append(np.array(numbers, float))
    xx, yy, zz, xy, xz, yz = found[2]
    return Moments(float(found[0][0]), found[1], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _text(path: Path) -> str:
    """The content of a text file of at most LARGEST_FILE bytes, without a byte order mark."""
    text = text_of(path, LARGEST_FILE, REMEDY).removeprefix("\ufeff")
    if "\0" in text:
        raise InputError(f"{path}: line {line_at(text, text.index(chr(0)))}: not a text file; {REMEDY}")
    return text


def _number(field: str) -> float | None:
    """The number that a field of a row holds; None if it is none."""
    try:
        return None if "_" in field else float(field)
    except ValueError:
        return None
