"""Krysl and Endres, Fig. 1: kinetic energy of a free body with large steps."""

import numpy as np

from ...views.figures import new_figure
from ..measures import shift
from ..outcome import Comparison, Outcome, stacked
from .free import CASE, SPAN_NOTE, STEPS, motions, plot_each

TITLE = "Krysl and Endres, Fig. 1: kinetic energy of a free body"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 2,000 s instead of 20,000 s for the drift."""
    runs = motions(STEPS)
    figure, axis = new_figure(width=6.5)
    energies = {dt: motion.kinetic_energy(CASE.inertia) for dt, motion in runs.items()}
    plot_each(axis, runs, energies)
    exact = 0.5 * float((CASE.inertia * CASE.omega**2).sum())
    axis.axhline(exact, color="black", linestyle=":", linewidth=0.8, label="exact")
    axis.set(xlabel="time (s)", ylabel="kinetic energy (J)", title="Free body, newmark-body (NMB)")
    axis.legend(fontsize=7, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    longer = 2_000.0 if quick else 20_000.0
    comparisons = []
    for dt, motion in motions(STEPS, longer).items():
        energy = motion.kinetic_energy(CASE.inertia)
        early, late = (float(np.ptp(half)) for half in np.array_split(energy, 2))
        comparisons += [
            Comparison(f"dt {dt:g} s: amplitude of the oscillation / exact energy", None, early / exact),
            Comparison(f"dt {dt:g} s: amplitude, second half / first half of {longer:g} s", "unchanging", late / early),
            Comparison(f"dt {dt:g} s: shift of the mean in {longer:g} s / amplitude", "no drift", shift(energy) / early),
        ]
    data = stacked({"dt_s": dt, "time_s": motion.time, "kinetic_energy_J": energies[dt]} for dt, motion in runs.items())
    notes = (
        SPAN_NOTE,
        "shift: mean of the last tenth minus mean of the first; the remainder comes from incomplete periods in the tenths",
    )
    return Outcome(data, figure, comparisons, notes)
