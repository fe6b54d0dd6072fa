"""SPIRAL paper, Fig. A.9: the two variants of SPIRAL and Omelyan's algorithm, growth of the error, dt = 1e-5 s."""

import numpy as np

from ..outcome import Comparison, Outcome
from .errors import QUANTITIES, errors_over_time, figure_of
from .fig_a8 import INTEGRATORS

TITLE = "SPIRAL paper, Fig. A.9: the variants of SPIRAL, growth of the error"
NOTES = ("the paper does not give the time span; here 1 ms to 15 s (5 s with --quick)",)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 5 s instead of 15 s."""
    curves = errors_over_time(INTEGRATORS, 5.0 if quick else 15.0, points=30 if quick else 45)
    comparisons, late = [], curves.x > 0.1  # earlier, the error of omega is round-off in both variants
    for part in QUANTITIES:
        leap, sync, omelyan = (curves.of(name, part)[late] for name in ("spiral", "spiral-sync", "omelyan"))
        mean = float(np.exp(np.log(sync / leap).mean()))
        comparisons.append(Comparison(f"{part}: error of spiral-sync / spiral, mean after 0.1 s", "similar", mean))
        for name, error in (("spiral", leap), ("spiral-sync", sync)):
            worst = float((error / omelyan).max())
            comparisons.append(Comparison(f"{part}: error of {name} / omelyan, largest after 0.1 s", "< 1", worst))
    return Outcome(curves.columns("time_s"), figure_of(curves, "time (s)"), comparisons, NOTES)
