"""Krysl and Endres, Fig. 11: convergence for the slow Lagrangian top."""

from ...rotor.cases import CASES
from ..outcome import Comparison, Outcome
from .common import ATTITUDE, MOMENTUM, REFERENCE_NOTE, SLOPE_NOTE, STEP_NOTE, converge, halved
from .fig10 import SCHEMES

TITLE = "Krysl and Endres, Fig. 11: convergence for the slow Lagrangian top"


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: every other step."""
    curves = converge(CASES["slow-top"], SCHEMES, halved(0.2, 9, quick))
    comparisons = [
        Comparison(f"midpoint / newmark-body, {norm}, smallest step", "> 1", curves.ratio("midpoint", "newmark-body", norm))
        for norm in (MOMENTUM, ATTITUDE)
    ]
    comparisons += [
        Comparison(f"{name} / newmark-body, {norm}, smallest step", None, curves.ratio(name, "newmark-body", norm))
        for norm in (MOMENTUM, ATTITUDE)
        for name in ("simo-wong", "hulbert")
    ]
    notes = (
        REFERENCE_NOTE,
        SLOPE_NOTE,
        STEP_NOTE,
        "the text does not give the time and the steps: 10 s, and 0.2 s halved eight times (ours)",
        "at 10 s hulbert is unstable only with large steps; see newmark-fig12",
    )
    figure = curves.figure([MOMENTUM, ATTITUDE], "Slow Lagrangian top at t = 10 s", 50.0)
    return Outcome(curves.columns([ATTITUDE, MOMENTUM]), figure, [*comparisons, *curves.slopes([MOMENTUM, ATTITUDE])], notes)
