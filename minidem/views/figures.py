"""What all the plots share: colours, markers, and writing PNG and SVG."""

import io
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..engine.rotation.registry import SCHEMES

# Okabe and Ito's colours, which colour-blind readers tell apart; line styles and markers tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def style_of(integrator: str) -> dict[str, Any]:
    """Line, colour and marker of an integrator: the same in every figure."""
    k = list(SCHEMES).index(integrator)
    look = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[k // len(COLOURS) % len(LINES)]}
    return {**look, "marker": MARKERS[(k + k // len(COLOURS)) % len(MARKERS)], "label": integrator}


def new_figure(rows: int = 1, columns: int = 1, width: float = 0.0, height: float = 0.0) -> tuple[Figure, Any]:
    """A figure and its axes, (rows, columns) of them unless there is one."""
    figure = Figure(figsize=(width or 4.6 * columns, height or 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns)
    for axis in figure.axes:
        axis.grid(alpha=0.3, linewidth=0.5)
    return figure, axes


def log_log(axis: Any, x: str, y: str, title: str = "") -> None:
    axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y, title=title)


def settings() -> Any:
    """Of all that is saved: the same figure always gives the same SVG."""
    return matplotlib.rc_context({"svg.hashsalt": "minidem", "font.size": 9.0})


def svg_text(figure: Figure) -> str:
    """The figure as an element of an HTML page."""
    text = io.StringIO()
    with settings():
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()[text.getvalue().index("<svg") :]


def saved(figure: Figure, stem: Path, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Files of the figure."""
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in formats]
    with settings():
        for file in files:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files
