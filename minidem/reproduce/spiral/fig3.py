"""SPIRAL paper, Fig. 3: growth of the errors of q and omega with time, dt = 1e-5 s."""

import numpy as np

from ..outcome import Comparison, Outcome
from .errors import PAPER, QUANTITIES, errors_over_time, figure_of

TITLE = "SPIRAL paper, Fig. 3: growth of the error"
NOTES = (
    "the paper does not give the time span; here 1 ms to 15 s as in Fig. 1 (3 s with --quick)",
    "with this step and at short times the errors of spiral and rk4 are round-off, so they cannot be compared there",
)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 3 s instead of 15 s."""
    curves = errors_over_time(PAPER, 3.0 if quick else 15.0, points=30 if quick else 45)
    others = [name for name in PAPER if name not in ("spiral", "rk4")]
    comparisons = []
    for part in QUANTITIES:
        best = np.nanmin([curves.of(name, part) for name in others], axis=0)
        worst = float((curves.of("spiral", part) / best)[curves.x > 0.1].max())
        comparisons.append(
            Comparison(f"{part}: error of spiral / best of the others except rk4, largest after 0.1 s", "< 1", worst)
        )
    comparisons += [
        Comparison(f"{name}: error of {part} at {curves.x[-1]:g} s", None, float(curves.of(name, part)[-1]))
        for name in PAPER
        for part in QUANTITIES
    ]
    return Outcome(curves.columns("time_s"), figure_of(curves, "time (s)"), comparisons, NOTES)
