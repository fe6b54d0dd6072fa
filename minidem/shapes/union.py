"""Exposed surface of a union of spheres in closed form: integrals of 1, n, n n and n n (c . n) over it.

They give the moments of the enclosed volume by the divergence theorem (minidem.clump.union_moments). Each
sphere that cuts sphere i covers a cap of it. With w = n x dn along the boundary of a region of the unit
sphere, region to the left, Stokes' theorem for phi(n) homogeneous of degree k reads

    oint phi w = int (k + 2) phi n - grad phi        (used for phi = 1, n_b, n_a n_b),

so all but the solid angle are integrals of trigonometric polynomials over the exposed arcs of the cap
circles. The solid angle follows, modulo 4 pi, from circular sectors and a fan of spherical triangles (Van
Oosterom and Strackee, IEEE Trans. Biomed. Eng. BME-30, 125, 1983).

Degenerate positions (tangent or coinciding circles, many circles through one point) need no special cases:
each pair of circles is classified once for both, arcs of both end at the same computed points, and circles
that barely cross count as tangent, which changes the area by far less than it matters. Only where three
circles nearly coincide, by about that same tolerance, can decisions contradict each other: the boundary
does not close, and a wider tolerance is taken.

Array operations on all caps, pairs of circles and arcs of many spheres at a time; nothing here is compiled. Vectors have
their components in the first dimension.
"""

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

CONTACT = 1e-9  # overlaps shallower than this part of the smaller radius are ignored: volume ~ CONTACT^2
TANGENT = (1e-11, 1e-10, 1e-9, 1e-8)  # rad; circles that overlap less are tangent: area ~ TANGENT^(3/2)
CLOSED = 1e-11  # misfit of arc ends on the unit sphere that round-off can cause
CROSS, APART, NESTED, COVER = range(4)  # how two caps lie
POLE = (sqrt(0.13), -sqrt(0.23), sqrt(0.64))  # apex of the triangle fan: any unit vector, no special one
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)  # exact to round-off for cubics in cos, sin over 2 pi
WIDEST = 2  # caps of a sphere; many of those that lie inside another one lie inside one of these
PAIRS = 2**17  # of spheres or of caps, worked on together: some 30 MB


class Caps(NamedTuple):
    """What neighbours cover of spheres, each a cap; those of one sphere follow each other."""

    sphere: np.ndarray  # (m,) index of the one covered, ascending
    neighbour: np.ndarray  # (m,) index of the one that covers
    axis: np.ndarray  # (3, m) unit vector to the middle of the cap
    e1: np.ndarray  # (3, m) with e2 and the axis a right-handed frame: angles on the circle count from e1 towards e2
    e2: np.ndarray
    cosine: np.ndarray  # (m,) of half the opening angle
    sine: np.ndarray
    angle: np.ndarray  # half the opening angle, rad
    height: np.ndarray  # 1 - |cosine|

    def taken(self, which):
        return Caps(*(rows[..., which] for rows in self))


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return np.array((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))


def unit(a):
    return a / np.sqrt(dot(a, a))


def triangle_solid_angle(a, b, c):
    """Signed solid angle of the triangle of unit vectors a, b, c, modulo 4 pi."""
    return 2.0 * np.arctan2(dot(a, cross(b, c)), 1.0 + dot(a, b) + dot(b, c) + dot(c, a))


def overlapping(spheres, some):
    """Whether each of `some` (k,) of the spheres (4, n) overlaps each other one: (k, n)."""
    a, r, s = spheres[:3, None] - spheres[:3, some, None], spheres[3, some, None], spheres[3]
    found = np.sqrt(dot(a, a)) < r + s - CONTACT * np.minimum(r, s)
    found[np.arange(some.size), some] = False
    return found


def caps_of(spheres, i, j):
    """The caps of spheres i (m,) under spheres j (m,)."""
    a, r, s = spheres[:3, j] - spheres[:3, i], spheres[3, i], spheres[3, j]
    d = np.sqrt(dot(a, a))
    below = (r + s - d) * (d - (r - s)) / (2.0 * d * r)  # 1 - cos, without cancellation
    above = (r + s + d) * (d + (r - s)) / (2.0 * d * r)  # 1 + cos
    cosine, sine = (above - below) / 2.0, np.sqrt(np.maximum(below * above, 0.0))
    axis = a / d
    e1 = unit(cross(axis, np.where(np.abs(axis[0]) < 0.6, [[1.0], [0.0], [0.0]], [[0.0], [1.0], [0.0]])))
    return Caps(i, j, axis, e1, cross(axis, e1), cosine, sine, np.arctan2(sine, cosine), np.minimum(below, above))


def mostly_seen(caps, tangent):
    """The caps, the widest of each sphere first, without those inside one of the WIDEST."""
    caps = caps.taken(np.lexsort((-caps.angle, caps.sphere)))
    for rank in range(WIDEST):
        wide = np.searchsorted(caps.sphere, caps.sphere) + rank
        k = np.flatnonzero(np.arange(wide.size) > wide)
        seen = np.ones(wide.size, bool)
        seen[k] = relation(caps, wide[k], k, tangent) != NESTED
        caps = caps.taken(seen)
    return caps


def pairs_on_one_sphere(sphere):
    """j < k of all pairs of caps on the same sphere; `sphere` (m,) ascends."""
    each = np.arange(sphere.size)
    after = np.searchsorted(sphere, sphere, side="right") - each - 1  # so many caps of the sphere follow
    j = np.repeat(each, after)
    return j, j + 1 + np.arange(j.size) - np.repeat(np.cumsum(after) - after, after)


def relation(caps, j, k, tangent):
    """How caps j and k lie: their circles CROSS, or they are APART, NESTED, or COVER the sphere together."""
    p, q = caps.axis[:, j], caps.axis[:, k]
    clearly = np.abs(dot(p, q) - caps.cosine[j] * caps.cosine[k]) < caps.sine[j] * caps.sine[k] - 1e-6
    how = np.full(j.size, CROSS)  # most of them clearly, by the cosines of the angles compared below
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


def corners(spheres, i, j, k):
    """The points on the surfaces of i, j and k, relative to centre i; the first on the side of ij x ik."""
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


def covered_intervals(spheres, caps, j, k):
    """Where caps j < k, whose circles cross, cover the circles of each other: circle, first angle and length (rad)."""
    # the same points for both circles, so that their arcs meet
    right, left = corners(spheres, caps.sphere[j], caps.neighbour[j], caps.neighbour[k])
    circle = np.concatenate((j, k))
    enter, leave = np.hstack((left, right)), np.hstack((right, left))
    e1, e2 = caps.e1[:, circle], caps.e2[:, circle]
    angle = np.arctan2(dot(enter, e2), dot(enter, e1))
    return circle, angle, (np.arctan2(dot(leave, e2), dot(leave, e1)) - angle) % (2.0 * pi)


def exposed_arcs(circles, circle, angle, length):
    """The parts of the `circles` in none of the intervals of some `length` from some `angle` on each `circle`.

    Returns the circle, the first and the last angle of each of these arcs; a circle without intervals is one arc.
    """
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
    reach = np.empty_like(ends)  # everything from 0 to here is covered by those before, or else exposed already
    reach[:, 0] = np.maximum(ends.max(axis=1) - 2.0 * pi, 0.0)
    reach[:, 1:] = np.maximum(reach[:, :1], np.maximum.accumulate(ends[:, :-1], axis=1))
    row, column = np.nonzero(starts > reach)
    return circles[row], origin[row] + reach[row, column], origin[row] + starts[row, column]


def arc_integrals(spheres, caps, circle, start, end):
    """Boundary integrals over arcs of the caps' circles, counter-clockwise: (k, 25).

    Solid angle modulo 4 pi; oint w (3); oint n w (3, 3); oint n n (center . w) (3, 3); and differences of the arc ends whose
    sums vanish if the arcs of a sphere close (3).
    """
    axis, e1, e2 = caps.axis[:, circle], caps.e1[:, circle], caps.e2[:, circle]
    cosine, sine = caps.cosine[circle], caps.sine[circle]
    side = np.where(cosine >= 0.0, 1.0, -1.0)  # sector about the nearer end of the axis
    tip = side * axis
    first = cosine * axis + sine * (np.cos(start) * e1 + np.sin(start) * e2)
    last = cosine * axis + sine * (np.cos(end) * e1 + np.sin(end) * e2)
    triangles = triangle_solid_angle(POLE, first, tip) + triangle_solid_angle(POLE, tip, last)
    misfit = last * (1.0 + dot(POLE, last)) - first * (1.0 + dot(POLE, first))
    # n = N t and w = W t dpsi with t = (1, cos psi, sin psi)
    N = np.stack((cosine * axis, sine * e1, sine * e2), axis=-1).swapaxes(0, 1)
    W = np.stack((sine**2 * axis, -sine * cosine * e1, -sine * cosine * e2), axis=-1).swapaxes(0, 1)
    half = (end - start)[:, None] / 2.0
    psi = start[:, None] + half * (1.0 + NODES)
    t = np.stack((np.ones(psi.shape), np.cos(psi), np.sin(psi)), axis=1)
    tt = t[:, :, None] * t[:, None] * (half * WEIGHTS)[:, None, None]
    ttt = tt @ t[:, None].swapaxes(2, 3)  # int t t t dpsi; the first component of t is 1
    center_w = np.einsum("kab,ak->kb", W, spheres[:3, caps.sphere[circle]])
    return np.column_stack(
        (
            side * caps.height[circle] * (end - start) + triangles,
            np.einsum("kab,kb->ka", W, ttt[:, 0, 0]),
            (N @ ttt[:, 0] @ W.swapaxes(1, 2)).reshape(-1, 9),
            (N @ np.einsum("kabc,kc->kab", ttt, center_w) @ N.swapaxes(1, 2)).reshape(-1, 9),
            misfit.T,
        )
    )


def covered_parts(spheres, caps, tangent):
    """Solid angle and boundary integrals (see arc_integrals) of what the caps, the widest of each sphere first, cover.

    Returns which spheres they are on (k,), the integrals (k, 22) and the misfits of the arc ends (k,).
    """
    which, sphere = np.unique(caps.sphere, return_inverse=True)
    one, other = pairs_on_one_sphere(sphere)
    how = relation(caps, one, other, tangent)
    whole = np.zeros(which.size, bool)  # under two caps together
    whole[sphere[one[how == COVER]]] = True
    hidden = whole[sphere]  # caps inside another one, and all those of a sphere that has nothing exposed
    hidden[other[how == NESTED]] = True
    seen = (how == CROSS) & ~hidden[one] & ~hidden[other]
    circles = np.flatnonzero(~hidden)
    circle, start, end = exposed_arcs(circles, *covered_intervals(spheres, caps, one[seen], other[seen]))
    total = np.zeros((which.size, 25))
    np.add.at(total, sphere[circle], arc_integrals(spheres, caps, circle, start, end))
    # the solid angle lies between the widest cap's and the sum of all: that settles the multiple of 4 pi
    widest, together = np.zeros(which.size), np.zeros(which.size)
    np.maximum.at(widest, sphere[circles], 1.0 - caps.cosine[circles])
    np.add.at(together, sphere[circles], 1.0 - caps.cosine[circles])
    middle = pi * (widest + np.minimum(together, 2.0))
    total[:, 0] -= 4.0 * pi * np.round((total[:, 0] - middle) / (4.0 * pi))
    total[np.bincount(sphere[circle], minlength=which.size) == 0, 0] = 4.0 * pi
    return which, total[:, :22], np.abs(total[:, 22:]).sum(axis=1)


@np.errstate(all="ignore")
def covered_integrals(spheres):
    """Solid angle and boundary integrals (see arc_integrals) of the covered part of each sphere, (n, 22).

    None of the spheres (n, 4) may lie inside another.
    """
    n = len(spheres)
    spheres = np.ascontiguousarray(spheres.T)
    totals, least = np.zeros((n, 22)), np.full(n, np.inf)
    waiting, rows = np.arange(n), 1 + PAIRS // n  # spheres whose distances from all are found together
    for tangent in TANGENT:
        for first in range(0, waiting.size, rows):
            some = waiting[first : first + rows]
            i, j = np.nonzero(overlapping(spheres, some))
            caps = mostly_seen(caps_of(spheres, some[i], j), tangent)
            pairs = np.cumsum(np.bincount(caps.sphere) ** 2) // 2  # of caps, up to the last of each sphere
            for part in np.split(np.arange(caps.sphere.size), np.flatnonzero(np.diff(pairs[caps.sphere] // PAIRS)) + 1):
                which, integrals, misfit = covered_parts(spheres, caps.taken(part), tangent)
                better = misfit < least[which]
                totals[which[better]], least[which[better]] = integrals[better], misfit[better]
        waiting = np.flatnonzero((least >= CLOSED) & (least < np.inf))
    return totals
