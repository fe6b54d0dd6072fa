"""CSV tables for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file: floats with all digits, None as nothing, text as `cell_text` makes it."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell_text(value) if isinstance(value, str) else value for value in row] for row in rows)
    return text.getvalue()


def cell_text(text: str) -> str:
    """A name as a text that no spreadsheet takes for a formula. Bytes of file names that are not UTF-8 are escaped."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return f"'{text}" if text.startswith(FORMULA) else text
