"""Fincham's algorithm as published and as in YADE: they differ in the rotation matrix for L(t + dt/2), and by one order."""

from ...rotor.bench import step_for_error
from ..outcome import Comparison, Outcome
from .errors import CASE, QUANTITIES, errors_against_step, figure_of, slope
from .table2 import PUBLISHED

TITLE = "Fincham's algorithm: as published, and as in YADE"
NOTES = (
    "fincham: omega(t + dt/2) = A(t + dt/2) L(t + dt/2) / I with the matrix of the half-step orientation (Mol. Simul. 8, "
    "165); second order",
    "fincham-yade: the matrix of time t instead (SPIRAL paper, Eq. B.6, and YADE), which reduces it to first order",
    "Table 2 of the SPIRAL paper lists fincham-yade as Fincham; there is no published value for fincham",
)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 11 steps down to 1e-5 s instead of 26 down to 1e-6 s."""
    integrators = ("fincham", "fincham-yade")
    curves = errors_against_step(integrators, 11 if quick else 26, 1e-5 if quick else 1e-6)
    comparisons = [
        Comparison(f"{name}: slope of the error of {part}", None, slope(curves.x, curves.of(name, part)))
        for name in integrators
        for part in QUANTITIES
    ]
    published, yade = (step_for_error(CASE, name, 1e-5) for name in integrators)
    comparisons += [
        Comparison("fincham-yade: dt for an error of 1e-5 (s)", PUBLISHED["fincham-yade"][0], yade),
        Comparison("fincham: dt for an error of 1e-5 (s)", None, published),
        Comparison("dt of fincham / dt of fincham-yade", None, published / yade),
    ]
    guides = (((1e-4, 1e-2), 1e-1, 1), ((1e-4, 1e-2), 1e-2, 2))
    return Outcome(curves.columns("dt_s"), figure_of(curves, "time step (s)", guides), comparisons, NOTES)
