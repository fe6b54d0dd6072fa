"""The cases of the bench: a body, its start, its torque, and a reference for its motion.

Where a paper leaves a value out, the one taken here is said to be ours.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference, torques
from .motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    summary: str
    inertia: Array  # (3, n) kg m^2
    orientation: Array  # (4, n) at the start
    omega: Array  # (3, n) rad/s at the start, principal axes
    end: float  # s
    dt: float  # s, unless told
    torque: Callable[..., None]  # see torques.py
    solution: Callable[["Case", Array, float], tuple[Array, Array]]  # at given times, for a given step
    potential: Callable[[Motion], Array] | None = None  # (k,) J; None where energy is not conserved
    depends_on_dt: bool = False  # the torque, and so the solution
    longest: float = 10.0  # times `end`: beyond, the reference would take too long

    def reference(self, times: Array, dt: float | None = None) -> Motion:
        """`dt` only matters where the torque depends on it."""
        return Motion(times, *self.solution(self, times, self.dt if dt is None else dt))

    def energy(self, motion: Motion) -> Array | None:
        """Kinetic and potential, (k,) J."""
        return None if self.potential is None else motion.kinetic_energy(self.inertia) + self.potential(motion)

    def energy_deviation(self, motion: Motion) -> Array | None:
        """|E - E0| / |E0| with the exact E0, (k,)."""
        energy = self.energy(motion)
        if energy is None:
            return None
        exact = self.energy(Motion(np.zeros(1), self.orientation[None], self.omega[None]))
        assert exact is not None
        return np.abs(energy - exact[0]) / abs(exact[0])


def one_body(
    name: str,
    source: str,
    summary: str,
    inertia: Any,
    omega: Any,
    end: float,
    dt: float,
    torque: Any,
    solution: Callable[[Case, Array, float], tuple[Array, Array]],
    potential: Callable[[Motion], Array] | None = None,
    tilt: float = 0.0,
    **options: Any,
) -> Case:
    """`tilt` (rad) is about the axis x."""
    start = np.array([[math.cos(tilt / 2)], [math.sin(tilt / 2)], [0.0], [0.0]])
    moments, spin = np.array(inertia, float).reshape(3, 1), np.array(omega, float).reshape(3, 1)
    return Case(name, source, summary, moments, start, spin, end, dt, torque, solution, potential, **options)


def cylinder(radius: float, height: float, density: float) -> Array:
    """Moments of a cylinder along x, kg m^2."""
    mass = density * math.pi * radius**2 * height
    across = mass * (3 * radius**2 + height**2) / 12
    return np.array([mass * radius**2 / 2, across, across])


def by_runge_kutta(case: Case, times: Array, dt: float) -> tuple[Array, Array]:
    return reference.by_runge_kutta(times, dt, case)


def toss_solution(case: Case, times: Array, dt: float) -> tuple[Array, Array]:
    end = torques.end_of_push.py_func(dt)
    return reference.by_runge_kutta(times, dt, case, (end, end + dt))


def no_potential(motion: Motion) -> Array:
    return np.zeros_like(motion.time)


def height_of_axis(motion: Motion) -> Array:
    """z of the body's third axis, (k,)."""
    return motion.axis(2)[:, 2, 0]


def soft_wall_potential(motion: Motion) -> Array:
    s = 1.1 + height_of_axis(motion)
    return -1 / s + 0.001 * s**-10


_S, _P, _K = "SPIRAL paper", "Seelen et al. 2016", "Krysl and Endres"
_SPHERE = 0.4 * 1100.0 * 4.0 / 3.0 * math.pi  # kg m^2: 2 m across, 1100 kg/m^3
_RUBBING = np.array([5.0, 5.0 * torques.RADII[1] ** 2])  # kg m^2: m R^2 / 2 with m = 10 kg, ours

CASES = {
    case.name: case
    for case in (
        one_body(
            "constant-torque",
            f"{_S}, Sec. 3",
            "a steel cylinder under a constant torque about its axis",
            cylinder(0.05, 0.15, 7750.0),
            [0.3, -0.9, 0.6],
            1.0,
            1e-3,
            torques.constant,
            lambda case, times, dt: reference.driven_cylinder(times, case.inertia[:, 0], case.omega[:, 0], torques.CONSTANT),
        ),
        one_body(
            "symmetric-top",
            f"{_P}, Sec. 3.1",
            "a free symmetric top for a long time",
            [1100.0, 1100.0, 2600.0],
            [1.20, 0.45, -0.6],
            10_000.0,
            1e-2,
            torques.none,
            lambda case, times, dt: reference.free_symmetric_top(times, case.inertia[:, 0], case.omega[:, 0]),
            no_potential,
        ),
        one_body(
            "forced-sphere",
            f"{_P}, Sec. 3.2",
            "a sphere under a torque that grows exponentially",
            [_SPHERE] * 3,
            [0.0, 0.0, 0.0],
            1.0,
            1e-4,
            torques.growing,
            lambda case, times, dt: reference.growing_spin(times, torques.GROWING / case.inertia[0, 0]),
        ),
        one_body(
            "forced-cylinder",
            f"{_P}, Sec. 3.3",
            "a cylinder under a three-dimensional torque in its own frame",
            cylinder(5e-3, 0.03, 1100.0),
            [0.0, 0.0, 0.0],
            0.1,
            1e-5,
            torques.three_dimensional,
            by_runge_kutta,
            longest=1.5,
        ),
        Case(
            "coupled-cylinders",
            f"{_P}, Sec. 3.4",
            "two cylinders rub against each other: a torque that depends on omega (masses of 10 kg: ours)",
            np.array([_RUBBING, _RUBBING, _RUBBING]),
            np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
            np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.4]]),
            5.0,
            1e-2,
            torques.rubbing,
            lambda case, times, dt: reference.rubbing_cylinders(
                times, _RUBBING, case.omega[2], np.array(torques.RADII), torques.FRICTION
            ),
        ),
        one_body(
            "free-body",
            f"{_K}, Sec. 3.1",
            "a free asymmetric body",
            [0.9144, 1.098, 1.66],
            [0.45549, 0.82623, 0.03476],
            100.0,
            0.1,
            torques.none,
            lambda case, times, dt: reference.free_motion(times, case.inertia[:, 0], case.omega[:, 0]),
            no_potential,
        ),
        one_body(
            "book-toss",
            f"{_K}, Sec. 3.2",
            "a push about the middle axis for 2 s (ours), then a blow across it that lasts one step; until 5 s (ours)",
            [5.0, 10.0, 1.0],
            [0.0, 0.0, 0.0],
            5.0,
            1e-3,
            torques.toss,
            toss_solution,
            depends_on_dt=True,
        ),
        one_body(
            "lagrange-top",
            f"{_K}, Sec. 3.3",
            "a heavy symmetric top: a disc of 1 kg and 1 m radius on a stem of sqrt(3)/2 m (disc, tilt and spin: ours)",
            [1.0, 1.0, 0.5],
            [0.0, 0.0, 12.0],
            100.0,
            0.05,
            torques.lagrange_top,
            by_runge_kutta,
            lambda motion: torques.LAGRANGE_MOMENT * height_of_axis(motion),
            tilt=0.3,
        ),
        one_body(
            "fast-top",
            f"{_K}, Sec. 3.4",
            "a heavy top that spins fast",
            [5.0, 5.0, 1.0],
            [0.0, 0.0, 50.0],
            10.0,
            1e-3,
            torques.heavy_top,
            by_runge_kutta,
            lambda motion: torques.TOP_MOMENT * height_of_axis(motion),
            tilt=0.3,
        ),
        one_body(
            "slow-top",
            f"{_K}, Sec. 3.5",
            "a heavy top that spins slowly, for 10 s (ours)",
            [5.0, 5.0, 1.0],
            [0.0, 0.0, 5.0],
            10.0,
            1e-2,
            torques.heavy_top,
            by_runge_kutta,
            lambda motion: torques.TOP_MOMENT * height_of_axis(motion),
            tilt=0.05,
        ),
        one_body(
            "soft-wall",
            f"{_K}, Sec. 3.6",
            "an attracting point behind a soft wall that repels, for 10 s (ours)",
            [2.0, 3.0, 4.5],
            [1.0, 2.0 / 3.0, 2.0 / 4.5],
            10.0,
            1e-2,
            torques.soft_wall,
            by_runge_kutta,
            soft_wall_potential,
        ),
    )
}
