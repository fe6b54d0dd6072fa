"""SPIRAL paper, Fig. 1: omega(t) and q(t) of a cylinder under a constant torque, and its attitude at 15 s by two schemes."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...rotor.bench import errors_at, integrated
from ...rotor.motion import Motion
from ...views.colours import COLOURS
from ...views.figures import log_log
from ...views.styles import style_of
from ..outcome import Comparison, Outcome
from .errors import CASE

TITLE = "SPIRAL paper, Fig. 1: the driven cylinder"
END = 15.0  # s
STATED = (0.0114, 0.0228, 0.0228)  # kg m^2
DRAWN = 2e-5  # s, step of the inset (ours)
INTEGRATORS = ("spiral", "direct-euler")
NOTES = (
    f"inset: the paper does not give the step; with dt = {DRAWN:g} s, direct-euler is visibly off and spiral is not",
    "the upper panels end at 15 s (6 s with --quick)",
    "after 5 s the curves are too dense to distinguish; the lower panels show the first 2 s",
    "q: Dormand and Prince's 8(5,3) to 1e-13 with the analytic omega; the paper uses DifferentialEquations.jl",
)
Array = NDArray[np.float64]


def cylinder_surface() -> Array:
    """Points of a cylinder along x in units of its radius, shape (3, m, k); k runs along the profile, with caps."""
    angle, x = np.linspace(0, 2 * np.pi, 25), np.array([-1.5, -1.5, 1.5, 1.5])
    radius = np.array([0.0, 1.0, 1.0, 0.0])
    across = np.array([np.cos(angle), np.sin(angle)])[:, :, None] * radius
    return np.array([np.broadcast_to(x, across.shape[1:]), *across])


def draw_cylinders(axis: Any, motions: dict[str, Motion]) -> None:
    """Draw the final orientations in red, blue and grey as in the paper; the blue one as a grid, as they coincide."""
    for (name, motion), colour in zip(motions.items(), ("tab:red", "tab:blue", "0.4"), strict=True):
        axes = np.stack([motion.axis(k)[-1, :, 0] for k in range(3)], axis=1)
        surface = np.einsum("ij,jmk->imk", axes, cylinder_surface())
        if name == "spiral":
            axis.plot_wireframe(*surface, color=colour, linewidth=0.6)
        else:
            axis.plot_surface(*surface, color=colour, alpha=0.3, linewidth=0)
        tip = 2.4 * axes[:, 0]
        line = "--" if name == "spiral" else "-"
        axis.plot(*np.stack([-tip, tip], axis=1), line, color=colour, linewidth=2, label=name)
    axis.view_init(elev=20, azim=-70)
    axis.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), zlim=(-1.6, 1.6), box_aspect=(1, 1, 1))
    for name in "xyz":
        getattr(axis, f"set_{name}label")(name, labelpad=-12)
    axis.tick_params(labelleft=False, labelbottom=False, labelright=False)
    axis.set_title(f"orientation at {END:g} s, dt = {DRAWN:g} s", fontsize=9)
    axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: curves up to 6 s instead of 15 s, and fewer steps."""
    shown, points = (6.0, 800) if quick else (END, 4000)
    # The phase grows as t^2: times are evenly spaced in t^2, and in t at the start.
    times = np.union1d(shown * np.sqrt(np.linspace(0, 1, points + 1)), np.linspace(0, 2, 301))
    exact = CASE.reference(times)
    last = CASE.reference(np.array([END]))
    steps = np.geomspace(1e-5, 1e-3, 5 if quick else 9)
    found = {name: [integrated(CASE, name, dt, END, samples=2) for dt in steps] for name in INTEGRATORS}
    drawn = {name: integrated(CASE, name, DRAWN, END, samples=2) for name in INTEGRATORS}

    figure = Figure(figsize=(11, 6), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    for column, (values, parts, label) in enumerate(
        ((exact.omega, "xyz", "angular velocity (rad/s)"), (exact.q, "wxyz", "orientation q"))
    ):
        for row, until in enumerate((shown, 2.0)):
            axis = figure.add_subplot(grid[row, column])
            within = times <= until
            for k, part in enumerate(parts):
                symbol = f"$\\omega_{part}$" if column == 0 else f"$q_{part}$"
                axis.plot(times[within], values[within, k, 0], color=COLOURS[k], linewidth=1.2 if row else 0.6, label=symbol)
            axis.grid(alpha=0.3, linewidth=0.5)
            axis.set(
                xlabel="time (s)", ylabel=label, title="" if row else "(a) analytic" if column == 0 else "(b) reference"
            )
            if column == 1:
                axis.set_ylim(-1.4, 1.1)  # room for the legend
            elif row == 1:
                axis.set_ylim(-3, 6)
            axis.legend(fontsize=7, loc="upper left" if column == 0 else "lower left", ncols=len(parts) if column else 1)
    draw_cylinders(figure.add_subplot(grid[0, 2], projection="3d"), {"reference": last, **drawn})
    axis = figure.add_subplot(grid[1, 2])
    for name in INTEGRATORS:
        axis.plot(steps, [errors_at(motion, last, -1).q for motion in found[name]], **style_of(name))
    log_log(axis, "time step (s)", f"relative error of q at {END:g} s")
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(fontsize=7)

    comparisons = [
        Comparison(f"I_{part} (kg m^2)", stated, float(value))
        for part, stated, value in zip("xyz", STATED, CASE.inertia[:, 0], strict=True)
    ]
    for name, motion in drawn.items():
        cosine = float((motion.axis()[-1, :, 0] * last.axis()[-1, :, 0]).sum())
        angle = float(np.degrees(np.arccos(min(1.0, cosine))))
        said = "nearly coinciding" if name == "spiral" else "apart"
        comparisons.append(
            Comparison(f"{name}: angle between its axis and the reference's at {END:g} s (degrees)", said, angle)
        )
        comparisons.append(Comparison(f"{name}: error of q at {END:g} s", None, errors_at(motion, last, -1).q))
    columns = {f"omega_{part}_rad_s": exact.omega[:, k, 0] for k, part in enumerate("xyz")}
    data = {"time_s": times, **columns, **{f"q_{part}": exact.q[:, k, 0] for k, part in enumerate("wxyz")}}
    return Outcome({name: values.tolist() for name, values in data.items()}, figure, comparisons, NOTES)
