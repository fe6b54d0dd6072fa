"""Exact mass properties of a union of spheres: volume, centre and second moments.

The divergence theorem gives them from integrals of 1, n, n n and n n (c . n) over the exposed surface (`union_moments`).
Each sphere that cuts sphere i covers a cap of it. With w = n x dn along the boundary of a region of the unit
sphere, region to the left, Stokes' theorem for phi(n) homogeneous of degree k reads

    oint phi w = int (k + 2) phi n - grad phi        (used for phi = 1, n_b, n_a n_b),

so all but the solid angle are integrals of trigonometric polynomials over the exposed arcs of the cap
circles. The solid angle follows, modulo 4 pi, from circular sectors and a fan of spherical triangles (Van
Oosterom and Strackee, IEEE Trans. Biomed. Eng. BME-30, 125, 1983). The caps are in caps.py.

In all functions but `union_moments`, vectors have their components in the first dimension.
"""

from collections.abc import Callable
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .caps import PAIRS, TANGENT, Budget, Caps, caps_of, cross, dot, exposed, mostly_seen, overlapping
from .crowded import crowded, needed

Array = NDArray[np.float64]
Index = NDArray[np.int64]

CLOSED = 1e-11  # misfit of arc ends on the unit sphere that round-off can cause
ARCS = 2**15  # that are integrated together: about 150 MB
POLE = np.array([sqrt(0.13), -sqrt(0.23), sqrt(0.64)])  # apex of the triangle fan: an arbitrary unit vector
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)  # exact to round-off for cubics in cos, sin over 2 pi


class Moments(NamedTuple):
    """Moments of a solid."""

    volume: float  # m^3
    centre: Array  # (3,) m
    second: Array  # (3, 3) about the centre, int (x-c)(x-c)^T dV, m^5

    def scaled(self, scale: float) -> "Moments":
        """The moments of the solid with all lengths multiplied by `scale`."""
        return Moments(self.volume * scale**3, self.centre * scale, self.second * scale**5)


def triangle_solid_angle(a: Array, b: Array, c: Array) -> Array:
    """Signed solid angle of the triangle of unit vectors a, b, c, modulo 4 pi."""
    return 2.0 * np.arctan2(dot(a, cross(b, c)), 1.0 + dot(a, b) + dot(b, c) + dot(c, a))


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


def covered_parts(spheres: Array, caps: Caps, tangent: float, budget: Budget) -> tuple[Index, Array, Array]:
    """Solid angle and boundary integrals (see arc_integrals) of the part under the caps, the widest of each sphere first.

    Returns which spheres they are on (k,), the integrals (k, 22) and the misfits of the arc ends (k,).
    """
    which, sphere, circles, circle, start, end = exposed(spheres, caps, tangent, budget)
    total = np.zeros((which.size, 25))
    for begin in range(0, circle.size, ARCS):
        some = slice(begin, begin + ARCS)
        arcs = arc_integrals(spheres, caps, circle[some], start[some], end[some])
        np.add.at(total, sphere[circle[some]], arcs)
    # the solid angle lies between the widest cap's and the sum of all: that settles the multiple of 4 pi
    widest, together = np.zeros(which.size), np.zeros(which.size)
    np.maximum.at(widest, sphere[circles], 1.0 - caps.cosine[circles])
    np.add.at(together, sphere[circles], 1.0 - caps.cosine[circles])
    middle = pi * (widest + np.minimum(together, 2.0))
    total[:, 0] -= 4.0 * pi * np.round((total[:, 0] - middle) / (4.0 * pi))
    total[np.bincount(sphere[circle], minlength=which.size) == 0, 0] = 4.0 * pi
    return which, total[:, :22], np.abs(total[:, 22:]).sum(axis=1)


@np.errstate(all="ignore")
def covered_integrals(spheres: Array, on_progress: Callable[[float], None]) -> Array:
    """Solid angle and boundary integrals (see arc_integrals) of the covered part of each sphere, (n, 22).

    None of the spheres (n, 4) may lie inside another.
    """
    n = len(spheres)
    spheres = np.ascontiguousarray(spheres.T)
    totals, least = np.zeros((n, 22)), np.full(n, np.inf)
    waiting, rows = np.arange(n), 1 + PAIRS // n  # spheres that are compared with all others together
    many, budget = crowded(spheres), Budget()
    for tangent in TANGENT:
        for first in range(0, waiting.size, rows):
            on_progress(first / waiting.size)
            some = waiting[first : first + rows]
            i, j = np.nonzero(overlapping(spheres, some))
            i = some[i]
            if many[some].any():
                i, j = needed(spheres, i, j, many, tangent, budget)
            caps = mostly_seen(caps_of(spheres, i, j), tangent)
            pairs = np.cumsum(np.bincount(caps.sphere) ** 2) // 2  # of caps, up to the last of each sphere
            for part in np.split(np.arange(caps.sphere.size), np.flatnonzero(np.diff(pairs[caps.sphere] // PAIRS)) + 1):
                which, integrals, misfit = covered_parts(spheres, caps.taken(part), tangent, budget)
                better = misfit < least[which]
                totals[which[better]], least[which[better]] = integrals[better], misfit[better]
        waiting = np.flatnonzero((least >= CLOSED) & (least < np.inf))
    return totals


def union_moments(spheres: ArrayLike, on_progress: Callable[[float], None] = lambda part: None) -> Moments:
    """The moments of a union of spheres (n, 4), m. `on_progress` gets the part of the work that is done.

    For f homogeneous of degree k, here 1, x_a and x_a x_b, the divergence theorem gives
    int f dV = 1/(3 + k) oint f (x . n) dS, with x = c + r n on each sphere. Round-off is the only error.
    """
    spheres = without_redundant(checked_spheres(spheres))
    origin = np.average(spheres[:, :3], axis=0, weights=(spheres[:, 3] / spheres[0, 3]) ** 3)
    spheres[:, :3] -= origin
    covered = covered_integrals(spheres, on_progress)
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
    kept, count = np.empty_like(spheres), 0
    for sphere in spheres[np.argsort(-spheres[:, 3], kind="stable")]:
        distance = np.linalg.norm(kept[:count, :3] - sphere[:3], axis=1)
        inside = distance <= (1 + 1e-12) * kept[:count, 3] - sphere[3]
        if not inside.any():
            kept[count] = sphere
            count += 1
    return kept[:count]


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
