"""The edges of contacts: where a contact begins or ends between two steps, and the energy that this costs.

Leapfrog takes the sum of dt F over the steps for the integral of F. Where the overlap passes zero with g metres per step and
a curvature of s (m per step^2), the force is k (g t + s t^2 / 2)^p, with the law's edge power p. Then the sum exceeds the
integral by dt M0, and its first moment about the nearest step inside by dt^2 M1 (zeta.py; docs/edges.md has the derivation):

    M0 = F (z0 + p/2 (s/g) z1),   M1 = F ((z1 - theta z0) + p/2 (s/g) (z2 - theta z1)),   zi = zeta(-p - i, theta)

F is the force of the law at the overlap g, theta the time between the edge and the nearest step inside, in steps. The energy
error is -M0 g where a contact begins and M0 g where it ends. With plain edges, only account of it is kept. With corrected
edges the wrong impulse is taken out by two kicks, in the step after the edge and in the next one:

    where a contact begins:  M1 - M0,   then  -M1 + a S / g
    where it ends:           -2 M0 - M1 - a M0^2 / (2 g),   then  M0 + M1

Their sum sets the impulse right, their times the moment. a = dt^2 / m* is how far 1 N moves the contact in a step (m/N). The
terms with a keep the energy right to second order in the force, so that no error is left in the mean: the kicks themselves
change the speed, and those inside the contact meet a slower one. With w = M1 - M0 and h = (t^p / 2 - z(t)) F, the energy of
the scheme near an edge,

    S = w/2 F0 - M1 (F0 + F1 / 2) + M0^2 / 2 - F (w H(theta) - M1 H(1 + theta)),   Fj = F (j + theta)^p
    H(t) = (p + 1) h - t h' = t^p / 2 - (p + 1) zeta(-p, t) + p t zeta(1 - p, t)
"""

import math

import numpy as np

from ..compile.fours import four_at, numbers_of
from ..compile.kernels import inlined, rare
from ..geometry import FOUR, ONE, TWO, column, index, minus, sphere, square
from ..past import past_overlap
from ..quaternion import attitude, to_body
from ..separation import from_sphere, from_wall
from ..state import CHUNK, Edges
from ..threads import bodies_of
from .batch import CONSTANT, FORCE, RADII
from .finding import constant_of
from .zeta import smooth_part

OVERLAP = index(8)  # in the batch to work with, which has one contact only: overlaps of this step and of those before
STEEPEST = 1.0  # largest |s| / g: beyond it a contact only grazes, and the series in s / g means nothing


def edges_of(power, corrected, dt):
    """How edges are treated where the force begins with a power of the overlap; without one there is no account. `dt` is
    the time step (s)."""
    if power is None:
        return Edges()
    return Edges(7 if corrected else 3, float(power), np.array([smooth_part(power + k) for k in range(-1, 3)]), dt)


@inlined
def smooth_zetas(series, theta):
    """zeta(1 - p, t), zeta(-p, t), zeta(-p - 1, t) and zeta(-p - 2, t) at t = 1 + theta, from their polynomials in
    y = 2 theta - 1. Even and odd powers of y apart: a sum waits for its last term, but not for the other sums."""
    y = 2.0 * theta - 1.0
    square_of_y, a, b, c, d = y * y, 0.0, 0.0, 0.0, 0.0
    odd_a, odd_b, odd_c, odd_d = 0.0, 0.0, 0.0, 0.0
    for k in range(series.shape[1] - 2, -1, -2):
        a, odd_a = a * square_of_y + series[0, k], odd_a * square_of_y + series[0, k + 1]
        b, odd_b = b * square_of_y + series[1, k], odd_b * square_of_y + series[1, k + 1]
        c, odd_c = c * square_of_y + series[2, k], odd_c * square_of_y + series[2, k + 1]
        d, odd_d = d * square_of_y + series[3, k], odd_d * square_of_y + series[3, k + 1]
    return a + y * odd_a, b + y * odd_b, c + y * odd_c, d + y * odd_d


@inlined
def force_at(overlap, pair, law, batch):
    """Force (N) of the law at an overlap (m) of a pair given by its reach, radii and constant. `batch` is working space."""
    reach, batch[RADII], batch[CONSTANT] = pair
    distance = reach - overlap
    batch[0], batch[1], batch[2], batch[3] = distance, 0.0, 0.0, -reach
    law(1, batch, math.inf)
    return batch[FORCE] * distance


@inlined
def inverse_mass(s, normal, bodies, spheres):
    """1/m + (r x n) . I^-1 (r x n) of the body of sphere s (1/kg): its acceleration along the normal at the sphere per N."""
    b = index(spheres.owner[s])
    found = 1.0 / bodies.mass[b]
    if bodies.arm[b] > 0.0:
        x, y, z = minus(sphere(spheres.place, s), column(bodies.position, b))
        nx, ny, nz = normal
        u, v, w = to_body(attitude(bodies.orientation, b), (y * nz - z * ny, z * nx - x * nz, x * ny - y * nx))
        found += u * u * bodies.inertia[3, b] + v * v * bodies.inertia[4, b] + w * w * bodies.inertia[5, b]
    return found


@inlined
def kicks(later, earlier, before, mobility, pair, law, edges, batch):
    """Speed g of an edge (m per step), the force F at the overlap g, M0, and the two kicks that correct the edge (N).

    The edge is between two overlaps (m); `before` is the overlap one step before these, NaN if it is not known. `mobility`
    is a of the docstring above (m/N), zero if edges are plain; `pair` and `batch` as in `force_at`.
    """
    p, ends, corrected = edges.power, later <= 0.0, mobility > 0.0
    curvature = later - 2.0 * earlier + before  # of the overlap, by all other forces
    if ends and corrected:
        curvature += mobility * force_at(earlier, pair, law, batch)
    if curvature != curvature:
        curvature = 0.0
    # The edge is at x in (0, 1): earlier + slope x + curvature/2 x^2 = 0.
    slope = later - earlier - 0.5 * curvature
    root = math.sqrt(max(slope * slope - 2.0 * curvature * earlier, 0.0))
    x = min(max(-2.0 * earlier / (slope + math.copysign(root, slope)), 0.0), 1.0)
    g = abs(slope + curvature * x)
    if not g > 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    theta = x if ends else 1.0 - x
    power = theta * math.sqrt(theta) if p == 1.5 else theta**p  # the first is faster
    force = force_at(g, pair, law, batch)
    slope_zeta, zeta0, zeta1, zeta2 = smooth_zetas(edges.series, theta)
    z0 = power + zeta0
    if not corrected:
        return g, force, force * z0, 0.0, 0.0
    bend = 0.5 * p * min(max(curvature / g, -STEEPEST), STEEPEST)
    z1, z2 = power * theta + zeta1, power * theta * theta + zeta2
    m0, m1 = force * (z0 + bend * z1), force * ((z1 - theta * z0) + bend * (z2 - theta * z1))
    if ends:
        return g, force, m0, -2.0 * m0 - m1 - 0.5 * mobility * m0 * m0 / g, m0 + m1
    next_power = (1.0 + theta) * math.sqrt(1.0 + theta) if p == 1.5 else (1.0 + theta) ** p
    h0 = 0.5 * power - (p + 1.0) * z0 + p * (power + theta * slope_zeta)
    h1 = 0.5 * next_power - (p + 1.0) * (z0 - power) + p * (1.0 + theta) * slope_zeta
    w = m1 - m0
    second_order = 0.5 * w * power - m1 * (power + 0.5 * next_power) - (w * h0 - m1 * h1)
    return g, force, m0, w, -m1 + mobility * (force * second_order + 0.5 * m0 * m0) / g


@inlined
def find_edges(touching, start, until, edges, lists, window):
    """List the pairs of a chunk that began or ceased to touch in the last steps, after the `edges` that are listed from
    `start` on. `touching` has the bits of the chunk that ends at `until`. Returns the new number of edges."""
    word = (until - ONE) // index(CHUNK)
    touched, before = lists.touched[word], lists.touched_before[word]
    changed = (touching ^ touched | touched ^ before) if window > 1 else index(0)
    lists.touched_before[word], lists.touched[word] = touched if window == 7 else touching, touching
    p = word * index(CHUNK)
    changed <<= p + index(CHUNK) - until  # now the highest bit is that of the first pair
    while changed != index(0):
        while changed >> index(56) == index(0):
            changed, p = changed << index(8), p + index(8)
        if changed >> index(63) != index(0):
            lists.edge[start + edges] = p
            edges += ONE
        changed, p = changed << ONE, p + ONE
    return edges


@inlined
def push(s, force, bodies, spheres):
    """Add a force (N, world) at the centre of sphere s to its body."""
    b = index(spheres.owner[s])
    fx, fy, fz = force
    bodies.force[0, b] += fx
    bodies.force[1, b] += fy
    bodies.force[2, b] += fz
    if bodies.arm[b] > 0.0:
        x, y, z = minus(sphere(spheres.place, s), column(bodies.position, b))
        u, v, w = to_body(attitude(bodies.orientation, b), (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx))
        bodies.torque[0, b] += u
        bodies.torque[1, b] += v
        bodies.torque[2, b] += w


@rare
def edge_forces(block, step, law, scene, lists, edges, account, space):
    """Keep account of the edges that a block has listed and, if edges are corrected, add the forces of the correction to the
    block's bodies. `scene` is as in past.py, `space` a batch to work with."""
    bodies, _, spheres, walls, constants, _, dt = scene
    others, corrected = spheres.owner.size, edges.window == 7
    begin, end = bodies_of(block, block + 1, bodies.mass.size)
    first_sphere, last_sphere = spheres.first[begin], spheres.first[end]
    for e in range(lists.room[block], lists.room[block] + lists.edges[block]):
        p = lists.edge[e]
        i, j = lists.subject[p], lists.candidate[p]
        this = sphere(spheres.place, i)
        if j < others:
            radii = this[3] * sphere(spheres.place, j)[3]
            apart = from_sphere(four_at(spheres.place, FOUR * index(i)), four_at(spheres.place, FOUR * index(j)))
        else:
            apart = from_wall(walls, index(j - others), this)
            radii = this[3] * -numbers_of(apart)[3]  # R* = R at a wall
        dx, dy, dz, minus_reach = numbers_of(apart)
        distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))
        per_distance = 1.0 / distance
        normal = dx * per_distance, dy * per_distance, dz * per_distance
        contact = -minus_reach, radii, constant_of(i, j, spheres, walls, constants)
        mobility = 0.0
        if corrected:
            mobility = inverse_mass(i, normal, bodies, spheres)
            if j < others:
                mobility += inverse_mass(j, normal, bodies, spheres)
            mobility *= dt * dt
        space[OVERLAP], space[OVERLAP + TWO] = -minus_reach - distance, math.nan
        for back in range(1, 4 if corrected else 2):
            space[OVERLAP + index(back)] = past_overlap(i, j, back, step, scene)
        added = 0.0
        for ago in range(2 if corrected else 1):  # edges in the last step, and in the one before
            o = OVERLAP + index(ago)
            later, earlier, before = space[o], space[o + ONE], space[o + TWO]
            if (later > 0.0) != (earlier > 0.0) and earlier == earlier:
                g, force, m0, first, second = kicks(later, earlier, before, mobility, contact, law, edges, space)
                added += second if ago > 0 else first
                if ago == 0:
                    share = 1.0 if j >= others or first_sphere <= j < last_sphere else 0.5  # the other block has the rest
                    account.edge_error[block] += share * m0 * g * (-1.0 if later > 0.0 else 1.0)
                    account.edge_scale[block] += share * square(force * g)
                    account.entered[block] += later > 0.0 and (share == 1.0 or i < j)
        if corrected:
            push(i, (added * normal[0], added * normal[1], added * normal[2]), bodies, spheres)
            if first_sphere <= j < last_sphere:
                push(j, (-added * normal[0], -added * normal[1], -added * normal[2]), bodies, spheres)
