"""Every integrator in every case of the bench: order, step and cost at equal error, and energy over a long run."""

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from ..engine.rotation.registry import SCHEMES
from ..rotor.bench import finite_or_none, integrated
from ..rotor.cases import CASES, Case
from ..rotor.motion import Motion
from .measures import shift
from .outcome import Comparison, Outcome
from .spiral.ladder import SPANS, ladder
from .spiral.table2 import PUBLISHED
from .spiral.timing import BODIES, interleaved, many_bodies_stepper, median

TITLE = "Scoreboard: every integrator in every case"
TARGET = 1e-5
STEPS = 200  # per timing
NOTES = (
    "orders: slope of the final error for the three shortest steps; blank if the scheme is exact or unstable",
    f"cost: number of steps for a mean error of {TARGET:g} times the CPU time per step of {BODIES} bodies, relative to "
    "spiral. Torques cost nothing here, which favours schemes with several evaluations per step; the CSV file counts them",
    "dt 'at least': below the target even with the longest step tried; 'extrapolation': not reached with the steps tried; "
    "blank, and 'out of reach' in the figure: too far to extrapolate, or unstable",
    "the steps for 1e-5 are interpolated between errors at steps that differ by a factor of two (four with --quick)",
    "energy: largest deviation and drift (absolute difference of the means of the last and the first tenth), relative to "
    "the initial energy, at the case's default step",
)


def reference_of(case: Case) -> Callable[[float], Motion]:
    """A function that returns the exact final state for a dt (s); computed once if it does not depend on dt."""

    @cache
    def at_end(dt: float) -> Motion:
        return case.reference(np.array([SPANS[case.name][0]]), dt)

    return at_end if case.depends_on_dt else lambda dt: at_end(case.dt)


def energy(case: Case, integrator: str, most: int) -> tuple[float, float, float]:
    """Duration (s), largest deviation and drift of the energy in at most `most` steps; NaN if energy is not conserved."""
    if case.potential is None:
        return math.nan, math.nan, math.nan
    end = min(case.end, most * case.dt)
    with np.errstate(all="ignore"):
        motion = integrated(case, integrator, case.dt, end)
        values, deviation = case.energy(motion), case.energy_deviation(motion)
        assert values is not None and deviation is not None
        drift = abs(shift(values)) / abs(values[0])
    return end, float(deviation.max()), float(drift)


def digits(value: float) -> str:
    """The value with two significant digits, without an exponent."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def heat_map(rows: dict[tuple[str, str], dict[str, object]]) -> Figure:
    """A cell per integrator and case; colour and lower line: cost relative to spiral, upper line: orders of q and omega."""
    cost = np.array([[rows[name, case]["cost_relative_to_spiral"] or math.nan for case in CASES] for name in SCHEMES], float)
    figure = Figure(figsize=(13, 0.42 * len(SCHEMES) + 1.6), layout="constrained")
    axis = figure.subplots()
    axis.set_facecolor("0.85")
    picture = axis.imshow(np.log10(cost), aspect="auto", cmap="PuOr_r", norm=TwoSlopeNorm(0.0, -2.0, 4.0))
    for j, name in enumerate(SCHEMES):
        for k, case in enumerate(CASES):
            row, value = rows[name, case], cost[j, k]
            orders = " / ".join("–" if row[part] is None else f"{row[part]:.1f}" for part in ("order_q", "order_omega"))
            sign = {"extrapolation": "~", "at least": "≤"}.get(str(row["dt_found"]), "")
            text = f"{orders}\n{sign}{digits(value)}" if math.isfinite(value) else f"{orders}\nout of reach"
            dark = math.isfinite(value) and not 10**-1.1 < value < 10**2.4
            axis.text(k, j, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axis.set_xticks(range(len(CASES)), CASES, rotation=20, ha="left", rotation_mode="anchor")
    axis.xaxis.tick_top()
    axis.set_yticks(range(len(SCHEMES)), SCHEMES)
    axis.grid(False)
    bar = figure.colorbar(picture, ax=axis, fraction=0.025, pad=0.01)
    bar.set_label("log10 of the cost at a mean error of 1e-5, relative to spiral")
    axis.set_xlabel(
        "upper line: observed orders of q / omega; lower line: cost relative to spiral (~ extrapolated, ≤ at most)"
    )
    return figure


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer and longer steps, fewer repeats, and shorter runs for the energy."""
    factor, most, long = (4, 2**15, 10**5) if quick else (2, 2**18, 10**7)
    times = interleaved({name: partial(many_bodies_stepper(name), STEPS, 1e-6) for name in SCHEMES}, 7 if quick else 15)
    step_cost = {name: 1e9 * median(values) / BODIES / STEPS for name, values in times.items()}  # ns
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for case in CASES.values():
        reference, end = reference_of(case), SPANS[case.name][0]
        found = {name: ladder(case, name, reference, factor, most) for name in SCHEMES}
        steps = {name: found[name].step_for(TARGET) for name in SCHEMES}
        price = {name: step_cost[name] / steps[name].dt for name in SCHEMES}
        for name, scheme in SCHEMES.items():
            duration, largest, drift = energy(case, name, long)
            evaluations = scheme.torque_evaluations * steps["spiral"].dt / steps[name].dt
            rows[name, case.name] = {
                "case": case.name,
                "integrator": name,
                "time_s": end,
                "order_q": finite_or_none(found[name].order(found[name].q)),
                "order_omega": finite_or_none(found[name].order(found[name].omega)),
                "dt_for_1e-5_s": finite_or_none(steps[name].dt),
                "dt_found": steps[name].found,
                "step_cost_ns": step_cost[name],
                "cost_relative_to_spiral": finite_or_none(price[name] / price["spiral"]),
                "torque_evaluations_relative_to_spiral": finite_or_none(evaluations),
                "energy_dt_s": finite_or_none(case.dt if case.potential else math.nan),
                "energy_time_s": finite_or_none(duration),
                "energy_error_max": finite_or_none(largest),
                "energy_drift": finite_or_none(drift),
            }

    def value(name: str, case: str, column: str) -> float:
        cell = rows[name, case][column]
        return float(cell) if isinstance(cell, int | float) else math.nan

    comparisons = [
        Comparison(f"constant-torque, {name}: dt for 1e-5 (s)", row[0], value(name, "constant-torque", "dt_for_1e-5_s"))
        for name, row in PUBLISHED.items()
    ]
    for case_name in CASES:
        cost = {name: value(name, case_name, "cost_relative_to_spiral") for name in SCHEMES}
        best = min(cost, key=lambda name: cost[name] if math.isfinite(cost[name]) else math.inf)
        comparisons.append(Comparison(f"{case_name}: cheapest is {best}, cost / spiral", None, cost[best]))
    columns = next(iter(rows.values())).keys()
    data = {column: [row[column] for row in rows.values()] for column in columns}
    return Outcome(data, heat_map(rows), comparisons, NOTES)
