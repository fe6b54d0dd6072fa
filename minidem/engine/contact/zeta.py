"""The Hurwitz zeta function zeta(-p, theta) for powers p > 0 and theta in [0, 1].

Near an edge of a contact the force is (t - t0)^p. Its sum over the steps less its integral is zeta(-p, theta), with theta
the time from t0 to the first step inside, in steps: the Euler-Maclaurin formula of Navot (J. Math. Phys. 40, 271, 1961).

    zeta(-p, theta) = theta^p + zeta(-p, 1 + theta)

The second term is smooth on [0, 1]. Its Taylor series about theta = 1/2 has the radius of convergence 3/2:

    zeta(-p, 3/2 + x) = sum over k of binomial(p, k) zeta(k - p, 3/2) x^k
"""

import math

import numpy as np
from numpy.polynomial import chebyshev, polynomial

TERMS = 40  # of the Taylor series in 2 x: (1/3)^40 is below round-off
DEGREE = 21  # what is left out is below 5.8^-21, which is round-off; odd, since even and odd powers are summed apart
SUMMED = 10  # terms of a zeta series that are summed before the formula of Euler and Maclaurin takes over
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)  # B2, B4, ...


def smooth_part(power):
    """Coefficients (DEGREE + 1,), lowest first, of zeta(-power, 1 + theta) as a polynomial in 2 theta - 1, theta from 0 to
    1. It is the Taylor series without its last Chebyshev terms."""
    taylor, binomial = [], 1.0
    for k in range(TERMS):
        # An integer power has a binomial coefficient that vanishes at the pole of zeta: this is their product.
        taylor.append(-1.0 / k if k - power == 1.0 else binomial * _zeta_at_three_halves(k - power))
        binomial *= (power - k) / (k + 1)
    taylor = [value * 0.5**k for k, value in enumerate(taylor)]
    found = chebyshev.cheb2poly(chebyshev.poly2cheb(taylor)[: DEGREE + 1])
    return np.pad(found, (0, DEGREE + 1 - len(found)))  # shorter if the power is an integer


def _zeta_at_three_halves(s):
    """zeta(s, 3/2). Where s is negative, sums would lose digits: there it is found from Riemann's zeta, by reflection."""
    if s >= 0.0:
        return _zeta(s, 1.5)
    riemann = 2.0**s * math.pi ** (s - 1.0) * math.sin(0.5 * math.pi * s) * math.gamma(1.0 - s) * _zeta(1.0 - s)
    return (2.0**s - 1.0) * riemann - 2.0**s


def _zeta(s, a=1.0):
    """zeta(s, a) for s of 0 or more, except 1, and a of 1 or more. (Importing SciPy's would add a filter of warnings to the
    user's process.)"""
    x = a + SUMMED
    found = math.fsum((a + n) ** -s for n in range(SUMMED)) + x ** (1.0 - s) / (s - 1.0) + 0.5 * x**-s
    factor = s / x ** (s + 1.0)
    for k, number in enumerate(BERNOULLI, 1):
        found += number / math.factorial(2 * k) * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / x**2
    return found


def hurwitz(power, theta):
    """zeta(-power, theta) for theta from 0 to 1, a number or an array, to about 1e-15."""
    theta = np.asarray(theta, float)
    return theta**power + polynomial.polyval(2.0 * theta - 1.0, smooth_part(power))


def mean_square(power):
    """Mean of zeta(-power, theta)^2 over theta from 0 to 1. (The mean of zeta itself is 0.)

    2 Gamma(1+p)^2 zeta(2p+2) / (2 pi)^(2p+2), from Hurwitz's Fourier series of zeta.
    """
    return 2.0 * math.gamma(1.0 + power) ** 2 * _zeta(2.0 * power + 2.0) / (2.0 * math.pi) ** (2.0 * power + 2.0)
