"""The pass over the edges of contacts: an account of the energy error that they make and, if edges are corrected, the forces
that take it out (kicks.py)."""

import math

import numpy as np

from ..compile.bits import leading_zeros
from ..compile.fours import four_at, numbers_of
from ..compile.kernels import inlined
from ..geometry import FOUR, ONE, column, index, minus, sphere, square
from ..past import past_overlap
from ..quaternion import attitude, to_body
from ..separation import from_sphere, from_wall
from ..state import BLOCK, CHUNK, LANES, Edges
from .finding import constant_of
from .kicks import excess, kicks, speed_and_theta
from .zeta import smooth_part

# Edges that are looked at together, in the space of a batch of contacts, which is free then: in `batch` rows of EDGES
# numbers, in `pair` the two spheres of each and its block.
EDGES = 64
LATER, EARLIER, BEFORE = index(0), index(EDGES), index(2 * EDGES)  # overlaps of three steps; the edge is between the first two
MOBILITY = index(3 * EDGES)  # dt^2 / m*, m/N
REACH, RADII, CONSTANT = index(4 * EDGES), index(5 * EDGES), index(6 * EDGES)  # as in batch.py
NORMAL = index(7 * EDGES)  # x, y, z; unit, world
SHARE = index(10 * EDGES)  # of the account: half if another block has the other half, 0 for edges of the step before
ERROR, SCALE, KICK = index(11 * EDGES), index(12 * EDGES), index(13 * EDGES)  # J, J^2, N


def edges_of(power, corrected, dt):
    """How edges are treated where the force begins with a power of the overlap; without one there is no account. `dt` is
    the time step (s)."""
    return Edges() if power is None else Edges(7 if corrected else 3, float(power), dt)


def series_of(power):
    """(4, DEGREE + 1) polynomials of zeta(-q, 1 + theta) for q = p - 1, p, p + 1 and p + 2; see zeta.py."""
    return np.array([smooth_part(power + k) for k in range(-1, 3)])


@inlined
def find_edges(touching, start, until, edges, lists, doubt, window):
    """List the pairs of a chunk that began or ceased to touch in the last steps, after the `edges` that are listed from
    `start` on. `touching` has the bits of the chunk that ends at `until`, `doubt` those that may have changed. Returns the
    new number of edges."""
    word = (until - ONE) // index(CHUNK)
    p = word * index(CHUNK)
    none = p + index(CHUNK) - until  # bits without a pair; the highest bit is that of the first pair
    touching <<= none
    newly = touching ^ lists.touched[word] | doubt << none
    changed = newly | lists.changed[word] if window == 7 else newly if window == 3 else index(0)
    lists.touched[word], lists.changed[word] = touching, newly
    while changed != index(0):
        bit = leading_zeros(changed)
        lists.edge[start + edges] = p + bit
        edges += ONE
        changed ^= index(1 << 63) >> bit
    return edges


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


@inlined
def edge_scene(world):
    """What the pass over edges needs of a world."""
    lists = world.close
    pairs = lists.room, lists.edges, lists.edge, lists.subject, lists.candidate
    return world.bodies, world.past, world.templates, world.spheres, world.walls, world.constants, pairs, world.account


def over_edges(block, last_block, step, dt, scene, batch, pair):
    """Keep account of the edges that blocks `block` to `last_block` - 1 have listed and, if CORRECTED, add the forces of the
    correction to their bodies. `contact`, POWER and SERIES are those of the law; see pointers.edge_pointer."""
    bodies, past, templates, spheres, walls, constants, (room, edges, edge, subject, candidate), account = scene
    others, e = spheres.owner.size, 0
    while block < last_block:
        count = index(0)
        while block < last_block and count < index(EDGES - 1):
            if e == edges[block]:
                block, e = block + 1, 0
                continue
            p = edge[room[block] + e]
            i, j = subject[p], candidate[p]
            e += 1
            # How the two are now, and were in the steps before.
            this = sphere(spheres.place, i)
            if j < others:
                apart = from_sphere(four_at(spheres.place, FOUR * index(i)), four_at(spheres.place, FOUR * index(j)))
                radii = this[3] * spheres.place[FOUR * index(j) + index(3)]
            else:
                apart = from_wall(walls, index(j - others), this)
                radii = this[3] * -numbers_of(apart)[3]  # R* = R at a wall
            dx, dy, dz, minus_reach = numbers_of(apart)
            distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))
            now = -minus_reach - distance
            one_ago = past_overlap(i, j, 1, step, dt, bodies, past, templates, spheres, walls)
            elsewhere = j < others and spheres.owner[j] // BLOCK != block
            share = 0.5 if elsewhere else 1.0
            at = count
            batch[LATER + at], batch[EARLIER + at], batch[SHARE + at] = now, one_ago, share
            if (now > 0.0) != (one_ago > 0.0) and one_ago == one_ago:
                count += ONE
                account.entered[block] += now > 0.0 and (i < j or not elsewhere)
            if CORRECTED:  # noqa: F821
                two_ago = past_overlap(i, j, 2, step, dt, bodies, past, templates, spheres, walls)
                three_ago = past_overlap(i, j, 3, step, dt, bodies, past, templates, spheres, walls)
                batch[BEFORE + at] = two_ago
                batch[LATER + count], batch[EARLIER + count], batch[BEFORE + count] = one_ago, two_ago, three_ago
                batch[SHARE + count] = 0.0
                count += index((one_ago > 0.0) != (two_ago > 0.0) and two_ago == two_ago)
            for c in range(at, count):
                pair[c], pair[index(EDGES) + c], pair[index(2 * EDGES) + c] = i, j, block
                batch[REACH + c], batch[RADII + c] = -minus_reach, radii
                batch[CONSTANT + c] = constant_of(i, j, spheres, walls, constants)
                if CORRECTED:  # noqa: F821
                    per_distance = 1.0 / distance
                    normal = dx * per_distance, dy * per_distance, dz * per_distance
                    mobility = inverse_mass(i, normal, bodies, spheres)
                    if j < others:
                        mobility += inverse_mass(j, normal, bodies, spheres)
                    batch[MOBILITY + c] = dt * dt * mobility
                    batch[NORMAL + c], batch[NORMAL + index(EDGES) + c], batch[NORMAL + index(2 * EDGES) + c] = normal
        # Lanes that stay empty compute something, too. LLVM takes no lanes without this bound.
        for c in range(min((count + index(LANES - 1)) // index(LANES) * index(LANES), index(EDGES))):
            later, earlier, reach = batch[LATER + c], batch[EARLIER + c], batch[REACH + c]
            radii, constant = batch[RADII + c], batch[CONSTANT + c]
            if CORRECTED:  # noqa: F821
                mobility = batch[MOBILITY + c]
                curvature = later - 2.0 * earlier + batch[BEFORE + c]  # of the overlap, by all other forces
                own = (reach - earlier) * contact(reach - earlier, reach, radii, constant)[0]  # noqa: F821
                curvature += mobility * own if later <= 0.0 else 0.0
                curvature = curvature if curvature == curvature else 0.0  # the overlap before is not known
                g, theta = speed_and_theta(later, earlier, curvature)
                force = (reach - g) * contact(reach - g, reach, radii, constant)[0]  # noqa: F821
                m0, kick, next_kick = kicks(later, theta, g, curvature, mobility, force, POWER, SERIES)  # noqa: F821
                batch[KICK + c] = (kick if batch[SHARE + c] > 0.0 else next_kick) if g > 0.0 else 0.0
            else:
                g = abs(later - earlier)
                force = (reach - g) * contact(reach - g, reach, radii, constant)[0]  # noqa: F821
                m0 = excess(later, earlier, force, POWER, SERIES)  # noqa: F821
            batch[ERROR + c] = m0 * (-g if later > 0.0 else g)
            batch[SCALE + c] = square(force * g)
        for c in range(count):
            share, its_block = batch[SHARE + c], pair[index(2 * EDGES) + c]
            if CORRECTED:  # noqa: F821
                i, j, kick = pair[c], pair[index(EDGES) + c], batch[KICK + c]
                x, y, z = batch[NORMAL + c], batch[NORMAL + index(EDGES) + c], batch[NORMAL + index(2 * EDGES) + c]
                push(i, (kick * x, kick * y, kick * z), bodies, spheres)
                if j < others and spheres.owner[j] // BLOCK == its_block:
                    push(j, (-kick * x, -kick * y, -kick * z), bodies, spheres)
            account.edge_error[its_block] += share * batch[ERROR + c]
            account.edge_scale[its_block] += share * batch[SCALE + c]
