"""What a check finds, and the texts for it. Needs the standard library only."""

import re
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    status: str  # ok, warning or failed
    found: str
    remedy: str | None = None


@dataclass(frozen=True)
class Check(Finding):
    """The result of a check, with its name."""

    name: str = ""


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, such as (1, 2) for "1.2rc3"."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


def said(error: BaseException) -> str:
    """Type and message of an error in one line, shortened."""
    return textwrap.shorten(f"{type(error).__name__}: {error}", 300)


def last_line(text: str) -> str:
    """The last line of a text, without colours and without the prefix of VTK messages."""
    lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if line.strip()]
    return textwrap.shorten(lines[-1].rpartition("| ")[2], 300) if lines else ""
