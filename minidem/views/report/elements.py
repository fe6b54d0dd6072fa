"""The elements of a page. Everything that comes from files is escaped."""

import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from ...scenario.reading import read_text
from ...small_files import MissingFile
from ..figures import Plot, svg_text


@dataclass
class Report:
    """The content of a page."""

    title: str
    parts: list[str] = field(default_factory=list)  # HTML
    notes: list[str] = field(default_factory=list)  # on what is missing or unfinished, plain text

    def add(self, heading: str, *parts: str) -> None:
        """Add a section of HTML parts."""
        self.parts.append("\n".join([f"<section><h2>{text(heading)}</h2>", *parts, "</section>"]))

    def note(self, words: str) -> str:
        """Add a note; returns it as HTML."""
        self.notes.append(words)
        return f'<p class="note">{text(words)}</p>'


NOT_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def text(value: Any) -> str:
    """A value as plain text in HTML, escaped. Names may hold characters that HTML does not allow: these are replaced."""
    return html.escape(NOT_HTML.sub("\ufffd", str(value)), quote=True)


def pairs_table(rows: Mapping[str, str]) -> str:
    """Table of names and values that are plain text."""
    lines = [f"<tr><th>{text(name)}</th><td>{text(value)}</td></tr>" for name, value in rows.items()]
    return f"<table>{''.join(lines)}</table>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table of cells that are HTML already, with or without their <td>."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    lines = ["".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows]
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'


def folded(heading: str, inner: str) -> str:
    """HTML that is hidden until its heading is clicked."""
    return f"<details><summary>{text(heading)}</summary>{inner}</details>"


def figure_of(plot: Plot, label: str) -> str:
    """The figure as SVG, with a label for screen readers."""
    picture = svg_text(plot.figure).replace("<svg ", f'<svg role="img" aria-label="{text(label)}" ', 1)
    return f"<figure>{picture}</figure>"


def links(files: Iterable[Path], out: Path) -> str:
    """List of links to the files that exist, relative to the page `out`."""
    items = []
    for file in files:
        if file.exists():
            items.append(f'<li><a href="{text(address(file, out))}">{text(file.name)}</a> ({size_of(file)})</li>')
    return f"<ul>{''.join(items)}</ul>"


def address(file: Path, page: Path) -> str:
    """Address of a file for a link in a page. Names may hold any character."""
    try:
        relative = PurePath(os.path.relpath(file.resolve(), page.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        return file.resolve().as_uri()
    return quote(os.fsencode(relative))


def size_of(file: Path) -> str:
    """Size of a file, with its unit."""
    size = file.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def brief(value: Any) -> str:
    """A value with at most six digits; empty for None."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def read(path: Path) -> str:
    """Text of a scenario or study file; empty if there is none."""
    try:
        return read_text(path, True, "remove the file to make the page without it")
    except MissingFile:
        return ""
