"""Krysl and Endres, Fig. 8: error in the Hamiltonian of the Lagrangian top."""

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...views.colours import COLOURS
from ...views.figures import new_figure
from ..measures import line_slope, shift
from ..outcome import Comparison, Outcome

TITLE = "Krysl and Endres, Fig. 8: Hamiltonian of the Lagrangian top"
CASE = CASES["lagrange-top"]
TOP_NOTE = "the paper gives only Mlg = sqrt(3)/2 9.81; moments of inertia (1, 1, 1/2), tilt 0.3 and spin 12 rad/s are ours"


def relative_error(motion: Motion) -> NDArray[np.float64]:
    """(H - H0) / H0, shape (k,); H0 is that of the first sample, which is exact."""
    energy = CASE.energy(motion)
    assert energy is not None
    error: NDArray[np.float64] = energy / energy[0] - 1
    return error


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: 1,000 s instead of 100,000 s for the drift."""
    motion = integrated(CASE, "newmark-body", CASE.dt, samples=10**6)
    error = relative_error(motion)
    longer = 1_000.0 if quick else 100_000.0
    long_motion = integrated(CASE, "newmark-body", CASE.dt, longer, samples=100_001)
    long_error = relative_error(long_motion)
    figure, axis = new_figure(width=6.5)
    axis.plot(motion.time, error, color=COLOURS[0], linewidth=0.8)
    axis.set(xlabel="time (s)", ylabel="(H − H₀) / H₀", title=f"Lagrangian top, newmark-body (NMB), dt {CASE.dt:g} s")
    comparisons = [
        Comparison("largest |H - H0| / H0, 0 to 100 s", "< 0.005", float(np.abs(error).max())),
        Comparison("slope of a line through the error, 0 to 100 s (1/s)", "no drift", line_slope(motion.time, error)),
        Comparison(
            "  times 100 s / largest error", "no drift", 100 * line_slope(motion.time, error) / float(np.abs(error).max())
        ),
        Comparison(f"largest |H - H0| / H0, 0 to {longer:g} s", None, float(np.abs(long_error).max())),
        Comparison(f"slope of a line, 0 to {longer:g} s (1/s)", "no drift", line_slope(long_motion.time, long_error)),
        Comparison(
            f"shift of the mean in {longer:g} s / largest error", None, shift(long_error) / float(np.abs(long_error).max())
        ),
    ]
    return Outcome({"time_s": motion.time.tolist(), "error_H": error.tolist()}, figure, comparisons, (TOP_NOTE,))
