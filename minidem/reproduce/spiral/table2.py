"""SPIRAL paper, Table 2: the steps that give mean errors of 1e-5 to 1e-2 after one second of constant torque."""

from typing import Any

from ...rotor.bench import step_for_error
from ...rotor.cases import CASES
from ...views.figures import log_log, new_figure
from ...views.styles import style_of
from ..outcome import Comparison, Outcome

TITLE = "SPIRAL paper, Table 2: step at equal error"
TARGET_ERRORS = (1e-5, 1e-4, 1e-3, 1e-2)
PUBLISHED = {  # s
    "spiral": (3.044e-3, 8.372e-3, 2.329e-2, 6.167e-2),
    "omelyan": (2.943e-4, 9.319e-4, 2.952e-3, 9.400e-3),
    "buss": (2.650e-5, 2.663e-4, 2.890e-3, 5.529e-2),
    "velocity-verlet": (6.789e-6, 6.852e-5, 6.779e-4, 3.527e-3),
    "fincham-yade": (3.069e-6, 3.071e-5, 3.091e-4, 3.295e-3),
    "direct-euler": (1.324e-6, 1.325e-5, 1.333e-4, 1.421e-3),
    "johnson": (1.801e-6, 1.801e-5, 1.804e-4, 1.824e-3),
    "pfc4": (1.662e-7, 1.662e-6, 1.663e-5, 1.671e-4),
}
NOTES = (
    "dt is adjusted to a whole number of steps in 1 s; at an error of 1e-2 this leaves few possible values",
    "johnson: Eq. B.13-B.15 as printed give steps 10 % smaller than the table; the authors' code was not available",
    "pfc4: the paper does not say how the rotation matrix is kept orthonormal. With Gram-Schmidt from the first axis, as "
    "here, steps can be five times as large; without orthonormalisation they would have to be smaller than published",
)


def steps(integrators: tuple[str, ...], errors: tuple[float, ...]) -> dict[tuple[str, float], float]:
    """The step (s) of each integrator for each mean error, by (integrator, error)."""
    case = CASES["constant-torque"]
    return {(name, error): step_for_error(case, name, error) for name in integrators for error in errors}


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: no difference."""
    measured = steps(tuple(PUBLISHED), TARGET_ERRORS)
    comparisons = [
        Comparison(f"{name}, error {error:g}: dt (s)", value, measured[name, error])
        for name, row in PUBLISHED.items()
        for error, value in zip(TARGET_ERRORS, row, strict=True)
    ]
    figure, axis = new_figure(width=6)
    for name, row in PUBLISHED.items():
        style = style_of(name)
        axis.plot(TARGET_ERRORS, [measured[name, error] for error in TARGET_ERRORS], **style)
        axis.plot(TARGET_ERRORS, row, "x", color=style["color"])
    axis.plot([], [], "x", color="black", label="published")
    log_log(axis, "target error", "time step (s)", "Step at equal error, constant torque for 1 s")
    axis.legend(fontsize=7)
    data: dict[str, list[Any]] = {
        "integrator": [name for name in PUBLISHED for _ in TARGET_ERRORS],
        "target_error": [error for _ in PUBLISHED for error in TARGET_ERRORS],
        "dt_published_s": [value for row in PUBLISHED.values() for value in row],
        "dt_measured_s": [measured[name, error] for name in PUBLISHED for error in TARGET_ERRORS],
    }
    return Outcome(data, figure, comparisons, NOTES)
