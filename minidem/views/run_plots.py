"""Figures of runs: energies and their deviation over time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..errors import InputError
from ..files.manifest import manifest_of
from ..files.trajectory import Trajectory
from ..scenario.reading import read_text
from ..small_files import is_finite, toml_of
from .colours import BLACK, BLUE, GREEN, PURPLE, VERMILION
from .figures import DEFAULT, DEVIATION, SCREEN, Layout, Plot, arranged, as_label, new_figure
from .styles import styles_of

Array = NDArray[np.float64]

SHORTEST = 1e-4  # part of the largest energy that the axis of total energies shows at least: its numbers stay short
TERMS = {  # columns of the energy log: label, colour, line style
    "kinetic_translational": ("kinetic, translational", BLUE, "-"),
    "kinetic_rotational": ("kinetic, rotational", VERMILION, "--"),
    "elastic": ("elastic", GREEN, ":"),
    "gravity": ("gravity", PURPLE, "-."),
    "total": ("total", BLACK, "-"),
}


@dataclass(frozen=True)
class Run:
    """What is plotted of a run."""

    directory: Path
    integrator: str
    dt: float  # s
    edges: str  # of contacts: "plain" or "corrected"
    status: str  # as in the manifest; "running" if the run was killed
    log: Mapping[str, Array]  # energies (J), step and time (s), shape (rows,) each
    initial: float  # initial energy, J: exact if the run ended, otherwise that of the first row

    @property
    def deviation(self) -> Array:
        """|E - E0| / |E0|, shape (rows,); NaN if E0 is zero."""
        with np.errstate(all="ignore"):  # the run may have blown up
            return np.asarray(np.abs(self.log["total"] - self.initial) / np.abs(self.initial or math.nan))


def read_run(directory: Path) -> Run:
    """Read the energy log, the integrator and the time step of a run."""
    with Trajectory(directory) as trajectory:
        log = trajectory.observables
    if not len(log["total"]):
        raise InputError(f"{directory}: no energies to plot; wait for the first row of its log, or run it again")
    path, remedy = directory / "resolved.toml", "give a whole run directory"
    scenario = toml_of(read_text(path, True, remedy), path, remedy)
    try:
        integrator, dt = scenario["integrator"]["rotation"], scenario["time"]["dt"]
    except (LookupError, TypeError):
        integrator = dt = None
    if not (isinstance(integrator, str) and (isinstance(dt, str) or is_finite(dt))):
        raise InputError(f"{path}: must have integrator.rotation and time.dt; {remedy}")
    if isinstance(dt, str):  # in Rayleigh times
        dt = log["time"][-1] / log["step"][-1] if log["step"][-1] else math.nan
    dt = float(dt)
    manifest = manifest_of(directory)
    known = nested(manifest, "summary", "energy", "initial")
    initial = float(known if is_finite(known) else log["total"][0])  # killed, or no initial energy
    edges = nested(scenario, "contact", "edges")
    edges = edges if isinstance(edges, str) else "plain"  # runs of earlier versions have no edges
    return Run(directory, integrator, dt, edges, str(manifest.get("status", "running")), log, initial)


def nested(known: Any, *keys: str) -> Any:
    """The value under these keys of dictionaries in dictionaries; None if there is none."""
    for key in keys:
        known = known.get(key) if isinstance(known, dict) else None
    return known


def runs_plot(directories: Sequence[Path], layout: Layout = DEFAULT, labels: Sequence[str] = ()) -> Plot:
    """Energies of runs over time, and their relative deviation. `labels` name the runs; without, what differs does."""
    runs = [read_run(directory) for directory in directories]
    labels = labels or run_labels(runs)
    tables = [columns_of(run) for run in runs]
    columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    report = {"runs": [report_of(run, label) for run, label in zip(runs, labels, strict=True)]}
    figure = runs_figure(runs, labels, layout)
    arranged(figure, layout)
    return Plot(figure, columns, report)


def columns_of(run: Run) -> dict[str, list[Any]]:
    """Columns of the CSV file, one row per row of the energy log; SI units."""
    rows = len(run.log["step"])
    return {
        "run": [str(run.directory)] * rows,
        "integrator": [run.integrator] * rows,
        "dt": [run.dt] * rows,
        "step": run.log["step"].tolist(),
        "time": run.log["time"].tolist(),
        "total": run.log["total"].tolist(),
        "deviation": run.deviation.tolist(),
    }


def report_of(run: Run, label: str) -> dict[str, Any]:
    """Numbers of a run for JSON: dt and time in s, initial energy in J, drifts; None for what is not finite."""
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
    """Integrator and time step of each run, the edges if they differ, and the directory if all of these are equal."""
    differ = len({run.edges for run in runs}) > 1
    labels = [f"{run.integrator}, dt {run.dt:.4g} s{f', edges {run.edges}' if differ else ''}" for run in runs]
    return [
        f"{label} ({run.directory})" if labels.count(label) > 1 else label for run, label in zip(runs, labels, strict=True)
    ]


def runs_figure(runs: Sequence[Run], labels: Sequence[str], layout: Layout = DEFAULT) -> Figure:
    """Top: the energy terms of a single run, or the total energies of several. Bottom: their deviations."""
    height = min(layout.width, SCREEN) * (1.25 if layout.columns == 1 else 1.0)
    figure, (energies, deviations) = new_figure(2, 1, width=layout.width, height=height)
    energies.sharex(deviations)  # also where the first rows have no deviation to draw
    integrators, labels = [run.integrator for run in runs], [as_label(label) for label in labels]
    styles = styles_of(integrators if len(set(integrators)) == len(runs) else labels)
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
        ncols = 2 if layout.columns == 1 else 3
        energies.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=ncols, fontsize=8, frameon=False)
    else:
        plain_numbers(energies)
    energies.set(ylabel="energy (J)" if len(runs) == 1 else "total energy (J)")
    deviations.set(xlabel="time (s)", ylabel=DEVIATION)
    seen = np.concatenate([positive(run.deviation) for run in runs])
    if np.isfinite(seen).any():
        deviations.set(yscale="log")
        deviations.set_ylim(bottom=0.5 * float(np.nanpercentile(seen, 1)))  # leave out the round-off of the first steps
    else:
        deviations.text(0.5, 0.5, "no deviation to draw", ha="center", transform=deviations.transAxes)
    columns = layout.legend_columns(labels, 3)
    figure.legend(*deviations.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8)
    return figure


def plain_numbers(axis: Any) -> None:
    """Show energies without an offset that is to be added. Smaller differences are seen in the deviation."""
    low, high = axis.get_ylim()
    missing = SHORTEST * max(abs(low), abs(high)) - (high - low)
    if missing > 0:
        axis.set_ylim(low - missing / 2, high + missing / 2)
    axis.ticklabel_format(axis="y", useOffset=False)


def positive(values: Array) -> Array:
    """Values that fit on a logarithmic axis, NaN for the others."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
