"""SPIRAL paper, Fig. 4: CPU time per step relative to Direct Euler, with and without normalisation of the quaternion."""

import math
from functools import partial
from typing import Any

import numpy as np
from matplotlib.patches import Patch

from ...engine.rotation.registry import SCHEMES
from ...rotor.bench import integrated
from ...views.colours import COLOURS
from ...views.figures import new_figure
from ..outcome import Comparison, Outcome
from .errors import CASE, PAPER
from .timing import BODIES, interleaved, many_bodies_stepper, median, ratios, stepper

TITLE = "SPIRAL paper, Fig. 4: cost per step"
BASE = ("direct-euler", True)
STEPS = 20_000
DT = 1e-6  # s; short, so that a quaternion stays near unit length without normalisation
NOTES = (
    "left: a loop over the steps of one body in compiled code, which is closest to the paper's set-up. Only the arithmetic "
    "of a step is measured; other costs (calls, memory, torque) would bring the ratios closer to 1",
    f"right: {BODIES} bodies with the kernels of a simulation, and one body on the test bench, including its torque",
    "spiral: the paper does not say what a step includes; its 1.3 is between the arithmetic alone and a step on the bench",
    "CPU time, median over interleaved repeats of the ratio to Direct Euler with normalisation; depends on the machine",
    "pfc4: its normalisation makes the rotation matrix orthonormal and cannot be left out",
    "rk4: all four stages; evaluating the torque costs nothing here",
)


def variants(integrator: str) -> tuple[bool, ...]:
    """Whether q is normalised, for each variant of an integrator that is timed."""
    return (True,) if integrator == "pfc4" else (True, False)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 15 repeats instead of 101."""
    keys = [(name, normalised) for name in PAPER for normalised in variants(name)]
    runs = {key: partial(stepper(*key), 1, STEPS, DT) for key in keys}
    repeats = 15 if quick else 101
    times = interleaved(runs, repeats)
    cost = ratios(times, BASE)
    own = {name: cost[name, SCHEMES[name].normalises] for name in PAPER}
    lanes = interleaved({name: partial(many_bodies_stepper(name), STEPS // 50, DT) for name in PAPER}, repeats)
    bench = interleaved({name: partial(integrated, CASE, name, DT, DT * STEPS, 2) for name in PAPER}, repeats)
    settings = {f"{BODIES} bodies": ratios(lanes, "direct-euler"), "one body on the bench": ratios(bench, "direct-euler")}
    comparisons = [Comparison("spiral: time per step / direct-euler", 1.3, own["spiral"])]
    comparisons += [
        Comparison(f"spiral: time per step / direct-euler, {name}", None, values["spiral"])
        for name, values in settings.items()
    ]
    comparisons += [
        Comparison(f"{name}: time per step / direct-euler, with the normalisation it needs", None, value)
        for name, value in own.items()
        if name not in ("spiral", "direct-euler")
    ]
    gain = float(np.median([cost[name, True] / cost[name, False] for name in PAPER if len(variants(name)) == 2]))
    comparisons.append(Comparison("with / without normalisation, median of the schemes", "> 1, significant", gain))

    order = sorted(PAPER, key=lambda name: own[name])
    place = np.arange(len(order))
    figure, (axis, other_axis) = new_figure(1, 2, width=12.5, height=4.4)
    for shift, normalised, colour in ((-0.2, True, COLOURS[0]), (0.2, False, COLOURS[4])):
        heights = [cost.get((name, normalised), math.nan) for name in order]
        needed = ["black" if SCHEMES[name].normalises == normalised else "none" for name in order]
        bars = axis.bar(place + shift, heights, 0.4, color=colour, edgecolor=needed, linewidth=1.2)
        axis.bar_label(bars, [f"{h:.2f}" if math.isfinite(h) else "" for h in heights], fontsize=7)
    handles = [Patch(color=COLOURS[0]), Patch(color=COLOURS[4]), Patch(facecolor="white", edgecolor="black", linewidth=1.2)]
    labels = ["with normalisation", "without normalisation", "framed: the variant that the scheme needs"]
    axis.legend(handles, labels, fontsize=8, loc="upper left")
    for shift, (setting, values), colour in zip((-0.2, 0.2), settings.items(), COLOURS[2:4], strict=True):
        heights = [values[name] for name in order]
        bars = other_axis.bar(place + shift, heights, 0.4, color=colour, label=setting)
        other_axis.bar_label(bars, [f"{h:.2f}" for h in heights], fontsize=7)
    other_axis.legend(fontsize=8, loc="upper left")
    for panel, title in (
        (axis, "Cost per step, one body"),
        (other_axis, "Cost per step in other settings"),
    ):
        panel.axhline(1, color="0.4", linewidth=0.8, linestyle="--")
        panel.set_xticks(place, order, rotation=25, ha="right", rotation_mode="anchor")
        panel.set(ylabel="time per step / direct-euler", title=title)
    data: dict[str, list[Any]] = {
        "integrator": [name for name, _ in keys],
        "normalised": [normalised for _, normalised in keys],
        "needs_normalisation": [SCHEMES[name].normalises for name, _ in keys],
        "time_per_step_ns": [1e9 * median(times[key]) / STEPS for key in keys],
        "relative_to_direct_euler": [cost[key] for key in keys],
    }
    for column, values in zip(("many_bodies_relative", "bench_relative"), settings.values(), strict=True):
        data[column] = [values[name] if SCHEMES[name].normalises == normalised else None for name, normalised in keys]
    return Outcome(data, figure, comparisons, NOTES)
