"""The two kinds of figures of the SPIRAL paper's Sec. 3 and App. A: error against the step, and error over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...rotor.bench import Errors, errors_at, integrated, steps_and_dt
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...views.figures import log_log, new_figure, style_of

Array = NDArray[np.float64]
CASE = CASES["constant-torque"]
# The curves of Fig. 2 and 3; Fincham's algorithm in the form that the paper tested.
PAPER = ("direct-euler", "velocity-verlet", "fincham-yade", "buss", "johnson", "pfc4", "omelyan", "spiral", "rk4")
# The paper counts the order of one step (second; third for these two): the error at a fixed time is one order lower.
STATED_ORDER = {**dict.fromkeys(PAPER, 1), "omelyan": 2, "spiral": 2, "spiral-sync": 2}
QUANTITIES = ("q", "omega")
LABELS = {"q": "relative error of q", "omega": "relative error of $\\omega$"}


@dataclass(frozen=True)
class Curves:
    """Errors of several integrators, at the same steps or times."""

    x: Array  # dt or time, s
    errors: Mapping[str, Sequence[Errors]]

    def of(self, integrator: str, quantity: str) -> Array:
        return np.array([getattr(error, quantity) for error in self.errors[integrator]])

    def columns(self, x: str) -> dict[str, Sequence[object]]:
        names = [name for name in self.errors for _ in self.x]
        both = {f"error_{part}": [value for name in self.errors for value in self.of(name, part)] for part in QUANTITIES}
        return {"integrator": names, x: [*self.x] * len(self.errors), **both}


def errors_against_step(integrators: Sequence[str], points: int, smallest: float, largest: float = 0.1) -> Curves:
    """At t = 1 s."""
    steps = np.unique(np.geomspace(CASE.end / largest, CASE.end / smallest, points).round())[::-1]
    reference = CASE.reference(np.array([CASE.end]))
    sizes = CASE.end / steps
    found = {name: [errors_at(integrated(CASE, name, dt, samples=2), reference, -1) for dt in sizes] for name in integrators}
    return Curves(sizes, found)


def errors_over_time(integrators: Sequence[str], end: float, dt: float = 1e-5, points: int = 40) -> Curves:
    """At log-spaced times from 1 ms on."""
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
    """Of log(error) against log(dt), above the round-off, which grows with the number of steps, and below large steps."""
    fit = np.isfinite(error) & (error > 1e-15 / dt) & (error < 1e-3) & (dt <= largest)
    return float(np.polyfit(np.log(dt[fit]), np.log(error[fit]), 1)[0]) if fit.sum() > 1 else np.nan


def guide(axis, x: Array, y: float, order: int) -> None:  # type: ignore[no-untyped-def]
    """A grey line of a given slope through the last x."""
    line = y * (x / x[-1]) ** order
    axis.plot(x, line, color="0.6", linewidth=1, zorder=1)
    axis.annotate(f"$\\Delta t^{order}$" if order > 1 else "$\\Delta t$", (x[-1], line[-1]), color="0.4", fontsize=8)


def figure_of(curves: Curves, x: str, guides: Sequence[tuple[tuple[float, float], float, int]] = ()) -> Figure:
    """Left: q, right: omega, as in the paper. `guides`: from and to which step, error at the latter, order."""
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
