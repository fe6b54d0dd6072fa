"""Figures of studies and of runs: the energy deviation against the time step, and energies over time.

Reads files only, of what has ended, goes on or was killed; never sees a kernel.
"""

import csv
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from ..engine.rotation.registry import SCHEMES
from ..errors import InputError, unknown_name
from ..files.manifest import manifest_of
from ..files.trajectory import Trajectory
from ..scenario.tables import read_text
from ..study.records import Record, cells_of, identity_of, read_records
from .figures import COLOURS, LINES, MARKERS, new_figure, saved, style_of

Array = NDArray[np.float64]
Lines = Mapping[str, tuple[Sequence[float], Sequence[Sequence[float]]]]  # label: x of its points, deviations of their runs

DEVIATION = "|E − E$_0$| / |E$_0$|"
MEASURES = {  # what is taken of the deviations in the energy log of a run
    "mean": f"mean of {DEVIATION}",
    "last": f"{DEVIATION} at the end",
    "max": f"largest {DEVIATION}",
    "paper": f"smaller of mean and last {DEVIATION}",  # the number that the SPIRAL paper's script reports
}
SHORT = {"time.dt": "dt", "integrator.rotation": "integrator"}
SUFFIXES = ("png", "svg", "csv")
TERMS = {  # of the energy log, with their looks
    "kinetic_translational": ("kinetic, translational", COLOURS[0], "-"),
    "kinetic_rotational": ("kinetic, rotational", COLOURS[1], "--"),
    "elastic": ("elastic", COLOURS[2], ":"),
    "gravity": ("gravity", COLOURS[3], "-."),
    "total": ("total", COLOURS[6], "-"),
}
FARTHEST = 30.0  # the Rayleigh time is marked if it is at most that many times the largest step


@dataclass(frozen=True)
class Plot:
    figure: Figure
    data: Mapping[str, Sequence[Any]]  # columns of the CSV file
    report: Mapping[str, Any]  # the numbers, for JSON


def plot_of(directories: Sequence[Path], measure: str | None = None) -> Plot:
    """Of one study or of some runs."""
    if measure is not None and measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    directories = list({directory.resolve(): directory for directory in directories}.values())
    kinds = {directory: kind_of(directory) for directory in directories}
    studies = [directory for directory, kind in kinds.items() if kind == "study"]
    if not studies:
        if measure is not None:
            raise InputError(f"--measure {measure}: is for studies; {directories[0]} is a run, of which every row is drawn")
        return runs_plot(directories)
    if len(directories) > 1:
        beside = directories[1 - directories.index(studies[0])] if len(directories) == 2 else "others"
        raise InputError(f"{studies[0]}: a study is plotted alone, not with {beside}; give one study, or runs only")
    return study_plot(studies[0], measure or "mean")


def kind_of(directory: Path) -> str:
    written = "give a directory that minidem study or minidem run wrote"
    try:
        if not directory.exists():
            raise InputError(f"{directory}: no such directory; {written}")
        if not directory.is_dir():
            raise InputError(f"{directory}: is a file; {written}")
        if (directory / "study.json").exists():
            return "study"
        if any((directory / name).exists() for name in ("manifest.json", "trajectory.h5")):
            return "run"
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; {written}") from None
    raise InputError(f"{directory}: holds neither a study (study.json) nor a run (manifest.json); {written}")


# --- studies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """The runs of a study that differ in the seed alone."""

    line: tuple[Any, ...]  # values of the axes that tell the lines apart
    x: float  # NaN if not known: a step given in Rayleigh times, and no run that got as far as to work it out
    deviations: tuple[float, ...]  # of the runs that ended well
    failed: int


def study_plot(directory: Path, measure: str = "mean") -> Plot:
    """Deviation against the time step, or whatever varies."""
    identity = identity_of(directory)
    try:
        cells = cells_of(identity)
        fixed_integrator = tomllib.loads("\n".join(identity["scenario"]))["integrator"]["rotation"]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{directory}/study.json: not one of minidem ({error}); run the study anew") from None
    records = read_records(directory, len(cells))
    values = {axis: [cell.changes[axis] for cell in cells] for axis in identity["axes"]}
    x_axis = x_axis_of(directory, values)
    axes = [axis for axis, along in values.items() if axis not in (x_axis, "seed") and varies(along)]
    axes.sort(key=lambda axis: axis != "integrator.rotation")  # which is named first
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
    told = [] if len(records) == len(cells) else [f"{len(records)} of {len(cells)} runs are in"]
    told += [f"{failed} failed run{'s' if failed > 1 else ''} left out"] if failed else []
    rayleigh = rayleigh_time_of(records.values())
    figure = study_figure(
        {label: shown(own) for label, own in lines.items() if shown(own)[0]},
        "time step (s)" if x_axis == "time.dt" else x_axis,
        MEASURES[measure],
        title="; ".join([identity["name"], *told]),
        rayleigh=rayleigh if x_axis == "time.dt" else None,
        orders=(1, 2) if x_axis == "time.dt" else (),
        log_x=x_axis == "time.dt" or more_than_a_decade([point.x for point in points]),
    )
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
    if not records:
        return "no run has ended yet; run the study, with --resume if it was begun, or wait"
    reasons = [record["reason"] for record in records.values() if record.get("reason")]
    reason = f" ({reasons[0]})" if reasons else ""
    return f"of {len(records)} runs that ended none has an energy deviation{reason}; mend the study, or try --retry-failed"


def x_axis_of(directory: Path, values: Mapping[str, list[Any]]) -> str:
    """The time step if it varies, otherwise the first number that does."""
    if varies(values.get("time.dt", [])):
        return "time.dt"
    for axis, along in values.items():
        if axis != "seed" and varies(along) and all(is_number(value) for value in along):
            return axis
    found = ", ".join(axis for axis, along in values.items() if varies(along)) or "nothing"
    remedy = "give the study an axis dt, or another of numbers"
    raise InputError(f"{directory}: no axis to plot against: {found} varies, but no number beside the seed; {remedy}")


def varies(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def more_than_a_decade(x: Sequence[float]) -> bool:
    return min(x) > 0 and max(x) > 10 * min(x)


def x_of(axis: str, value: Any, records: Sequence[Record]) -> float:
    if is_number(value):
        return float(value)
    steps = [record["dt"] for record in records if record.get("dt") is not None] if axis == "time.dt" else []
    return float(steps[0]) if steps else math.nan


def label_of(axes: Sequence[str], line: Sequence[Any]) -> str:
    """Integrators go by their names alone."""
    values = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in line]
    parts = zip(axes, values, strict=True)
    return ", ".join(value if axis == "integrator.rotation" else f"{axis} = {value}" for axis, value in parts)


def deviation_of(record: Record, measure: str) -> float | None:
    """None of a run that failed, or that began without energy."""
    drifts = [record.get(f"drift_{name}") for name in (("mean", "last") if measure == "paper" else (measure,))]
    known = [float(drift) for drift in drifts if drift is not None]
    return min(known) if record["status"] == "ok" and len(known) == len(drifts) else None


def rayleigh_time_of(records: Sequence[Record] | Any) -> float | None:
    """s; None if it is not known, or not the same for all."""
    times = [record["dt"] / record["dt_rayleigh"] for record in records if record.get("dt_rayleigh")]
    return float(times[0]) if times and np.allclose(times, times[0], rtol=1e-6, atol=0.0) else None


def shown(points: Sequence[Point]) -> tuple[list[float], list[tuple[float, ...]]]:
    """What of a line can be drawn."""
    some = [point for point in points if point.deviations and math.isfinite(point.x)]
    return [point.x for point in some], [point.deviations for point in some]


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; NaN for a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def statistics_of(point: Point) -> dict[str, float | int | None]:
    """For CSV and JSON, where what is no number is left empty."""
    values = point.deviations
    numbers = {"x": point.x} | dict.fromkeys(("mean", "standard_error", "min", "max"), math.nan)
    if values:
        numbers |= {"mean": float(np.mean(values)), "min": min(values), "max": max(values)}
        numbers["standard_error"] = standard_error(values)
    finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return {"x": finite.pop("x"), "runs": len(values), **finite, "failed": point.failed}


def slope_of(x: Sequence[float], runs: Sequence[Sequence[float]]) -> float | None:
    """Of the logarithm of the mean deviation against that of x; None where there is none."""
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
) -> Figure:
    """A line through the means with their standard errors, the single runs behind it, and guides for the orders."""
    figure, axis = new_figure(width=6.4, height=5.4)
    for look, (x, runs) in zip(looks(list(lines)), lines.values(), strict=True):
        each = [(at, value) for at, values in zip(x, runs, strict=True) for value in values]
        faint = {"color": look["color"], "marker": look["marker"], "markersize": 3, "alpha": 0.4, "markeredgewidth": 0}
        axis.plot(*zip(*each, strict=True), linestyle="none", **faint, zorder=2)
        means, errors = [float(np.mean(values)) for values in runs], [standard_error(values) for values in runs]
        look |= {"markerfacecolor": "none", "markersize": 6}  # hollow: lines that are the same do not hide each other
        axis.errorbar(x, means, errors, **look, linewidth=1.2, capsize=2.5, elinewidth=1, zorder=3)
    some = any(value > 0 for _, runs in lines.values() for values in runs for value in values)  # for a logarithmic axis
    axis.set(xscale="log" if log_x else "linear", yscale="log" if some else "linear", xlabel=x_label, ylabel=y_label)
    if title:
        axis.set_title(title, fontsize=9)
    largest = max(max(x) for x, _ in lines.values())
    if rayleigh is not None:
        if rayleigh < FARTHEST * largest:
            axis.axvline(rayleigh, color="0.3", linestyle="--", linewidth=1, zorder=1)
            mark = {"rotation": 90, "ha": "right", "va": "top", "fontsize": 8, "color": "0.3"}
            axis.text(rayleigh, 0.97, "Rayleigh time ", transform=axis.get_xaxis_transform(), **mark)
        above = axis.secondary_xaxis("top", functions=(lambda dt: dt / rayleigh, lambda part: part * rayleigh))
        above.set_xlabel("time step / Rayleigh time")
        label_ticks(above.xaxis, axis.get_xlim())
    smallest = min(min(x) for x, _ in lines.values())
    if log_x and some and largest > smallest:
        add_guides(axis, smallest, largest, orders)
    label_ticks(axis.xaxis, axis.get_xlim())
    label_ticks(axis.yaxis, axis.get_ylim())
    columns = max(1, min(4, len(lines), 90 // (max(map(len, lines)) + 8)))
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8)
    return figure


def looks(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Colour, line and marker of each: those that integrators have everywhere, unless there are other lines, too."""
    if all(label in SCHEMES for label in labels):
        return [style_of(label) for label in labels]
    n = len(COLOURS)
    return [
        {
            "color": COLOURS[k % n],
            "linestyle": LINES[k // n % len(LINES)],
            "marker": MARKERS[(k + k // n) % len(MARKERS)],
            "label": label,
        }
        for k, label in enumerate(labels)
    ]


def label_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """More than the powers of ten on a logarithmic axis that has few of them."""
    if "log" in axis.get_scale() and (span := limits[1] / limits[0]) < 100:  # that of a secondary axis is "functionlog"
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span > 5 else range(1, 10)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1e-3 else f"{value:.0e}"))
        axis.set_minor_formatter(NullFormatter())


def add_guides(axis: Any, smallest: float, largest: float, orders: Sequence[int]) -> None:
    """Thin grey lines of given slopes, from the lower left corner of the data as far as they stay in the picture."""
    bottom, top = axis.get_ylim()
    start = bottom * (top / bottom) ** 0.04
    for order in orders:
        end = min(largest, smallest * (0.9 * top / start) ** (1 / order))
        y = start * (end / smallest) ** order
        axis.plot([smallest, end], [start, y], color="0.6", linewidth=0.8, zorder=1)
        above = {"xytext": (-2, 3), "textcoords": "offset points", "ha": "right", "va": "bottom"}
        text = {**above, "fontsize": 8, "color": "0.4"}
        axis.annotate(f"order {order}", (end, y), **text)
    axis.set_ylim(bottom, top)


# --- runs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    directory: Path
    integrator: str
    dt: float  # s
    status: str  # as in the manifest: of a run that was killed, "running"
    log: Mapping[str, Array]  # of the energies (J), with step and time (s)
    initial: float  # energy, J: the exact one of a run that ended, otherwise of the first row

    @property
    def deviation(self) -> Array:
        """|E - E0| / |E0|; NaN where E0 is zero."""
        with np.errstate(all="ignore"):  # of a run that blew up
            return np.asarray(np.abs(self.log["total"] - self.initial) / np.abs(self.initial or math.nan))


def read_run(directory: Path) -> Run:
    with Trajectory(directory) as trajectory:
        log = trajectory.observables
    if not len(log["total"]):
        raise InputError(f"{directory}: no energies to plot; wait for the first row of its log, or run it anew")
    try:
        scenario = tomllib.loads(read_text(directory / "resolved.toml", regular=True))
        integrator, dt = str(scenario["integrator"]["rotation"]), scenario["time"]["dt"]
        if not is_number(dt):  # in Rayleigh times
            dt = log["time"][-1] / log["step"][-1] if log["step"][-1] else math.nan
        dt = float(dt)
    except (InputError, ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{directory}/resolved.toml: cannot be read ({error}); give a whole run directory") from None
    manifest = manifest_of(directory)
    try:
        initial = float(manifest["summary"]["energy"]["initial"])
    except (LookupError, TypeError, ValueError, OverflowError):  # killed, or without an energy at its start
        initial = float(log["total"][0])
    return Run(directory, integrator, dt, str(manifest.get("status", "running")), log, initial)


def runs_plot(directories: Sequence[Path]) -> Plot:
    """Energies and their relative deviation over time."""
    runs = [read_run(directory) for directory in directories]
    labels = run_labels(runs)
    rows = {
        "run": lambda run: [str(run.directory)] * len(run.log["step"]),
        "integrator": lambda run: [run.integrator] * len(run.log["step"]),
        "dt": lambda run: [run.dt] * len(run.log["step"]),
        "step": lambda run: run.log["step"].tolist(),
        "time": lambda run: run.log["time"].tolist(),
        "total": lambda run: run.log["total"].tolist(),
        "deviation": lambda run: run.deviation.tolist(),
    }
    columns = {name: [value for run in runs for value in of_run(run)] for name, of_run in rows.items()}
    report = {"runs": [report_of(run, label) for run, label in zip(runs, labels, strict=True)]}
    return Plot(runs_figure(runs, labels), columns, report)


def report_of(run: Run, label: str) -> dict[str, Any]:
    deviation = run.deviation
    numbers = {
        "dt": run.dt,
        "time": run.log["time"][-1],
        "energy_initial": run.initial,
        "drift_mean": deviation.mean(),
        "drift_last": deviation[-1],
        "drift_max": deviation.max(),
    }
    finite = {name: float(value) if math.isfinite(value) else None for name, value in numbers.items()}
    names = {"run": str(run.directory), "label": label, "integrator": run.integrator, "status": run.status}
    return {**names, "rows": len(deviation), **finite}


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Integrator and step, and the directory where these are equal."""
    labels = [f"{run.integrator}, dt {run.dt:.4g} s" for run in runs]
    return [
        f"{label} ({run.directory})" if labels.count(label) > 1 else label for run, label in zip(runs, labels, strict=True)
    ]


def runs_figure(runs: Sequence[Run], labels: Sequence[str]) -> Figure:
    """Above: the terms of the energy of a run alone, or the total energies of several. Below: their deviations."""
    figure, (energies, deviations) = new_figure(2, 1, width=6.4, height=6.4)
    integrators = [run.integrator for run in runs]
    styles = looks(integrators if len(set(integrators)) == len(runs) else labels)
    for k, (run, label, look) in enumerate(zip(runs, labels, styles, strict=True)):
        time, every = run.log["time"], max(1, len(run.log["time"]) // 10)
        look |= {"label": label, "markersize": 4, "linewidth": 0.9, "markevery": (every * k // len(runs), every)}
        deviations.plot(time, positive(run.deviation), **look)
        if len(runs) > 1:
            energies.plot(time, run.log["total"], **look)
    if len(runs) == 1:
        for name, (label, colour, line) in TERMS.items():
            if name != "gravity" or np.any(runs[0].log[name] != 0):
                energies.plot(runs[0].log["time"], runs[0].log[name], line, color=colour, linewidth=1, label=label)
        energies.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False)
    energies.set(ylabel="energy (J)" if len(runs) == 1 else "total energy (J)")
    deviations.set(xlabel="time (s)", ylabel=DEVIATION)
    seen = np.concatenate([positive(run.deviation) for run in runs])
    if np.isfinite(seen).any():
        deviations.set(yscale="log")
        deviations.set_ylim(bottom=0.5 * float(np.nanpercentile(seen, 1)))  # the rest is the round-off of the first steps
    else:
        deviations.text(0.5, 0.5, "none that could be drawn", ha="center", transform=deviations.transAxes)
    columns = max(1, min(3, len(runs), 90 // (max(map(len, labels)) + 8)))
    figure.legend(*deviations.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8)
    return figure


def positive(values: Array) -> Array:
    """NaN for what has no place on a logarithmic axis."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


# --- files --------------------------------------------------------------------------------------------------


def stem_of(directories: Sequence[Path], out: Path | None, overwrite: bool) -> Path:
    """Where the files go, without their suffixes; they are not there yet, or may be replaced."""
    stem = out or (directories[0] / "plot" if len(directories) == 1 else Path("energy"))
    if stem.suffix[1:] in SUFFIXES:
        stem = stem.with_suffix("")
    try:
        if stem.is_dir():
            raise InputError(f"--out: {stem} is a directory; give the beginning of the files' names, as in {stem}/plot")
        there = [str(file) for file in (named(stem, suffix) for suffix in SUFFIXES) if file.exists()]
    except OSError as error:
        raise InputError(f"--out: {stem} cannot be written: {error.strerror}") from None
    if there and not overwrite:
        raise InputError(f"--out: {', '.join(there)} exists already; choose another name or give --overwrite")
    return stem


def named(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def write(plot: Plot, stem: Path) -> list[Path]:
    """STEM.png, STEM.svg, STEM.csv."""
    table = named(stem, "csv")
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        files = saved(plot.figure, stem)
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(plot.data)
            writer.writerows(zip(*plot.data.values(), strict=True))
    except OSError as error:
        raise InputError(f"--out: {stem} cannot be written: {error.strerror}") from None
    return [*files, table]
