"""March a case with a rotational integrator and compare with its reference."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..engine.compile.kernels import internal, kernel
from ..engine.rotation.loading import rotation
from ..engine.rotation.registry import SCHEMES
from ..engine.state import inertia_rows
from ..errors import InputError, unknown_name
from .cases import CASES, Case
from .motion import BenchRun, Motion
from .torques import pointer

Array = NDArray[np.float64]
SAMPLES = 1001  # of a motion, unless told
PART = 2_000_000  # steps in one go


@internal
def copied(source, target):
    for c in range(source.shape[0]):
        for b in range(source.shape[1]):
            target[c, b] = source[c, b]


@internal
def torque_ahead(t, dt, foresee, torque_at, q, spin, last, inertia, seen_q, seen_spin, torque):
    """The torque of time t, for the q and omega that the scheme foresees from what it keeps and from the last torque."""
    copied(q, seen_q)
    copied(spin, seen_spin)
    foresee(seen_q, seen_spin, last, inertia, 0, q.shape[1], dt)
    torque_at(t, dt, seen_q, seen_spin, torque)


@kernel
def begin(dt, starts, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin):
    """From q and omega on step to what the scheme keeps."""
    torque_at(0.0, dt, q, spin, torque)
    starts[0].move(q, spin, torque, inertia, 0, q.shape[1], dt)
    for k in range(1, len(starts)):
        torque_ahead(starts[k].time * dt, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, torque)
        starts[k].move(q, spin, torque, inertia, 0, q.shape[1], dt)


@kernel
def march(
    n, milestones, dt, stages, on_step, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque,
    out_q, out_omega,
):  # fmt: skip
    """From step n on; at each milestone (a number of steps) q and omega on step are written out, which changes nothing."""
    for k in range(milestones.size):
        while n < milestones[k]:
            for stage in stages:
                t = (n + stage.time) * dt
                torque_ahead(t, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, torque)
                stage.move(q, spin, torque, inertia, 0, q.shape[1], dt)
            n += 1
        if len(stages) == 1:  # the others have omega on step without a torque
            torque_ahead(n * dt, dt, foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque)
        copied(q, seen_q)
        copied(spin, seen_spin)
        on_step(seen_q, seen_spin, seen_torque, inertia, 0, q.shape[1], dt)
        copied(seen_q, out_q[k])
        copied(seen_spin[:3], out_omega[k])


def steps_and_dt(end: float, dt: float) -> tuple[int, float]:
    """The number of steps, and dt adjusted so that they end exactly at `end`."""
    steps = max(1, round(end / dt))
    return steps, end / steps


def integrated(case: Case, integrator: str, dt: float, end: float | None = None, samples: int = SAMPLES) -> Motion:
    """The motion at up to `samples` evenly spaced steps, the first and the last among them."""
    scheme = rotation(integrator)
    steps, dt = steps_and_dt(case.end if end is None else end, dt)
    milestones = np.unique(np.linspace(0, steps, min(max(samples, 2), steps + 1)).round().astype(np.int64))
    q, inertia = case.orientation.copy(), inertia_rows(case.inertia)
    spin, torque = np.zeros((scheme.values, inertia.shape[1])), np.zeros_like(case.inertia)
    spin[:3] = case.omega
    seen_q, seen_spin, seen_torque = np.empty_like(q), np.empty_like(spin), np.zeros_like(torque)
    torque_at = pointer(case.torque)
    begin(dt, scheme.starts, scheme.foresee, torque_at, q, spin, torque, inertia, seen_q, seen_spin)
    # In parts, between which an interrupt is heard.
    stops = np.union1d(milestones, np.arange(0, steps, PART))
    out_q, out_omega = np.empty((len(stops), *q.shape)), np.empty((len(stops), *case.inertia.shape))
    n, first = 0, 0
    for last in (*np.searchsorted(stops, np.arange(PART, steps, PART)), len(stops)):
        march(
            n, stops[first:last], dt, scheme.stages, scheme.on_step, scheme.foresee,
            torque_at, q, spin, torque, inertia, seen_q, seen_spin, seen_torque, out_q[first:last], out_omega[first:last],
        )  # fmt: skip
        n, first = stops[last - 1], last
    wanted = np.isin(stops, milestones)
    return Motion(np.asarray(milestones * dt, np.float64), out_q[wanted], out_omega[wanted])


def relative_l1(value: Array, expected: Array) -> float:
    """SPIRAL paper, Eq. 13, over all components of all bodies."""
    return float(np.abs(value - expected).sum() / np.abs(expected).sum())


def same_sign(q: Array, expected: Array) -> Array:
    """q with the sign, body by body, that is nearer to the expected one: q and -q are the same orientation."""
    return q * np.where((q * expected).sum(axis=-2, keepdims=True) < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Errors:
    q: float
    omega: float

    @property
    def mean(self) -> float:
        return 0.5 * (self.q + self.omega)


def errors(case: Case, integrator: str, dt: float, end: float | None = None) -> Errors:
    """Relative L1 errors of q and omega at the end."""
    motion = integrated(case, integrator, dt, end, samples=2)
    return errors_at(motion, case.reference(motion.time[-1:], steps_and_dt(motion.time[-1], dt)[1]), -1)


def errors_at(motion: Motion, reference: Motion, k: int) -> Errors:
    expected = reference.q[k]
    return Errors(relative_l1(same_sign(motion.q[k], expected), expected), relative_l1(motion.omega[k], reference.omega[k]))


MOST_STEPS = 10**9  # torque evaluations: some minutes


def checked(name: str, integrator: str, dt: float | None, end: float | None) -> tuple[Case, float, float]:
    """The case, the step and the end, or an InputError."""
    if name not in CASES:
        raise unknown_name("case", name, CASES)
    if integrator not in SCHEMES:
        raise unknown_name("integrator", integrator, SCHEMES)
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
        raise InputError(f"--dt: {end / dt:.3g} steps are too many; take at least {end / most:.3g} s")
    return case, dt, end


def run(name: str, integrator: str, dt: float | None = None, end: float | None = None) -> dict[str, Any]:
    """One case with one integrator: what `minidem rotor --json` prints. Without `dt` and `end`, those of the case."""
    case, dt, end = checked(name, integrator, dt, end)
    motion = integrated(case, integrator, dt, end)
    steps, dt = steps_and_dt(end, dt)
    with np.errstate(over="ignore", invalid="ignore"):  # of an unstable motion
        error = errors_at(motion, case.reference(motion.time[-1:], dt), -1)
        deviation = case.energy_deviation(motion)
        axis = motion.axis()[-1]

    def number(value: float) -> float | None:
        """JSON has no word for what an unstable motion ends in."""
        return float(value) if math.isfinite(value) else None

    return {
        "case": case.name,
        "integrator": integrator,
        "dt": dt,
        "steps": steps,
        "time": float(motion.time[-1]),
        "error_q": number(error.q),
        "error_omega": number(error.omega),
        "error": number(error.mean),
        "energy_error_max": None if deviation is None else number(deviation.max()),
        "energy_error_last": None if deviation is None else number(deviation[-1]),
        "q": [[number(value) for value in body] for body in motion.q[-1].T],
        "omega": [[number(value) for value in body] for body in motion.omega[-1].T],
        "axis": [[number(value) for value in body] for body in axis.T],
    }


def bench_run(name: str, integrator: str, dt: float | None, end: float | None, samples: int = 201) -> BenchRun:
    """A case with one integrator, at up to `samples` even steps; `dt` and `end` (s) are those of the case by default."""
    case, dt, end = checked(name, integrator, dt, end)
    motion = integrated(case, integrator, dt, end, samples)
    reference = case.reference(motion.time, steps_and_dt(float(motion.time[-1]), dt)[1])
    with np.errstate(over="ignore", invalid="ignore"):  # the motion may be unstable
        found = [errors_at(motion, reference, k) for k in range(1, len(motion.time))]
        deviation = case.energy_deviation(motion)
    error_q, error_omega = np.array([(error.q, error.omega) for error in found]).T
    return BenchRun(case.name, integrator, dt, motion, reference, error_q, error_omega, deviation)


def step_for_error(case: Case, integrator: str, target: float, low: float = 1e-7, high: float = 0.2) -> float:
    """The longest step that gives the mean error `target` at the end: a bracketed root of log(error) in log(dt).

    Searched from `high` downwards by halves, since at large steps the error need not grow with the step.
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
