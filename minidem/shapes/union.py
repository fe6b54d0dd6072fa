"""Exact mass properties of a union of spheres: volume, centre and second moments.

The divergence theorem gives them from integrals of 1, n, n n and n n (c . n) over the exposed surface (`union_moments`).
Each sphere that cuts sphere i covers a cap of it. With w = n x dn along the boundary of a region of the unit
sphere, region to the left, Stokes' theorem for phi(n) homogeneous of degree k reads

    oint phi w = int (k + 2) phi n - grad phi        (used for phi = 1, n_b, n_a n_b),

so all but the solid angle are integrals of trigonometric polynomials over the exposed arcs of the cap
circles. The solid angle follows, modulo 4 pi, from circular sectors and a fan of spherical triangles (Van
Oosterom and Strackee, IEEE Trans. Biomed. Eng. BME-30, 125, 1983).

Degenerate positions (tangent or coinciding circles, many circles through one point) need no special cases:
each pair of circles is classified once for both, arcs of both end at the same computed points, and circles
that barely cross count as tangent, which changes the area by a negligible amount. Only where three circles
nearly coincide, within about the same tolerance, can decisions contradict each other: the boundary does not
close, and a wider tolerance is used.

Array operations work on all caps, pairs of circles and arcs of many spheres at a time; nothing here is compiled.
In all functions but `union_moments`, vectors have their components in the first dimension.
"""

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]

CONTACT = 1e-9  # overlaps below this fraction of the smaller radius are ignored: volume ~ CONTACT^2
TANGENT = (1e-11, 1e-10, 1e-9, 1e-8)  # rad; circles that overlap less are tangent: area ~ TANGENT^(3/2)
CLOSED = 1e-11  # misfit of arc ends on the unit sphere that round-off can cause
CROSS, APART, NESTED, COVER = range(4)  # relations of two caps
POLE = np.array([sqrt(0.13), -sqrt(0.23), sqrt(0.64)])  # apex of the triangle fan: an arbitrary unit vector
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)  # exact to round-off for cubics in cos, sin over 2 pi
WIDEST = 2  # caps of a sphere that are tested first: most nested caps lie inside one of these
PAIRS = 2**17  # of spheres or of caps that are processed together: about 30 MB


class Moments(NamedTuple):
    """Moments of a solid."""

    volume: float  # m^3
    centre: Array  # (3,) m
    second: Array  # (3, 3) about the centre, int (x-c)(x-c)^T dV, m^5

    def scaled(self, scale: float) -> "Moments":
        """The moments of the solid with all lengths multiplied by `scale`."""
        return Moments(self.volume * scale**3, self.centre * scale, self.second * scale**5)


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


def triangle_solid_angle(a: Array, b: Array, c: Array) -> Array:
    """Signed solid angle of the triangle of unit vectors a, b, c, modulo 4 pi."""
    return 2.0 * np.arctan2(dot(a, cross(b, c)), 1.0 + dot(a, b) + dot(b, c) + dot(c, a))


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


def pairs_on_one_sphere(sphere: Index) -> tuple[Index, Index]:
    """Indices j < k of all pairs of caps on the same sphere; `sphere` (m,) is that of each cap, ascending."""
    each = np.arange(sphere.size)
    after = np.searchsorted(sphere, sphere, side="right") - each - 1  # number of later caps on the same sphere
    j = np.repeat(each, after)
    return j, j + 1 + np.arange(j.size) - np.repeat(np.cumsum(after) - after, after)


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


def covered_intervals(spheres: Array, caps: Caps, j: Index, k: Index) -> tuple[Index, Array, Array]:
    """The parts of circles that caps j < k, whose circles cross, cover of each other: circle, first angle, length (rad)."""
    # the same points for both circles, so that their arcs meet
    right, left = corners(spheres, caps.sphere[j], caps.neighbour[j], caps.neighbour[k])
    circle = np.concatenate((j, k))
    enter, leave = np.hstack((left, right)), np.hstack((right, left))
    e1, e2 = caps.e1[:, circle], caps.e2[:, circle]
    angle = np.arctan2(dot(enter, e2), dot(enter, e1))
    return circle, angle, (np.arctan2(dot(leave, e2), dot(leave, e1)) - angle) % (2.0 * pi)


def exposed_arcs(circles: Index, circle: Index, angle: Array, length: Array) -> tuple[Index, Array, Array]:
    """The parts of `circles` outside all intervals; these start at `angle` on `circle` and have a `length`, rad.

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
    reach = np.empty_like(ends)  # where the intervals before this one end
    reach[:, 0] = np.maximum(ends.max(axis=1) - 2.0 * pi, 0.0)
    reach[:, 1:] = np.maximum(reach[:, :1], np.maximum.accumulate(ends[:, :-1], axis=1))
    row, column = np.nonzero(starts > reach)
    return circles[row], origin[row] + reach[row, column], origin[row] + starts[row, column]


def arc_integrals(spheres: Array, caps: Caps, circle: Index, start: Array, end: Array) -> Array:
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


def covered_parts(spheres: Array, caps: Caps, tangent: float) -> tuple[Index, Array, Array]:
    """Solid angle and boundary integrals (see arc_integrals) of the part under the caps, the widest of each sphere first.

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
def covered_integrals(spheres: Array) -> Array:
    """Solid angle and boundary integrals (see arc_integrals) of the covered part of each sphere, (n, 22).

    None of the spheres (n, 4) may lie inside another.
    """
    n = len(spheres)
    spheres = np.ascontiguousarray(spheres.T)
    totals, least = np.zeros((n, 22)), np.full(n, np.inf)
    waiting, rows = np.arange(n), 1 + PAIRS // n  # spheres that are compared with all others together
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


def union_moments(spheres: ArrayLike) -> Moments:
    """The moments of a union of spheres (n, 4), m.

    For f homogeneous of degree k, here 1, x_a and x_a x_b, the divergence theorem gives
    int f dV = 1/(3 + k) oint f (x . n) dS, with x = c + r n on each sphere. Round-off is the only error.
    """
    spheres = without_redundant(checked_spheres(spheres))
    origin = np.average(spheres[:, :3], axis=0, weights=(spheres[:, 3] / spheres[0, 3]) ** 3)
    spheres[:, :3] -= origin
    covered = covered_integrals(spheres)
    w, nw, nncw = covered[:, 1:4], covered[:, 4:13].reshape(-1, 3, 3), covered[:, 13:].reshape(-1, 3, 3)

    def pairs(a: Array, b: Array) -> Array:  # a b^T + b a^T of each sphere
        return a[:, :, None] * b[:, None, :] + b[:, :, None] * a[:, None, :]

    c, r = spheres[:, :3], spheres[:, 3:]  # (n, 3), (n, 1)
    # integrals of 1, n, n n, n n (c . n) over the exposed part of each unit sphere: whole less covered part
    m0 = 4 * np.pi - covered[:, :1]
    m1 = -w / 2
    m2 = (m0[:, :, None] * np.eye(3) - (nw + nw.transpose(0, 2, 1)) / 2) / 3
    m3 = (pairs(c, m1) - nncw) / 4
    m2c = np.einsum("iab,ib->ia", m2, c)
    flux = np.sum(c * m1, axis=1, keepdims=True) + r * m0  # int x . n
    volume = float(np.sum(r**2 * flux)) / 3
    shift = np.sum(r**2 * (flux * c + r * m2c + r**2 * m1), axis=0) / 4 / volume
    vectors = pairs(c, r**2 * flux * c / 2 + r**3 * m2c + r**4 * m1)
    second = np.sum(vectors + r[:, :, None] ** 4 * (m3 + r[:, :, None] * m2), axis=0) / 5
    return Moments(volume, origin + shift, second - volume * np.outer(shift, shift))


def without_redundant(spheres: Array) -> Array:
    """The spheres, large ones first, without those inside another.

    A sphere that protrudes by less than 1e-12 of the radius counts as inside: a duplicate within round-off.
    """
    kept = spheres[:0]
    for sphere in spheres[np.argsort(-spheres[:, 3], kind="stable")]:
        distance = np.linalg.norm(kept[:, :3] - sphere[:3], axis=1)
        inside = distance <= (1 + 1e-12) * kept[:, 3] - sphere[3]
        if not inside.any():
            kept = np.vstack([kept, sphere])
    return kept


def checked_spheres(spheres: ArrayLike) -> Array:
    """A copy (n, 4) of the spheres; InputError unless all numbers are finite and all radii positive."""
    try:
        rows = np.array(spheres, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError("spheres must be rows of four numbers: x, y, z, radius") from None
    if rows.ndim != 2 or rows.shape[1] != 4 or len(rows) == 0:
        raise InputError(f"spheres must be rows of x, y, z, radius, at least one; got shape {rows.shape}")
    for index, sphere in enumerate(rows):
        if not np.isfinite(sphere).all():
            raise InputError(f"sphere {index}: not a finite number")
        if sphere[3] <= 0.0:
            raise InputError(f"sphere {index}: the radius must be positive, got {sphere[3]}")
    return rows
