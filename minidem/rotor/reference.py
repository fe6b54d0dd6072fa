"""Reference motions: closed forms where they exist, else Runge-Kutta 8(5,3) to 1e-13.

Each solution returns orientations (k, 4, n) and angular velocities (k, 3, n; rad/s, principal axes) at k given times (s, in
ascending order). The closed forms start from q = 1. The equations of motion are written here independently of the
integrators, so that they check them.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from .. import quaternions
from ..engine.compile.kernels import kernel
from ..errors import InputError
from .torques import pointer

if TYPE_CHECKING:
    from .cases import Case

Array = NDArray[np.float64]
Solution = tuple[Array, Array]


def turn(vector: Array) -> Array:
    """Unit quaternions (..., 4) of rotation vectors (..., 3)."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def states_at(rates: Callable[[float, Array], Array], state: Array, times: Array, jumps: Sequence[float] = ()) -> Array:
    """States (k, m) at the ascending `times` (s) for d state/dt = rates(t, state), which may jump at the times `jumps`."""
    states, now = [], 0.0
    for time in times:
        stops = [now, *(jump for jump in jumps if now < jump < time), time]
        for begin, end in pairwise(stops):
            if end > begin:
                inside = 1e-5 * (end - begin)  # the torque is not evaluated at a jump, where it is a mean

                def bounded(t: float, y: Array, low: float = begin + inside, high: float = end - inside) -> Array:
                    return rates(min(max(t, low), high), y)

                step = solve_ivp(bounded if jumps else rates, (begin, end), state, "DOP853", rtol=1e-13, atol=1e-15)
                if not step.success:
                    raise InputError(f"--end: there is no reference solution beyond {step.t[-1]:g} s; choose an earlier end")
                state = step.y[:, -1]
        states.append(state)
        now = time
    return np.array(states)


def rates_of(t: float, dt: float, state: Array, torque_at: Any, inertia: Array) -> Array:
    """d/dt of q and omega, shape (7 n,), by dq/dt = q omega / 2 and Euler's equations.

    `state` is four rows of q and three of omega, of n values each.
    """
    n = inertia.shape[1]
    y, rate = np.ascontiguousarray(state.reshape(7, n)), np.empty((7, n))
    fill_rates(t, dt, y, torque_at, inertia, np.empty((3, n)), rate)
    return rate.ravel()


@kernel
def fill_rates(t, dt, y, torque_at, inertia, torque, rate):  # type: ignore[no-untyped-def]
    """Fill `rate` (7, n) with the rates of `y` (7, n); `torque` (3, n) is scratch."""
    torque_at(t, dt, y[:4], y[4:], torque)
    for b in range(inertia.shape[1]):
        w, x, y_, z = y[0, b], y[1, b], y[2, b], y[3, b]
        ox, oy, oz = y[4, b], y[5, b], y[6, b]
        ix, iy, iz = inertia[0, b], inertia[1, b], inertia[2, b]
        rate[0, b] = 0.5 * (-x * ox - y_ * oy - z * oz)
        rate[1, b] = 0.5 * (w * ox + y_ * oz - z * oy)
        rate[2, b] = 0.5 * (w * oy + z * ox - x * oz)
        rate[3, b] = 0.5 * (w * oz + x * oy - y_ * ox)
        rate[4, b] = (torque[0, b] - (iz - iy) * oy * oz) / ix
        rate[5, b] = (torque[1, b] - (ix - iz) * oz * ox) / iy
        rate[6, b] = (torque[2, b] - (iy - ix) * ox * oy) / iz


def by_runge_kutta(case: "Case", times: Array, dt: float, jumps: Sequence[float] = ()) -> Solution:
    """Motion under the case's torque, which may depend on the step `dt` (s) and jump at the times `jumps` (s)."""
    start = np.concatenate([case.orientation, case.omega]).ravel()
    torque_at = pointer(case.torque)
    states = states_at(lambda t, y: rates_of(t, dt, y, torque_at, case.inertia), start, times, jumps)
    states = states.reshape(len(times), 7, -1)
    return states[:, :4], states[:, 4:]


def driven_cylinder(times: Array, inertia: Array, omega: Array, torque: float) -> Solution:
    """A constant torque about the symmetry axis x: omega by the SPIRAL paper, Eq. 11 and 12, q by Runge-Kutta."""
    ix, iy, iz = inertia
    big = ix / (2 * torque) * abs(ix - iy) / iy  # Omega of Eq. 12
    eta = iy / (iz - ix) * 2 * torque / ix
    c, s = math.cos(big * omega[0] ** 2), math.sin(big * omega[0] ** 2)
    k1 = omega[1] * c - omega[2] / (big * eta) * s
    k2 = omega[1] * s + omega[2] / (big * eta) * c

    def omega_at(t: float) -> Array:
        x = omega[0] + torque / ix * t
        c, s = math.cos(big * x * x), math.sin(big * x * x)
        return np.array([x, k1 * c + k2 * s, eta * big * (k2 * c - k1 * s)])

    def rates(t: float, q: Array) -> Array:
        w, x, y, z = q
        a, b, c = omega_at(t)
        return 0.5 * np.array([-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a])

    q = states_at(rates, np.array([1.0, 0.0, 0.0, 0.0]), times)
    return q[..., None], np.array([omega_at(t) for t in times])[..., None]


def free_symmetric_top(times: Array, inertia: Array, omega: Array) -> Solution:
    """No torque, symmetry axis z: steady rotations about L and about z, omega = L/I + (1 - I_z/I) omega_z e_z."""
    across, along = inertia[0], inertia[2]
    own = omega[2] * (1 - along / across)
    t = times[:, None]
    q = quaternions.product(turn(t * inertia * omega / across), turn(t * np.array([0.0, 0.0, own])))
    c, s = np.cos(own * times), np.sin(own * times)
    spin = np.stack([omega[0] * c + omega[1] * s, omega[1] * c - omega[0] * s, np.full_like(c, omega[2])], axis=-1)
    return q[..., None], spin[..., None]


def growing_spin(times: Array, rate: float) -> Solution:
    """Rotation about y from rest with d omega/dt = rate exp(t); `rate` in rad/s^2."""
    y = np.array([0.0, 1.0, 0.0])
    q = turn((rate * (np.expm1(times) - times))[:, None] * y)
    return q[..., None], ((rate * np.expm1(times))[:, None] * y)[..., None]


def rubbing_cylinders(times: Array, inertia: Array, omega: Array, radii: Array, friction: float) -> Solution:
    """Two cylinders along z that rub against each other: the slip velocity decays exponentially."""
    slip = (radii * omega).sum()
    decay = friction * (radii**2 / inertia).sum()
    lost = friction * slip * -np.expm1(-decay * times)[:, None] / decay * radii / inertia
    turned = friction * slip * (times + np.expm1(-decay * times) / decay)[:, None] / decay * radii / inertia
    z = np.array([0.0, 0.0, 1.0])
    q = turn((omega * times[:, None] - turned)[..., None] * z)
    return q.swapaxes(1, 2), ((omega - lost)[..., None] * z).swapaxes(1, 2)


def free_motion(times: Array, inertia: Array, omega: Array) -> Solution:
    """No torque, any body: power series in time, in extended precision if available. The error of DOP853 would be 1e-12."""
    ix, iy, iz = inertia.astype(np.longdouble)
    gyro = np.array([(iy - iz) / ix, (iz - ix) / iy, (ix - iy) / iz])
    terms = 24
    q, w = np.array([1, 0, 0, 0], np.longdouble), omega.astype(np.longdouble)
    longest = 0.25 / float(np.linalg.norm(omega) * max(1.0, np.abs(gyro).max()))  # s: the last term is below 1e-19
    states, now = [], 0.0
    for time in times:
        pieces = max(1, math.ceil((time - now) / longest))
        h = np.longdouble(time - now) / pieces
        for _ in range(pieces):
            a, p = np.zeros((terms + 1, 3), np.longdouble), np.zeros((terms + 1, 4), np.longdouble)
            a[0], p[0] = w, q
            for k in range(terms):
                back = a[k::-1]  # Cauchy products of the series
                a[k + 1] = gyro * [(a[: k + 1, i] * back[:, j]).sum() for i, j in ((1, 2), (2, 0), (0, 1))] / (k + 1)
                m = (p[: k + 1, :, None] * back[:, None, :]).sum(axis=0)  # q_i omega_j
                p[k + 1] = [
                    -m[1, 0] - m[2, 1] - m[3, 2],
                    m[0, 0] + m[2, 2] - m[3, 1],
                    m[0, 1] + m[3, 0] - m[1, 2],
                    m[0, 2] + m[1, 1] - m[2, 0],
                ]
                p[k + 1] /= 2 * (k + 1)
            powers = h ** np.arange(terms + 1)
            w, q = powers @ a, powers @ p
        states.append(np.concatenate([q, w]).astype(float))
        now = time
    found = np.array(states)[..., None]
    return found[:, :4], found[:, 4:]
