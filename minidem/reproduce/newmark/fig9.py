"""Krysl and Endres, Fig. 9: error in the angular momentum about the axis of the Lagrangian top."""

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.motion import Motion
from ...views.figures import new_figure
from ..outcome import Comparison, Outcome, stacked
from .common import look
from .fig8 import CASE, TOP_NOTE

TITLE = "Krysl and Endres, Fig. 9: angular momentum about the axis of the Lagrangian top"
SAID = {"newmark-body": "larger", "newmark-spatial": "machine precision"}  # without and with re-orthogonalisation


def along_axis(motion: Motion) -> NDArray[np.float64]:
    """World-frame angular momentum about the axis of the top, J s, shape (k,)."""
    component: NDArray[np.float64] = (motion.momentum(CASE.inertia) * motion.axis(2)).sum(axis=1)[:, 0]
    return component


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer samples."""
    samples = 501 if quick else 2001
    runs = {name: integrated(CASE, name, CASE.dt, samples=samples) for name in ("newmark-body", "newmark-spatial")}
    exact = float(CASE.inertia[2, 0] * CASE.omega[2, 0])
    errors = {name: along_axis(motion) - exact for name, motion in runs.items()}
    figure, axis = new_figure(width=6.5)
    for name in reversed(errors):
        axis.plot(runs[name].time, errors[name], **{**look(name), "marker": "none", "linestyle": "-"})
    axis.set(xlabel="time (s)", ylabel="error of π·χ (J s)", title=f"Lagrangian top, dt {CASE.dt:g} s; π·χ = {exact:g} J s")
    axis.legend(fontsize=7)
    comparisons = [
        Comparison(f"{name}: largest error / exact", SAID[name], float(np.abs(error).max()) / exact)
        for name, error in errors.items()
    ]
    body, spatial = runs.values()
    difference = float(np.abs(body.omega - spatial.omega).max())
    comparisons.append(
        Comparison("newmark-body and newmark-spatial: largest difference of omega (rad/s)", "equivalent", difference)
    )
    data = stacked(
        {"integrator": name, "time_s": runs[name].time, "error_momentum_along_axis_Js": error}
        for name, error in errors.items()
    )
    notes = (
        TOP_NOTE,
        "the paper's two curves are a rotation matrix without and with re-orthogonalisation in every step. Here quaternions "
        "are used: newmark-spatial normalises q, which corresponds to re-orthogonalisation; newmark-body does not",
        "newmark-body never changes omega_3 of a symmetric body, so that only the round-off of the projection is left; "
        "newmark-spatial transforms omega to the world frame and back in every step, so that round-off accumulates: "
        "the order of the two curves is the reverse of the published one",
    )
    return Outcome(data, figure, comparisons, notes)
