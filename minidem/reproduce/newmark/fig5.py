"""Krysl and Endres, Fig. 5: convergence of the body-frame momentum of a free body."""

from ...rotor.cases import CASES
from ..outcome import Comparison, Outcome
from .common import MOMENTUM, REFERENCE_NOTE, SLOPE_NOTE, STEP_NOTE, converge, halved

TITLE = "Krysl and Endres, Fig. 5: convergence of the body-frame momentum of a free body"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: every other step."""
    curves = converge(CASES["free-body"], ("newmark-body", "simo-wong", "midpoint"), halved(8.0, 12, quick))
    comparisons = [
        Comparison(
            f"{name} / newmark-body, momentum error, smallest step", None, curves.ratio(name, "newmark-body", MOMENTUM)
        )
        for name in ("simo-wong", "midpoint")
    ]
    notes = (
        REFERENCE_NOTE,
        SLOPE_NOTE,
        STEP_NOTE,
        "midpoint is IMR in the figure; the schemes of its curves LS, LP2, DMV, DMV4 and DMV6 are not in the catalogue",
        "the text does not discuss this figure",
    )
    figure = curves.figure([MOMENTUM], "Free body at t = 100 s", 5.0)
    return Outcome(curves.columns([MOMENTUM]), figure, [*comparisons, *curves.slopes([MOMENTUM])], notes)
