"""The edges of contacts: where a contact begins or ends between two steps, and the energy that this costs.

Leapfrog takes the sum of dt F over the steps for the integral of F. Where the overlap passes zero with g metres per step and
a curvature of s (m per step^2), the force is k (g t + s t^2 / 2)^p, with the law's edge power p. Then the sum exceeds the
integral by dt M0, and its first moment about the nearest step inside by dt^2 M1 (zeta.py; docs/edges.md has the derivation):

    M0 = F (z0 + p/2 (s/g) z1),   M1 = F ((z1 - theta z0) + p/2 (s/g) (z2 - theta z1)),   zi = zeta(-p - i, theta)

F is the force of the law at the overlap g, theta the time between the edge and the nearest step inside, in steps. The energy
error is -M0 g where a contact begins and M0 g where it ends. With plain edges, only account of it is kept. With corrected
edges the wrong impulse is taken out by two kicks, in the step after the edge and in the next one:

    where a contact begins:  M1 - M0,   then  -M1 + a S / g
    where it ends:           -2 M0 - M1 - a M0^2 / (2 g),   then  M0 + M1

Their sum sets the impulse right, their times the moment. a = dt^2 / m* is how far 1 N moves the contact in a step (m/N). The
terms with a keep the energy right to second order in the force, so that no error is left in the mean: the kicks themselves
change the speed, and those inside the contact meet a slower one. With w = M1 - M0 and h = (t^p / 2 - z(t)) F, the energy of
the scheme near an edge,

    S = w/2 F0 - M1 (F0 + F1 / 2) + M0^2 / 2 - F (w H(theta) - M1 H(1 + theta)),   Fj = F (j + theta)^p
    H(t) = (p + 1) h - t h' = t^p / 2 - (p + 1) zeta(-p, t) + p t zeta(1 - p, t)
"""

import math

from ..compile.kernels import inlined
from .zeta import DEGREE

STEEPEST = 1.0  # largest |s| / g: beyond it a contact only grazes, and the series in s / g means nothing


@inlined
def smooth_zeta(series, row, theta):
    """zeta(-q, 1 + theta) from its polynomial in y = 2 theta - 1, a row of `series` (zeta.smooth_part). Even and odd powers
    of y apart: a sum waits for its last term, but not for the other sum."""
    y = 2.0 * theta - 1.0
    square_of_y, even, odd = y * y, 0.0, 0.0
    for k in range(DEGREE - 1, -1, -2):
        even, odd = even * square_of_y + series[row, k], odd * square_of_y + series[row, k + 1]
    return even + y * odd


@inlined
def to_the(p, theta):
    """theta^p"""
    return theta * math.sqrt(theta) if p == 1.5 else theta**p  # the first is faster


@inlined
def speed_and_theta(later, earlier, curvature):
    """Speed g of an edge between two overlaps (m per step), and theta, from the root x in (0, 1) of
    earlier + slope x + curvature/2 x^2 = 0."""
    slope = later - earlier - 0.5 * curvature
    root = math.sqrt(max(slope * slope - 2.0 * curvature * earlier, 0.0))
    x = min(max(-2.0 * earlier / (slope + math.copysign(root, slope)), 0.0), 1.0)
    return abs(slope + curvature * x), x if later <= 0.0 else 1.0 - x


@inlined
def excess(later, earlier, force, p, series):
    """M0 of a plain edge (N), without the curvature. `force` (N) is that of the law at the overlap later - earlier."""
    theta = max(later, earlier) / abs(later - earlier)
    return force * (to_the(p, theta) + smooth_zeta(series, 1, theta))


@inlined
def kicks(later, theta, g, curvature, mobility, force, p, series):
    """M0 and the two kicks (N) that correct an edge: in the step after it and in the next one. `mobility` is a of the
    docstring above (m/N), `force` F (N)."""
    power = to_the(p, theta)
    slope_zeta, zeta0 = smooth_zeta(series, 0, theta), smooth_zeta(series, 1, theta)
    bend = 0.5 * p * min(max(curvature / g, -STEEPEST), STEEPEST)
    z0, z1 = power + zeta0, power * theta + smooth_zeta(series, 2, theta)
    z2 = power * theta * theta + smooth_zeta(series, 3, theta)
    m0, m1 = force * (z0 + bend * z1), force * ((z1 - theta * z0) + bend * (z2 - theta * z1))
    next_power = to_the(p, 1.0 + theta)
    h0 = 0.5 * power - (p + 1.0) * z0 + p * (power + theta * slope_zeta)
    h1 = 0.5 * next_power - (p + 1.0) * (z0 - power) + p * (1.0 + theta) * slope_zeta
    w = m1 - m0
    second_order = 0.5 * w * power - m1 * (power + 0.5 * next_power) - (w * h0 - m1 * h1)
    if later <= 0.0:
        return m0, -2.0 * m0 - m1 - 0.5 * mobility * m0 * m0 / g, m0 + m1
    return m0, w, -m1 + mobility * (force * second_order + 0.5 * m0 * m0) / g
