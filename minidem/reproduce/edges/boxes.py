"""Shared by edge-rods and edge-chess: energy of a box of bodies with plain and corrected edges, against the time step."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...engine.rotation.registry import SCHEMES
from ...files.trajectory import Trajectory
from ...running.simulation import Simulation
from ...scenario.reading import Scenario
from ...study.plan import Study
from ...views.figures import log_log, new_figure
from ...views.styles import style_of
from ..measures import log_slope, standard_error
from ..outcome import Comparison, Outcome
from ..studies import DT, INTEGRATOR, Failed, Row, Studies, account, done, study_of, varied
from .forms import Array
from .walk import MEAN_OF_WALK, expected_deviation

EDGES = "contact.edges"
MODES = ("plain", "corrected")
SHORT = 5  # steps; corrections of shorter contacts gain little
DEVIATION = "mean of |E − E$_0$| / E$_0$ without contact"
NOTES = (
    "published: nothing that we found",
    "deviation: mean of |E - E0| / E0 over the rows of the energy log without any contact (elastic energy 0), then over the "
    "seeds. Within a contact the energy differs from that of the scheme by order dt^2, with plain and with corrected edges",
    "law of edges: the mean of |E - E0| / E0 of a random walk with the deviation that plain runs expect at the end "
    "(Simulation.edge_deviation), scaled by dt^(5/2): sqrt(2/pi) times 2/3 of it",
)


@dataclass(frozen=True)
class Box:
    """A target of this kind."""

    study: str
    quick_dt: tuple[float, ...]  # s
    quick_seeds: int
    quick_schemes: tuple[str, ...]
    fitted: tuple[float, float]  # s, the shortest and longest step to which slopes are fitted
    at: float  # s, the step at which plain and corrected are compared
    watched: tuple[float, float]  # s: time step and duration of the run in which the duration of contacts is measured
    shown: tuple[str, ...]  # schemes of the small figure
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """The runs of one scheme, mode and step."""

    integrator: str
    edges: str
    dt: float  # s
    deviations: Array  # (runs,)
    failed: int

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(self.deviations.mean())


def quick_study(study: Study, box: Box) -> Study:
    """The study with fewer steps, seeds and schemes."""
    cells = [
        cell.changes
        for cell in study.cells
        if cell.changes[DT] in box.quick_dt
        and cell.changes["seed"] < box.quick_seeds
        and cell.changes[INTEGRATOR] in box.quick_schemes
    ]
    return varied(study, f"{study.name}-quick", cells, {})


def deviation_of(log: Mapping[str, Array], initial: float) -> float:
    """Mean of |E - E0| / E0 over the rows without contact, of an energy log; NaN if there are none. `initial` is E0 (J)."""
    free = log["elastic"][1:] == 0.0
    return float(np.mean(np.abs(log["total"][1:][free] / initial - 1.0))) if free.any() else float("nan")


def points_of(rows: Sequence[Row], deviations: Mapping[int, float]) -> list[Point]:
    """The points by scheme, mode and step; those without a successful run are left out. `deviations` by number of cell."""
    points = []
    axes = [list(dict.fromkeys(row[axis] for row in rows)) for axis in (INTEGRATOR, EDGES, DT)]
    for integrator, edges, dt in itertools.product(axes[0], axes[1], sorted(axes[2])):
        here = [row for row in rows if (row[INTEGRATOR], row[EDGES], row[DT]) == (integrator, edges, dt)]
        found = np.array([deviations[row["cell"]] for row in done(here)])
        if (found := found[np.isfinite(found)]).size:
            points.append(Point(integrator, edges, dt, found, len(here) - len(found)))
    return points


def lines_of(points: Sequence[Point]) -> dict[tuple[str, str], dict[float, Point]]:
    """The points by scheme and mode, then by step."""
    lines: dict[tuple[str, str], dict[float, Point]] = {}
    for point in points:
        lines.setdefault((point.integrator, point.edges), {})[point.dt] = point
    return lines


def durations(scenario: Scenario, dt: float, end: float) -> Array:
    """Durations (s) of the contacts that begin and end in a run, to within one step."""
    changes = {"seed": 0, DT: dt, EDGES: "plain", INTEGRATOR: "no-squish"}
    simulation = Simulation(scenario.with_changes(changes), on_note=lambda note: None)
    began: dict[tuple[int, int, int], int] = {}  # step at which a pair of spheres, or sphere and wall, began to touch
    found, entered = [], 0
    for step in range(1, round(end / dt) + 1):
        simulation.advance(1)
        if simulation.contacts_entered == entered and not began:
            continue
        entered, contacts = simulation.contacts_entered, simulation.contacts
        touching = set(
            zip(*(v.tolist() for v in (contacts.first_sphere, contacts.second_sphere, contacts.wall)), strict=True)
        )
        found += [step - began.pop(pair) for pair in began.keys() - touching]
        for pair in touching - began.keys():
            began[pair] = step
    return dt * np.array(found, float)


def slope(line: Mapping[float, Point], fitted: tuple[float, float]) -> float:
    """Exponent of dt; NaN with less than two steps in the fitted range."""
    steps = [dt for dt in line if fitted[0] <= dt <= fitted[1]]
    return log_slope(steps, [line[dt].mean for dt in steps]) if len(steps) > 1 else float("nan")


def compared(points: Sequence[Point], box: Box, contacts: Array) -> list[Comparison]:
    """Slopes and gains of every scheme, and the share of short contacts."""
    lines, found = lines_of(points), []
    schemes = list(dict.fromkeys(point.integrator for point in points))
    for name in schemes:
        plain, corrected = (lines.get((name, mode), {}) for mode in MODES)
        if box.at in plain and box.at in corrected:
            found.append(Comparison(f"{name}: deviation at {box.at:g} s, plain", None, plain[box.at].mean))
            found.append(Comparison(f"{name}: deviation at {box.at:g} s, corrected", None, corrected[box.at].mean))
            found.append(Comparison(f"{name}: gain at {box.at:g} s", None, plain[box.at].mean / corrected[box.at].mean))
        order = min(SCHEMES[name].order_q, SCHEMES[name].order_omega)
        found.append(Comparison(f"{name}: slope, plain", "5/2 (derived)" if order > 1 else None, slope(plain, box.fitted)))
        found.append(
            Comparison(f"{name}: slope, corrected (order of the scheme: {order:g})", None, slope(corrected, box.fitted))
        )
        shortest = sorted(corrected)[:2]
        if len(shortest) == 2:
            found.append(
                Comparison(
                    f"{name}: slope, corrected, two shortest steps", None, slope(corrected, (shortest[0], shortest[1]))
                )
            )
    for dt in sorted({point.dt for point in points}):
        short = float(np.mean(contacts < SHORT * dt))
        found.append(Comparison(f"share of contacts shorter than {SHORT} steps at {dt:g} s", None, short))
    return found


def drawn(points: Sequence[Point], law: Mapping[float, float]) -> Figure:
    """Deviation against the step: plain on the left, corrected on the right, with the law of edges in both."""
    figure, axes = new_figure(columns=2, width=9.6, height=5.4)
    for axis, mode in zip(axes, MODES, strict=True):
        for (name, edges), line in lines_of(points).items():
            if edges == mode:
                look = {**style_of(name), "markerfacecolor": "none", "linewidth": 1.2, "capsize": 2}
                axis.errorbar(list(line), [p.mean for p in line.values()], [error_of(p) for p in line.values()], **look)
        axis.plot(
            list(law), list(law.values()), color="black", linestyle="--", linewidth=1, label="law of edges (slope 5/2)"
        )
        log_log(axis, "time step (s)", DEVIATION if axis is axes[0] else "", f'edges = "{mode}"')
    limits = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in limits), min(max(high for _, high in limits), 3.0))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def error_of(point: Point) -> float:
    """Standard error of a point, cut so that its bar stays on a logarithmic axis."""
    error = standard_error(point.deviations)
    return min(error, 0.9 * point.mean) if np.isfinite(error) else 0.0


def small(points: Sequence[Point], shown: Sequence[str]) -> Figure:
    """A few schemes, plain and corrected in one panel."""
    figure, axis = new_figure(width=5.6, height=4.0)
    for (name, edges), line in lines_of(points).items():
        if name in shown:
            look = {**style_of(name), "linestyle": "--" if edges == "plain" else "-", "label": None}
            axis.plot(list(line), [point.mean for point in line.values()], **look, markerfacecolor="none", linewidth=1.3)
    log_log(axis, "time step (s)", DEVIATION)
    handles = [Line2D([], [], **{**style_of(name), "linestyle": "none"}, markerfacecolor="none") for name in shown]
    handles += [
        Line2D([], [], color="0.3", linestyle="--", label='edges = "plain"'),
        Line2D([], [], color="0.3", linestyle="-", label='edges = "corrected"'),
    ]
    axis.legend(handles=handles, fontsize=8, loc="lower right")
    return figure


def reproduced(box: Box, quick: bool, studies: Studies) -> Outcome:
    """The outcome of a target."""
    study = study_of(box.study)
    study = quick_study(study, box) if quick else study
    rows = studies.rows(study)
    deviations = {}
    for row in done(rows):
        with Trajectory(studies.folder(study) / "runs" / f"{row['cell']:06d}") as trajectory:
            deviations[row["cell"]] = deviation_of(trajectory.observables, row["energy_initial"])
    points = points_of(rows, deviations)
    if not points:
        raise Failed(account(rows))
    end = MEAN_OF_WALK * expected_deviation(study.base, box.at, 2 if quick else 10)
    law = {dt: end * (dt / box.at) ** 2.5 for dt in sorted({point.dt for point in points})}
    contacts = durations(study.base, box.watched[0], box.watched[1] / (5 if quick else 1))
    data: dict[str, list[Any]] = {
        "integrator": [p.integrator for p in points],
        "edges": [p.edges for p in points],
        "dt_s": [p.dt for p in points],
        "runs": [len(p.deviations) for p in points],
        "failed": [p.failed for p in points],
        "deviation": [p.mean for p in points],
        "standard_error": [standard_error(p.deviations) for p in points],
        "law_of_edges": [law[p.dt] for p in points],
        "short_contacts": [float(np.mean(contacts < SHORT * p.dt)) for p in points],
    }
    watched = (
        f"durations of contacts: of {len(contacts)} contacts in a run with dt = {box.watched[0]:g} s; median "
        f"{np.median(contacts):.3g} s, shortest tenth below {np.quantile(contacts, 0.1):.3g} s"
    )
    notes = (*NOTES, *box.notes, watched, account(rows))
    return Outcome(data, drawn(points, law), compared(points, box, contacts), notes, {"small": small(points, box.shown)})
