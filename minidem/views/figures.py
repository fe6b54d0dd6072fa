"""What all figures share: sizes, titles and limits, and PNG, SVG, PDF and CSV files."""

import io
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..errors import InputError
from ..files.spreadsheets import csv_text
from ..files.whole import replacing
from ..printable import printable

SCREEN = 6.4  # inches
COLUMNS = {1: 85 / 25.4, 2: 175 / 25.4}  # width of one and of two columns of a page, inches
DPI = 300  # of PNG files
LONGEST_LABEL = 100  # characters
DEVIATION = "|E − E$_0$| / |E$_0$|"  # label of an axis


@dataclass(frozen=True)
class Plot:
    """A figure with the data it shows."""

    figure: Figure
    data: Mapping[str, Sequence[Any]]  # columns of the CSV file
    report: Mapping[str, Any]  # numbers for JSON


@dataclass(frozen=True)
class Layout:
    """What users choose of a figure; None leaves it as it is."""

    columns: int | None = None  # of a page, that the figure is as wide as
    title: str | None = None
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    x_label: str | None = None
    y_label: str | None = None

    @property
    def width(self) -> float:
        """Width of the figure, inches."""
        return SCREEN if self.columns is None else COLUMNS[self.columns]

    def wrapped(self, title: str) -> str:
        """A title in lines that the figure has room for."""
        return "\n".join(textwrap.wrap(title, round(12 * self.width)))

    def legend_columns(self, labels: Sequence[str], most: int) -> int:
        """Columns of a legend below the figure that its width has room for."""
        return max(1, min(most, len(labels), round(14 * self.width) // (max(map(len, labels)) + 8)))


DEFAULT = Layout()


def arranged(figure: Figure, layout: Layout) -> None:
    """Apply the title to the first axes of a figure, the labels and limits of y to the last, and those of x to all."""
    first, last = figure.axes[0], figure.axes[-1]
    if layout.title is not None:
        first.set_title("")
        figure.suptitle(layout.wrapped(layout.title), fontsize=10)  # above a legend that is above the axes
    if layout.x_label is not None:
        last.set_xlabel(layout.x_label)
    if layout.y_label is not None:
        last.set_ylabel(layout.y_label)
    for limits, axes, name in ((layout.x_limits, figure.axes, "x"), (layout.y_limits, [last], "y")):
        if limits is None:
            continue
        for axis in axes:
            if getattr(axis, f"get_{name}scale")() == "log" and limits[0] <= 0:
                raise InputError(f"--{name}lim {limits[0]:g}:{limits[1]:g}: this axis is logarithmic; give positive limits")
            getattr(axis, f"set_{name}lim")(limits)


def as_label(text: str) -> str:
    """A text with names, for matplotlib: it would take $ for a formula, and leave out a label that begins with _."""
    shown = printable(text)
    if len(shown) > LONGEST_LABEL:
        shown = f"{shown[: LONGEST_LABEL // 2]}...{shown[-LONGEST_LABEL // 2 :]}"
    return (" " if shown.startswith("_") else "") + shown.replace("$", r"\$")


def new_figure(rows: int = 1, columns: int = 1, width: float = 0.0, height: float = 0.0) -> tuple[Figure, Any]:
    """A figure and its axes: an array (rows, columns), or one. Sizes are in inches."""
    figure = Figure(figsize=(width or 4.6 * columns, height or 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns)
    for axis in figure.axes:
        axis.grid(alpha=0.3, linewidth=0.5)
    return figure, axes


def log_log(axis: Any, x: str, y: str, title: str = "") -> None:
    """Make both axes logarithmic, and label them."""
    axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y, title=title)


@contextmanager
def settings(editable: bool) -> Iterator[None]:
    """Context for saving figures: the same figure always gives the same SVG; text in SVG and PDF is text if `editable`."""
    svg = "none" if editable else "path"
    options: Any = {"svg.hashsalt": "minidem", "font.size": 9.0, "svg.fonttype": svg, "pdf.fonttype": 42}
    with matplotlib.rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # names may hold any character
        yield


def svg_text(figure: Figure) -> str:
    """The figure as an SVG element of an HTML page, with its own letters: readers may not have the font."""
    text = io.StringIO()
    with settings(editable=False):
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()[text.getvalue().index("<svg") :]


def saved(figure: Figure, stem: Path, formats: tuple[str, ...] = ("png", "svg"), dpi: int = DPI) -> list[Path]:
    """Write a figure to STEM.FORMAT for each format; returns the files."""
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in formats]
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same figure gives the same file
    with settings(editable=True):
        for file in files:
            with replacing(file) as new:
                figure.savefig(new, dpi=dpi, metadata=dates.get(file.suffix))
    return files


def columns_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """The text of a CSV file with these columns, names in the first row."""
    return csv_text([list(columns), *zip(*columns.values(), strict=True)])
