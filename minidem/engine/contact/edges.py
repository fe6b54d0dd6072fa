"""The edges of contacts: which pairs began or ceased to touch, an account of the energy error that this makes and, if edges
are corrected, the forces that take it out (kicks.py).

Edges are noted in a batch (see Scratch) and settled together, in vector lanes. Those of corrected edges are settled in the
same step. The account of plain edges does not act on the motion: it can wait until the batch is full.
"""

import math

import numpy as np

from ..compile.bits import leading_zeros
from ..compile.fours import numbers_of
from ..compile.kernels import inlined
from ..geometry import FOUR, ONE, THREE, TWO, column, index, minus, sphere, square
from ..places import overlap, overlap_before, row_of
from ..quaternion import attitude, to_body
from ..separation import separation
from ..state import AT_EDGES, BLOCK, CHUNK, CORRECTED_WINDOW, EDGES, LANES, Edges
from .finding import constant_of, radii_of
from .kicks import excess, kicks, speed_and_theta
from .zeta import smooth_part

HIGHEST = index(1 << 63)  # bit of a word

# In `pair`: the spheres (the second may be a wall), and the block that has noted the edge.
FIRST, SECOND, ITS_BLOCK = index(0), index(EDGES), index(2 * EDGES)
PAIR_ROWS = 3
# In `batch`. The edge is between the later and the earlier overlap (m).
LATER, EARLIER, BEFORE = index(0), index(EDGES), index(2 * EDGES)
REACH, RADII, CONSTANT = index(3 * EDGES), index(4 * EDGES), index(5 * EDGES)  # as in batch.py
SHARE = index(6 * EDGES)  # of the account: half if another block has the other half, 0 for edges of the step before
MOBILITY = index(7 * EDGES)  # dt^2 / m*, m/N
NORMAL_X, NORMAL_Y, NORMAL_Z = index(8 * EDGES), index(9 * EDGES), index(10 * EDGES)  # unit, world
ERROR, SCALE, KICK = index(11 * EDGES), index(12 * EDGES), index(13 * EDGES)  # J, J^2, N
ROWS = 14


def edges_of(power, corrected, dt):
    """How edges are treated if the force begins with a power of the overlap; without one there is no account. `dt` is
    the time step (s)."""
    return Edges() if power is None else Edges(CORRECTED_WINDOW if corrected else 3, float(power), dt)


def series_of(power):
    """(4, DEGREE + 1) polynomials of zeta(-q, 1 + theta) for q = p - 1, p, p + 1 and p + 2; see zeta.py."""
    return np.array([smooth_part(power + k) for k in range(-1, 3)])


@inlined
def mark_edges(touches, until, marked, words, doubt, corrected, few):
    """Mark the pairs of a chunk that began or ceased to touch in this step or, if edges are corrected, in the one before.
    `touches` has the bits of the chunk that ends at pair `until`, `doubt` those that may have changed. Returns where the
    marks of the next such chunk go; those of this one go to `marked`. If pairs are `few`, most chunks have no marks."""
    word = (until - ONE) // index(CHUNK)
    none = (word + ONE) * index(CHUNK) - until  # bits without a pair
    touched = FOUR * word
    touches, before = touches << none, words[touched + ONE]
    changed = touches ^ words[touched] | doubt << none
    if few and changed | before == index(0):
        return marked
    words[touched], words[touched + ONE] = touches, changed
    marks = changed | before if corrected else changed
    # No unpredictable branch: marks are always written, then kept or overwritten.
    words[FOUR * marked + TWO], words[FOUR * marked + THREE] = word, marks
    return marked + index(marks != index(0))


@inlined
def is_edge(later, earlier):
    """Whether a contact begins or ends between two overlaps; not if the earlier one is not known."""
    return (later > 0.0) != (earlier > 0.0) and earlier == earlier


@inlined
def note_edge(count, i, j, block, step, corrected, dt, scene, batch, pair):
    """Note the edges of a pair, one or two, in a batch that has `count`. Returns the new count."""
    bodies, spheres, walls, constants, account = scene[:5]
    others, places = spheres.owner.size, spheres.place
    place = places[row_of(step, places)]
    dx, dy, dz, minus_reach = numbers_of(separation(place, i, j, walls, others))
    distance = math.sqrt(max(dx * dx + dy * dy + dz * dz, 1e-300))
    now, one_ago = -minus_reach - distance, overlap_before(step, i, j, dt, bodies, spheres, walls)
    two_ago = overlap(places[row_of(step - 2, places)], i, j, walls, others) if corrected else 0.0
    first = count
    if is_edge(now, one_ago):
        elsewhere = j < others and spheres.owner[j] // BLOCK != block
        account.entered[block] += now > 0.0 and (i < j or not elsewhere)
        batch[LATER + count], batch[EARLIER + count], batch[BEFORE + count] = now, one_ago, two_ago
        batch[SHARE + count] = 0.5 if elsewhere else 1.0
        count += ONE
    if corrected and is_edge(one_ago, two_ago):
        three_ago = overlap(places[row_of(step - 3, places)], i, j, walls, others)
        batch[LATER + count], batch[EARLIER + count], batch[BEFORE + count] = one_ago, two_ago, three_ago
        batch[SHARE + count] = 0.0
        count += ONE
    per_distance = 1.0 / distance
    for e in range(first, count):
        pair[FIRST + e], pair[SECOND + e], pair[ITS_BLOCK + e] = i, j, block
        batch[REACH + e], batch[RADII + e] = -minus_reach, radii_of(i, j, minus_reach, place, others)
        batch[CONSTANT + e] = constant_of(i, j, spheres.material, walls, constants)
        if corrected:
            batch[NORMAL_X + e], batch[NORMAL_Y + e] = dx * per_distance, dy * per_distance
            batch[NORMAL_Z + e] = dz * per_distance
    return count


@inlined
def inverse_mass(s, normal, bodies, owner, place):
    """1/m + (r x n) . I^-1 (r x n) of the body of sphere s (1/kg): its acceleration along the normal at the sphere per N."""
    b = index(owner[s])
    found = 1.0 / bodies.mass[b]
    if bodies.arm[b] > 0.0:
        x, y, z = minus(sphere(place, s), column(bodies.position, b))
        nx, ny, nz = normal
        u, v, w = to_body(attitude(bodies.orientation, b), (y * nz - z * ny, z * nx - x * nz, x * ny - y * nx))
        found += u * u * bodies.inertia[3, b] + v * v * bodies.inertia[4, b] + w * w * bodies.inertia[5, b]
    return found


@inlined
def push(s, force, bodies, owner, place):
    """Add a force (N, world) at the centre of sphere s to its body."""
    b = index(owner[s])
    fx, fy, fz = force
    bodies.force[0, b] += fx
    bodies.force[1, b] += fy
    bodies.force[2, b] += fz
    if bodies.arm[b] > 0.0:
        x, y, z = minus(sphere(place, s), column(bodies.position, b))
        u, v, w = to_body(attitude(bodies.orientation, b), (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx))
        bodies.torque[0, b] += u
        bodies.torque[1, b] += v
        bodies.torque[2, b] += w


@inlined
def find_mobilities(count, dt, bodies, owner, place, batch, pair):
    """Set how far 1 N along the normal moves two spheres apart in a step, for `count` edges."""
    for e in range(count):
        i, j = pair[FIRST + e], pair[SECOND + e]
        normal = batch[NORMAL_X + e], batch[NORMAL_Y + e], batch[NORMAL_Z + e]
        mobility = inverse_mass(i, normal, bodies, owner, place)
        if j < owner.size:
            mobility += inverse_mass(j, normal, bodies, owner, place)
        batch[MOBILITY + e] = square(dt) * mobility


@inlined
def keep_account(count, batch, pair, account):
    """Add the errors of `count` edges to the account of the blocks that noted them."""
    for e in range(count):
        its_block, share = pair[ITS_BLOCK + e], batch[SHARE + e]
        if share > 0.0:
            account.edge_error[its_block] += share * batch[ERROR + e]
            account.edge_scale[its_block] += share * batch[SCALE + e]


@inlined
def kick_bodies(count, bodies, owner, place, batch, pair):
    """Add the kicks of `count` edges to the bodies of the blocks that noted them."""
    for e in range(count):
        i, j, kick = pair[FIRST + e], pair[SECOND + e], batch[KICK + e]
        x, y, z = kick * batch[NORMAL_X + e], kick * batch[NORMAL_Y + e], kick * batch[NORMAL_Z + e]
        push(i, (x, y, z), bodies, owner, place)
        if j < owner.size and owner[j] // BLOCK == pair[ITS_BLOCK + e]:
            push(j, (-x, -y, -z), bodies, owner, place)


@inlined
def edge_scene(world):
    """What the pass over edges needs of a world: fewer arrays are passed faster."""
    lists, touching, scratch = world.close, world.touching, world.scratch
    marks = lists.room, lists.subject, lists.candidate, touching.word, touching.count
    noted = scratch.edge_batch, scratch.edge_pair, scratch.edge_count
    return world.bodies, world.spheres, world.walls, world.constants, world.account, marks, noted


def over_edges(block, last_block, me, step, now, dt, scene):
    """The pass over the edges of contacts, for thread `me`: note those that blocks `block` to `last_block` - 1 have marked.
    Settle them when the batch is full, and at the end if edges are corrected or if `now` is true. `contact`, CORRECTED,
    POWER and SERIES are those of the law; see pointers.edge_pointer."""
    bodies, spheres, _, _, account, marks, noted = scene
    room, subject, candidate, words, numbers = marks
    batch, pair, place, owner = noted[0][me], noted[1][me], spheres.place[row_of(step, spheres.place)], spheres.owner
    count, marked, last_marked, bits = index(noted[2][me, 0]), index(0), index(0), index(0)
    done = False
    while not done:
        while not done and count + ONE < index(EDGES):  # a pair may have two
            if bits != index(0):
                bit = leading_zeros(bits)
                bits ^= HIGHEST >> bit
                p = index(words[FOUR * (marked - ONE) + TWO]) * index(CHUNK) + bit
                i, j, its_block = subject[p], candidate[p], block - 1
                count = note_edge(count, i, j, its_block, step, CORRECTED, dt, scene, batch, pair)  # noqa: F821
            elif marked < last_marked:
                bits = words[FOUR * marked + THREE]
                marked += ONE
            elif block < last_block:
                marked = index(room[block]) // index(CHUNK)
                last_marked = marked + index(numbers[block, AT_EDGES])
                block += 1
            else:
                done = True
        if count == index(0) or (done and not (CORRECTED or now)):  # noqa: F821
            continue

        if CORRECTED:  # noqa: F821
            find_mobilities(count, dt, bodies, owner, place, batch, pair)
        # Lanes that stay empty compute something, too; LLVM takes no lanes without this bound.
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
        keep_account(count, batch, pair, account)
        if CORRECTED:  # noqa: F821
            kick_bodies(count, bodies, owner, place, batch, pair)
        count = index(0)
    noted[2][me, 0] = count
