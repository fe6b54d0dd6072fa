"""Forms of the correction of edges, in NumPy, for a force F = k o^p of the overlap o with p = 3/2.

`Forms` in this file are functions (overlaps, mobility) -> force to add, in units of k. `overlaps` holds the overlaps at this
step and at the three before, arrays of one shape; mobility is a = k dt^2 / m*. docs/edges.md has the derivation.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from ...engine.contact.zeta import smooth_part

Array = NDArray[np.float64]
Overlaps = Sequence[Array]
Form = Callable[[Overlaps, Array], Array]

POWER = 1.5  # p
STEEPEST = 1.0  # largest |s| / g, as in minidem/engine/contact/edges.py

_smooth_part = cache(smooth_part)


def law(overlap: Array) -> Array:
    """Force at an overlap; zero outside."""
    found: Array = np.maximum(overlap, 0.0) ** POWER
    return found


def smooth_zeta(power: float, theta: Array) -> Array:
    """zeta(-power, 1 + theta) for theta from 0 to 1."""
    return np.asarray(polynomial.polyval(2.0 * theta - 1.0, _smooth_part(power)))


class Edge(NamedTuple):
    """Edges between two steps; arrays of one shape."""

    begins: NDArray[np.bool_]  # or ends
    speed: Array  # g, overlap per step
    theta: Array  # from the edge to the nearest step inside, in steps
    force: Array  # F at the overlap g
    zeta: Array  # zeta(-p, theta)
    m0: Array  # impulse error / dt
    m1: Array  # error of the first moment / dt^2


def edge_of(later: Array, earlier: Array, curvature: Array) -> Edge:
    """Edges between an earlier and a later overlap of different signs; `curvature` is the overlap per step^2."""
    slope = later - earlier - 0.5 * curvature
    root = np.sqrt(np.maximum(slope * slope - 2.0 * curvature * earlier, 0.0))
    x = np.clip(-2.0 * earlier / (slope + np.copysign(root, slope)), 0.0, 1.0)
    speed, begins = np.abs(slope + curvature * x), later > 0.0
    theta = np.where(begins, 1.0 - x, x)
    z0, z1, z2 = (theta ** (POWER + k) + smooth_zeta(POWER + k, theta) for k in range(3))
    bend, force = 0.5 * POWER * np.clip(curvature / speed, -STEEPEST, STEEPEST), speed**POWER
    m0, m1 = force * (z0 + bend * z1), force * ((z1 - theta * z0) + bend * (z2 - theta * z1))
    return Edge(begins, speed, theta, force, z0, m0, m1)


def second_order(edge: Edge) -> Array:
    """S of the third form, where a contact begins."""
    theta = edge.theta
    inner, outer, slope = theta**POWER, (1.0 + theta) ** POWER, smooth_zeta(POWER - 1.0, theta)
    h0 = 0.5 * inner - (POWER + 1.0) * edge.zeta + POWER * (inner + theta * slope)
    h1 = 0.5 * outer - (POWER + 1.0) * (edge.zeta - inner) + POWER * (1.0 + theta) * slope
    w = edge.m1 - edge.m0
    linear = 0.5 * w * inner - edge.m1 * (inner + 0.5 * outer) - (w * h0 - edge.m1 * h1)
    return np.asarray(edge.force * linear + 0.5 * edge.m0**2)


def crossing(later: Array, earlier: Array) -> NDArray[np.bool_]:
    """Where a contact begins or ends between two steps."""
    return np.asarray((later > 0.0) != (earlier > 0.0))


def plain(overlaps: Overlaps, mobility: Array) -> Array:
    """No correction."""
    return np.zeros_like(overlaps[0])


def account(overlaps: Overlaps) -> Array:
    """Energy error of the edges in the last step, from two overlaps."""
    found, here = np.zeros_like(overlaps[0]), crossing(overlaps[0], overlaps[1])
    edge = edge_of(overlaps[0][here], overlaps[1][here], np.zeros(here.sum()))
    found[here] = edge.m0 * edge.speed * np.where(edge.begins, -1.0, 1.0)
    return found


def first(overlaps: Overlaps, mobility: Array) -> Array:
    """One kick in the step after the edge, from two overlaps."""
    found, here = np.zeros_like(overlaps[0]), crossing(overlaps[0], overlaps[1])
    found[here] = -edge_of(overlaps[0][here], overlaps[1][here], np.zeros(here.sum())).m0
    return found


def symmetric(overlaps: Overlaps, mobility: Array) -> Array:
    """One kick in the step inside next to the edge. Where a contact ends, the overlap of the next step is predicted; if the
    prediction missed the end, the kick comes one step later."""
    now, before, earlier = overlaps[:3]

    def next_overlap(now: Array, before: Array) -> Array:
        return np.asarray(2.0 * now - before)

    found, none = np.zeros_like(now), np.zeros_like(now)
    begins = (now > 0.0) & (before <= 0.0)
    ends = (now > 0.0) & (before > now) & (next_overlap(now, before) <= 0.0)
    missed = (now <= 0.0) & (before > 0.0) & ~((earlier > before) & (next_overlap(before, earlier) <= 0.0))
    for here, later, sooner in ((begins | missed, now, before), (ends, next_overlap(now, before), now)):
        found[here] -= edge_of(later[here], sooner[here], none[here]).m0
    return found


def _two_kicks(overlaps: Overlaps, mobility: Array, third: bool) -> Array:
    found = np.zeros_like(overlaps[0])
    for ago in (0, 1):
        here = crossing(overlaps[ago], overlaps[ago + 1])
        later, earlier, before = (values[here] for values in overlaps[ago : ago + 3])
        a = mobility[here] if third else np.zeros(here.sum())
        curvature = later - 2.0 * earlier + before + a * law(earlier)  # a contact that begins has no force there
        edge = edge_of(later, earlier, curvature)
        if ago == 0:
            kick_at_end = -2.0 * edge.m0 - edge.m1 - 0.5 * a * edge.m0**2 / edge.speed
            found[here] += np.where(edge.begins, edge.m1 - edge.m0, kick_at_end)
        else:
            kick_at_beginning = -edge.m1 + a * second_order(edge) / edge.speed
            found[here] += np.where(edge.begins, kick_at_beginning, edge.m0 + edge.m1)
    return found


def second(overlaps: Overlaps, mobility: Array) -> Array:
    """Two kicks that set the impulse and its first moment right, from four overlaps."""
    return _two_kicks(overlaps, mobility, third=False)


def third(overlaps: Overlaps, mobility: Array) -> Array:
    """The second form with the curvature of all other forces, and the energy right to second order in the force."""
    return _two_kicks(overlaps, mobility, third=True)


FORMS: dict[str, Form] = {
    "plain": plain,
    "first form": first,
    "second form": second,
    "symmetric form": symmetric,
    "third form": third,
}
