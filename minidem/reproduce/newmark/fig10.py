"""Krysl and Endres, Fig. 10: convergence for the fast Lagrangian top."""

import numpy as np

from ...rotor.cases import CASES
from ..outcome import Comparison, Outcome
from .common import ATTITUDE, MOMENTUM, REFERENCE_NOTE, SLOPE_NOTE, STEP_NOTE, converge, halved

TITLE = "Krysl and Endres, Fig. 10: convergence for the fast Lagrangian top"
SCHEMES = ("newmark-body", "simo-wong", "midpoint", "hulbert")


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: every other step."""
    curves = converge(CASES["fast-top"], SCHEMES, halved(0.02, 9, quick))
    comparisons = []
    for norm in (MOMENTUM, ATTITUDE):
        apart = np.abs(curves.errors["simo-wong", norm] / curves.errors["hulbert", norm] - 1)
        smaller = curves.dts < 0.003
        comparisons += [
            Comparison(
                f"simo-wong / hulbert, {norm}: largest |ratio - 1|, dt < 0.003 s", "identical", float(apart[smaller].max())
            ),
            Comparison("  the same, dt > 0.003 s", "not identical", float(apart[~smaller].max())),
            Comparison(
                f"midpoint / newmark-body, {norm}, smallest step", None, curves.ratio("midpoint", "newmark-body", norm)
            ),
            Comparison(
                f"simo-wong / newmark-body, {norm}, smallest step", None, curves.ratio("simo-wong", "newmark-body", norm)
            ),
        ]
    notes = (
        REFERENCE_NOTE,
        SLOPE_NOTE,
        STEP_NOTE,
        "the text does not give the steps: 0.02 s halved eight times (ours)",
    )
    figure = curves.figure([MOMENTUM, ATTITUDE], "Fast Lagrangian top at t = 10 s", 5.0)
    return Outcome(curves.columns([ATTITUDE, MOMENTUM]), figure, [*comparisons, *curves.slopes([MOMENTUM, ATTITUDE])], notes)
