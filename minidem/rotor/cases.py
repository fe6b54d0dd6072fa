"""The cases of the bench: a body, its initial state, its torque, and a reference solution.

Values that a paper does not give are marked "ours".
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
Solution = Callable[["Case", Array, float], tuple[Array, Array]]  # of (case, times, dt): see reference.py
Potential = Callable[[Motion], Array]  # J, shape (k,)


@dataclass(frozen=True)
class Case:
    """One body or several under a given torque."""

    name: str
    source: str  # the paper
    summary: str
    inertia: Array  # (3, n) kg m^2
    orientation: Array  # (4, n) initial
    omega: Array  # (3, n) initial, rad/s, principal axes
    end: float  # s
    dt: float  # s, by default
    torque: Callable[..., None]  # see torques.py
    solution: Solution
    potential: Potential | None = None  # None if energy is not conserved
    depends_on_dt: bool = False  # whether the torque, and so the solution, depends on dt
    longest: float = 10.0  # longest run in units of `end`; the reference of a longer one would take too long

    def reference(self, times: Array, dt: float | None = None) -> Motion:
        """The reference motion at the given times (s, ascending); `dt` (s) matters only if the torque depends on it."""
        return Motion(times, *self.solution(self, times, self.dt if dt is None else dt))

    def energy(self, motion: Motion) -> Array | None:
        """Kinetic plus potential energy, J, shape (k,); None if energy is not conserved."""
        return None if self.potential is None else motion.kinetic_energy(self.inertia) + self.potential(motion)

    def energy_deviation(self, motion: Motion) -> Array | None:
        """|E - E0| / |E0| with the exact initial energy E0, shape (k,); None if energy is not conserved."""
        energy = self.energy(motion)
        if energy is None:
            return None
        exact = self.energy(Motion(np.zeros(1), self.orientation[None], self.omega[None]))
        assert exact is not None
        deviation: Array = np.abs(energy - exact[0]) / abs(exact[0])
        return deviation


def one_body(
    name: str,
    source: str,
    summary: str,
    inertia: Any,
    omega: Any,
    end: float,
    dt: float,
    torque: Any,
    solution: Solution,
    potential: Potential | None = None,
    tilt: float = 0.0,
    **options: Any,
) -> Case:
    """A case of a single body whose initial orientation is tilted by `tilt` (rad) about x."""
    start = np.array([[math.cos(tilt / 2)], [math.sin(tilt / 2)], [0.0], [0.0]])
    moments, spin = np.array(inertia, float).reshape(3, 1), np.array(omega, float).reshape(3, 1)
    return Case(name, source, summary, moments, start, spin, end, dt, torque, solution, potential, **options)


def cylinder(radius: float, height: float, density: float) -> Array:
    """Principal moments of a cylinder along x, kg m^2, shape (3,); arguments in m, m and kg/m^3."""
    mass = density * math.pi * radius**2 * height
    across = mass * (3 * radius**2 + height**2) / 12
    return np.array([mass * radius**2 / 2, across, across])


def toss_solution(case: Case, times: Array, dt: float) -> tuple[Array, Array]:
    """Reference of the book toss, whose torque jumps at the end of the push and one step later."""
    end = torques.end_of_push.py_func(dt)
    return reference.by_runge_kutta(case, times, dt, (end, end + dt))


def no_potential(motion: Motion) -> Array:
    """Zeros, J, shape (k,): the potential of a free body."""
    return np.zeros_like(motion.time)


def height_of_axis(motion: Motion) -> Array:
    """World z component of the third principal axis, shape (k,)."""
    return motion.axis(2)[:, 2, 0]


def soft_wall_potential(motion: Motion) -> Array:
    """Potential of the soft wall, J, shape (k,)."""
    s = 1.1 + height_of_axis(motion)
    potential: Array = -1 / s + 0.001 * s**-10
    return potential


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
            inertia=cylinder(0.05, 0.15, 7750.0),
            omega=[0.3, -0.9, 0.6],
            end=1.0,
            dt=1e-3,
            torque=torques.constant,
            solution=lambda case, times, dt: reference.driven_cylinder(
                times, case.inertia[:, 0], case.omega[:, 0], torques.CONSTANT
            ),
        ),
        one_body(
            "symmetric-top",
            f"{_P}, Sec. 3.1",
            "a free symmetric top over a long time",
            inertia=[1100.0, 1100.0, 2600.0],
            omega=[1.20, 0.45, -0.6],
            end=10_000.0,
            dt=1e-2,
            torque=torques.none,
            solution=lambda case, times, dt: reference.free_symmetric_top(times, case.inertia[:, 0], case.omega[:, 0]),
            potential=no_potential,
        ),
        one_body(
            "forced-sphere",
            f"{_P}, Sec. 3.2",
            "a sphere under a torque that grows exponentially",
            inertia=[_SPHERE] * 3,
            omega=[0.0, 0.0, 0.0],
            end=1.0,
            dt=1e-4,
            torque=torques.growing,
            solution=lambda case, times, dt: reference.growing_spin(times, torques.GROWING / case.inertia[0, 0]),
        ),
        one_body(
            "forced-cylinder",
            f"{_P}, Sec. 3.3",
            "a cylinder under a three-dimensional torque in its own frame",
            inertia=cylinder(5e-3, 0.03, 1100.0),
            omega=[0.0, 0.0, 0.0],
            end=0.1,
            dt=1e-5,
            torque=torques.three_dimensional,
            solution=reference.by_runge_kutta,
            longest=1.5,
        ),
        Case(
            "coupled-cylinders",
            f"{_P}, Sec. 3.4",
            "two cylinders rubbing against each other, a torque that depends on omega (masses of 10 kg: ours)",
            inertia=np.array([_RUBBING, _RUBBING, _RUBBING]),
            orientation=np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
            omega=np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.4]]),
            end=5.0,
            dt=1e-2,
            torque=torques.rubbing,
            solution=lambda case, times, dt: reference.rubbing_cylinders(
                times, _RUBBING, case.omega[2], np.array(torques.RADII), torques.FRICTION
            ),
        ),
        one_body(
            "free-body",
            f"{_K}, Sec. 3.1",
            "a free asymmetric body",
            inertia=[0.9144, 1.098, 1.66],
            omega=[0.45549, 0.82623, 0.03476],
            end=100.0,
            dt=0.1,
            torque=torques.none,
            solution=lambda case, times, dt: reference.free_motion(times, case.inertia[:, 0], case.omega[:, 0]),
            potential=no_potential,
        ),
        one_body(
            "book-toss",
            f"{_K}, Sec. 3.2",
            "a push about the middle axis for 2 s (ours), then a blow across it lasting one step; 5 s in all (ours)",
            inertia=[5.0, 10.0, 1.0],
            omega=[0.0, 0.0, 0.0],
            end=5.0,
            dt=1e-3,
            torque=torques.toss,
            solution=toss_solution,
            depends_on_dt=True,
        ),
        one_body(
            "lagrange-top",
            f"{_K}, Sec. 3.3",
            "a heavy symmetric top: a disc of 1 kg and 1 m radius on a stem of sqrt(3)/2 m (disc, tilt and spin: ours)",
            inertia=[1.0, 1.0, 0.5],
            omega=[0.0, 0.0, 12.0],
            end=100.0,
            dt=0.05,
            torque=torques.lagrange_top,
            solution=reference.by_runge_kutta,
            potential=lambda motion: torques.LAGRANGE_MOMENT * height_of_axis(motion),
            tilt=0.3,
        ),
        one_body(
            "fast-top",
            f"{_K}, Sec. 3.4",
            "a heavy top spinning fast",
            inertia=[5.0, 5.0, 1.0],
            omega=[0.0, 0.0, 50.0],
            end=10.0,
            dt=1e-3,
            torque=torques.heavy_top,
            solution=reference.by_runge_kutta,
            potential=lambda motion: torques.TOP_MOMENT * height_of_axis(motion),
            tilt=0.3,
        ),
        one_body(
            "slow-top",
            f"{_K}, Sec. 3.5",
            "a heavy top spinning slowly, for 10 s (ours)",
            inertia=[5.0, 5.0, 1.0],
            omega=[0.0, 0.0, 5.0],
            end=10.0,
            dt=1e-2,
            torque=torques.heavy_top,
            solution=reference.by_runge_kutta,
            potential=lambda motion: torques.TOP_MOMENT * height_of_axis(motion),
            tilt=0.05,
        ),
        one_body(
            "soft-wall",
            f"{_K}, Sec. 3.6",
            "an attracting point behind a repelling soft wall, for 10 s (ours)",
            inertia=[2.0, 3.0, 4.5],
            omega=[1.0, 2.0 / 3.0, 2.0 / 4.5],
            end=10.0,
            dt=1e-2,
            torque=torques.soft_wall,
            solution=reference.by_runge_kutta,
            potential=soft_wall_potential,
        ),
    )
}
