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
"""

from math import atan2, ceil, cos, pi, sin, sqrt

import numpy as np

from .compiling import inlined, internal, kernel

CONTACT = 1e-9  # overlaps shallower than this part of the smaller radius are ignored: volume ~ CONTACT^2
TANGENT = (1e-11, 1e-10, 1e-9, 1e-8)  # rad; circles that overlap less are tangent: area ~ TANGENT^(3/2)
CLOSED = 1e-11  # misfit of arc ends on the unit sphere that round-off can cause
CROSS, APART, NESTED, COVER = 0, 1, 2, 3  # how two caps lie
POLE = (sqrt(0.13), -sqrt(0.23), sqrt(0.64))  # apex of the triangle fan: any unit vector, no special one
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)  # exact to round-off for cubics in cos, sin over pi/2


@inlined
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def blend(p, a, q, b):
    """p a + q b"""
    return (p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2])


@inlined
def unit(a):
    length = sqrt(dot(a, a))
    return (a[0] / length, a[1] / length, a[2] / length)


@inlined
def edge(spheres, i, j):
    """From centre i to centre j."""
    return (spheres[j, 0] - spheres[i, 0], spheres[j, 1] - spheres[i, 1], spheres[j, 2] - spheres[i, 2])


@internal
def triangle_solid_angle(a, b, c):
    """Signed solid angle of the triangle of unit vectors a, b, c, modulo 4 pi."""
    return 2.0 * atan2(dot(a, cross(b, c)), 1.0 + dot(a, b) + dot(b, c) + dot(c, a))


@internal
def corners(spheres, i, j, k):
    """The points on the surfaces of i, j and k, relative to centre i; the first on the side of ij x ik."""
    u, v = edge(spheres, i, j), edge(spheres, i, k)
    ri, rj, rk = spheres[i, 3], spheres[j, 3], spheres[k, 3]
    d = sqrt(dot(u, u))
    ex = unit(u)
    ez = unit(cross(u, v))
    ey = cross(ez, ex)
    x = (d + (ri - rj) * (ri + rj) / d) / 2.0  # radical planes of i and j, then of i and k
    y = ((dot(v, v) + (ri - rk) * (ri + rk)) / 2.0 - dot(v, ex) * x) / dot(v, ey)
    z = sqrt(max(ri * ri - x * x - y * y, 0.0))
    foot = blend(x, ex, y, ey)
    return blend(1.0, foot, z, ez), blend(1.0, foot, -z, ez)


@internal
def relation(caps, j, k, tangent):
    """How caps j and k lie: their circles CROSS, or they are APART, NESTED, or COVER the sphere together."""
    p, q = (caps[j, 0], caps[j, 1], caps[j, 2]), (caps[k, 0], caps[k, 1], caps[k, 2])
    if abs(dot(p, q) - caps[j, 3] * caps[k, 3]) < caps[j, 4] * caps[k, 4] - 1e-6:
        return CROSS  # clearly, by the cosines of the angles compared below
    c = cross(p, q)
    between = atan2(sqrt(dot(c, c)), dot(p, q))
    apart = between - caps[j, 5] - caps[k, 5]
    nested = abs(caps[j, 5] - caps[k, 5]) - between
    cover = caps[j, 5] + caps[k, 5] + between - 2.0 * pi
    largest = max(apart, max(nested, cover))
    if largest < -tangent:
        return CROSS
    return NESTED if nested == largest else APART if apart == largest else COVER


@internal
def find_caps(spheres, i, tangent, neighbour, caps):
    """Caps of sphere i under other spheres, less those inside another cap.

    Fills neighbour (n,) and caps (n, 7): axis, cosine, sine and half angle of the opening, 1 - |cosine|.
    Returns their number, or -1 if two of them cover the whole sphere.
    """
    m = 0
    r = spheres[i, 3]
    for j in range(spheres.shape[0]):
        a, s = edge(spheres, i, j), spheres[j, 3]
        d = sqrt(dot(a, a))
        if j == i or d >= r + s - CONTACT * min(r, s):
            continue
        below = (r + s - d) * (d - (r - s)) / (2.0 * d * r)  # 1 - cos, without cancellation
        above = (r + s + d) * (d + (r - s)) / (2.0 * d * r)  # 1 + cos
        cosine, sine = (above - below) / 2.0, sqrt(max(below * above, 0.0))
        caps[m, 0], caps[m, 1], caps[m, 2] = a[0] / d, a[1] / d, a[2] / d
        caps[m, 3], caps[m, 4], caps[m, 5], caps[m, 6] = cosine, sine, atan2(sine, cosine), min(below, above)
        neighbour[m] = j
        m += 1
    for j in range(m):
        for k in range(j):
            if neighbour[k] < 0:
                continue
            how = relation(caps, j, k, tangent)
            if how == COVER:
                return -1
            if how == NESTED and caps[j, 5] <= caps[k, 5]:
                neighbour[j] = -1
                break
            if how == NESTED:
                neighbour[k] = -1
    kept = 0
    for j in range(m):
        if neighbour[j] >= 0:
            neighbour[kept] = neighbour[j]
            for column in range(7):
                caps[kept, column] = caps[j, column]
            kept += 1
    return kept


@internal
def add_arc(total, cap, e1, e2, center, start, end):
    """Add the arc of a cap's circle, counter-clockwise from start to end, to the boundary integrals.

    total (25,): solid angle modulo 4 pi; oint w (3); oint n w (3, 3); oint n n (center . w) (3, 3); and
    sums over the arc ends that vanish if the arcs close (3).
    """
    cosine, sine = cap[3], cap[4]
    axis = (cap[0], cap[1], cap[2])
    side = 1.0 if cosine >= 0.0 else -1.0  # sector about the nearer end of the axis
    total[0] += side * cap[6] * (end - start)
    if end - start < 2.0 * pi:
        tip = blend(side, axis, 0.0, axis)
        first = blend(cosine, axis, sine, blend(cos(start), e1, sin(start), e2))
        last = blend(cosine, axis, sine, blend(cos(end), e1, sin(end), e2))
        total[0] += triangle_solid_angle(POLE, first, tip) + triangle_solid_angle(POLE, tip, last)
        for a in range(3):
            total[22 + a] += last[a] * (1.0 + dot(POLE, last)) - first[a] * (1.0 + dot(POLE, first))
    pieces = max(1, ceil((end - start) / (pi / 2.0)))
    half = (end - start) / pieces / 2.0
    for piece in range(pieces):
        for node in range(NODES.size):
            psi = start + half * (2 * piece + 1 + NODES[node])
            u = blend(cos(psi), e1, sin(psi), e2)
            n = blend(cosine, axis, sine, u)
            h = half * WEIGHTS[node] * sine
            w = blend(h * sine, axis, -h * cosine, u)
            cw = dot(center, w)
            for a in range(3):
                total[1 + a] += w[a]
                for b in range(3):
                    total[4 + 3 * a + b] += n[a] * w[b]
                    total[13 + 3 * a + b] += n[a] * n[b] * cw


@internal
def covered_up_to(reach, starts, ends, count):
    """Where the first gap between reach and the sorted intervals begins."""
    for k in range(count):
        if starts[k] > reach:
            break
        reach = max(reach, ends[k])
    return reach


@internal
def add_exposed_arcs(total, spheres, i, tangent, neighbour, caps, j, m):
    """Add the parts of circle j on sphere i that lie under none of the other caps; returns their number."""
    center = (spheres[i, 0], spheres[i, 1], spheres[i, 2])
    axis = (caps[j, 0], caps[j, 1], caps[j, 2])
    e1 = unit(cross(axis, (1.0, 0.0, 0.0) if abs(axis[0]) < 0.6 else (0.0, 1.0, 0.0)))
    e2 = cross(axis, e1)
    # covered intervals in ascending order; angles count from the start of the first one found
    starts, ends = np.empty(m), np.empty(m)
    count = 0
    origin = 0.0
    reach = 0.0  # everything from 0 to here is covered
    for k in range(m):
        if k == j or relation(caps, j, k, tangent) != CROSS:
            continue
        # one and the same call for both circles, so that their arcs meet
        right, left = corners(spheres, i, neighbour[min(j, k)], neighbour[max(j, k)])
        enter, leave = (left, right) if j < k else (right, left)
        angle = atan2(dot(enter, e2), dot(enter, e1))
        length = (atan2(dot(leave, e2), dot(leave, e1)) - angle) % (2.0 * pi)
        if count == 0:
            origin = angle
        start = (angle - origin) % (2.0 * pi)
        reach = max(reach, start + length - 2.0 * pi)
        place = count
        while place > 0 and starts[place - 1] > start:
            starts[place], ends[place] = starts[place - 1], ends[place - 1]
            place -= 1
        starts[place], ends[place] = start, start + length
        count += 1
        if covered_up_to(reach, starts, ends, count) >= 2.0 * pi:
            return 0
    arcs = 0
    for k in range(count):
        if starts[k] > reach:
            add_arc(total, caps[j], e1, e2, center, origin + reach, origin + starts[k])
            arcs += 1
        reach = max(reach, ends[k])
    if reach < 2.0 * pi:
        add_arc(total, caps[j], e1, e2, center, origin + reach, origin + 2.0 * pi)
        arcs += 1
    return arcs


@internal
def covered_part(total, spheres, i, tangent, neighbour, caps):
    """Fill total with solid angle and boundary integrals (see add_arc) of the covered part of sphere i.

    Returns the misfit of the arc ends.
    """
    total[:] = 0.0
    m = find_caps(spheres, i, tangent, neighbour, caps)
    arcs = 0
    widest = 0.0
    together = 0.0
    for j in range(m):
        arcs += add_exposed_arcs(total, spheres, i, tangent, neighbour, caps, j, m)
        widest = max(widest, 1.0 - caps[j, 3])
        together += 1.0 - caps[j, 3]
    if arcs > 0:
        # it lies between the widest cap's and the sum of all: that settles the multiple of 4 pi
        middle = pi * (widest + min(together, 2.0))
        total[0] -= 4.0 * pi * round((total[0] - middle) / (4.0 * pi))
    elif m != 0:
        total[0] = 4.0 * pi
    return abs(total[22]) + abs(total[23]) + abs(total[24])


@kernel
def covered_integrals(spheres):
    """Solid angle and boundary integrals (see add_arc) of the covered part of each sphere, (n, 22).

    None of the spheres (n, 4) may lie inside another.
    """
    n = spheres.shape[0]
    neighbour, caps = np.empty(n, np.int64), np.empty((n, 7))
    total, totals = np.empty(25), np.empty((n, 22))
    for i in range(n):
        least = np.inf
        for tangent in TANGENT:
            misfit = covered_part(total, spheres, i, tangent, neighbour, caps)
            if misfit < least:
                least = misfit
                for column in range(22):
                    totals[i, column] = total[column]
            if misfit < CLOSED:
                break
    return totals
