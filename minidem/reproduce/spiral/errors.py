"""The two kinds of figures in Sec. 3 and App. A of the SPIRAL paper: error against the step, and error against time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...rotor.bench import Errors, errors_at, integrated, steps_and_dt
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...views.figures import log_log, new_figure
from ...views.styles import style_of
from ..measures import log_slope

Array = NDArray[np.float64]
CASE = CASES["constant-torque"]
# The curves of Fig. 2 and 3, with Fincham's algorithm in the form tested in the paper.
PAPER = ("direct-euler", "velocity-verlet", "fincham-yade", "buss", "johnson", "pfc4", "omelyan", "spiral", "rk4")
# The paper states the order of one step (second; third for the SPIRAL schemes and omelyan); at a fixed time it is one less.
STATED_ORDER = {**dict.fromkeys(PAPER, 1), "omelyan": 2, "spiral": 2, "spiral-sync": 2}
QUANTITIES = ("q", "omega")
LABELS = {"q": "relative error of q", "omega": "relative error of $\\omega$"}


@dataclass(frozen=True)
class Curves:
    """Errors of several integrators at the same steps or times."""

    x: Array  # dt or time, s
    errors: Mapping[str, Sequence[Errors]]

    def of(self, integrator: str, quantity: str) -> Array:
        """Errors of "q" or "omega" by one integrator, in the order of x."""
        return np.array([getattr(error, quantity) for error in self.errors[integrator]])

    def columns(self, x: str) -> dict[str, Sequence[object]]:
        """Columns of the CSV file; `x` is the name of the column of dt or time."""
        names = [name for name in self.errors for _ in self.x]
        both = {f"error_{part}": [value for name in self.errors for value in self.of(name, part)] for part in QUANTITIES}
        return {"integrator": names, x: [*self.x] * len(self.errors), **both}


def errors_against_step(integrators: Sequence[str], points: int, smallest: float, largest: float = 0.1) -> Curves:
    """Errors at t = 1 s with about `points` steps from `largest` to `smallest` (s), evenly spaced on a log scale."""
    steps = np.unique(np.geomspace(CASE.end / largest, CASE.end / smallest, points).round())[::-1]
    reference = CASE.reference(np.array([CASE.end]))
    sizes = CASE.end / steps
    found = {name: [errors_at(integrated(CASE, name, dt, samples=2), reference, -1) for dt in sizes] for name in integrators}
    return Curves(sizes, found)


def errors_over_time(integrators: Sequence[str], end: float, dt: float = 1e-5, points: int = 40) -> Curves:
    """Errors at about `points` times from 1 ms to `end` (s), evenly spaced on a log scale."""
    samples = round(end / 1e-3) + 1
    rows = np.unique(np.geomspace(1, samples - 1, points).round().astype(int))
    reference = CASE.reference(rows * 1e-3, steps_and_dt(end, dt)[1])
    found = {}
    for name in integrators:
        motion = integrated(CASE, name, dt, end, samples)
        picked = Motion(motion.time[rows], motion.q[rows], motion.omega[rows])
        found[name] = [errors_at(picked, reference, k) for k in range(len(rows))]
    return Curves(rows * 1e-3, found)


def slope(dt: Array, error: Array, largest: float = 5e-3) -> float:
    """Slope of log(error) against log(dt), without round-off (which grows with the number of steps) and large steps."""
    fit = np.isfinite(error) & (error > 1e-15 / dt) & (error < 1e-3) & (dt <= largest)
    return log_slope(dt[fit], error[fit]) if fit.sum() > 1 else np.nan


def guide(axis: Any, x: Array, y: float, order: int) -> None:
    """Plot a grey line of slope `order` that has the value y at the last x."""
    line = y * (x / x[-1]) ** order
    axis.plot(x, line, color="0.6", linewidth=1, zorder=1)
    axis.annotate(f"$\\Delta t^{order}$" if order > 1 else "$\\Delta t$", (x[-1], line[-1]), color="0.4", fontsize=8)


def figure_of(curves: Curves, x: str, guides: Sequence[tuple[tuple[float, float], float, int]] = ()) -> Figure:
    """Errors of q (left) and omega (right), as in the paper.

    Each of `guides` is a line of known slope: (first and last x), value at the last x, order.
    """
    figure, axes = new_figure(1, 2, width=9.6, height=4.4)
    for axis, part in zip(axes, QUANTITIES, strict=True):
        for span, y, order in guides:
            guide(axis, np.array(span), y, order)
        for name in curves.errors:
            error = curves.of(name, part)
            shown = np.where(np.isfinite(error) & (error < 10), np.maximum(error, 1e-16), np.nan)
            axis.plot(curves.x, shown, **style_of(name), markersize=3.5, linewidth=1.2)
        log_log(axis, x, LABELS[part])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure
