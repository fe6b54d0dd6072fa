"""The caps that the neighbours of a sphere cut off its surface, and the arcs of their circles that stay exposed.

Degenerate positions (tangent or coinciding circles, many circles through one point) need no special cases:
each pair of circles is classified once for both, arcs of both end at the same computed points, and circles
that barely cross count as tangent, which changes the area by a negligible amount. Only where three circles
nearly coincide, within about the same tolerance, can decisions contradict each other: the boundary does not
close, and a wider tolerance is used.

Array operations work on all caps, pairs of circles and arcs of many spheres at a time; nothing here is compiled.
Vectors have their components in the first dimension.
"""

from collections.abc import Iterator
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]

CONTACT = 1e-9  # overlaps below this fraction of the smaller radius are ignored: volume ~ CONTACT^2
TANGENT = (1e-11, 1e-10, 1e-9, 1e-8)  # rad; circles that overlap less are tangent: area ~ TANGENT^(3/2)
CROSS, APART, NESTED, COVER = range(4)  # relations of two caps
WIDEST = 2  # caps of a sphere that are tested first: most nested caps lie inside one of these
PAIRS = 2**17  # of spheres or of caps that are processed together: about 30 MB
LARGEST_TABLE = 2**22  # of circles and their intervals
MOST_CROSSINGS = 2**22  # of circles on spheres that are processed together: about 1 GB
MOST_COMPARISONS = 10**9  # of circles, for one clump: about two minutes


class Budget:
    """Counts comparisons of circles; InputError when there are too many."""

    def __init__(self) -> None:
        self.left = MOST_COMPARISONS

    def spend(self, comparisons: int) -> None:
        """Count some comparisons that are about to be made."""
        self.left -= comparisons
        if self.left < 0:
            raise self.refusal(f"{MOST_COMPARISONS:.0e} pairs of circles would have to be compared")

    @staticmethod
    def refusal(why: str) -> InputError:
        """The error for a clump that would take too long."""
        remedy = "take fewer spheres, or leave out those inside the clump"
        return InputError(f"too many of its spheres overlap each other: more than {why}; {remedy}")


class Caps(NamedTuple):
    """The caps of spheres that their neighbours cover; those of one sphere follow each other."""

    sphere: Index  # (m,) index of the covered sphere, ascending
    neighbour: Index  # (m,) index of the covering sphere
    axis: Array  # (3, m) unit vector to the middle of the cap
    e1: Array  # (3, m) with e2 and the axis a right-handed frame: angles on the circle count from e1 towards e2
    e2: Array  # (3, m)
    cosine: Array  # (m,) of half the opening angle
    sine: Array  # (m,)
    angle: Array  # (m,) half the opening angle, rad
    height: Array  # (m,) 1 - |cosine|

    def taken(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "Caps":
        """A subset of the caps."""
        return Caps._make(rows[..., which] for rows in self)


def dot(a: Array, b: Array) -> Array:
    """Scalar products of vectors (3, ...)."""
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def cross(a: Array, b: Array) -> Array:
    """Vector products of vectors (3, ...)."""
    return np.array((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))


def unit(a: Array) -> Array:
    """Vectors (3, ...) scaled to length one."""
    return a / np.sqrt(dot(a, a))


def overlapping(spheres: Array, some: Index) -> NDArray[np.bool_]:
    """(k, n) whether each of `some` (k,) of the spheres (4, n) overlaps each of the others."""
    a, r, s = spheres[:3, None] - spheres[:3, some, None], spheres[3, some, None], spheres[3]
    found: NDArray[np.bool_] = np.sqrt(dot(a, a)) < r + s - CONTACT * np.minimum(r, s)
    found[np.arange(some.size), some] = False
    return found


def caps_of(spheres: Array, i: Index, j: Index) -> Caps:
    """The caps of spheres i (m,) under spheres j (m,)."""
    a, r, s = spheres[:3, j] - spheres[:3, i], spheres[3, i], spheres[3, j]
    d = np.sqrt(dot(a, a))
    below = (r + s - d) * (d - (r - s)) / (2.0 * d * r)  # 1 - cos, without cancellation
    above = (r + s + d) * (d + (r - s)) / (2.0 * d * r)  # 1 + cos
    cosine, sine = (above - below) / 2.0, np.sqrt(np.maximum(below * above, 0.0))
    axis = a / d
    e1 = unit(cross(axis, np.where(np.abs(axis[0]) < 0.6, [[1.0], [0.0], [0.0]], [[0.0], [1.0], [0.0]])))
    return Caps(i, j, axis, e1, cross(axis, e1), cosine, sine, np.arctan2(sine, cosine), np.minimum(below, above))


def mostly_seen(caps: Caps, tangent: float) -> Caps:
    """The caps, the widest of each sphere first, without those inside one of the WIDEST widest."""
    caps = caps.taken(np.lexsort((-caps.angle, caps.sphere)))
    for rank in range(WIDEST):
        wide = np.searchsorted(caps.sphere, caps.sphere) + rank
        k = np.flatnonzero(np.arange(wide.size) > wide)
        seen = np.ones(wide.size, bool)
        seen[k] = relation(caps, wide[k], k, tangent) != NESTED
        caps = caps.taken(seen)
    return caps


def products(counts: Index, together: int = 2 * PAIRS) -> Iterator[tuple[Index, Index]]:
    """Indices (p,) of rows and, counted from 0, of their entries (p,), for rows with so many entries each; as many rows at a
    time as have `together` entries, or one."""
    total = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        before = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, before + together, side="right")))
        some = counts[begin:end]
        row = np.repeat(np.arange(begin, end), some)
        yield row, np.arange(row.size) - np.repeat(np.cumsum(some) - some, some)
        begin = end


def relation(caps: Caps, j: Index, k: Index, tangent: float) -> Index:
    """Relation of caps j and k: their circles CROSS, or they are APART, NESTED, or COVER the sphere together."""
    p, q = caps.axis[:, j], caps.axis[:, k]
    clearly = np.abs(dot(p, q) - caps.cosine[j] * caps.cosine[k]) < caps.sine[j] * caps.sine[k] - 1e-6
    how = np.full(j.size, CROSS)  # true of most; the unclear ones are compared by angles below
    unclear = np.flatnonzero(~clearly)
    p, q = p[:, unclear], q[:, unclear]
    one, other = caps.angle[j[unclear]], caps.angle[k[unclear]]
    c = cross(p, q)
    between = np.arctan2(np.sqrt(dot(c, c)), dot(p, q))
    apart = between - one - other
    nested = np.abs(one - other) - between
    cover = one + other + between - 2.0 * pi
    largest = np.maximum(apart, np.maximum(nested, cover))
    how[unclear] = np.select([largest < -tangent, nested == largest, apart == largest], [CROSS, NESTED, APART], COVER)
    return how


def corners(spheres: Array, i: Index, j: Index, k: Index) -> tuple[Array, Array]:
    """The two points on the surfaces of spheres i, j and k, relative to centre i; the first on the side of ij x ik."""
    u, v = spheres[:3, j] - spheres[:3, i], spheres[:3, k] - spheres[:3, i]
    ri, rj, rk = spheres[3, i], spheres[3, j], spheres[3, k]
    d = np.sqrt(dot(u, u))
    ex = u / d
    ez = unit(cross(u, v))
    ey = cross(ez, ex)
    x = (d + (ri - rj) * (ri + rj) / d) / 2.0  # radical planes of i and j, then of i and k
    y = ((dot(v, v) + (ri - rk) * (ri + rk)) / 2.0 - dot(v, ex) * x) / dot(v, ey)
    z = np.sqrt(np.maximum(ri * ri - x * x - y * y, 0.0))
    foot = x * ex + y * ey
    return foot + z * ez, foot - z * ez


class Exposed(NamedTuple):
    """What caps leave exposed of k spheres: arcs of their circles, counter-clockwise."""

    which: Index  # (k,) spheres
    sphere: Index  # (m,) index in `which` of the sphere of each cap
    circles: Index  # caps that are not inside another one
    circle: Index  # (a,) cap whose circle an arc is part of, ascending
    start: Array  # (a,) rad
    end: Array  # (a,) rad


def exposed(spheres: Array, caps: Caps, tangent: float, budget: Budget) -> Exposed:
    """What caps, the widest of each sphere first, leave exposed."""
    which, sphere = np.unique(caps.sphere, return_inverse=True)
    hidden, one, other = crossings(caps, sphere, tangent, budget)
    circles = np.flatnonzero(~hidden)
    return Exposed(which, sphere, circles, *exposed_arcs(circles, *covered_intervals(spheres, caps, one, other)))


def crossings(caps: Caps, sphere: Index, tangent: float, budget: Budget) -> tuple[NDArray[np.bool_], Index, Index]:
    """Which caps are hidden: inside another one, or on a sphere that has nothing exposed; and the pairs j < k of the others
    whose circles cross. `sphere` (m,) is the sphere of each cap, ascending."""
    each = np.arange(sphere.size)
    after = np.searchsorted(sphere, sphere, side="right") - each - 1  # number of later caps on the same sphere
    budget.spend(int(after.sum()))
    whole = np.zeros(sphere.size, bool)  # spheres that lie under two caps together
    hidden = np.zeros(sphere.size, bool)
    pairs, found = [(each[:0], each[:0])], 0
    for one, other in products(after):
        other = one + 1 + other
        how = relation(caps, one, other, tangent)
        whole[sphere[one[how == COVER]]] = True
        hidden[other[how == NESTED]] = True
        meet = how == CROSS
        pairs.append((one[meet], other[meet]))
        found += pairs[-1][0].size
        if found > MOST_CROSSINGS:
            raise budget.refusal(f"{MOST_CROSSINGS} circles cross on one sphere")
    hidden |= whole[sphere]
    one, other = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    seen = ~hidden[one] & ~hidden[other]
    return hidden, one[seen], other[seen]


def covered_intervals(spheres: Array, caps: Caps, j: Index, k: Index) -> tuple[Index, Array, Array]:
    """The parts of circles that caps j < k, whose circles cross, cover of each other: circle, first angle, length (rad)."""
    angle, length = np.empty((2, 2, j.size))  # of circles j, then of circles k
    for begin in range(0, j.size, PAIRS):
        some = slice(begin, begin + PAIRS)
        # the same points for both circles, so that their arcs meet
        right, left = corners(spheres, caps.sphere[j[some]], caps.neighbour[j[some]], caps.neighbour[k[some]])
        for row, (circle, enter, leave) in enumerate(((j[some], left, right), (k[some], right, left))):
            e1, e2 = caps.e1[:, circle], caps.e2[:, circle]
            angle[row, some] = np.arctan2(dot(enter, e2), dot(enter, e1))
            length[row, some] = (np.arctan2(dot(leave, e2), dot(leave, e1)) - angle[row, some]) % (2.0 * pi)
    return np.concatenate((j, k)), angle.reshape(-1), length.reshape(-1)


def exposed_arcs(circles: Index, circle: Index, angle: Array, length: Array) -> tuple[Index, Array, Array]:
    """The parts of `circles`, ascending, outside all intervals; these start at `angle` on `circle` and have a `length`, rad.

    Returns the circle, the first and the last angle of each of these arcs; a circle without intervals is one arc.
    """
    count = np.bincount(np.searchsorted(circles, circle), minlength=circles.size)
    if circles.size * (1 + count.max(initial=0)) <= LARGEST_TABLE:
        return arcs_between(circles, circle, angle, length)
    parts = []
    for doublings in np.unique(np.frexp(count)[1]):  # tables of circles that have about as many intervals
        some = circles[np.frexp(count)[1] == doublings]
        mine = np.isin(circle, some)
        parts.append(arcs_between(some, circle[mine], angle[mine], length[mine]))
    arcs, start, end = (np.concatenate(values) for values in zip(*parts, strict=True))
    order = np.argsort(arcs, kind="stable")
    return arcs[order], start[order], end[order]


def arcs_between(circles: Index, circle: Index, angle: Array, length: Array) -> tuple[Index, Array, Array]:
    """As `exposed_arcs`, with a table that has a row for each circle and columns for most intervals of any."""
    order = np.argsort(circle, kind="stable")
    row, angle, length = np.searchsorted(circles, circle[order]), angle[order], length[order]
    first = np.searchsorted(row, np.arange(circles.size + 1))
    column = np.arange(row.size) - first[row]
    # Angles count from the start of the first interval found. Each row ends with empty intervals at 2 pi.
    origin = np.zeros(circles.size)
    origin[row[column == 0]] = angle[column == 0]
    starts = np.full((circles.size, 1 + np.diff(first).max(initial=0)), 2.0 * pi)
    ends = starts.copy()
    starts[row, column] = (angle - origin[row]) % (2.0 * pi)
    ends[row, column] = starts[row, column] + length
    order = np.argsort(starts, axis=1)
    starts, ends = np.take_along_axis(starts, order, axis=1), np.take_along_axis(ends, order, axis=1)
    reach = np.empty_like(ends)  # where the intervals before this one end
    reach[:, 0] = np.maximum(ends.max(axis=1) - 2.0 * pi, 0.0)
    reach[:, 1:] = np.maximum(reach[:, :1], np.maximum.accumulate(ends[:, :-1], axis=1))
    row, column = np.nonzero(starts > reach)
    return circles[row], origin[row] + reach[row, column], origin[row] + starts[row, column]
