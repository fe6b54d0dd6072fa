"""Figures of studies: the energy deviation against the time step, or against what else varies."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ..errors import InputError
from ..study.identity import cells_of, identity_of, scenario_of
from ..study.records import Record, read_records
from .figures import DEFAULT, DEVIATION, SCREEN, Layout, Plot, arranged, as_label, new_figure
from .styles import styles_of

Lines = Mapping[str, tuple[Sequence[float], Sequence[Sequence[float]]]]  # label: x of its points, deviations of their runs

MEASURES = {  # which deviation of a run is plotted
    "mean": f"mean of {DEVIATION}",
    "last": f"{DEVIATION} at the end",
    "max": f"largest {DEVIATION}",
    "free": f"mean of {DEVIATION} in rows without contacts",
    "paper": f"smaller of mean and last {DEVIATION}",  # as in the script of the SPIRAL paper
}
GUIDES = ("-.", ":", "-")  # line styles of the guides for order 0, 1, 2, ...
SHORT = {"time.dt": "dt", "integrator.rotation": "integrator"}
REACHED = 0.1  # the axis of Rayleigh times is drawn if the largest time step is at least this part of one
SMALLEST, LARGEST = 1e-100, 1e100  # numbers that are drawn


@dataclass(frozen=True)
class Point:
    """The runs of a study that differ only in the seed."""

    line: tuple[Any, ...]  # values of the axes that distinguish the lines
    x: float  # NaN if unknown: dt is in Rayleigh times, and no run got far enough to compute it
    deviations: tuple[float, ...]  # of the successful runs
    failed: int


def study_plot(directory: Path, measure: str = "mean", layout: Layout = DEFAULT) -> Plot:
    """Deviation of the runs of a study against the time step, or against the first other number that varies."""
    identity = identity_of(directory)
    cells, (_, fixed_integrator) = cells_of(identity), scenario_of(directory, identity)
    records = read_records(directory, len(cells))
    values = {axis: [cell.changes[axis] for cell in cells] for axis in identity["axes"]}
    x_axis = x_axis_of(directory, values)
    axes = [axis for axis, along in values.items() if axis not in (x_axis, "seed") and varies(along)]
    axes.sort(key=lambda axis: axis != "integrator.rotation")  # the integrator comes first in labels
    if not axes:
        axes, values = ["integrator.rotation"], {"integrator.rotation": [fixed_integrator] * len(cells), **values}

    groups: dict[str, list[int]] = {}  # numbers of cells
    for cell in cells:
        key = json.dumps([*(values[axis][cell.number] for axis in axes), values[x_axis][cell.number]])
        groups.setdefault(key, []).append(cell.number)
    lines: dict[str, list[Point]] = {}
    for numbers in groups.values():
        line = tuple(values[axis][numbers[0]] for axis in axes)
        ended = [records[number] for number in numbers if number in records]
        x = x_of(x_axis, values[x_axis][numbers[0]], ended)
        found = [deviation for record in ended if (deviation := deviation_of(record, measure)) is not None]
        lines.setdefault(label_of(axes, line), []).append(Point(line, x, tuple(found), len(ended) - len(found)))
    for own in lines.values():
        own.sort(key=lambda point: (math.isnan(point.x), point.x))
    points = [point for own in lines.values() for point in own]

    failed = sum(point.failed for point in points)
    if failed == len(records):
        raise InputError(f"{directory}: nothing to plot: {why_nothing(records)}")
    notes = [] if len(records) == len(cells) else [f"{len(records)} of {len(cells)} runs have ended"]
    notes += [f"{failed} failed run{'s' if failed > 1 else ''} left out"] if failed else []
    drawn = {label: shown(own) for label, own in lines.items() if shown(own)[0]}
    if not drawn:
        raise InputError(f"{directory}: nothing to plot: every deviation is too large or too small; run the study again")
    rayleigh = rayleigh_time_of(records.values())
    figure = study_figure(
        drawn,
        "time step (s)" if x_axis == "time.dt" else as_label(x_axis),
        MEASURES[measure],
        title=as_label("; ".join([identity["name"], *notes])),
        rayleigh=rayleigh if x_axis == "time.dt" else None,
        orders=(1, 2) if x_axis == "time.dt" else (),
        log_x=x_axis == "time.dt" or more_than_a_decade([point.x for point in points]),
        layout=layout,
    )
    arranged(figure, layout)
    report = {
        "study": str(directory),
        "x": x_axis,
        "measure": measure,
        "cells": len(cells),
        "ended": len(records),
        "failed": failed,
        "rayleigh_time": rayleigh,
        "lines": [
            {"label": label, "slope": slope_of(*shown(own)), "points": [statistics_of(point) for point in own]}
            for label, own in lines.items()
        ],
    }
    rows = [statistics_of(point) for point in points]
    columns = {SHORT.get(axis, axis): [point.line[k] for point in points] for k, axis in enumerate(axes)}
    columns |= {SHORT.get(x_axis, x_axis) if name == "x" else name: [row[name] for row in rows] for name in rows[0]}
    return Plot(figure, columns, report)


def why_nothing(records: Mapping[int, Record]) -> str:
    """Why a study has no deviation to plot."""
    if not records:
        return "no run has ended yet; run the study, with --resume if it was started, or wait"
    reasons = [record["reason"] for record in records.values() if record.get("reason")]
    reason = f" ({reasons[0]})" if reasons else ""
    return (
        f"none of the {len(records)} runs that ended has an energy deviation{reason}; fix the study, or try --retry-failed"
    )


def x_axis_of(directory: Path, values: Mapping[str, list[Any]]) -> str:
    """Name of the axis to plot against: the time step if it varies, otherwise the first number that does."""
    if varies(values.get("time.dt", [])):
        return "time.dt"
    for axis, along in values.items():
        if axis != "seed" and varies(along) and all(is_number(value) for value in along):
            return axis
    found = ", ".join(axis for axis, along in values.items() if varies(along)) or "nothing"
    remedy = "give the study an axis dt, or another of numbers"
    raise InputError(f"{directory}: no axis to plot against: {found} varies, but no number except the seed; {remedy}")


def varies(values: Sequence[Any]) -> bool:
    """Whether there are at least two different values."""
    return any(value != values[0] for value in values)


def is_number(value: Any) -> bool:
    """Whether a value of a scenario key is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def more_than_a_decade(x: Sequence[float]) -> bool:
    """Whether a logarithmic axis suits these values."""
    return min(x) > 0 and max(x) > 10 * min(x)


def x_of(axis: str, value: Any, records: Sequence[Record]) -> float:
    """Value on the x axis: the number, or the time step (s) that the runs computed; NaN if unknown."""
    if is_number(value):
        return float(value) if axis != "time.dt" or value > 0 else math.nan
    steps = [record["dt"] for record in records if record.get("dt") is not None] if axis == "time.dt" else []
    return float(steps[0]) if steps else math.nan


def label_of(axes: Sequence[str], line: Sequence[Any]) -> str:
    """Name of a line; integrators are named without their key."""
    values = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in line]
    parts = zip(axes, values, strict=True)
    return ", ".join(value if axis == "integrator.rotation" else f"{axis} = {value}" for axis, value in parts)


def deviation_of(record: Record, measure: str) -> float | None:
    """Relative deviation of a run; None if it failed or started without energy."""
    drifts = [record.get(f"drift_{name}") for name in (("mean", "last") if measure == "paper" else (measure,))]
    known = [float(drift) for drift in drifts if drift is not None]
    return min(known) if record["status"] == "ok" and len(known) == len(drifts) else None


def rayleigh_time_of(records: Iterable[Record]) -> float | None:
    """Rayleigh time of the runs, s; None if it is unknown or not the same for all."""
    times = [record["dt"] / record["dt_rayleigh"] for record in records if record.get("dt") and record.get("dt_rayleigh")]
    known = times and can_be_drawn(times[0]) and np.allclose(times, times[0], rtol=1e-6, atol=0.0)
    return float(times[0]) if known else None


def shown(points: Sequence[Point]) -> tuple[list[float], list[tuple[float, ...]]]:
    """Points of a line that can be drawn: x and deviations of each."""
    some = [point for point in points if point.deviations and all(map(can_be_drawn, (point.x, *point.deviations)))]
    return [point.x for point in some], [point.deviations for point in some]


def can_be_drawn(value: float) -> bool:
    """Whether a number is neither so large nor so small that drawing it overflows; a run that blew up may give any."""
    return value == 0 or SMALLEST < abs(value) < LARGEST


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean; NaN for a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def statistics_of(point: Point) -> dict[str, float | int | None]:
    """Numbers of a point for CSV and JSON; None for what is not finite."""
    values = point.deviations
    numbers = {"x": point.x} | dict.fromkeys(("mean", "standard_error", "min", "max"), math.nan)
    if values:
        with np.errstate(over="ignore", invalid="ignore"):  # a run may have blown up
            numbers |= {"mean": float(np.mean(values)), "min": min(values), "max": max(values)}
            numbers["standard_error"] = standard_error(values)
    finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return {"x": finite.pop("x"), "runs": len(values), **finite, "failed": point.failed}


def slope_of(x: Sequence[float], runs: Sequence[Sequence[float]]) -> float | None:
    """Fitted slope of log(mean deviation) against log(x); None for less than two points."""
    mean, at = np.array([np.mean(values) for values in runs]), np.array(x)
    fit = (mean > 0) & (at > 0)
    if len(set(at[fit])) < 2:
        return None
    return float(np.polyfit(np.log(at[fit]), np.log(mean[fit]), 1)[0])


def study_figure(
    lines: Lines,
    x_label: str = "time step (s)",
    y_label: str = MEASURES["mean"],
    title: str = "",
    rayleigh: float | None = None,
    orders: Sequence[int] = (1, 2),
    log_x: bool = True,
    layout: Layout = DEFAULT,
) -> Figure:
    """A line through the means with their standard errors, the single runs, and guides for the orders."""
    figure, axis = new_figure(width=layout.width, height=min(layout.width, SCREEN) * (1.0 if layout.columns == 1 else 0.84))
    for look, (x, runs) in zip(styles_of(list(lines)), lines.values(), strict=True):
        each = [(at, value) for at, values in zip(x, runs, strict=True) for value in values]
        faint = {"color": look["color"], "marker": look["marker"], "markersize": 3, "alpha": 0.4, "markeredgewidth": 0}
        axis.plot(*zip(*each, strict=True), linestyle="none", **faint, zorder=2)
        means, errors = [float(np.mean(values)) for values in runs], [standard_error(values) for values in runs]
        look |= {"markerfacecolor": "none", "markersize": 6}  # hollow: equal lines do not hide each other
        look["label"] = as_label(look["label"])
        axis.errorbar(x, means, errors, **look, linewidth=1.2, capsize=2.5, elinewidth=1, zorder=3)
    any_positive = any(value > 0 for _, runs in lines.values() for values in runs for value in values)
    axis.set(xscale="log" if log_x else "linear", yscale="log" if any_positive else "linear", xlabel=x_label, ylabel=y_label)
    if title:
        axis.set_title(layout.wrapped(title), fontsize=9)
    largest = max(max(x) for x, _ in lines.values())
    smallest = min(min(x) for x, _ in lines.values())
    if rayleigh is not None and largest >= REACHED * rayleigh:
        if smallest <= rayleigh <= largest:
            axis.axvline(rayleigh, color="0.3", linestyle="--", linewidth=1, zorder=1, label="Rayleigh time")
        above = axis.secondary_xaxis("top", functions=(lambda dt: dt / rayleigh, lambda part: part * rayleigh))
        above.set_xlabel("time step / Rayleigh time")
        label_ticks(above.xaxis, axis.get_xlim())
    if log_x and any_positive and largest > smallest:
        add_guides(axis, smallest, largest, orders)
    label_ticks(axis.xaxis, axis.get_xlim())
    label_ticks(axis.yaxis, axis.get_ylim())
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=layout.legend_columns(labels, 4), fontsize=8)
    return figure


def label_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """Label more than the powers of ten on a logarithmic axis of less than two decades."""
    if "log" in axis.get_scale() and (span := limits[1] / limits[0]) < 100:  # "functionlog" for a secondary axis
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span > 5 else range(1, 10)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1e-3 else f"{value:.0e}"))
        axis.set_minor_formatter(NullFormatter())


def add_guides(axis: Any, smallest: float, largest: float, orders: Sequence[int]) -> None:
    """Draw thin grey lines with the slopes `orders` from the lower left corner of the data; the legend names them."""
    bottom, top = axis.get_ylim()
    start = bottom * (top / bottom) ** 0.04
    for order in orders:
        end = min(largest, smallest * (0.9 * top / start) ** (1 / order))
        y = start * (end / smallest) ** order
        dashes = GUIDES[order % len(GUIDES)]
        axis.plot([smallest, end], [start, y], dashes, color="0.6", linewidth=0.9, zorder=1, label=f"order {order}")
    axis.set_ylim(bottom, top)
