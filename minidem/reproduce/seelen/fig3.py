"""Seelen et al., Fig. 3: angular velocity of a forced cylinder and convergence of its orientation."""

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...views.figures import log_log, new_figure
from ...views.styles import style_of
from ..measures import log_slope
from ..outcome import Comparison, Outcome, stacked
from .common import METHODS, omega_panel

TITLE = "Seelen et al., Fig. 3: convergence for a forced cylinder"
CASE = CASES["forced-cylinder"]
Array = NDArray[np.float64]
SAMPLES = 101  # per run, at the same times for all steps
ROUND_OFF = 1e-10  # rad: smaller errors are left out of the slopes
NOTES = (
    f"Eq. 7 averages over all steps of a run; here over {SAMPLES - 1} evenly spaced times in 0.1 s, the same for all dt",
    "reference: Runge-Kutta of order 8 to 1e-13 for the quaternion; the paper uses Euler angles. The torque is in the body "
    "frame",
    f"slopes are fitted to errors above {ROUND_OFF:g} rad; smaller errors of pcdm-improved are round-off",
)


def angle_turned(motion: Motion) -> Array:
    """arccos(b . B0) with B0 = (1, 0, 0), rad, shape (k,); written so that small angles keep their digits."""
    b = motion.axis()[:, :, 0]
    return np.arctan2(np.hypot(b[:, 1], b[:, 2]), b[:, 0])


def mean_error(integrator: str, dt: float, exact: Motion) -> float:
    """Mean orientation error over the samples, rad (Eq. 6 and 7)."""
    motion = integrated(CASE, integrator, dt, samples=SAMPLES)
    return float(np.abs(angle_turned(motion) - angle_turned(exact))[1:].mean())


def errors(dts: Array) -> dict[str, Array]:
    """Mean orientation error of each method at each step, rad.

    The steps must divide a hundredth of the case's time, so that all runs are compared at the same times.
    """
    exact = CASE.reference(np.linspace(0.0, CASE.end, SAMPLES))
    return {name: np.array([mean_error(name, dt, exact) for dt in dts]) for name in METHODS}


def order(dts: Array, error: Array) -> float:
    """Order of convergence, from the errors above round-off."""
    good = error > ROUND_OFF
    return log_slope(dts[good], error[good])


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: steps down to 1e-6 s instead of 1e-8 s."""
    smallest = 6 if quick else 8
    counts = [m * 10**k for k in range(smallest - 3) for m in (1, 3)] + [10 ** (smallest - 3)]
    dts = CASE.end / (SAMPLES - 1) / np.array(counts)
    found = errors(dts)
    figure, (left, right) = new_figure(1, 2)
    omega_panel(left, integrated(CASE, "pcdm-improved", CASE.dt))
    left.set(title="Forced cylinder, pcdm-improved")
    for name in METHODS:
        right.plot(1 / dts, found[name], **{**style_of(name), "linewidth": 1, "markersize": 5})
    for slope, colour in ((1, "black"), (2, "magenta")):
        line = 3 * found[METHODS[slope - 1]][0] * (dts / dts[0]) ** slope
        right.plot(1 / dts, line, "--", color=colour, linewidth=0.8, label=f"slope −{slope}")
    log_log(right, "1/dt (1/s)", "mean orientation error α (rad)", "Eq. 6 and 7")
    right.legend(fontsize=7, loc="lower left")
    said = {"pcdm": "slightly above 1", "pcdm-improved": "2"}
    comparisons = [Comparison(f"{name}: order of convergence", said[name], order(dts, found[name])) for name in METHODS]
    comparisons += [
        Comparison(
            f"pcdm: order between dt {dts[k]:.1e} and {dts[k + 2]:.1e} s",
            None,
            order(dts[k : k + 3], found["pcdm"][k : k + 3]),
        )
        for k in (0, len(dts) - 3)
    ]
    at = int(np.argmin(np.abs(dts - CASE.dt)))
    comparisons.append(
        Comparison(f"pcdm / pcdm-improved at dt {dts[at]:g} s", "> 1", float(found["pcdm"][at] / found["pcdm-improved"][at]))
    )
    data = stacked({"method": name, "dt_s": dts, "mean_error_rad": found[name]} for name in METHODS)
    return Outcome(data, figure, comparisons, NOTES)
