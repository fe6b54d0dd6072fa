"""Rigid-body motion by matrices and scipy: nothing of the package."""

import numpy as np
from scipy.integrate import solve_ivp


def matrix(q):
    """Body -> world."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rates(t, state, torque, inertia):
    """dq/dt = q omega / 2 and Euler's equations; `torque(t, q, omega)` is in the body frame."""
    q, omega = state[:4], state[4:]
    w, x, y, z = q
    turning = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) @ omega
    return np.concatenate([turning, (torque(t, q, omega) - np.cross(omega, inertia * omega)) / inertia])


def motion_at(time, q, omega, inertia, torque=lambda t, q, omega: np.zeros(3)):
    """q and omega at `time`, by DOP853 to 1e-13."""
    start = np.concatenate([q, omega])
    end = solve_ivp(rates, (0.0, time), start, "DOP853", rtol=1e-13, atol=1e-14, args=(torque, inertia)).y[:, -1]
    return end[:4], end[4:]
