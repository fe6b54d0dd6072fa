"""Krysl and Endres, Fig. 2: rotation angle of a free body per step."""

import numpy as np

from ...views.figures import new_figure
from ..outcome import Comparison, Outcome, stacked
from .free import SPAN_NOTE, STEPS, increment, motions, plot_each

TITLE = "Krysl and Endres, Fig. 2: rotation of a free body per step"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: without the largest step."""
    runs = motions(STEPS[1:] if quick else STEPS)
    figure, axis = new_figure(width=6.5)
    turns = {dt: np.degrees(increment(motion)) for dt, motion in runs.items()}
    plot_each(axis, runs, turns)
    axis.set(xlabel="time (s)", ylabel="rotation per step (degrees)", title="Free body, newmark-body (NMB)", ylim=(0, None))
    axis.legend(fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    comparisons = [
        Comparison(f"dt {dt:g} s: largest rotation per step (degrees)", "quite large", float(turn.max()))
        for dt, turn in turns.items()
    ]
    data = stacked({"dt_s": dt, "time_s": motion.time, "rotation_deg": turns[dt]} for dt, motion in runs.items())
    notes = (
        SPAN_NOTE,
        "magnitude of dt omega + dt^2/2 rate (Eq. 30), which may exceed 180 degrees, unlike a rotation vector computed from "
        "a rotation matrix",
    )
    return Outcome(data, figure, comparisons, notes)
