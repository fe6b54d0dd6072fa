"""SPIRAL paper, Fig. A.8: the two variants of SPIRAL and Omelyan's algorithm, error against the step."""

import numpy as np

from ..outcome import Comparison, Outcome
from .errors import QUANTITIES, STATED_ORDER, errors_against_step, figure_of, slope

TITLE = "SPIRAL paper, Fig. A.8: the variants of SPIRAL, error against the step"
INTEGRATORS = ("omelyan", "spiral", "spiral-sync")
NOTES = (
    "published orders: the paper states the order of one step (third); the error at a fixed time is one order lower",
    "'similar': the error of q of the non-leapfrog variant is a few times that of the leapfrog variant, with the same order",
)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 11 steps down to 1e-5 s instead of 26 down to 1e-6 s."""
    curves = errors_against_step(INTEGRATORS, 11 if quick else 26, 1e-5 if quick else 1e-6)
    comparisons = [
        Comparison(f"{name}: slope of the error of {part}", STATED_ORDER[name], slope(curves.x, curves.of(name, part)))
        for name in INTEGRATORS
        for part in QUANTITIES
    ]
    clear = (curves.x > 2e-4) & (curves.x < 2e-2)  # neither round-off nor a handful of steps
    for part in QUANTITIES:
        leap, sync, omelyan = (curves.of(name, part)[clear] for name in ("spiral", "spiral-sync", "omelyan"))
        comparisons.append(
            Comparison(
                f"{part}: error of spiral-sync / spiral, mean over dt", "similar", float(np.exp(np.log(sync / leap).mean()))
            )
        )
        comparisons.append(
            Comparison(f"{part}: error of spiral-sync / omelyan, largest over dt", "< 1", float((sync / omelyan).max()))
        )
    guides = (((1e-4, 1e-2), 0.3, 2), ((1e-3, 1e-2), 4e-6, 3))
    return Outcome(curves.columns("dt_s"), figure_of(curves, "time step (s)", guides), comparisons, NOTES)
