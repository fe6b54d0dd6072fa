"""The free-rotor scheme against Taylor series in extended precision: exact without torque, second order with torque."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from numba import njit

from minidem.engine.rotation.free_rotor import advance_spinning, advance_tumbling, on_step, start
from minidem.engine.rotation.registry import SCHEMES
from minidem.engine.state import inertia_rows

Extended = np.longdouble
pytestmark = pytest.mark.skipif(np.finfo(Extended).eps > 1e-18, reason="the reference needs extended precision")
STEPS = 100_000
NO_TORQUE = (0.0, 0.0, 0.0)
UNIT = (0.8, 0.0, -0.36, 0.48)  # an orientation of norm 1
REST = (0.0,) * (SCHEMES["free-rotor"].values - 3)


@njit(error_model="numpy")
def advance(q, spin, torque, inertia, dt):
    """One step: both functions of the scheme."""
    q, spin = advance_spinning(q, spin, torque, inertia, dt)
    return advance_tumbling(q, spin, torque, inertia, dt)


@njit(error_model="numpy")
def moved(q, omega, torque, inertia, dt, steps, first, last):
    """q, omega and the other values after `steps` steps, with the torque acting from step `first` to step last - 1."""
    none = (0.0, 0.0, 0.0)
    q, spin = start(q, (*omega, *REST), torque if first == 0 else none, inertia, dt)
    for step in range(steps):
        q, spin = advance(q, spin, torque if first <= step < last else none, inertia, dt)
    q, spin = on_step(q, spin, torque if first <= steps < last else none, inertia, dt)
    return q, (spin[0], spin[1], spin[2]), spin[3:]


def integrated(inertia, omega, dt, steps, torque=NO_TORQUE, first=0, last=10**9, q=UNIT):
    """q and omega after `steps` steps by the scheme, as arrays."""
    inertia, omega, torque, q = (tuple(float(x) for x in v) for v in (inertia_rows(inertia), omega, torque, q))
    q, omega, rest = moved(q, omega, torque, inertia, float(dt), steps, first, last)
    assert rest == REST
    return np.array(q), np.array(omega)


def reference(inertia, omega, time, torque=NO_TORQUE, q=UNIT, order=28, angle=0.4):
    """q (n, 4) and omega (n, 3) of n bodies at `time` (s), by Taylor series in extended precision."""
    inertia, w, q = (np.array(v, Extended).T for v in (inertia, omega, np.broadcast_to(q, (len(inertia), 4))))
    torque = np.array(torque, Extended).reshape(3, -1)
    steps = max(1, int(np.ceil(float(time * np.sqrt((w * w).sum(0)).max()) / angle)))
    h = Extended(time) / steps
    gyration = np.stack([inertia[1] - inertia[2], inertia[2] - inertia[0], inertia[0] - inertia[1]]) / inertia
    series_w, series_q = np.zeros((order + 1, *w.shape), Extended), np.zeros((order + 1, *q.shape), Extended)
    for _ in range(steps):
        series_w[0], series_q[0] = w, q
        for k in range(order):  # Leibniz: the k-th coefficient of a product
            a, b, p = series_w[: k + 1], series_w[k::-1], series_q[: k + 1]
            rate = gyration * (a[:, [1, 2, 0]] * b[:, [2, 0, 1]]).sum(0)
            series_w[k + 1] = (rate + torque / inertia if k == 0 else rate) * h / (k + 1)
            turn = np.stack(
                [
                    -p[:, 1] * b[:, 0] - p[:, 2] * b[:, 1] - p[:, 3] * b[:, 2],
                    p[:, 0] * b[:, 0] + p[:, 2] * b[:, 2] - p[:, 3] * b[:, 1],
                    p[:, 0] * b[:, 1] + p[:, 3] * b[:, 0] - p[:, 1] * b[:, 2],
                    p[:, 0] * b[:, 2] + p[:, 1] * b[:, 1] - p[:, 2] * b[:, 0],
                ]
            )
            series_q[k + 1] = turn.sum(1) * h / (2 * (k + 1))
        w, q = series_w[::-1].sum(0), series_q[::-1].sum(0)
    return q.T, w.T


def distance(result, expected):
    """Largest differences in q, up to its sign, and in omega."""
    q, omega = result
    q = q * np.sign(float(q @ expected[0]))
    return float(abs(q - expected[0]).max()), float(abs(omega - expected[1]).max())


def energy_and_momentum(inertia, q, omega):
    """Rotational energy (J) and world-frame angular momentum (J s)."""
    u, m = q[1:], inertia * omega
    return float(m @ omega) / 2, m + 2 * np.cross(u, np.cross(u, m) + q[0] * m)


def orders(name, inertia, omega):
    """The same body with its axes in all six orders, by name."""
    return {f"{name} {''.join('xyz'[k] for k in p)}": tuple(np.take((inertia, omega), p, 1)) for p in permutations(range(3))}


CASES = (
    orders("about the short axis", (0.9144, 1.098, 1.66), (0.45549, 0.82623, 0.03476))
    | orders("about the long axis", (0.9144, 1.098, 1.66), (-0.1, 0.5, -0.7))
    | orders("oblate", (1.0, 1.0, 1.7), (0.5, -0.3, 0.8))
    | orders("prolate", (1.0, 1.0, 0.1), (0.5, -0.3, -0.8))
    | orders("nearly oblate", (1.0, 1.0 + 1e-9, 1.7), (0.5, -0.3, 0.8))
    | orders("nearly prolate, across", (1.0, 1.0 + 1e-9, 0.1), (0.7, -0.7, 1e-5))
    | orders("only the long axis", (1.0, 2.0, 2.5), (0.9, 0.0, 0.0))
    | orders("only the middle axis", (1.0, 2.0, 2.5), (0.0, -0.9, 0.0))
    | orders("only the short axis", (1.0, 2.0, 2.5), (0.0, 0.0, 0.9))
    | {
        "nearly sphere": ((1.0, 1.0 + 1e-12, 1.0 + 3e-12), (0.5, -0.3, 0.8)),
        "sphere": ((2.0, 2.0, 2.0), (0.5, -0.3, 0.8)),
        "wobble": ((1.0, 2.0, 2.5), (1e-9, -1e-9, 0.9)),
        "still": ((1.0, 2.0, 2.5), (0.0, 0.0, 0.0)),
        "still and round": ((2.0, 2.0, 2.0), (0.0, 0.0, 0.0)),
    }
)
# I_x d_xy omega_x^2 = I_z d_yz omega_z^2 holds without rounding: these are on the separatrix.
TUMBLER = 1.0, 2.0, 2.25
GENERIC = 0.9144, 1.098, 1.66
NEAR = float(np.sqrt(1.66 * (1.66 - 1.098) / (0.9144 * (1.098 - 0.9144))))  # on the separatrix to round-off
UNSTABLE = (
    orders("on", TUMBLER, (0.75, 0.5, 1.0))
    | {f"on, from {w}": (TUMBLER, (0.75 * w, -1.0, w)) for w in (1.0, 1e-3, 1e-6)}
    | {f"off by {x}": (TUMBLER, (0.75 * (1.0 + x), -0.5, -1.0)) for x in (1e-3, -1e-3, 1e-8, -1e-8, 3e-16, -3e-16)}
    | {f"generic off by {x}": (GENERIC, (NEAR * (1.0 + x), 0.5, 1.0)) for x in (0.0, 1e-10, -1e-10, 1e-6)}
    | {f"middle axis and {x}": (TUMBLER, (x, 1.0, -2.0 * x)) for x in (1e-3, 1e-8, 1e-16, 1e-40)}
    | {"middle axis and x": (TUMBLER, (1e-4, 1.0, 0.0)), "middle axis and z": (TUMBLER, (0.0, 1.0, 1e-4))}
)


def references(cases, time):
    """The reference q and omega of each case at `time` (s), by name."""
    q, omega = reference(*zip(*cases.values(), strict=True), time)
    return dict(zip(cases, zip(q, omega, strict=True), strict=True))


@pytest.fixture(scope="module")
def after_100():
    return references(CASES, 100.0)


@pytest.fixture(scope="module")
def after_20():
    return references(UNSTABLE, 20.0)


@pytest.mark.parametrize("case", CASES)
def test_many_steps_are_exact(case, after_100):
    """1e5 steps in 100 s against the Taylor series; energy and angular momentum against their initial values."""
    inertia, omega = map(np.array, CASES[case])
    result = integrated(inertia, omega, 100.0 / STEPS, STEPS)
    assert max(distance(result, after_100[case])) < 1e-13
    before, after = (energy_and_momentum(inertia, *state) for state in ((np.array(UNIT), omega), result))
    assert after[0] == pytest.approx(before[0], rel=1e-14, abs=1e-300)
    assert after[1] == pytest.approx(before[1], abs=1e-13)


@pytest.mark.parametrize("case", UNSTABLE)
def test_separatrix_is_exact(case, after_20):
    """Against the Taylor series near the separatrix, where errors grow up to 1e6-fold in 20 s; its own error is 6e-14."""
    result = integrated(*UNSTABLE[case], 20.0 / STEPS, STEPS)
    assert max(distance(result, after_20[case])) < 1e-13


def test_separatrix_ends_on_the_middle_axis():
    """Against the exact limit: rotation about the middle axis with the initial energy."""
    inertia, omega = np.array(TUMBLER), np.array([0.75, 0.5, 1.0])
    _, end = integrated(inertia, omega, 1.0, STEPS)
    before, _ = energy_and_momentum(inertia, np.array(UNIT), omega)
    assert abs(end) == pytest.approx([0.0, np.sqrt(before), 0.0], abs=1e-14)


@pytest.mark.parametrize("steps", [1, 10, 100, 1000])
@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("yzx") or " " not in case])
def test_large_steps_are_exact(case, steps, after_100):
    """Steps of 0.1 s to 100 s against the Taylor series."""
    assert max(distance(integrated(*CASES[case], 100.0 / steps, steps), after_100[case])) < 1e-13


@pytest.mark.parametrize("dt", [1e-8, 1e-6])
def test_small_steps_are_exact(dt):
    """Against the Taylor series, with steps so small that summing them would accumulate equal rounding errors."""
    inertia, omega = CASES["about the short axis xyz"]
    expected = reference([inertia], [omega], Extended(dt) * STEPS)
    assert max(distance(integrated(inertia, omega, dt, STEPS), (expected[0][0], expected[1][0]))) < 1e-15


@pytest.mark.parametrize("dt", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("case", ["about the short axis xyz", "about the long axis zxy", "oblate yzx"])
def test_long_times_keep_phase_and_invariants(case, dt):
    """Against a restart from the state half-way, which is off by 1e-16: the difference grows at most with the angle."""
    inertia, omega = map(np.array, CASES[case])
    result = integrated(inertia, omega, dt, STEPS)
    q, w = integrated(inertia, omega, dt, STEPS // 2)
    again = integrated(inertia, w, dt, STEPS // 2, q=q)
    assert max(distance(again, result)) < 1e-14 * (1 + STEPS * dt)
    before, after = (energy_and_momentum(inertia, *state) for state in ((np.array(UNIT), omega), result))
    assert after[0] == pytest.approx(before[0], rel=1e-14)
    assert after[1] == pytest.approx(before[1], abs=1e-13 + 1e-14 * STEPS * dt)
    assert np.linalg.norm(after[1]) == pytest.approx(np.linalg.norm(before[1]), rel=1e-14)


def test_changing_the_step_keeps_time():
    """Ten steps of 0.5 s and ten of 0.3 s against the Taylor series at 8 s."""
    inertia, omega = CASES["about the long axis xyz"]

    @njit(error_model="numpy")
    def changing(q, omega, inertia):
        none = (0.0, 0.0, 0.0)
        q, spin = start(q, (*omega, *REST), none, inertia, 0.5)
        for k in range(20):
            q, spin = advance(q, spin, none, inertia, 0.5 if k < 10 else 0.3)
        q, spin = on_step(q, spin, none, inertia, 0.3)
        return q, (spin[0], spin[1], spin[2])

    q, w = reference([inertia], [omega], 8.0)
    result = changing(UNIT, tuple(map(float, omega)), tuple(map(float, inertia_rows(inertia))))
    assert max(distance(tuple(map(np.array, result)), (q[0], w[0]))) < 1e-14


@pytest.mark.parametrize("case", ["about the short axis yxz", "prolate xyz", "sphere"])
def test_single_kick_between_free_flights(case):
    """A torque at one step against two Taylor series, with omega changed by dt M/I between them."""
    inertia, omega = map(np.array, CASES[case])
    torque, dt = np.array([3.0, -2.0, 4.0]), 0.25
    q, w = reference([inertia], [omega], 10 * dt)
    q, w = reference([inertia], w + dt * torque / inertia, 30 * dt, q=q)
    result = integrated(inertia, omega, dt, 40, torque, first=10, last=11)
    assert max(distance(result, (q[0], w[0]))) < 1e-13


BODIES = [(0.9144, 1.098, 1.66), (1.66, 0.9144, 1.098), (1.0, 1.0, 1.7), (0.1, 1.0, 1.0), (1.0, 1.7, 1.0), (2.0, 2.0, 2.0)]
DRIVE = 0.4, -0.3, 0.5


@pytest.mark.parametrize("inertia", BODIES)
def test_second_order_under_torque(inertia):
    """The slope of the error against the Taylor series with a constant torque is 2."""
    q, w = reference([inertia], [(0.3, -0.9, 0.6)], 2.0, torque=DRIVE)
    steps = 50 * 2 ** np.arange(5)
    measured = np.array([distance(integrated(inertia, (0.3, -0.9, 0.6), 2.0 / n, n, DRIVE), (q[0], w[0])) for n in steps])
    if len(set(inertia)) == 1:  # a constant torque changes the omega of a sphere by M t/I, exactly
        assert measured[:, 1].max() < 1e-13
        measured = measured[:, :1]
    slopes = [-np.polyfit(np.log(steps), np.log(column), 1)[0] for column in measured.T]
    assert slopes == pytest.approx([2.0] * len(slopes), abs=0.03)
    assert measured[-1].max() < 1e-4


@pytest.mark.parametrize("inertia", BODIES)
def test_scheme_is_symmetric_in_time(inertia):
    """1000 steps forward and 1000 with -dt, against the initial state."""
    omega = np.array([0.3, -0.9, 0.6])
    q, w = integrated(inertia, omega, 0.1, 1000, DRIVE)
    assert max(distance(integrated(inertia, w, -0.1, 1000, DRIVE, q=q), (np.array(UNIT), omega))) < 1e-10


def test_quaternion_under_torque_keeps_its_norm():
    """|q| after 1e5 steps against 1."""
    q, _ = integrated(BODIES[0], (0.3, -0.9, 0.6), 1e-4, STEPS, DRIVE)
    assert q @ q == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("case", ["about the short axis xyz", "prolate xyz"])
def test_quaternion_does_not_jump(case):
    """The sign of q does not change between consecutive steps."""
    path = [integrated(*CASES[case], 0.2, n)[0] for n in range(200)]
    assert min(a @ b for a, b in pairwise(path)) > 0.9
