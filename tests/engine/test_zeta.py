"""The Hurwitz zeta function of the edges of contacts, against mpmath and numerical quadrature."""

import mpmath
import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.integrate import quad

from minidem.engine.compile.kernels import in_this_process
from minidem.engine.contact.edges import series_of
from minidem.engine.contact.kicks import smooth_zeta
from minidem.engine.contact.zeta import DEGREE, _zeta, _zeta_at_three_halves, hurwitz, mean_square, smooth_part

POWERS = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5]
THETA = np.concatenate(
    [np.linspace(0.0, 1.0, 41), [1e-9, 1e-4, 1 - 1e-4, 1 - 1e-9], np.random.default_rng(1).uniform(size=40)]
)


def exact(power, theta):
    """zeta(-power, theta), with 30 digits."""
    with mpmath.workdps(30):
        return np.array([float(mpmath.zeta(-mpmath.mpf(power), mpmath.mpf(float(t)))) for t in theta])


@pytest.mark.parametrize("power", POWERS)
def test_hurwitz_zeta(power):
    """Its values are below 1; 1e-14 is some forty roundings."""
    inside = THETA[THETA > 0]
    np.testing.assert_allclose(hurwitz(power, inside), exact(power, inside), rtol=0, atol=1e-14)
    assert hurwitz(power, 0.0) == pytest.approx(exact(power, [1.0])[0], abs=1e-14)  # where theta^p vanishes
    assert hurwitz(power, 0.3) == hurwitz(power, np.array([0.3]))[0]


@pytest.mark.parametrize("power", POWERS)
def test_smooth_part(power):
    """zeta(-p, 1 + theta), also as the kernels find it, for p - 1 to p + 2."""
    series = series_of(power)
    evaluated = in_this_process(lambda series, row, theta: smooth_zeta(series, row, theta))
    for k in range(-1, 3):
        expected = exact(power + k, 1 + THETA)
        tolerance = 1e-14 * max(1.0, np.abs(expected).max())
        own = smooth_part(power + k)
        assert own.shape == (DEGREE + 1,)
        np.testing.assert_allclose(polynomial.polyval(2 * THETA - 1, own), expected, rtol=0, atol=tolerance)
        found = [evaluated(series, k + 1, theta) for theta in THETA]
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("s", [0.0, 0.25, 0.5, 1.5, 2.5, 5.0, 12.5, 39.5])
def test_zeta_that_the_series_are_made_from(s):
    """zeta(s, 3/2) and Riemann's zeta, to some roundings of their largest term."""
    with mpmath.workdps(30):
        assert _zeta(s, 1.5) == pytest.approx(float(mpmath.zeta(s, mpmath.mpf(1.5))), rel=0, abs=2e-15)
        assert _zeta(s) == pytest.approx(float(mpmath.zeta(s)), rel=0, abs=4e-15)
        if s % 2 != 0.0:
            assert _zeta_at_three_halves(-s) == pytest.approx(float(mpmath.zeta(-s, mpmath.mpf(1.5))), rel=1e-14)


def test_bernoulli_polynomials():
    """zeta(-1, theta) = -B2(theta)/2 and zeta(-2, theta) = -B3(theta)/3, which are polynomials; to roundings of terms of
    size 1."""
    np.testing.assert_allclose(hurwitz(1.0, THETA), -(THETA**2 - THETA + 1 / 6) / 2, rtol=0, atol=5e-16)
    np.testing.assert_allclose(hurwitz(2.0, THETA), -(THETA**3 - 1.5 * THETA**2 + 0.5 * THETA) / 3, rtol=0, atol=1e-15)


@pytest.mark.parametrize("power", POWERS)
def test_mean_and_mean_square(power):
    """Over theta from 0 to 1. The substitution theta = x^4 makes theta^p smooth enough for the quadrature."""

    def mean(of):
        return quad(lambda x: 4 * x**3 * of(hurwitz(power, x**4)), 0, 1, epsabs=1e-13, epsrel=1e-12)[0]

    assert mean(lambda zeta: zeta) == pytest.approx(0.0, abs=1e-12)
    assert mean_square(power) == pytest.approx(mean(np.square), rel=1e-9)
