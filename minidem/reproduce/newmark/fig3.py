"""Krysl and Endres, Fig. 3: angular velocity of a free body with large steps."""

import numpy as np

from ...rotor.bench import integrated
from ...views.figures import new_figure
from ..outcome import Comparison, Outcome, stacked
from .free import CASE, SPAN_NOTE, motions, plot_each

TITLE = "Krysl and Endres, Fig. 3: angular velocity of a free body"
STEPS = (5.0, 4.0, 2.0, 1 / 8)  # s


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: without the smallest step."""
    runs = motions(STEPS[:-1] if quick else STEPS)
    exact = CASE.reference(np.linspace(0.0, CASE.end, 101 if quick else 401))
    figure, axes = new_figure(3, 1, width=7, height=7)
    for c, axis in enumerate(axes):
        plot_each(axis, runs, {dt: motion.omega[:, c, 0] for dt, motion in runs.items()})
        axis.plot(exact.time, exact.omega[:, c, 0], color="black", linewidth=3, alpha=0.2, label="reference")
        axis.set(ylabel=f"$\\Omega_{c + 1}$ (rad/s)")
    axes[0].set(title="Free body, newmark-body (NMB), body frame")
    axes[-1].set(xlabel="time (s)")
    axes[-1].legend(fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.25))
    comparisons = [
        Comparison(
            f"dt {dt:g} s: range of omega {c + 1} / exact range",
            "well preserved",
            float(np.ptp(motion.omega[:, c]) / np.ptp(exact.omega[:, c])),
        )
        for dt, motion in runs.items()
        for c in range(3)
    ]
    comparisons.append(
        Comparison("dt 5 s: rms error of omega, newmark-body / midpoint", "on par", _rms("newmark-body") / _rms("midpoint"))
    )
    data = stacked(
        {"dt_s": dt, "time_s": motion.time, **{f"omega_{c + 1}_rad_s": motion.omega[:, c, 0] for c in range(3)}}
        for dt, motion in runs.items()
    )
    notes = (SPAN_NOTE, "the discrete Moser-Veselov integrators mentioned in the paper are not in the catalogue")
    return Outcome(data, figure, comparisons, notes)


def _rms(integrator: str) -> float:
    """Root mean square error of omega, rad/s."""
    motion = integrated(CASE, integrator, STEPS[0])
    return float(np.sqrt(((motion.omega - CASE.reference(motion.time).omega) ** 2).sum(axis=1).mean()))
