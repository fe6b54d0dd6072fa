"""SPIRAL paper, Sec. 5, Fig. 7: how much the energy of bouncing chess pieces deviates after 1.5 s, against the time step."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..figures import log_log, new_figure, style_of
from ..study.plan import Study
from ._studies import DT, INTEGRATOR, Failed, Row, Studies, account, deviation, done, study_of, varied
from .outcome import Comparison, Outcome

TITLE = "SPIRAL paper, Fig. 7: energy deviation of the chess box against the step"
FILES = ("spiral-fig7", "spiral-fig7-others")
QUICK_DT = (1.61e-6, 2.80e-6, 4.85e-6, 8.41e-6)  # s
QUICK_SEEDS = 4
TOP_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
LEVEL = 0.0068  # %, "the horizontal dotted line in Fig. 7"
STEP, STEP_FINCHAM = 4.85e-6, 3.1e-7  # s, which give it with SPIRAL and Omelyan's scheme, and with Fincham's
ORDERS = {"fincham-yade": "second order", "omelyan": "third order", "spiral": "third order"}
NOTES = (
    "deviation: the smaller of the mean and the last of |E - E0| / E0 in each run, as in the authors' script, averaged over "
    "the runs; the CSV file has the average of the means as well. E0 is exact here; the script takes it after two steps",
    "initial velocities and spins as in the paper's text: 1 m/s and pi rad/s, isotropic. The authors' script starts with "
    "about 1.6e-6 rad/s, as it leaves the angular velocity out when it changes its unit of time, and with both angles of a "
    "direction uniform on [0, pi]",
    "the chess pieces are meshes of our own, of the FIDE heights, filled with 100 spheres each; the Rayleigh time is that "
    "of the smallest sphere",
    "the paper names two of its steps, 3.1e-7 and 4.85e-6 s; the others are ours, evenly spaced on a log scale",
    "orders: the paper counts those of one step; over a fixed time the error goes with one power of dt less. Slopes are "
    "fitted to the logarithms of all points",
    "fincham-yade is the scheme of the paper's Fig. 7; fincham, no-squish and free-rotor are not in it",
)


@dataclass(frozen=True)
class Point:
    """The runs of one scheme at one step."""

    integrator: str
    dt: float  # s
    rayleigh: float  # time of the scenario, s
    deviations: NDArray[np.float64]  # of each run, %
    drift_mean: float  # average of |E - E0| / E0 over time and runs, %
    failed: int

    @property
    def mean(self) -> float:
        return float(self.deviations.mean())

    @property
    def standard_error(self) -> float:
        count = len(self.deviations)
        return float(self.deviations.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")


def quick_study(study: Study) -> Study:
    cells = [c.changes for c in study.cells if c.changes[DT] in QUICK_DT and c.changes["seed"] < QUICK_SEEDS]
    return varied(study, f"{study.name}-quick", cells, {})


def points_of(rows: Sequence[Row]) -> list[Point]:
    """In the order of the schemes as they come, then of dt; a point without a run that succeeded is left out."""
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
    return {name: [p for p in points if p.integrator == name] for name in dict.fromkeys(p.integrator for p in points)}


def slope(points: Sequence[Point]) -> float:
    """The power of dt with which the deviation goes; NaN of a single point."""
    if len(points) < 2:
        return float("nan")
    return float(np.polyfit(np.log([p.dt for p in points]), np.log([p.mean for p in points]), 1)[0])


def compared(points: Sequence[Point]) -> list[Comparison]:
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


def drawn(points: Sequence[Point]) -> Figure:
    figure, axis = new_figure(width=6.4, height=4.8)
    rayleigh = points[0].rayleigh
    for name, line in by_integrator(points).items():
        style = style_of(name)
        dt, mean, error = (np.array([getattr(p, key) for p in line]) for key in ("dt", "mean", "standard_error"))
        for point in line:
            some = point.deviations
            axis.plot([point.dt] * len(some), some, ".", color=style["color"], alpha=0.35, markersize=4, markeredgewidth=0)
        look = {"linewidth": 1.4, "zorder": 3} if name in ORDERS else {"linewidth": 0.8}  # the paper's in front
        axis.errorbar(dt, mean, np.nan_to_num(error), capsize=2, markersize=4, **look, **style)
    for name, order, shift in (("fincham-yade", 1, 2.5), ("spiral", 2, 0.3)):
        if beside := by_integrator(points).get(name):
            guide(axis, beside, order, shift)
    axis.axhline(LEVEL, color="black", linestyle=":", linewidth=1, label=f"{LEVEL} % (paper)")
    axis.axvline(rayleigh, color="black", linestyle="--", linewidth=1, label="Rayleigh time")
    log_log(axis, "time step (s)", "energy deviation (%)")
    top = axis.secondary_xaxis("top", functions=(lambda dt: dt / rayleigh, lambda part: part * rayleigh))
    top.set(xlabel="time step / Rayleigh time", xticks=TOP_TICKS, xticklabels=[f"{tick:g}" for tick in TOP_TICKS])
    top.minorticks_off()
    figure.legend(loc="outside right upper", fontsize=8)
    return figure


def guide(axis: Any, line: Sequence[Point], order: int, shift: float) -> None:
    """A straight line of the slope `order` beside a scheme's points."""
    dt = np.array([line[0].dt, line[-1].dt])
    middle = np.exp(np.mean(np.log([p.dt for p in line]))), np.exp(np.mean(np.log([p.mean for p in line])))
    height = shift * middle[1] * (dt / middle[0]) ** order
    axis.plot(dt, height, color="grey", linewidth=0.8)
    place = {"xytext": (0, 5 if shift > 1 else -12), "textcoords": "offset points", "ha": "right"}
    axis.annotate(f"order {order}", (dt[1], height[1]), fontsize=8, color="grey", **place)


def reproduce(quick: bool, studies: Studies) -> Outcome:
    plans = [study_of(name) for name in FILES]
    rows = [row for plan in plans for row in studies.rows(quick_study(plan) if quick else plan)]
    points = points_of(rows)
    if not points:
        raise Failed(account(rows))
    data: dict[str, list[Any]] = {
        "integrator": [p.integrator for p in points],
        "dt_s": [p.dt for p in points],
        "dt_rayleigh": [p.dt / p.rayleigh for p in points],
        "runs": [len(p.deviations) for p in points],
        "failed": [p.failed for p in points],
        "deviation_percent": [p.mean for p in points],
        "standard_error_percent": [p.standard_error for p in points],
        "drift_mean_percent": [p.drift_mean for p in points],
    }
    return Outcome(data, drawn(points), compared(points), (*NOTES, account(rows)))
