"""Triangles of a mesh that cross each other."""

import numpy as np
from numpy.typing import NDArray

from ..engine.compile.kernels import inlined, internal, kernel
from ..engine.geometry import minus
from ..engine.world import near_pairs

MOST_PAIRS = 5 * 10**7  # of triangles near each other: 0.8 GB


@inlined
def cross(a, b):
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def dot(a, b):
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@internal
def edge_crosses(start, end, a, b, c):
    """Whether a segment passes through the inside of a triangle (Moeller and Trumbore, J. Graph. Tools 2, 21, 1997).

    Segments that touch the triangle's rim or plane within round-off do not count.
    """
    along, ab, ac = minus(end, start), minus(b, a), minus(c, a)
    p = cross(along, ac)
    determinant = dot(ab, p)
    scale = dot(ab, ab) * dot(ac, ac) * dot(along, along)
    if determinant * determinant <= 1e-24 * scale:
        return False  # parallel
    t = minus(start, a)
    u = dot(t, p) / determinant
    q = cross(t, ab)
    v = dot(along, q) / determinant
    w = dot(ac, q) / determinant
    rim = 1e-9
    return u > rim and v > rim and u + v < 1.0 - rim and rim < w < 1.0 - rim


def crossing_triangles(triangles: NDArray[np.float64], faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs (k, 2) of triangles (f, 3, 3), m, that cross and share no corner; `faces` (f, 3) numbers their corners.
    MemoryError if more than MOST_PAIRS are so close that they might."""
    centre = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - centre[:, None], axis=2).max(axis=1)
    near = near_pairs(np.ascontiguousarray(centre.T), reach, 0.0, MOST_PAIRS)
    found = np.empty((near.shape[1], 2), np.int64)
    return found[: crossing_pairs(triangles, faces, near, found)].copy()


@kernel
def crossing_pairs(triangles, faces, near, found):
    """Write those of the pairs `near` (2, p) that cross to `found` (p, 2); returns their number."""
    crossings = 0
    for p in range(near.shape[1]):
        f, g = near[0, p], near[1, p]
        shared = False
        for i in range(3):
            for j in range(3):
                shared |= faces[f, i] == faces[g, j]
        if shared:
            continue
        crosses = False
        for k in range(3):
            m = (k + 1) % 3
            s, t = triangles[f], triangles[g]
            crosses |= edge_crosses(s[k], s[m], t[0], t[1], t[2]) or edge_crosses(t[k], t[m], s[0], s[1], s[2])
        if crosses:
            found[crossings, 0], found[crossings, 1] = f, g
            crossings += 1
    return crossings
