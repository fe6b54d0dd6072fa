"""SPIRAL paper, Sec. 5, Fig. 7: energy deviation of bouncing chess pieces after 1.5 s, against the time step."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...scenario.reading import Scenario
from ...study.plan import Study
from ...views.study_plots import study_figure
from ..edges.walk import SMALLER_OF_WALK, expected_deviation
from ..measures import log_slope, standard_error
from ..outcome import Comparison, Outcome
from ..studies import DT, INTEGRATOR, Failed, Row, Studies, account, deviation, done, study_of, varied

TITLE = "SPIRAL paper, Fig. 7: energy deviation of the chess box against the step"
FILES = ("spiral-fig7", "spiral-fig7-others")
QUICK_DT = (1.61e-6, 2.80e-6, 4.85e-6, 8.41e-6)  # s
QUICK_SEEDS = 4
RESOLVED = 1e-5  # s; with longer steps the shortest contacts last only three to five steps
LAW_SEEDS = 10  # plain runs with STEP for the law of edges
LEVEL = 0.0068  # %, "the horizontal dotted line in Fig. 7"
STEP, STEP_FINCHAM = 4.85e-6, 3.1e-7  # s, at LEVEL: with SPIRAL and Omelyan's scheme, and with Fincham's
ORDERS = {"fincham-yade": "second order", "omelyan": "third order", "spiral": "third order"}
NOTES = (
    "deviation: the smaller of the mean and the last |E - E0| / E0 of each run, as in the authors' script, averaged over "
    "the runs; the CSV file also has the average of the means. E0 is exact here; the script uses the energy after two steps",
    "initial velocities and spins as in the paper's text: 1 m/s and pi rad/s, isotropic. The authors' script starts with "
    "about 1.6e-6 rad/s, as it does not convert the angular velocity to its unit of time, and draws both angles of a "
    "direction uniformly from [0, pi]",
    "the chess pieces are our own meshes with FIDE heights, filled with 100 spheres each; the Rayleigh time is that of the "
    "smallest sphere",
    "the paper gives two of its steps, 3.1e-7 and 4.85e-6 s; the others are ours, evenly spaced on a log scale",
    "orders: the paper states the order of one step; over a fixed time it is one less. Slopes are fitted to the logarithms "
    "for steps up to 1e-5 s",
    "the slope is 5/2 because the error is made at the edges of contacts, where the Hertz force is not smooth, not by the "
    "rotation: docs/edges.md. law of edges: what these edges alone are expected to give, from the speeds of the contacts. "
    "The mean of this measure for a random walk is 0.475 of its last standard deviation",
    "fincham-yade is the scheme of the paper's Fig. 7; fincham, no-squish and free-rotor are not in it",
)


@dataclass(frozen=True)
class Point:
    """The runs of one scheme with one step."""

    integrator: str
    dt: float  # s
    rayleigh: float  # Rayleigh time of the scenario, s
    deviations: NDArray[np.float64]  # (runs,) %
    drift_mean: float  # average of |E - E0| / E0 over time and runs, %
    failed: int

    @property
    def mean(self) -> float:
        """Mean deviation of the runs, %."""
        return float(self.deviations.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean deviation, %; NaN for a single run."""
        return standard_error(self.deviations)


def quick_study(study: Study) -> Study:
    """The study with the steps QUICK_DT and QUICK_SEEDS seeds only."""
    cells = [c.changes for c in study.cells if c.changes[DT] in QUICK_DT and c.changes["seed"] < QUICK_SEEDS]
    return varied(study, f"{study.name}-quick", cells, {})


def points_of(rows: Sequence[Row]) -> list[Point]:
    """The points in the order of the schemes in `rows`, then of dt; points without a successful run are left out."""
    points = []
    integrators = dict.fromkeys(row[INTEGRATOR] for row in rows)
    for integrator, dt in itertools.product(integrators, sorted({row[DT] for row in rows})):
        here = [row for row in rows if (row[INTEGRATOR], row[DT]) == (integrator, dt)]
        if good := done(here):
            drift_mean = 100 * float(np.mean([row["drift_mean"] for row in good]))
            deviations = np.array([deviation(row) for row in good])
            rayleigh = good[0]["dt"] / good[0]["dt_rayleigh"]
            points.append(Point(integrator, dt, rayleigh, deviations, drift_mean, len(here) - len(good)))
    return points


def by_integrator(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The points of each integrator."""
    return {name: [p for p in points if p.integrator == name] for name in dict.fromkeys(p.integrator for p in points)}


def slope(points: Sequence[Point]) -> float:
    """Slope of log(deviation) against log(dt) for steps that resolve contacts; NaN for a single point."""
    points = [point for point in points if point.dt <= RESOLVED]
    if len(points) < 2:
        return float("nan")
    return log_slope([p.dt for p in points], [p.mean for p in points])


def compared(points: Sequence[Point]) -> list[Comparison]:
    """Deviations and slopes, published and measured."""
    at = {(p.integrator, p.dt): p.mean for p in points}
    rows = [
        Comparison(f"{name}: deviation at {dt:g} s (%)", LEVEL, at[name, dt])
        for name, dt in (("spiral", STEP), ("omelyan", STEP), ("fincham-yade", STEP_FINCHAM))
        if (name, dt) in at
    ]
    if at.keys() >= {("fincham-yade", STEP), ("spiral", STEP)}:
        ratio = at["fincham-yade", STEP] / at["spiral", STEP]
        rows.append(Comparison(f"fincham-yade / spiral: deviation at {STEP:g} s", None, ratio))
    for name, line in by_integrator(points).items():
        rows.append(Comparison(f"{name}: slope", ORDERS.get(name), slope(line)))
    return rows


def law_of_edges(base: Scenario) -> float:
    """Deviation (%) that the edges of contacts are expected to give with STEP; it scales as dt^(5/2)."""
    return 100 * SMALLER_OF_WALK * expected_deviation(base, STEP, LAW_SEEDS)


def drawn(points: Sequence[Point], law: float) -> Figure:
    """Deviation against the step, with the level of the paper and the law of edges (%, with STEP)."""
    lines = {
        name: ([point.dt for point in line], [point.deviations.tolist() for point in line])
        for name, line in by_integrator(points).items()
    }
    figure = study_figure(lines, y_label="energy deviation (%)", rayleigh=points[0].rayleigh)
    axis = figure.axes[0]
    bottom, top = axis.get_ylim()
    steps = sorted({point.dt for point in points})
    line: dict[str, Any] = {
        "color": "black",
        "linestyle": "--",
        "linewidth": 1.2,
        "zorder": 4,
        "label": "law of edges (slope 5/2)",
    }
    axis.plot(steps, [law * (dt / STEP) ** 2.5 for dt in steps], **line)
    axis.set_ylim(bottom, top)
    axis.axhline(LEVEL, color="0.3", linestyle=":", linewidth=1)
    mark: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": 8, "color": "0.3"}
    axis.text(0.01, LEVEL, f"{LEVEL} % (paper)", transform=axis.get_yaxis_transform(), **mark)
    figure.legends[0].remove()
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def reproduce(quick: bool, studies: Studies) -> Outcome:
    """The outcome of this target; `quick`: four steps and four seeds."""
    plans = [study_of(name) for name in FILES]
    rows = [row for plan in plans for row in studies.rows(quick_study(plan) if quick else plan)]
    points = points_of(rows)
    if not points:
        raise Failed(account(rows))
    law = law_of_edges(plans[0].base)
    data: dict[str, list[Any]] = {
        "integrator": [p.integrator for p in points],
        "dt_s": [p.dt for p in points],
        "dt_rayleigh": [p.dt / p.rayleigh for p in points],
        "runs": [len(p.deviations) for p in points],
        "failed": [p.failed for p in points],
        "deviation_percent": [p.mean for p in points],
        "standard_error_percent": [p.standard_error for p in points],
        "drift_mean_percent": [p.drift_mean for p in points],
        "law_of_edges_percent": [law * (p.dt / STEP) ** 2.5 for p in points],
    }
    return Outcome(data, drawn(points, law), compared(points), (*NOTES, account(rows)))
