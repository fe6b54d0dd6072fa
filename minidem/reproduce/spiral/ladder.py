"""Errors of one integrator in one case at successively shorter steps; the order and the step for a given error."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import errors_at, integrated
from ...rotor.cases import Case
from ...rotor.motion import Motion
from ..measures import log_slope

Array = NDArray[np.float64]
# Duration (s) and number of steps of the first rung. Tops and long runs are shortened; the number for the book toss is a
# multiple of five, so that the push ends on a step.
SPANS = {
    "constant-torque": (1.0, 32),
    "symmetric-top": (100.0, 256),
    "forced-sphere": (1.0, 128),
    "forced-cylinder": (0.1, 64),
    "coupled-cylinders": (1.0, 32),
    "free-body": (100.0, 128),
    "book-toss": (5.0, 80),
    "lagrange-top": (10.0, 256),
    "fast-top": (2.0, 256),
    "slow-top": (10.0, 128),
    "soft-wall": (10.0, 128),
}
FLOOR, CEILING = 1e-10, 0.03  # smaller errors are round-off, larger ones are outside the range of convergence
ENOUGH = 1e-8  # no shorter steps once the error is below


@dataclass(frozen=True)
class Step:
    """A step for a given error, and how it was found.

    `found` is "between" two rungs, "at least" the longest step tried, "extrapolation", or "" if there is none (dt is NaN).
    """

    dt: float  # s
    found: str


@dataclass(frozen=True)
class Ladder:
    """Relative errors of q and omega at each step, shapes (rungs,)."""

    dt: Array  # s, descending
    q: Array
    omega: Array

    def order(self, error: Array) -> float:
        """Slope of log(error) against log(dt) for the three shortest steps with an error between FLOOR and CEILING.

        NaN if there are fewer than two.
        """
        use = np.flatnonzero(np.isfinite(error) & (error > FLOOR) & (error < CEILING))[-3:]
        return log_slope(self.dt[use], error[use]) if len(use) > 1 else math.nan

    def step_for(self, target: float) -> Step:
        """The step with the mean error `target`: log-log interpolation between the last rung above it and the next one."""
        error = 0.5 * (self.q + self.omega)
        above = np.flatnonzero(~(error < target))
        if len(above) == 0:
            return Step(float(self.dt[0]), "at least")
        k = above[-1]
        if k + 1 == len(error):
            order = self.order(error)
            if not (math.isfinite(error[k]) and error[k] < CEILING and order > 0.5):
                return Step(math.nan, "")
            return Step(float(self.dt[k] * (target / error[k]) ** (1 / order)), "extrapolation")
        if not math.isfinite(error[k]):
            return Step(float(self.dt[k + 1]), "at least")
        a, b = np.log(error[k : k + 2])
        part = (a - math.log(target)) / (a - b)
        return Step(float(self.dt[k] * (self.dt[k + 1] / self.dt[k]) ** part), "between")


def ladder(case: Case, integrator: str, reference: Callable[[float], Motion], factor: int, most: int) -> Ladder:
    """Errors at the end of SPANS, each rung with `factor` times as many steps, until below ENOUGH or beyond `most` steps.

    `reference` returns the exact final state for a given dt (s).
    """
    end, steps = SPANS[case.name]
    rungs: list[tuple[float, float, float]] = []
    while steps <= most:
        dt = end / steps
        with np.errstate(all="ignore"):  # an unstable scheme may end anywhere
            error = errors_at(integrated(case, integrator, dt, end, samples=2), reference(dt), -1)
        rungs.append((dt, error.q, error.omega))
        if error.mean < ENOUGH and len(rungs) > 2:
            break
        steps *= factor
    return Ladder(*np.array(rungs).T)
