"""The numbers of the edges of contacts: against motions in closed form, and against the formulas of contact/kicks.py with
the zeta function of mpmath."""

from itertools import product

import mpmath
import pytest

from minidem.engine.compile.kernels import in_this_process
from minidem.engine.contact.edges import is_edge, series_of
from minidem.engine.contact.kicks import excess, kicks, speed_and_theta

POWERS, THETAS = (1.0, 1.5, 2.5), (0.02, 0.3, 0.5, 0.9)
FORCE, SPEED, MOBILITY = 3.0, 0.7, 0.11  # N, m per step, m/N: so that no term is small


def zeta(power, t):
    return float(mpmath.zeta(-power, t))


def formulas(begins, theta, bend, mobility, p):
    """M0 and the two kicks (N), as they stand in the docstring of kicks.py; `bend` is s/g."""
    f, a, g = FORCE, mobility, SPEED
    z0, z1, z2 = (zeta(p + i, theta) for i in range(3))
    m0 = f * (z0 + p / 2 * bend * z1)
    m1 = f * ((z1 - theta * z0) + p / 2 * bend * (z2 - theta * z1))
    if not begins:
        return m0, -2 * m0 - m1 - a * m0**2 / (2 * g), m0 + m1

    def h(t):
        return t**p / 2 - (p + 1) * zeta(p, t) + p * t * zeta(p - 1, t)

    f0, f1, w = f * theta**p, f * (1 + theta) ** p, m1 - m0
    s = w / 2 * f0 - m1 * (f0 + f1 / 2) + m0**2 / 2 - f * (w * h(theta) - m1 * h(1 + theta))
    return m0, m1 - m0, -m1 + a * s / g


@pytest.mark.parametrize("p", POWERS)
def test_kicks_are_those_of_the_formulas(p):
    """To some dozens of roundings of terms of the size of the force."""
    found = in_this_process(lambda *given: kicks(*given))
    for begins, theta, bend, mobility in product((True, False), THETAS, (-3.0, -0.4, 0.0, 0.8, 5.0), (0.0, MOBILITY)):
        kicked = found(theta if begins else -theta, theta, SPEED, bend * SPEED, mobility, FORCE, p, series_of(p))
        expected = formulas(begins, theta, min(max(bend, -1.0), 1.0), mobility, p)  # beyond 1 a contact only grazes
        assert kicked == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("p", POWERS)
def test_excess_of_a_plain_edge(p):
    """F zeta(-p, theta), theta from the overlap inside."""
    found = in_this_process(lambda *given: excess(*given))
    for theta in THETAS:
        for later, earlier in ((theta * SPEED, (theta - 1) * SPEED), ((theta - 1) * SPEED, theta * SPEED)):
            assert found(later, earlier, FORCE, p, series_of(p)) == pytest.approx(FORCE * zeta(p, theta), abs=1e-12)


def test_speed_and_time_of_an_edge():
    """Of a parabola through zero at x, with a speed there and a curvature."""
    found = in_this_process(lambda *given: speed_and_theta(*given))
    for x, speed, curvature in product((0.05, 0.4, 0.95), (0.7, -0.7), (-0.5, -1e-3, 0.0, 0.3)):
        earlier, later = (speed * t + 0.5 * curvature * t * t for t in (-x, 1.0 - x))
        assert found(later, earlier, curvature) == pytest.approx((abs(speed), 1.0 - x if later > 0 else x), rel=1e-12)


def test_speed_and_time_of_what_is_no_parabola():
    """Overlaps of which one is zero, and a curvature without a root: still a time within the step."""
    found = in_this_process(lambda *given: speed_and_theta(*given))
    assert found(0.5, 0.0, 0.0) == (0.5, 1.0)
    assert found(0.0, 0.5, 0.0) == (0.5, 1.0)
    g, theta = found(1e-3, -1e-3, -1.0)
    assert 0.0 <= theta <= 1.0 and g >= 0.0
    g, theta = found(-0.4, 1e-9, 1.0)  # the slope is -0.9 there
    assert (g, theta) == pytest.approx((0.9, 0.0), abs=1e-8)


@pytest.mark.parametrize(
    ("later", "earlier", "is_one"),
    [
        *((1.0, -1.0, True), (-1.0, 1.0, True), (1.0, 0.0, True), (0.0, 1.0, True)),
        *((1.0, 2.0, False), (-1.0, -2.0, False), (0.0, -1.0, False), (-1.0, 0.0, False)),
        *((1.0, float("nan"), False), (-1.0, float("nan"), False)),
    ],
)
def test_what_an_edge_is(later, earlier, is_one):
    found = in_this_process(lambda *given: is_edge(*given))
    assert found(later, earlier) == is_one
