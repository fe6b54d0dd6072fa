"""Spheres that very many others overlap, such as those of a clump of nearly coincident spheres.

All pairs of their caps would take too long: 10,000 spheres at about one place have 5e11. Most caps cut off nothing that
others leave. A few caps are taken, then those that reach what these leave exposed, until none does. A cap does if it reaches
an arc of the boundary of what is exposed, or lies in it as a whole.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .caps import PAIRS, Budget, Caps, Exposed, caps_of, dot, exposed, mostly_seen, overlapping, products, unit

Array = NDArray[np.float64]
Index = NDArray[np.int64]

PLENTY = 10**8  # pairs of caps: clumps of fewer are computed from all of them, within seconds
MANY = 200  # caps of a sphere of which a few are chosen
FEW = 24  # caps that are chosen first
NEARLY = 1e-9  # difference of cosines that round-off cannot make
REACHES = 1e-13  # by how much the cosine of a cap must be exceeded: more than round-off


def crowded(spheres: Array) -> NDArray[np.bool_]:
    """Which of the spheres (4, n) have so many caps that a few are to be chosen; none if there are not PLENTY of pairs."""
    n = spheres.shape[1]
    count, rows = np.zeros(n, np.int64), 1 + PAIRS // n
    for first in range(0, n if n > MANY else 0, rows):
        some = np.arange(first, min(first + rows, n))
        count[some] = np.count_nonzero(overlapping(spheres, some), axis=1)
    return (count > MANY) & (np.sum(count**2) > 2 * PLENTY)


def needed(
    spheres: Array, i: Index, j: Index, many: NDArray[np.bool_], tangent: float, budget: Budget
) -> tuple[Index, Index]:
    """Those of the caps of spheres i (m,), ascending, under spheres j (m,) that are needed: all but those that cut off
    nothing from what others leave exposed of spheres that have `many`."""
    parts = [(i[~many[i]], j[~many[i]])]
    i, j = i[many[i]], j[many[i]]
    axis, cosine = axes_of(spheres, i, j)
    chosen, more = best(i, -cosine, FEW), FEW
    while i.size:
        caps = mostly_seen(caps_of(spheres, i[chosen], j[chosen]), tangent)
        depth = reach(exposed(spheres, caps, tangent, budget), caps, np.flatnonzero(~chosen), i, axis, cosine, budget)
        more *= 2
        added = best(i, depth, more) & (depth > REACHES)
        done = np.isin(i, i[added], invert=True)
        parts.append((i[chosen & done], j[chosen & done]))
        chosen |= added
        i, j, axis, cosine, chosen = i[~done], j[~done], axis[:, ~done], cosine[~done], chosen[~done]
    spheres_, neighbours = (np.concatenate(values) for values in zip(*parts, strict=True))
    order = np.argsort(spheres_, kind="stable")
    return spheres_[order], neighbours[order]


def axes_of(spheres: Array, i: Index, j: Index) -> tuple[Array, Array]:
    """Axes (3, m) of the caps of spheres i (m,) under spheres j (m,), and cosines (m,) of half their opening angles."""
    a, r, s = spheres[:3, j] - spheres[:3, i], spheres[3, i], spheres[3, j]
    d = np.sqrt(dot(a, a))
    return a / d, ((r - s) * (r + s) / d + d) / (2.0 * r)


def best(sphere: Index, value: Array, count: int) -> NDArray[np.bool_]:
    """Which of the values (m,) are among the `count` largest of their sphere (m,), ascending."""
    found = np.zeros(value.size, bool)
    bounds = np.append(np.flatnonzero(np.diff(sphere, prepend=-1)), sphere.size)
    for begin, end in pairwise(bounds.tolist()):
        if end - begin > count:
            found[begin + np.argpartition(-value[begin:end], count)[:count]] = True
        else:
            found[begin:end] = True
    return found


def reach(seen: Exposed, caps: Caps, others: Index, sphere: Index, axis: Array, cosine: Array, budget: Budget) -> Array:
    """By how much caps reach what is exposed: (m,) the largest cosine of the angle between the axis and a place there, less
    that of the cap; -inf for those that are not among the `others` (k,) and for most that are clear of it."""
    depth = np.full(sphere.size, -np.inf)
    arcs = arcs_of(seen, caps)
    others = others[~clear(seen, caps, arcs, sphere[others], axis[:, others], cosine[others])]
    on = caps.sphere[seen.circle]
    begins, ends = (np.searchsorted(on, sphere[others], side=side) for side in ("left", "right"))
    budget.spend(sphere.size + int((ends - begins).sum()))
    for row, arc in products(ends - begins):
        np.maximum.at(depth, others[row], largest(arcs, begins[row] + arc, axis[:, others[row]]))
    depth -= cosine
    inside = others[(ends > begins) & (depth[others] <= REACHES)]
    begins, ends = (np.searchsorted(caps.sphere, sphere[inside], side=side) for side in ("left", "right"))
    while inside.size:  # those whose axis is under none of the caps
        left = begins < ends
        depth[inside[~left]] = 1.0 - cosine[inside[~left]]
        inside, begins, ends = inside[left], begins[left], ends[left]
        budget.spend(inside.size)
        bare = dot(axis[:, inside], caps.axis[:, begins]) < caps.cosine[begins]
        inside, begins, ends = inside[bare], begins[bare] + 1, ends[bare]
    return depth


class Arcs(NamedTuple):
    """Arcs on the unit sphere: the places middle + cos(t) x + sin(t) y for t from start to end."""

    middle: Array  # (3, a)
    x: Array  # (3, a)
    y: Array  # (3, a)
    start: Array  # (a,) rad
    end: Array  # (a,) rad
    first: Array  # (3, a) the place at the start
    last: Array  # (3, a) the place at the end


def arcs_of(seen: Exposed, caps: Caps) -> Arcs:
    """The arcs around what is exposed."""
    _, _, _, circle, start, end = seen
    middle, side = caps.cosine[circle] * caps.axis[:, circle], caps.sine[circle]
    x, y = side * caps.e1[:, circle], side * caps.e2[:, circle]
    first, last = (middle + np.cos(angle) * x + np.sin(angle) * y for angle in (start, end))
    return Arcs(middle, x, y, start, end, first, last)


def largest(arcs: Arcs, k: Index, p: Array) -> Array:
    """The largest scalar product (m,) of each vector p (3, m) with a place on its arc k (m,)."""
    px, py = dot(arcs.x[:, k], p), dot(arcs.y[:, k], p)
    top = dot(arcs.middle[:, k], p) + np.sqrt(px * px + py * py)
    beside = (np.arctan2(py, px) - arcs.start[k]) % (2.0 * np.pi) > arcs.end[k] - arcs.start[k]
    return np.where(beside, np.maximum(dot(arcs.first[:, k], p), dot(arcs.last[:, k], p)), top)


def clear(seen: Exposed, caps: Caps, arcs: Arcs, sphere: Index, axis: Array, cosine: Array) -> NDArray[np.bool_]:
    """Which caps (m,) are clear of a cap around all that is exposed of their sphere, where that is less than a half."""
    on, count = seen.sphere[seen.circle], seen.which.size
    ends = arcs.first + arcs.last
    centre = unit(np.array([np.bincount(on, part, count) for part in ends]))
    lowest = np.ones(count)  # cosine of the angle between the centre and the farthest place that is exposed
    np.minimum.at(lowest, on, -largest(arcs, np.arange(on.size), -centre[:, on]))
    opposite = dot(-centre[:, seen.sphere], caps.axis) > caps.cosine
    small = (np.bincount(seen.sphere[opposite], minlength=count) > 0) & (lowest > 0.0)
    k = np.searchsorted(seen.which, sphere)
    together = cosine * lowest[k] - np.sqrt((1.0 - cosine**2) * (1.0 - lowest[k] ** 2))  # of the sum of both half angles
    far: NDArray[np.bool_] = dot(axis, centre[:, k]) < together - NEARLY
    return far & small[k] & (cosine > NEARLY - lowest[k])  # the sum is below pi
