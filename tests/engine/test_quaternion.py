"""Quaternion scalars of the kernels and arrays of the set-up, against the math library and scipy's rotations."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from brute_force import random_quaternions, rotations
from numba import njit
from scipy.spatial.transform import Rotation

from minidem import quaternions
from minidem.engine import quaternion as scalars


def callable_from_python(function):
    """The kernels' helpers have no wrapper for calls from Python: give one of them one."""
    return njit(lambda *arguments: function(*arguments))


quaternion = SimpleNamespace(
    **{
        name: callable_from_python(getattr(scalars, name))
        for name in ("cos_sin", "cos_sinc", "matrix", "moved", "product", "rate_of", "to_body", "to_world", "turned", "unit")
    }
)
EPS = np.finfo(float).eps


def squares():
    """x^2 for x from 0 to 1e6: all magnitudes, multiples of pi/4 (where the quadrant changes), and random ones."""
    rng = np.random.default_rng(1)
    turns = np.arange(12000) * math.pi / 4
    x = np.concatenate(
        [[0.0, 1e-300, 1e-160], np.logspace(-150, 6, 2000), *(rng.uniform(0, top, 9000) for top in (10, 1e4, 1e6))]
    )
    x2 = np.concatenate([x**2, turns**2, np.nextafter(turns**2, np.inf), np.nextafter(turns**2, 0.0)])
    return x2.tolist()


def test_cos_and_sinc_agree_with_the_math_library():
    # The argument is x^2: its square root, the same correctly rounded number in both, is what the reference gets.
    worst_cos = worst_sinc = worst_sin = 0.0
    for x2 in squares():
        x = math.sqrt(x2)
        cos, sinc = quaternion.cos_sinc(x2)
        worst_cos = max(worst_cos, abs(cos - math.cos(x)))
        worst_sinc = max(worst_sinc, abs(sinc - (math.sin(x) / x if x else 1.0)))
        worst_sin = max(worst_sin, abs(sinc * x - math.sin(x)))
    assert worst_cos < 4e-16
    assert worst_sinc < 4e-16
    assert worst_sin < 6e-16  # two more roundings


def test_cos_and_sin_agree_with_the_math_library():
    for x2 in squares():
        for x in (math.sqrt(x2), -math.sqrt(x2)):
            assert quaternion.cos_sin(x) == pytest.approx((math.cos(x), math.sin(x)), rel=0, abs=4e-16)


def test_sinc_is_one_where_the_square_underflows():
    assert quaternion.cos_sinc(1e-300**2) == (1.0, 1.0)
    assert quaternion.cos_sinc(5e-324) == (1.0, 1.0)


def test_turning_keeps_the_norm():
    rng = np.random.default_rng(2)
    for q, v, size in zip(
        random_quaternions(rng, 500), rng.standard_normal((500, 3)), np.logspace(-12, 3, 500), strict=True
    ):
        turned = quaternion.turned(tuple(q), tuple(v), size)
        assert abs(math.hypot(*turned) - math.hypot(*q)) < 8 * EPS


def test_many_turns_keep_the_norm():
    q = (1.0, 0.0, 0.0, 0.0)
    for _ in range(20000):
        q = quaternion.turned(q, (1.0, -2.0, 3.0), 1e-3)
    # The same turn makes the same rounding error every time, so the errors add up: at most half a unit a step.
    assert abs(math.hypot(*q) - 1.0) < 20000 * EPS / 2
    expected = Rotation.from_rotvec(20.0 * np.array([1, -2, 3]))
    assert (expected.inv() * rotations(q)).magnitude() < 1e-11


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 3.1, 50.0])
def test_turned_is_a_rotation_by_a_body_frame_vector(size):
    rng = np.random.default_rng(3)
    for q, v in zip(random_quaternions(rng, 50), size * rng.standard_normal((50, 3)), strict=True):
        expected = rotations(q) * Rotation.from_rotvec(v)
        # As a distance of matrices; 50 rad and the doubling of half angles cost some digits.
        found = rotations(quaternion.turned(tuple(q), tuple(v), 1.0))
        assert np.abs(found.as_matrix() - expected.as_matrix()).max() < 1e-14 * (1 + size)


def test_product_matrix_and_frames_agree_with_scipy():
    rng = np.random.default_rng(4)
    for p, q, v in zip(
        random_quaternions(rng, 200), random_quaternions(rng, 200), rng.standard_normal((200, 3)), strict=True
    ):
        composed = (rotations(p) * rotations(q)).as_matrix()
        assert np.abs(rotations(quaternion.product(tuple(p), tuple(q))).as_matrix() - composed).max() < 10 * EPS
        assert np.abs(np.array(quaternion.matrix(tuple(q))) - rotations(q).as_matrix()).max() < 10 * EPS
        assert np.abs(quaternion.to_world(tuple(q), tuple(v)) - rotations(q).apply(v)).max() < 20 * EPS
        assert np.abs(quaternion.to_body(tuple(q), tuple(v)) - rotations(q).inv().apply(v)).max() < 20 * EPS


def test_product_keeps_the_sign():
    """A rotation does not tell q from -q; the algebra does: i j = k, j i = -k, i i = -1."""
    one, i, j, k = np.eye(4).tolist()
    assert quaternion.product(tuple(i), tuple(j)) == tuple(k)
    assert quaternion.product(tuple(j), tuple(i)) == tuple(-np.array(k))
    assert quaternion.product(tuple(j), tuple(k)) == tuple(i)
    assert quaternion.product(tuple(k), tuple(i)) == tuple(j)
    assert quaternion.product(tuple(i), tuple(i)) == tuple(-np.array(one))


def test_the_rate_of_a_quaternion_is_the_derivative_of_its_turning():
    rng = np.random.default_rng(5)
    h = 1e-5
    for q, omega in zip(random_quaternions(rng, 50), rng.standard_normal((50, 3)), strict=True):
        later = np.array(quaternion.turned(tuple(q), tuple(omega), h))
        earlier = np.array(quaternion.turned(tuple(q), tuple(omega), -h))
        # Central difference: h^2 |omega|^3 / 48 and round-off EPS / h
        assert np.abs(quaternion.rate_of(tuple(q), tuple(omega)) - (later - earlier) / (2 * h)).max() < 1e-9


def test_unit_and_moved():
    assert np.abs(np.array(quaternion.unit((3.0, 0.0, -4.0, 0.0))) - [0.6, 0.0, -0.8, 0.0]).max() < 2 * EPS
    assert quaternion.moved((1.0, 2.0, 3.0, 4.0), (1.0, -1.0, 2.0, 0.0), 0.5) == (1.5, 1.5, 4.0, 4.0)


def test_array_quaternions_agree_with_scipy():
    rng = np.random.default_rng(6)
    p, q, v = random_quaternions(rng, 200), random_quaternions(rng, 200), rng.standard_normal((200, 3))
    composed = (rotations(p) * rotations(q)).as_matrix()
    assert np.abs(rotations(quaternions.product(p, q)).as_matrix() - composed).max() < 10 * EPS
    assert np.abs(quaternions.rotated(q, v) - rotations(q).apply(v)).max() < 20 * EPS
    assert np.abs(quaternions.rotated(quaternions.conjugate(q), v) - rotations(q).inv().apply(v)).max() < 20 * EPS
    assert np.abs(quaternions.rotated(q[0], v) - rotations(q[0]).apply(v)).max() < 20 * EPS  # one orientation, many vectors
    assert np.abs(quaternions.product(p[0], q) - [quaternion.product(tuple(p[0]), tuple(x)) for x in q]).max() < 4 * EPS
    assert np.abs(quaternions.unit(1e-3 * q) - q).max() < 4 * EPS
