"""Krysl and Endres, Fig. 6: angular velocities of the book toss."""

import numpy as np

from ..measures import shift
from ..outcome import Comparison, Outcome, stacked
from .toss import COARSE, FINE, LONGER, NOTES, energy_change, toss_figure, tosses

TITLE = "Krysl and Endres, Fig. 6: angular velocities of the book toss"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer samples."""
    runs = tosses(quick)
    comparisons = []
    for (name, dt), motion in runs.items():
        said = None if dt == FINE else "stable" if name == "newmark-body" else "tends to be unstable"
        change = energy_change(motion, dt)
        comparisons.append(
            Comparison(f"{name}, dt {dt:g} s: largest change of energy / E", said, float(np.abs(change).max()))
        )
    for (name, dt), motion in tosses(quick, LONGER).items():
        change = energy_change(motion, dt)
        comparisons.append(
            Comparison(f"{name}, dt {dt:g} s, until {LONGER:g} s: largest change / E", None, float(np.abs(change).max()))
        )
        comparisons.append(
            Comparison(f"{name}, dt {dt:g} s, until {LONGER:g} s: shift of the mean / E", None, shift(change))
        )
    figure = toss_figure(runs, lambda motion: motion.omega[:, :, 0], r"\Omega", "rad/s, body frame", "lower left")
    data = stacked(
        {
            "integrator": name,
            "dt_s": dt,
            "time_s": motion.time,
            **{f"omega_{c + 1}_rad_s": motion.omega[:, c, 0] for c in range(3)},
        }
        for (name, dt), motion in runs.items()
    )
    notes = (
        *NOTES,
        "changes of energy: during the free motion after the blow; shift: mean of the last tenth minus mean of the first",
        f"simo-wong is unstable at dt {COARSE:g} s, as published; at dt {FINE:g} s it shows no drift, although the paper "
        "says that its energy drifts for all time steps",
    )
    return Outcome(data, figure, comparisons, notes)
