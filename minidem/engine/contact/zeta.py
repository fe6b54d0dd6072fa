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
from scipy.special import binom
from scipy.special import zeta as scipy_zeta

TERMS = 40  # of the Taylor series in 2 x: (1/3)^40 is below round-off
DEGREE = 20  # after economisation: what is left out is below 5.8^-20, which is round-off


def smooth_part(power):
    """Coefficients (DEGREE + 1,), lowest first, of zeta(-power, 1 + theta) as a polynomial in 2 theta - 1, theta from 0 to
    1. It is the Taylor series without its last Chebyshev terms."""
    taylor = [_taylor_coefficient(power, k) * 0.5**k for k in range(TERMS)]
    found = chebyshev.cheb2poly(chebyshev.poly2cheb(taylor)[: DEGREE + 1])
    return np.pad(found, (0, DEGREE + 1 - len(found)))  # shorter if the power is an integer


def _taylor_coefficient(power, k):
    """binomial(p, k) zeta(k - p, 3/2)"""
    s = k - power
    if s == 1.0:  # p is an integer: the binomial coefficient vanishes at the pole of zeta, and this is their product
        return -1.0 / k
    if s > 1.0:
        return float(binom(power, k) * scipy_zeta(s, 1.5))
    return float(binom(power, k) * ((2.0**s - 1.0) * scipy_zeta(s) - 2.0**s))


def hurwitz(power, theta):
    """zeta(-power, theta) for theta from 0 to 1, a number or an array, to about 1e-15."""
    theta = np.asarray(theta, float)
    return theta**power + polynomial.polyval(2.0 * theta - 1.0, smooth_part(power))


def mean_square(power):
    """Mean of zeta(-power, theta)^2 over theta from 0 to 1. (The mean of zeta itself is 0.)

    2 Gamma(1+p)^2 zeta(2p+2) / (2 pi)^(2p+2), from Hurwitz's Fourier series of zeta.
    """
    return 2.0 * math.gamma(1.0 + power) ** 2 * float(scipy_zeta(2.0 * power + 2.0)) / (2.0 * math.pi) ** (2.0 * power + 2.0)
