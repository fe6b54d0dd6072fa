"""What all figures share: line styles, markers, and PNG, SVG and CSV files."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..engine.rotation.registry import SCHEMES
from ..files.whole import replacing
from .colours import COLOURS

# Line styles and markers make curves distinguishable in grey.
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DEVIATION = "|E − E$_0$| / |E$_0$|"  # label of an axis


@dataclass(frozen=True)
class Plot:
    """A figure with the data it shows."""

    figure: Figure
    data: Mapping[str, Sequence[Any]]  # columns of the CSV file
    report: Mapping[str, Any]  # numbers for JSON


def style_of(integrator: str) -> dict[str, Any]:
    """Line style, colour and marker of an integrator: the same in every figure."""
    return numbered_style(list(SCHEMES).index(integrator), integrator)


def styles_of(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Colour, line style and marker of each label: those of `style_of` if all labels are integrators."""
    if all(label in SCHEMES for label in labels):
        return [style_of(label) for label in labels]
    return [numbered_style(k, label) for k, label in enumerate(labels)]


def numbered_style(k: int, label: str) -> dict[str, Any]:
    """Colour, line style and marker of curve number k, for matplotlib."""
    cycle = k // len(COLOURS)
    look = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[cycle % len(LINES)]}
    return {**look, "marker": MARKERS[(k + cycle) % len(MARKERS)], "label": label}


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


def settings() -> Any:
    """Context for saving figures: the same figure always gives the same SVG."""
    return matplotlib.rc_context({"svg.hashsalt": "minidem", "font.size": 9.0})


def svg_text(figure: Figure) -> str:
    """The figure as an SVG element of an HTML page."""
    text = io.StringIO()
    with settings():
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()[text.getvalue().index("<svg") :]


def saved(figure: Figure, stem: Path, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Write a figure to STEM.FORMAT for each format; returns the files."""
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in formats]
    with settings():
        for file in files:
            with replacing(file) as new:
                figure.savefig(new, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def csv_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """The text of a CSV file with these columns, names in the first row."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
