"""Krysl and Endres, Fig. 4: convergence of the attitude of a free body."""

from ...rotor.cases import CASES
from ..outcome import Comparison, Outcome
from .common import ATTITUDE, REFERENCE_NOTE, SLOPE_NOTE, STEP_NOTE, converge, halved

TITLE = "Krysl and Endres, Fig. 4: convergence of the attitude of a free body"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: every other step."""
    curves = converge(CASES["free-body"], ("newmark-body", "simo-wong", "midpoint"), halved(8.0, 12, quick))
    comparisons = [
        Comparison(
            "midpoint / newmark-body, attitude error, smallest step",
            "two orders",
            curves.ratio("midpoint", "newmark-body", ATTITUDE),
        ),
        Comparison(
            "simo-wong / newmark-body, attitude error, smallest step",
            None,
            curves.ratio("simo-wong", "newmark-body", ATTITUDE),
        ),
        *curves.slopes([ATTITUDE]),
    ]
    notes = (
        REFERENCE_NOTE,
        SLOPE_NOTE,
        STEP_NOTE,
        "the figure's third curve, the implicit algorithm of Lewis and Simo (LS), is not in the catalogue; the midpoint "
        "rule (AKW), which the text discusses, is shown instead",
    )
    return Outcome(curves.columns([ATTITUDE]), curves.figure([ATTITUDE], "Free body at t = 100 s", 5.0), comparisons, notes)
