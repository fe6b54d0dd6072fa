"""The pass over the edges of contacts: an account of the energy error that they make and, if edges are corrected, the forces
that take it out (kicks.py)."""

import math

import numpy as np

from ..compile.bits import leading_zeros
from ..compile.fours import four_at, numbers_of
from ..compile.kernels import inlined
from ..geometry import FOUR, ONE, THREE, column, index, minus, sphere, square
from ..past import past_overlap, slot_of
from ..quaternion import attitude, to_body
from ..separation import from_sphere, from_wall
from ..state import BLOCK, CHUNK, LANES, Edges
from .finding import constant_of
from .kicks import excess, kicks, speed_and_theta
from .zeta import smooth_part

HIGHEST = index(1 << 63)  # bit of a word

# The pass takes PAIRS pairs at a time, which have up to EDGES edges in the last two steps. It uses the space of a batch of
# contacts, which is free then, with rows of EDGES numbers. For each pair:
PAIRS, EDGES = 32, 64
FIRST, SECOND, ITS_BLOCK = index(0), index(EDGES), index(2 * EDGES)  # in `pair`: spheres (or wall) and block
ONE_AGO, TWO_AGO = index(0), index(EDGES)  # overlaps in the steps before, m
# For each edge, which is between the later and the earlier overlap (m):
OF_PAIR = index(3 * EDGES)  # in `pair`
LATER, EARLIER, BEFORE = index(3 * EDGES), index(4 * EDGES), index(5 * EDGES)
REACH, RADII, CONSTANT = index(6 * EDGES), index(7 * EDGES), index(8 * EDGES)  # as in batch.py
SHARE = index(9 * EDGES)  # of the account: half if another block has the other half, 0 for edges of the step before
MOBILITY = index(10 * EDGES)  # dt^2 / m*, m/N
NORMAL_X, NORMAL_Y, NORMAL_Z = index(11 * EDGES), index(12 * EDGES), index(13 * EDGES)  # unit, world
ERROR, SCALE, KICK = index(14 * EDGES), index(15 * EDGES), index(16 * EDGES)  # J, J^2, N


def edges_of(power, corrected, dt):
    """How edges are treated if the force begins with a power of the overlap; without one there is no account. `dt` is
    the time step (s)."""
    return Edges() if power is None else Edges(7 if corrected else 3, float(power), dt)


def series_of(power):
    """(4, DEGREE + 1) polynomials of zeta(-q, 1 + theta) for q = p - 1, p, p + 1 and p + 2; see zeta.py."""
    return np.array([smooth_part(power + k) for k in range(-1, 3)])


@inlined
def mark_edges(touching, until, lists, doubt, window):
    """Mark the pairs of a chunk that began or ceased to touch. `touching` has the bits of the chunk that ends at pair
    `until`, `doubt` those that may have changed. Returns the bits of pairs at an edge in this step and, if edges are
    corrected, in the one before."""
    word = (until - ONE) // index(CHUNK)
    none = (word + ONE) * index(CHUNK) - until  # bits without a pair
    touching, before = touching << none, lists.changed[word]
    changed = touching ^ lists.touched[word] | doubt << none
    lists.touched[word], lists.changed[word], lists.changed_before[word] = touching, changed, before
    return changed | before if window == 7 else changed


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
    pairs = lists.room, lists.wanted, lists.subject, lists.candidate, lists.changed, lists.changed_before
    return world.bodies, world.past, world.templates, world.spheres, world.walls, world.constants, pairs, world.account


@inlined
def is_edge(later, earlier):
    """Whether a contact begins or ends between two overlaps; not if the earlier one is not known."""
    return (later > 0.0) != (earlier > 0.0) and earlier == earlier


def over_edges(block, last_block, step, dt, scene, batch, pair):
    """Keep account of the edges that blocks `block` to `last_block` - 1 have marked and, if CORRECTED, add the forces of the
    correction to their bodies. `contact`, POWER and SERIES are those of the law; see pointers.edge_pointer.

    Several short loops: one pair need not wait for the memory of the one before.
    """
    bodies, past, templates, spheres, walls, constants, lists, account = scene
    room, wanted, subject, candidate, changed, changed_before = lists
    place, owner, others = spheres.place, spheres.owner, spheres.owner.size
    word, bits = index(room[block]) // index(CHUNK), index(0)
    while block < last_block:
        # The next marked pairs.
        pairs = index(0)
        while block < last_block and pairs < index(PAIRS):
            if bits != index(0):
                bit = leading_zeros(bits)
                bits ^= HIGHEST >> bit
                p = (word - ONE) * index(CHUNK) + bit
                pair[FIRST + pairs], pair[SECOND + pairs], pair[ITS_BLOCK + pairs] = subject[p], candidate[p], block
                pairs += ONE
            elif word * index(CHUNK) < index(room[block] + wanted[block]):
                bits = changed[word] | changed_before[word] if CORRECTED else changed[word]  # noqa: F821
                word += ONE
            else:
                block += 1
                word = index(room[block]) // index(CHUNK)

        # Their overlaps in the steps before.
        for back in range(2 if CORRECTED else 1):  # noqa: F821
            slot = slot_of(step - 1 - back, past)
            for c in range(pairs):
                overlap = past_overlap(pair[FIRST + c], pair[SECOND + c], slot, dt, bodies, past, templates, spheres, walls)
                batch[ONE_AGO + index(EDGES * back) + c] = overlap

        # Their edges.
        count = index(0)
        for c in range(pairs):
            i, j, its_block = pair[FIRST + c], pair[SECOND + c], pair[ITS_BLOCK + c]
            if j < others:
                apart = from_sphere(four_at(place, FOUR * index(i)), four_at(place, FOUR * index(j)))
                radii = place[FOUR * index(i) + THREE] * place[FOUR * index(j) + THREE]
            else:
                apart = from_wall(walls, index(j - others), sphere(place, i))
                radii = place[FOUR * index(i) + THREE] * -numbers_of(apart)[3]  # R* = R at a wall
            dx, dy, dz, minus_reach = numbers_of(apart)
            distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))
            now, one_ago, two_ago = -minus_reach - distance, batch[ONE_AGO + c], batch[TWO_AGO + c]
            first = count
            if is_edge(now, one_ago):
                elsewhere = j < others and owner[j] // BLOCK != its_block
                account.entered[its_block] += now > 0.0 and (i < j or not elsewhere)
                batch[LATER + count], batch[EARLIER + count], batch[BEFORE + count] = now, one_ago, two_ago
                batch[SHARE + count] = 0.5 if elsewhere else 1.0
                count += ONE
            if CORRECTED and is_edge(one_ago, two_ago):  # noqa: F821
                three_ago = past_overlap(i, j, slot_of(step - 3, past), dt, bodies, past, templates, spheres, walls)
                batch[LATER + count], batch[EARLIER + count], batch[BEFORE + count] = one_ago, two_ago, three_ago
                batch[SHARE + count] = 0.0
                count += ONE
            for e in range(first, count):
                pair[OF_PAIR + e], batch[REACH + e], batch[RADII + e] = c, -minus_reach, radii
                batch[CONSTANT + e] = constant_of(i, j, spheres, walls, constants)
                if CORRECTED:  # noqa: F821
                    per_distance = 1.0 / distance
                    normal = dx * per_distance, dy * per_distance, dz * per_distance
                    mobility = inverse_mass(i, normal, bodies, spheres)
                    if j < others:
                        mobility += inverse_mass(j, normal, bodies, spheres)
                    batch[NORMAL_X + e], batch[NORMAL_Y + e], batch[NORMAL_Z + e] = normal
                    batch[MOBILITY + e] = dt * dt * mobility

        # Their errors and kicks. Lanes that stay empty compute something, too; LLVM takes no lanes without this bound.
        for e in range(min((count + index(LANES - 1)) // index(LANES) * index(LANES), index(EDGES))):
            later, earlier, reach = batch[LATER + e], batch[EARLIER + e], batch[REACH + e]
            radii, constant = batch[RADII + e], batch[CONSTANT + e]
            if CORRECTED:  # noqa: F821
                mobility = batch[MOBILITY + e]
                curvature = later - 2.0 * earlier + batch[BEFORE + e]  # of the overlap, by all other forces
                own = (reach - earlier) * contact(reach - earlier, reach, radii, constant)[0]  # noqa: F821
                curvature += mobility * own if later <= 0.0 else 0.0
                curvature = curvature if curvature == curvature else 0.0  # the overlap before is not known
                g, theta = speed_and_theta(later, earlier, curvature)
                force = (reach - g) * contact(reach - g, reach, radii, constant)[0]  # noqa: F821
                m0, kick, next_kick = kicks(later, theta, g, curvature, mobility, force, POWER, SERIES)  # noqa: F821
                batch[KICK + e] = (kick if batch[SHARE + e] > 0.0 else next_kick) if g > 0.0 else 0.0
            else:
                g = abs(later - earlier)
                force = (reach - g) * contact(reach - g, reach, radii, constant)[0]  # noqa: F821
                m0 = excess(later, earlier, force, POWER, SERIES)  # noqa: F821
            batch[ERROR + e] = m0 * (-g if later > 0.0 else g)
            batch[SCALE + e] = square(force * g)

        for e in range(count):
            c, share = index(pair[OF_PAIR + e]), batch[SHARE + e]
            its_block = pair[ITS_BLOCK + c]
            if share > 0.0:
                account.edge_error[its_block] += share * batch[ERROR + e]
                account.edge_scale[its_block] += share * batch[SCALE + e]
            if CORRECTED:  # noqa: F821
                i, j, kick = pair[FIRST + c], pair[SECOND + c], batch[KICK + e]
                x, y, z = kick * batch[NORMAL_X + e], kick * batch[NORMAL_Y + e], kick * batch[NORMAL_Z + e]
                push(i, (x, y, z), bodies, spheres)
                if j < others and owner[j] // BLOCK == its_block:
                    push(j, (-x, -y, -z), bodies, spheres)
