"""SPIRAL paper, Fig. 4: time of a step relative to Direct Euler's, with and without normalisation of the quaternion."""

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
from .timing import BODIES, interleaved, many_bodies_stepper, middle, ratios, stepper

TITLE = "SPIRAL paper, Fig. 4: cost of a step"
BASE = ("direct-euler", True)
STEPS = 20_000
DT = 1e-6  # s; short, so that a quaternion that is not normalised stays near unit length
NOTES = (
    "left: one body that takes step after step in compiled code, nearest to the paper's; nothing but the arithmetic of a "
    "step is measured, and whatever else a step costs (calls, memory, torque) brings ratios nearer to 1",
    f"right: {BODIES} bodies by the kernels of a simulation; one body on the test bench, with torque and bookkeeping",
    "spiral: what the paper counts as a step is not known; its 1.3 is between the arithmetic alone and a step of the bench",
    "CPU time, median over interleaved repeats of the ratio to Direct Euler with normalisation; depends on the machine",
    "pfc4 keeps a rotation matrix, and its normalisation is what makes that orthonormal: there is no variant without",
    "rk4: all four stages, the torque itself being free",
)


def variants(integrator: str) -> tuple[bool, ...]:
    return (True,) if integrator == "pfc4" else (True, False)


def reproduce(quick: bool) -> Outcome:
    keys = [(name, normalised) for name in PAPER for normalised in variants(name)]
    runs = {key: partial(stepper(*key), 1, STEPS, DT) for key in keys}
    repeats = 15 if quick else 101
    times = interleaved(runs, repeats)
    cost = ratios(times, BASE)
    own = {name: cost[name, SCHEMES[name].normalises] for name in PAPER}
    lanes = interleaved({name: partial(many_bodies_stepper(name), STEPS // 50, DT) for name in PAPER}, repeats)
    bench = interleaved({name: partial(integrated, CASE, name, DT, DT * STEPS, 2) for name in PAPER}, repeats)
    settings = {f"{BODIES} bodies": ratios(lanes, "direct-euler"), "one body on the bench": ratios(bench, "direct-euler")}
    comparisons = [Comparison("spiral: time of a step / direct-euler", 1.3, own["spiral"])]
    comparisons += [
        Comparison(f"spiral: time of a step / direct-euler, {name}", None, values["spiral"])
        for name, values in settings.items()
    ]
    comparisons += [
        Comparison(f"{name}: time of a step / direct-euler, as the scheme needs it", None, value)
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
    labels = ["with normalisation", "without normalisation", "framed: what the scheme needs"]
    axis.legend(handles, labels, fontsize=8, loc="upper left")
    for shift, (setting, values), colour in zip((-0.2, 0.2), settings.items(), COLOURS[2:4], strict=True):
        heights = [values[name] for name in order]
        bars = other_axis.bar(place + shift, heights, 0.4, color=colour, label=setting)
        other_axis.bar_label(bars, [f"{h:.2f}" for h in heights], fontsize=7)
    other_axis.legend(fontsize=8, loc="upper left")
    for panel, title in (
        (axis, "Cost of a step, one body"),
        (other_axis, "Cost of a step as the scheme needs it, elsewhere"),
    ):
        panel.axhline(1, color="0.4", linewidth=0.8, linestyle="--")
        panel.set_xticks(place, order, rotation=25, ha="right", rotation_mode="anchor")
        panel.set(ylabel="time of a step / direct-euler", title=title)
    data: dict[str, list[Any]] = {
        "integrator": [name for name, _ in keys],
        "normalised": [normalised for _, normalised in keys],
        "needs_normalisation": [SCHEMES[name].normalises for name, _ in keys],
        "time_per_step_ns": [1e9 * middle(times[key]) / STEPS for key in keys],
        "relative_to_direct_euler": [cost[key] for key in keys],
    }
    for column, values in zip(("many_bodies_relative", "bench_relative"), settings.values(), strict=True):
        data[column] = [values[name] if SCHEMES[name].normalises == normalised else None for name, normalised in keys]
    return Outcome(data, figure, comparisons, NOTES)
