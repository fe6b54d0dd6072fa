"""Krysl and Endres, Sec. 3.2: the book toss by explicit Newmark and by Simo and Wong's algorithm, each with two steps."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.cases import CASES
from ...rotor.motion import Motion
from ...rotor.torques import PUSHED_FOR
from ...views.colours import COLOURS
from ...views.figures import new_figure
from .common import NAMES

Array = NDArray[np.float64]
CASE = CASES["book-toss"]
SCHEMES = ("newmark-body", "simo-wong")
COARSE, FINE = 0.05, 0.001  # s
LONGER = 100.0  # s: long enough to distinguish a drift from an oscillation
Runs = dict[tuple[str, float], Motion]  # by (integrator, dt)
NOTES = (
    f"the paper gives neither t_d, the end of the push, nor the time span: {PUSHED_FOR:g} s and {CASE.end:g} s (ours)",
    "where the torque jumps, the mean of both sides is used, so that the sum over the steps gives the right impulse",
)


def tosses(quick: bool, end: float | None = None) -> Runs:
    """The motions, sampled at every step with dt 0.05 s and at every tenth (fiftieth if `quick`) with 0.001 s."""
    samples = {COARSE: 10**6, FINE: 1 + round((CASE.end if end is None else end) / FINE / (50 if quick else 10))}
    return {(name, dt): integrated(CASE, name, dt, end, samples[dt]) for name in SCHEMES for dt in (COARSE, FINE)}


def after_the_blow(motion: Motion, dt: float) -> Motion:
    """The free motion after the blow."""
    free = motion.time > PUSHED_FOR + 1.5 * dt
    return Motion(motion.time[free], motion.q[free], motion.omega[free])


def energy_change(motion: Motion, dt: float) -> Array:
    """E / E0 - 1 during the free motion, shape (k,); E0 is that of its first sample."""
    energy = after_the_blow(motion, dt).kinetic_energy(CASE.inertia)
    change: Array = energy / energy[0] - 1
    return change


def momentum_change(motion: Motion, dt: float) -> Array:
    """|L - L0| / |L0| during the free motion, shape (k,)."""
    momentum = after_the_blow(motion, dt).momentum(CASE.inertia)[:, :, 0]
    change: Array = np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])
    return change


def toss_figure(runs: Runs, vectors: Callable[[Motion], Array], symbol: str, unit: str, legend: str) -> Figure:
    """A panel per integrator with the components of `vectors` (k, 3): lines for the small step, circles for the large."""
    figure, axes = new_figure(1, 2, width=10, height=4.2)
    for axis, name in zip(axes, SCHEMES, strict=True):
        for c in range(3):
            coarse, fine = runs[name, COARSE], runs[name, FINE]
            axis.plot(fine.time, vectors(fine)[:, c], color=COLOURS[c], linewidth=1, label=f"${symbol}_{c + 1}$")
            axis.plot(coarse.time, vectors(coarse)[:, c], "o", color=COLOURS[c], markersize=3, markerfacecolor="none")
        axis.plot([], [], "o", color="black", markersize=3, markerfacecolor="none", label=f"dt {COARSE:g} s")
        axis.plot([], [], color="black", linewidth=1, label=f"dt {FINE:g} s")
        axis.set(xlabel="time (s)", ylabel=f"${symbol}$ ({unit})", title=f"Book toss, {name} ({NAMES[name]})")
    low = min(axis.get_ylim()[0] for axis in axes)
    high = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, high)
    axes[0].legend(fontsize=7, loc=legend)
    return figure
