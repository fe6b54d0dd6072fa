"""One collision: the energy error of plain and corrected edges against the number of steps in a contact."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...engine.contact.zeta import mean_square
from ...running.simulation import Simulation
from ...scenario.reading import parse
from ...views.figures import log_log, new_figure
from ...views.styles import numbered_style
from ..measures import log_slope
from ..outcome import Comparison, Outcome
from .forms import FORMS, POWER, Array
from .one_dimension import chain, lone, rms

TITLE = "Edges of contacts: energy error of one collision"
STEPS = (5, 10, 20, 40, 80, 160, 320)  # in a contact
FITTED = (10, 160)  # first and last of the steps to which slopes are fitted
AT = 40  # steps of the table
ACCELERATION = 0.2
SHAPES = {
    "lone": "lone collision",
    "pushed": f"with a constant acceleration of {ACCELERATION}",
    "chain": "chain of three bodies",
}
LAW, LESS = "the law", "plain less the account"
ENGINE = {"plain": "minidem, plain", "corrected": "minidem, corrected"}
ENGINE_STEPS, ENGINE_QUICK_STEPS = (10, 20, 40, 80), (10, 40)
# Prefactor C of the law: 2.943 is the duration of a contact, times its speed, over its depth
CONSTANT = math.sqrt(2.0) * 2.5 * 2.9432**2.5 * math.sqrt(mean_square(POWER))
NOTES = (
    "published: nothing that we found. Slopes that docs/edges.md derives are in this column, marked as such",
    "steps per contact: at speed 1. Speeds are 0.5 to 1.5 and phases random; the time step is the same for all collisions, "
    "so that phase and speed are independent. Units: k = m* = 1",
    f"slopes are fitted to the logarithms from {FITTED[0]} to {FITTED[1]} steps per contact. The law is C (dt/T)^(5/2), "
    f"C = {CONSTANT:.3f}",
    "third form: what minidem uses. minidem, corrected: the program itself, with pairs of steel balls",
    "symmetric form: corrects an end at the last step inside, from the predicted overlap 2 o - o1. The prediction lacks the "
    "contact's own force, which costs a factor of about 20. A prediction with this force gives the errors of the first form "
    "for a lone collision, mean included, and is no better with further forces",
    "means: the standard error of mean / rms is one over the square root of the number of collisions (CSV file). A mean "
    "that is not zero becomes a drift. The third form removes it in a lone collision; in the chain a part is left",
    "with 5 steps per contact the corrections gain a factor of 3 to 25 only: the speed changes from step to step",
)
BALL = {"young": 200e9, "poisson": 0.3, "density": 7800.0, "radius": 0.01}  # steel, SI units


def pairs(steps: int, count: int, edges: str) -> Array:
    """Relative energy error of `count` head-on collisions of two balls in the engine, in the energy of relative motion."""
    rng = np.random.default_rng(2)
    speed = rng.uniform(0.5, 1.5, count)  # m/s, closing
    radius = BALL["radius"]
    mass = BALL["density"] * 4.0 / 3.0 * math.pi * radius**3 / 2.0  # effective
    stiffness = 4.0 / 3.0 * BALL["young"] / (2.0 * (1.0 - BALL["poisson"] ** 2)) * math.sqrt(radius / 2.0)
    dt = 2.9432 * (1.25 * mass / stiffness) ** 0.4 / steps
    gap = (4.0 + rng.uniform(0.0, 1.0, count)) * speed * dt
    side = math.ceil(math.sqrt(count))
    material = "".join(f"{name} = {BALL[name]}\n" for name in ("young", "poisson", "density"))
    text = f'schema = 1\nname = "pairs"\n[time]\ndt = {dt!r}\nend = {(2.2 * steps + 20) * dt!r}\n'
    text += f'[contact]\nedges = "{edges}"\n'
    text += f'[material.steel]\n{material}[clump.ball]\nspheres = [[0, 0, 0, {radius}]]\nmaterial = "steel"\n'
    for k in range(count):
        for sign in (-1, 1):
            place = [sign * float(radius + 0.5 * gap[k]), 4 * radius * (k % side), 4 * radius * (k // side)]
            text += f'[[body]]\nclump = "ball"\nposition = {place}\nvelocity = [{-0.5 * sign * float(speed[k])!r}, 0, 0]\n'
    simulation = Simulation(parse(text))
    simulation.advance(int(2.2 * steps) + 20)
    closing = simulation.velocities.reshape(count, 2, 3)
    return np.asarray(((closing[:, 1, 0] - closing[:, 0, 0]) / speed) ** 2 - 1.0)


def measured(steps: Sequence[int], engine_steps: Sequence[int], count: int) -> list[dict[str, Any]]:
    """A row per shape, form and number of steps: rms, mean and standard error of the mean."""
    rows = []

    def add(shape: str, form: str, n: int, errors: Array) -> None:
        mean, deviation = float(np.nanmean(errors)), float(np.nanstd(errors))
        left = int(np.isfinite(errors).sum())
        rows.append({"shape": shape, "form": form, "steps": n, "rms": rms(errors), "mean": mean})
        rows[-1] |= {"standard_error": deviation / math.sqrt(left), "collisions": left}

    for n in steps:
        for name, form in FORMS.items():
            error, booked, speed = lone(form, n, count)
            add("lone", name, n, error)
            if name == "plain":
                add("lone", LAW, n, CONSTANT * (speed**0.2 / n) ** 2.5)
                rows[-1] |= {"mean": 0.0, "standard_error": 0.0}
                add("lone", LESS, n, error - booked)
            add("pushed", name, n, lone(form, n, count, ACCELERATION)[0])
            add("chain", name, n, chain(form, n, count // 2))
    for n in engine_steps:
        for edges, name in ENGINE.items():
            add("lone", name, n, pairs(n, count // 4, edges))
    return rows


def lines_of(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[int, Mapping[str, Any]]]:
    """Rows by shape and form, then by the number of steps."""
    lines: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        lines.setdefault((row["shape"], row["form"]), {})[row["steps"]] = row
    return lines


def slope(line: Mapping[int, Mapping[str, Any]]) -> float:
    """Exponent of dt, fitted to the rms."""
    steps = [n for n in line if FITTED[0] <= n <= FITTED[1]]
    return -log_slope(steps, [line[n]["rms"] for n in steps])


def compared(rows: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Errors, slopes and means."""
    lines = lines_of(rows)
    found = [Comparison(f"{s}, {f}: rms error at {AT} steps", None, line[AT]["rms"]) for (s, f), line in lines.items()]
    order = {"plain": "5/2 (derived)", LAW: "5/2 (derived)", "third form": "5 (derived)", LESS: "5 (derived)"}
    for (shape, form), line in lines.items():
        if form not in ENGINE.values():
            found.append(Comparison(f"{shape}, {form}: slope", order.get(form), slope(line)))
    for (shape, form), line in lines.items():
        if form != LAW:
            found.append(Comparison(f"{shape}, {form}: mean / rms at {AT} steps", None, line[AT]["mean"] / line[AT]["rms"]))
    return found


def drawn(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Error against the number of steps, a panel per shape."""
    figure, axes = new_figure(columns=3, width=11, height=4.4)
    names = ["plain", *list(FORMS)[1:], LESS]
    for axis, (shape, title) in zip(axes, SHAPES.items(), strict=True):
        for (here, form), line in lines_of(rows).items():
            if here != shape:
                continue
            values = [row["rms"] for row in line.values()]
            if form == LAW:
                axis.plot(list(line), values, color="black", linewidth=1, linestyle="--", label="law of edges", zorder=5)
            elif form in ENGINE.values():
                look = {"linestyle": "none", "marker": "x" if "plain" in form else "+", "markersize": 11, "color": "black"}
                axis.plot(list(line), values, label=form, zorder=4, **look)
            else:
                axis.plot(
                    list(line), values, **numbered_style(names.index(form), form), linewidth=1.2, markerfacecolor="none"
                )
        log_log(axis, "steps per contact", "rms of relative energy error" if axis is axes[0] else "", title)
        axis.set(ylim=(3e-13, 1e-1))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer collisions, up to 160 steps."""
    steps, engine_steps = (STEPS[:-1], ENGINE_QUICK_STEPS) if quick else (STEPS, ENGINE_STEPS)
    rows = measured(steps, engine_steps, 1000 if quick else 4000)
    data = {name: [row[name] for row in rows] for name in rows[0]}
    return Outcome(data, drawn(rows), compared(rows), NOTES)
