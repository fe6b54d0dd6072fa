"""Integrate a case with a rotational integrator and compare the motion with its reference."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..engine.rotation.loading import rotation
from ..engine.rotation.registry import SCHEMES
from ..engine.state import inertia_rows
from ..errors import InputError, unknown_name
from .cases import CASES, Case
from .marching import begin, march
from .motion import BenchRun, Motion
from .torques import pointer

Array = NDArray[np.float64]
SAMPLES = 1001  # of a motion, by default
STEPS_PER_CALL = 2_000_000  # an interrupt is noticed between calls of the kernel
MOST_STEPS = 10**9  # torque evaluations: some minutes


def steps_and_dt(end: float, dt: float) -> tuple[int, float]:
    """The number of steps nearest to end / dt, at least 1, and the dt (s) with which they end exactly at `end` (s)."""
    steps = max(1, round(end / dt))
    return steps, end / steps


def integrated(case: Case, integrator: str, dt: float, end: float | None = None, samples: int = SAMPLES) -> Motion:
    """The motion at up to `samples` evenly spaced steps, including the first and the last.

    `dt` and `end` are in s; without `end`, that of the case. dt is adjusted to end exactly.
    """
    scheme = rotation(integrator)
    steps, dt = steps_and_dt(case.end if end is None else end, dt)
    milestones = np.unique(np.linspace(0, steps, min(max(samples, 2), steps + 1)).round().astype(np.int64))
    q, inertia = case.orientation.copy(), inertia_rows(case.inertia)
    spin, torque = np.zeros((scheme.values, inertia.shape[1])), np.zeros_like(case.inertia)
    spin[:3] = case.omega
    seen_q, seen_spin, seen_torque = np.empty_like(q), np.empty_like(spin), np.zeros_like(torque)
    torque_at = pointer(case.torque)
    begin(dt, scheme.starts, scheme.foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin)
    stops = np.union1d(milestones, np.arange(0, steps, STEPS_PER_CALL))
    out_q, out_omega = np.empty((len(stops), *q.shape)), np.empty((len(stops), *case.inertia.shape))
    n, first = 0, 0
    for last in (*np.searchsorted(stops, np.arange(STEPS_PER_CALL, steps, STEPS_PER_CALL)), len(stops)):
        march(
            n, stops[first:last], dt, scheme.stages, scheme.on_step, scheme.foresee,
            torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque, out_q[first:last], out_omega[first:last],
        )  # fmt: skip
        n, first = stops[last - 1], last
    wanted = np.isin(stops, milestones)
    return Motion(np.asarray(milestones * dt, np.float64), out_q[wanted], out_omega[wanted])


def relative_l1(value: Array, expected: Array) -> float:
    """sum |value - expected| / sum |expected| over all components of all bodies (SPIRAL paper, Eq. 13)."""
    return float(np.abs(value - expected).sum() / np.abs(expected).sum())


def same_sign(q: Array, expected: Array) -> Array:
    """q (..., 4, n) with the sign of each body chosen nearest to `expected`: q and -q are the same orientation."""
    return q * np.where((q * expected).sum(axis=-2, keepdims=True) < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Errors:
    """Relative L1 errors at one time."""

    q: float
    omega: float

    @property
    def mean(self) -> float:
        """The mean of the two: the error by which the SPIRAL paper compares integrators."""
        return 0.5 * (self.q + self.omega)


def errors(case: Case, integrator: str, dt: float, end: float | None = None) -> Errors:
    """Relative L1 errors of q and omega at the end; `dt` and `end` in s."""
    motion = integrated(case, integrator, dt, end, samples=2)
    return errors_at(motion, case.reference(motion.time[-1:], steps_and_dt(motion.time[-1], dt)[1]), -1)


def errors_at(motion: Motion, reference: Motion, k: int) -> Errors:
    """Relative L1 errors of q and omega in sample k of both."""
    expected = reference.q[k]
    return Errors(relative_l1(same_sign(motion.q[k], expected), expected), relative_l1(motion.omega[k], reference.omega[k]))


def checked(name: str, integrator: str, dt: float | None, end: float | None) -> tuple[Case, float, float]:
    """The case, dt (s) and end (s), with defaults filled in. Raises InputError for bad values."""
    if name not in CASES:
        raise unknown_name("case", name, CASES)
    if integrator not in SCHEMES:
        from ..scenario.plugins import plugin_hint

        raise InputError(f"{unknown_name('integrator', integrator, SCHEMES)}{plugin_hint()}")
    case = CASES[name]
    end = case.end if end is None else end
    dt = min(case.dt, end) if dt is None else dt
    longest = case.longest * case.end
    if not 0 < end <= longest:
        raise InputError(f"--end: must be above 0 and at most {longest:g} s in this case, got {end:g}")
    if not 0 < dt <= end:
        raise InputError(f"--dt: must be above 0 and at most the end, {end:g} s, got {dt:g}")
    most = MOST_STEPS // SCHEMES[integrator].torque_evaluations
    if end / dt > most:
        raise InputError(f"--dt: {end / dt:.3g} steps are too many; use at least {end / most:.3g} s")
    return case, dt, end


def finite_or_none(value: float) -> float | None:
    """The value, or None for NaN and infinity, which JSON and CSV files cannot hold."""
    return float(value) if math.isfinite(value) else None


def run(name: str, integrator: str, dt: float | None = None, end: float | None = None) -> dict[str, Any]:
    """Errors and final state of one case with one integrator, as `minidem rotor --json` prints them.

    `dt` and `end` are in s; without them, those of the case. A value that is not finite is None, as is the energy error of
    a case that does not conserve energy.
    """
    case, dt, end = checked(name, integrator, dt, end)
    motion = integrated(case, integrator, dt, end)
    steps, dt = steps_and_dt(end, dt)
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable motion overflows
        error = errors_at(motion, case.reference(motion.time[-1:], dt), -1)
        deviation = case.energy_deviation(motion)
        axis = motion.axis()[-1]

    return {
        "case": case.name,
        "integrator": integrator,
        "dt": dt,
        "steps": steps,
        "time": float(motion.time[-1]),
        "error_q": finite_or_none(error.q),
        "error_omega": finite_or_none(error.omega),
        "error": finite_or_none(error.mean),
        "energy_error_max": None if deviation is None else finite_or_none(deviation.max()),
        "energy_error_last": None if deviation is None else finite_or_none(deviation[-1]),
        "q": [[finite_or_none(value) for value in body] for body in motion.q[-1].T],
        "omega": [[finite_or_none(value) for value in body] for body in motion.omega[-1].T],
        "axis": [[finite_or_none(value) for value in body] for body in axis.T],
    }


def bench_run(name: str, integrator: str, dt: float | None, end: float | None, samples: int = 201) -> BenchRun:
    """A case with one integrator at up to `samples` evenly spaced steps; `dt` and `end` (s) default to those of the case."""
    case, dt, end = checked(name, integrator, dt, end)
    motion = integrated(case, integrator, dt, end, samples)
    reference = case.reference(motion.time, steps_and_dt(float(motion.time[-1]), dt)[1])
    with np.errstate(over="ignore", invalid="ignore"):  # the motion may be unstable
        found = [errors_at(motion, reference, k) for k in range(1, len(motion.time))]
        deviation = case.energy_deviation(motion)
    error_q, error_omega = np.array([(error.q, error.omega) for error in found]).T
    return BenchRun(case.name, integrator, dt, motion, reference, error_q, error_omega, deviation)


def step_for_error(case: Case, integrator: str, target: float, low: float = 1e-7, high: float = 0.2) -> float:
    """The longest dt (s) with the mean error `target` at the end: a bracketed root of log(error) in log(dt).

    The bracket is searched from `high` down to `low` (s) by halving, since at long steps the error need not grow with dt.
    NaN if there is none.
    """

    @cache
    def reference(dt: float | None) -> Motion:
        return case.reference(np.array([case.end]), dt)

    @cache
    def excess(log_dt: float) -> float:
        _, dt = steps_and_dt(case.end, math.exp(log_dt))
        motion = integrated(case, integrator, dt, samples=2)
        error = errors_at(motion, reference(dt if case.depends_on_dt else None), -1).mean
        return math.log(error / target) if math.isfinite(error) and error > 0 else math.inf

    above = math.log(high)
    while (below := above - math.log(2)) > math.log(low):
        if excess(below) < 0 < excess(above):
            return math.exp(brentq(excess, below, above, xtol=1e-5))
        above = below
    return math.nan
