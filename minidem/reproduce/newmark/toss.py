"""Krysl and Endres, Sec. 3.2: the book toss by explicit Newmark and by Simo and Wong's algorithm at two steps."""

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
LONGER = 100.0  # s: to tell an oscillation from a drift
Runs = dict[tuple[str, float], Motion]
NOTES = (
    f"the paper does not give t_d, the end of the push: {PUSHED_FOR:g} s (ours), nor the time span: {CASE.end:g} s (ours)",
    "at the jumps of the torque its mean is taken, so that the sum over the steps is the torque's impulse",
)


def tosses(quick: bool, end: float | None = None) -> Runs:
    """At dt 0.05 s every step; at 0.001 s every tenth (every fiftieth when in haste)."""
    samples = {COARSE: 10**6, FINE: 1 + round((CASE.end if end is None else end) / FINE / (50 if quick else 10))}
    return {(name, dt): integrated(CASE, name, dt, end, samples[dt]) for name in SCHEMES for dt in (COARSE, FINE)}


def after_the_blow(motion: Motion, dt: float) -> Motion:
    """The free part of the motion."""
    free = motion.time > PUSHED_FOR + 1.5 * dt
    return Motion(motion.time[free], motion.q[free], motion.omega[free])


def energy_change(motion: Motion, dt: float) -> Array:
    """Relative to the first sample of the free part, which would conserve it."""
    energy = after_the_blow(motion, dt).kinetic_energy(CASE.inertia)
    return energy / energy[0] - 1


def momentum_change(motion: Motion, dt: float) -> Array:
    """|L - L0| / |L0| of the free part."""
    momentum = after_the_blow(motion, dt).momentum(CASE.inertia)[:, :, 0]
    return np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])


def toss_figure(runs: Runs, vectors: Callable[[Motion], Array], symbol: str, unit: str, legend: str) -> Figure:
    """Left newmark-body, right simo-wong; the small step as a line, the large one as circles."""
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
