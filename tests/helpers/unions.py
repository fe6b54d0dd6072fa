"""Clumps of overlapping spheres, and the moments of their unions by slices: nothing of the package."""

from itertools import combinations

import numpy as np
from numba import njit

PI = np.pi
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)  # of an arc: exact to round-off up to cos(4 t) over 2 pi


def random_clump(n, seed, spread=1.0, smallest=0.3):
    rng = np.random.default_rng(seed)
    return np.column_stack([spread * rng.normal(size=(n, 3)), rng.uniform(smallest, 1.0, n)])


def shell(n=60, radius=0.35):
    """Spheres on a unit sphere (spiral points), closed, with a void inside."""
    z = 1 - (2 * np.arange(n) + 1) / n
    phi = PI * (1 + np.sqrt(5)) * np.arange(n)
    s = np.sqrt(1 - z * z)
    return np.column_stack([s * np.cos(phi), s * np.sin(phi), z, np.full(n, radius)])


@njit
def add_arc(total, x, y, r, begin, end):
    """Green's theorem: what an arc adds to the integrals of 1, x, y, xx, xy, yy over what it encloses."""
    for node, weight in zip(NODES, WEIGHTS):  # noqa: B905 (numba)
        t = (begin + end) / 2 + (end - begin) / 2 * node
        px, py = x + r * np.cos(t), y + r * np.sin(t)
        step = (end - begin) / 2 * weight
        dx, dy = -r * np.sin(t) * step, r * np.cos(t) * step
        total[0] += (px * dy - py * dx) / 2
        total[1] += px * px * dy / 2
        total[2] -= py * py * dx / 2
        total[3] += px**3 * dy / 3
        total[4] += px * px * py * dy / 2
        total[5] -= py**3 * dx / 3


@njit
def moments_of_discs(x, y, r):
    """Integrals of 1, x, y, xx, xy, yy over a union of discs, from the arcs that no other disc covers."""
    n = len(x)
    start, end = np.empty(2 * n), np.empty(2 * n)
    total = np.zeros(6)
    for i in range(n):
        count = 0
        hidden = False
        for j in range(n):
            d = np.hypot(x[j] - x[i], y[j] - y[i])
            if j == i or d >= r[i] + r[j] or d + r[j] <= r[i]:
                continue
            if d + r[i] <= r[j]:
                hidden = True
                break
            half = np.arccos((d * d + r[i] ** 2 - r[j] ** 2) / (2 * d * r[i]))
            start[count] = (np.arctan2(y[j] - y[i], x[j] - x[i]) - half) % (2 * PI)
            end[count] = start[count] + 2 * half
            count += 1
            if end[count - 1] > 2 * PI:
                start[count], end[count] = 0.0, end[count - 1] - 2 * PI
                count += 1
        if hidden:
            continue
        at = 0.0
        while at < 2 * PI:
            until, covered = 2 * PI, False
            for k in range(count):
                if start[k] > at:
                    until = min(until, start[k])
                elif end[k] > at:
                    at, covered = end[k], True
            if not covered:
                add_arc(total, x[i], y[i], r[i], at, until)
                at = until
    return total


@njit
def moments_of_slices(spheres, heights):
    out = np.empty((len(heights), 6))
    discs = np.empty((3, len(spheres)))
    for k in range(len(heights)):
        n = 0
        for x, y, z, radius in spheres:
            if abs(heights[k] - z) < radius:
                discs[0, n], discs[1, n], discs[2, n] = x, y, np.sqrt(radius**2 - (heights[k] - z) ** 2)
                n += 1
        out[k] = moments_of_discs(discs[0, :n], discs[1, :n], discs[2, :n])
    return out


def critical_heights(spheres):
    """z of the tops, of the extremes of the pair circles, and of the triple points, if exposed."""
    c, r = spheres[:, :3], spheres[:, 3]
    up = np.array([0, 0, 1.0])
    points = [*(c + r[:, None] * up), *(c - r[:, None] * up)]
    cut = set()
    for i, j in combinations(range(len(r)), 2):
        d = np.linalg.norm(c[j] - c[i])
        if abs(r[i] - r[j]) < d < r[i] + r[j]:
            cut.add((i, j))
            axis = (c[j] - c[i]) / d
            along = (d * d + r[i] ** 2 - r[j] ** 2) / (2 * d)
            steepest = up - axis[2] * axis
            arm = np.sqrt(r[i] ** 2 - along**2) * steepest / np.linalg.norm(steepest)
            points += [c[i] + along * axis + arm, c[i] + along * axis - arm]
    triples = [(i, j, k) for i, j in cut for k in range(j + 1, len(r)) if (i, k) in cut and (j, k) in cut]
    if triples:
        i, j, k = np.array(triples).T
        u, v = c[j] - c[i], c[k] - c[i]
        n = np.cross(u, v)
        n2 = np.sum(n * n, axis=1, keepdims=True)
        su, sv = (np.sum(e * e, axis=1) + r[i] ** 2 - r[m] ** 2 for e, m in ((u, j), (v, k)))
        with np.errstate(invalid="ignore"):  # three in a row meet in no point; and many do not meet
            foot = (su[:, None] * np.cross(v, n) + sv[:, None] * np.cross(n, u)) / (2 * n2)
            h2 = r[i, None] ** 2 - np.sum(foot * foot, axis=1, keepdims=True)
            points += [*(c[i] + foot + n * np.sqrt(h2 / n2)), *(c[i] + foot - n * np.sqrt(h2 / n2))]
    points = np.array(points)
    exposed = np.isfinite(points[:, 2])
    for x, y, z, radius in spheres:
        exposed &= ~(np.sum((points - [x, y, z]) ** 2, axis=1) < radius**2 * (1 - 1e-9))
    return np.unique(points[exposed, 2])


def by_slices(spheres, nodes):
    """Volume, centre (3,) and second moments (3, 3) about it of a union of spheres (n, 4).

    Gauss nodes between critical heights; the cosine removes the root singularities.
    """
    z = critical_heights(spheres)
    low, high = z[:-1, None], z[1:, None]
    x, weight = np.polynomial.legendre.leggauss(nodes)
    theta = PI / 2 * (x + 1)
    heights = ((low + high - (high - low) * np.cos(theta)) / 2).ravel()
    weights = ((high - low) / 2 * np.sin(theta) * PI / 2 * weight).ravel()
    slices = moments_of_slices(spheres, heights)
    volume, mx, my, xx, xy, yy = weights @ slices
    mz, xz, yz = (weights * heights) @ slices[:, :3]
    centre = np.array([mx, my, mz]) / volume
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, (weights * heights**2) @ slices[:, 0]]])
    return volume, centre, second - volume * np.outer(centre, centre)
