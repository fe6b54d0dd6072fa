"""Krysl and Endres, Fig. 2: by how much a free body turns in a step."""

import numpy as np

from ...views.figures import new_figure
from ..outcome import Comparison, Outcome
from .common import tidy
from .free import SPAN_NOTE, STEPS, increment, motions, plot_each

TITLE = "Krysl and Endres, Fig. 2: rotation of a free body in a step"


def reproduce(quick: bool) -> Outcome:
    runs = motions(STEPS[1:] if quick else STEPS)
    figure, axis = new_figure(width=6.5)
    turns = {dt: np.degrees(increment(motion)) for dt, motion in runs.items()}
    plot_each(axis, runs, turns)
    axis.set(xlabel="time (s)", ylabel="rotation in a step (degrees)", title="Free body, newmark-body (NMB)", ylim=(0, None))
    axis.legend(fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    comparisons = [
        Comparison(f"dt {dt:g} s: largest rotation in a step (degrees)", "quite large", float(turn.max()))
        for dt, turn in turns.items()
    ]
    data = tidy({"dt_s": dt, "time_s": motion.time, "rotation_deg": turns[dt]} for dt, motion in runs.items())
    notes = (
        SPAN_NOTE,
        "magnitude of dt omega + dt^2/2 rate (Eq. 30), which may be above 180 degrees; a rotation vector taken from a "
        "rotation matrix never is",
    )
    return Outcome(data, figure, comparisons, notes)
