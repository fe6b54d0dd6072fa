"""Seelen et al., Fig. 1: angular velocity of a free symmetric top and the error of its energy."""

import numpy as np

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...views.figures import new_figure
from ..measures import line_slope
from ..outcome import Comparison, Outcome, stacked
from .common import METHODS, curve, omega_panel

TITLE = "Seelen et al., Fig. 1: a free symmetric top"
SHOWN = 40.0  # s
NOTES = (
    "without torque, pcdm is the explicit midpoint rule for omega, and pcdm-improved as described is the two-step rule of "
    "Adams and Bashforth: omega(n+1) = omega(n) + dt (3 rate(n) - rate(n-1)) / 2. The energy of a precession with rate k "
    "grows by k^4 dt^3 / 4 and k^4 dt^3 / 2 per second: both very small and of the same order in dt, but not equal, as the "
    "paper says they are",
    "pcdm-improved starts with an offset, since its omega on step is a prediction",
)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: a tenth of the time."""
    case = CASES["symmetric-top"]
    end = 0.1 * case.end if quick else case.end
    runs = {name: integrated(case, name, case.dt, end) for name in METHODS}
    errors = {}
    for name, motion in runs.items():
        deviation = case.energy_deviation(motion)
        assert deviation is not None
        errors[name] = deviation
    figure, (left, right) = new_figure(1, 2)
    omega_panel(left, integrated(case, "pcdm-improved", case.dt, SHOWN))
    left.set(title="Symmetric top, pcdm-improved")
    for name in METHODS:
        right.plot(runs[name].time, errors[name], **curve(name))
    right.set(xlabel="time (s)", ylabel="relative error of the kinetic energy", title=f"dt {case.dt:g} s")
    right.legend(fontsize=7)

    across, along = case.inertia[0, 0], case.inertia[2, 0]
    precession = (along / across - 1) * abs(float(case.omega[2, 0]))
    share = float(
        across * (case.omega[:2] ** 2).sum() / (case.inertia * case.omega**2).sum()
    )  # of the energy, in the rotating components
    growth = {name: line_slope(runs[name].time, errors[name]) for name in METHODS}
    expected = {"pcdm": share * precession**4 * case.dt**3 / 4, "pcdm-improved": share * precession**4 * case.dt**3 / 2}
    comparisons = [
        Comparison(f"{name}: relative error of the energy at {end:g} s", "very small", float(errors[name][-1]))
        for name in METHODS
    ]
    comparisons.append(
        Comparison("  pcdm-improved / pcdm", "the same", float(errors["pcdm-improved"][-1] / errors["pcdm"][-1]))
    )
    for name in METHODS:
        comparisons += [
            Comparison(f"{name}: growth of the error (1/s)", "slight increase", growth[name]),
            Comparison("  / expected growth, see the note", None, growth[name] / expected[name]),
        ]
    drift = float(np.abs(runs["pcdm-improved"].omega[:, 2] - case.omega[2]).max())
    comparisons.append(Comparison("largest change of omega z (rad/s)", "constant", drift))
    data = stacked(
        {"method": name, "time_s": runs[name].time, "energy_error": errors[name]}
        | {f"omega_{axis}_rad_s": runs[name].omega[:, c, 0] for c, axis in enumerate("xyz")}
        for name in METHODS
    )
    return Outcome(data, figure, comparisons, NOTES)
