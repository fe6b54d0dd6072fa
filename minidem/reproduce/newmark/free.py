"""Krysl and Endres, Sec. 3.1: the freely spinning body with large steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...views.colours import COLOURS
from ...views.styles import MARKERS

Array = NDArray[np.float64]
CASE = CASES["free-body"]
STEPS = (4.0, 2.0, 1.0, 0.5)  # s, Fig. 1 and 2
SPAN_NOTE = "the text does not give the time span: 100 s, as for the paper's convergence curves"


def motions(dts: Sequence[float], end: float | None = None) -> dict[float, Motion]:
    """The motions by newmark-body with each step (s), sampled at every step."""
    return {dt: integrated(CASE, "newmark-body", dt, end, samples=10**6) for dt in dts}


def increment(motion: Motion) -> Array:
    """Magnitude of the rotation vector dt omega + dt^2/2 rate of the next step (Eq. 30), rad, shape (k,)."""
    dt = motion.time[1] - motion.time[0]
    momentum = CASE.inertia * motion.omega
    rate = -np.cross(motion.omega, momentum, axis=1) / CASE.inertia
    magnitude: Array = np.linalg.norm(dt * motion.omega + 0.5 * dt**2 * rate, axis=1)[:, 0]
    return magnitude


def plot_each(axis: Any, runs: Mapping[float, Motion], values: Mapping[float, Array]) -> None:
    """Plot one curve per step size, with about a hundred markers or one per step."""
    for k, (dt, motion) in enumerate(runs.items()):
        look: dict[str, Any] = {
            "color": COLOURS[k],
            "marker": MARKERS[k],
            "markersize": 3.5,
            "markerfacecolor": "none",
            "linewidth": 0.8,
        }
        look["markevery"] = max(1, len(motion.time) // 100)
        axis.plot(motion.time, values[dt], label=f"dt {dt:g} s", **look)
