"""Seelen et al., Fig. 5: two cylinders rubbing against each other."""

import numpy as np

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...views.colours import COLOURS
from ...views.figures import new_figure
from ...views.styles import LINES
from ..outcome import Comparison, Outcome, stacked
from .common import METHODS, curve

TITLE = "Seelen et al., Fig. 5: two cylinders in contact"
NOTES = (
    "the paper does not give the masses, the step and the time span: 10 kg each, 1e-2 s and 5 s (ours)",
    "pcdm computes the torque from the omega that it keeps, which lags behind; pcdm-improved predicts omega at the time of "
    "the torque",
)


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer samples."""
    case = CASES["coupled-cylinders"]
    runs = {name: integrated(case, name, case.dt, samples=101 if quick else 501) for name in METHODS}
    exact = case.reference(runs["pcdm"].time)
    errors = {name: np.abs(motion.omega[:, 2, 0] / exact.omega[:, 2, 0] - 1) for name, motion in runs.items()}
    figure, (left, right) = new_figure(1, 2)
    for b in range(2):
        left.plot(
            exact.time, exact.omega[:, 2, b], color=COLOURS[b], linewidth=4, alpha=0.25, label=f"exact, cylinder {b + 1}"
        )
        left.plot(
            exact.time,
            runs["pcdm-improved"].omega[:, 2, b],
            LINES[b],
            color=COLOURS[b],
            label=f"$\\omega_z$, cylinder {b + 1}",
        )
    left.set(xlabel="time (s)", ylabel="angular velocity (rad/s)", title="pcdm-improved")
    left.legend(fontsize=7)
    for name in METHODS:
        right.plot(exact.time[1:], errors[name][1:], **curve(name))
    right.set(xlabel="time (s)", ylabel="relative error of omega, cylinder 1", yscale="log", title=f"dt {case.dt:g} s")
    right.legend(fontsize=7)
    last = runs["pcdm-improved"].omega[-1, 2]
    comparisons = [
        Comparison(
            "pcdm-improved: largest relative error of omega, cylinder 1", "very small", float(errors["pcdm-improved"].max())
        ),
        Comparison("pcdm: largest relative error of omega, cylinder 1", "larger", float(errors["pcdm"].max())),
        Comparison("  pcdm / pcdm-improved", "> 1", float(errors["pcdm"].max() / errors["pcdm-improved"].max())),
        Comparison("omega of cylinder 1 at the end (rad/s)", "0 < omega < 2", float(last[0])),
        Comparison("omega of cylinder 2 at the end (rad/s)", "< 0", float(last[1])),
    ]
    data = stacked(
        {
            "method": name,
            "time_s": motion.time,
            "omega_1_rad_s": motion.omega[:, 2, 0],
            "omega_2_rad_s": motion.omega[:, 2, 1],
            "error_omega_1": errors[name],
        }
        for name, motion in runs.items()
    )
    return Outcome(data, figure, comparisons, NOTES)
