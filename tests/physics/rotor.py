"""One rigid body under a constant torque in its own frame, against a reference (SPIRAL paper, Sec. 3)."""

import importlib

import numpy as np
from numba import njit
from scipy.integrate import solve_ivp

from minidem.core.compiling import rotation_kernel
from minidem.core.rotation.registry import SCHEMES

RADIUS, HEIGHT, DENSITY = 0.05, 0.15, 7750.0  # m, m, kg/m^3
MASS = DENSITY * np.pi * RADIUS**2 * HEIGHT
ACROSS = MASS * (3 * RADIUS**2 + HEIGHT**2) / 12
INERTIA = np.array([MASS * RADIUS**2 / 2, ACROSS, ACROSS])  # kg m^2
TORQUE = np.array([0.5, 0.0, 0.0])  # N m
OMEGA = np.array([0.3, -0.9, 0.6])  # rad/s


def motion(_, state, torque, inertia):
    """dq/dt = q omega / 2 and Euler's equations, written with matrices: nothing of the package."""
    q, omega = state[:4], state[4:]
    w, x, y, z = q
    rates = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) @ omega
    return np.concatenate([rates, (torque - np.cross(omega, inertia * omega)) / inertia])


def reference(time, torque=TORQUE, inertia=INERTIA, omega=OMEGA):
    """q and omega at `time` by DOP853 to 1e-13."""
    start = np.concatenate([[1.0, 0.0, 0.0, 0.0], omega])
    end = solve_ivp(motion, (0.0, time), start, "DOP853", rtol=1e-13, atol=1e-14, args=(torque, inertia)).y[:, -1]
    return end[:4], end[4:]


@njit
def repeated(function, times, q, spin, torque, inertia, dt):
    for _ in range(times):
        function(q, spin, torque, inertia, dt)


def integrated(scheme, dt, time=1.0, torque=TORQUE, inertia=INERTIA, omega=OMEGA):
    """q and omega at `time` by one of the package's schemes."""
    module = importlib.import_module(SCHEMES[scheme].module)
    start, advance, on_step = (
        rotation_kernel(getattr(module, part), f"{scheme}.{part}") for part in ("start", "advance", "on_step")
    )
    steps = round(time / dt)
    q = np.array([[1.0], [0.0], [0.0], [0.0]])
    spin, m, i = (np.ascontiguousarray(v.reshape(3, 1)).copy() for v in (omega, torque, inertia))
    repeated(start, 1, q, spin, m, i, time / steps)
    repeated(advance, steps, q, spin, m, i, time / steps)
    repeated(on_step, 1, q, spin, m, i, time / steps)
    return q[:, 0], spin[:, 0]


def errors(scheme, dt, expected, **case):
    """Relative L1 errors of q and omega (SPIRAL paper, Eq. 13); q and -q are the same orientation."""
    q, omega = integrated(scheme, dt, **case)
    q = q * np.sign(q @ expected[0])
    return np.array([np.abs(a - b).sum() / np.abs(b).sum() for a, b in zip((q, omega), expected, strict=True)])
