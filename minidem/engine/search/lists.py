"""Neighbour lists: which spheres may touch. Bodies near each other first (grid.py), then the spheres of near bodies."""

import math

from ..compile.kernels import inlined, internal, rare
from ..geometry import ONE, column, index, minus, set_centre, sphere, square, squared_distance, squared_distance_from_box
from ..places import forget_unlisted
from ..quaternion import attitude, carried, matrix, squared_difference, turned_back
from ..state import BLOCK
from ..surfaces.plane import box_gap, gap
from ..threads import any_says, barrier, bodies_of, share
from .grid import fill_grid, near_bodies
from .touching import hold_touching, mark_touching

# Lists should last about this many steps: with a wider skin each step has more candidates, with a narrower one lists are
# made more often.
STEPS_PER_LIST = 100.0
STEPS_PER_CLOSE_LIST = 15.0
SMALLEST_SKIN, LARGEST_SKIN = 0.02, 0.5  # in mean bounding radii; for close lists in half skins of the others
# With the account of edges, pairs are listed one or two steps before they can touch: one for each past overlap that an edge
# needs. Bodies may become half as fast again while lists are in use.
FASTER = 1.5
LARGEST_FORESIGHT = 1.0  # what that may add to the skin, in mean bounding radii
# The largest skin of several blocks, which have no close lists: each step looks at every candidate. The room of lists
# depends on it, and the bits of packings on that room.
LARGEST_OF_MANY = 0.35
# The same with the account of edges. Lists of lone spheres are dear and their candidates cheap; of clumps, the other way.
LARGEST_OF_LONE, LARGEST_OF_CLUMPS = 0.45, 0.25
IN_CACHE = 64  # blocks; lists of more lone spheres come from memory at each step, where short ones are faster


@inlined
def place_all(begin, end, bodies, templates, spheres):
    """Set the world positions of all spheres of bodies `begin` to `end`."""
    position, orientation, species = bodies.position, bodies.orientation, bodies.species
    first_of, centre = templates.first, templates.centre
    first, place = spheres.first, spheres.place
    for b in range(begin, end):
        rotation = matrix(attitude(orientation, b))
        start = index(first[b])
        template = index(first_of[index(species[b])]) - start
        for s in range(start, index(first[b + ONE])):
            set_centre(place, s, carried(column(position, b), rotation, centre, template + s))


@inlined
def place_listed(block, bodies, templates, spheres, lists):
    """Set the world positions of the listed spheres of a block."""
    position, orientation = bodies.position, bodies.orientation
    species, arm = bodies.species, bodies.arm
    first_of, centre = templates.first, templates.centre
    first, owner = spheres.first, spheres.owner
    place, listed = spheres.place, lists.listed
    base = first[block * BLOCK]
    last, template = len(arm), 0
    rotation = matrix((1.0, 0.0, 0.0, 0.0))
    for k in range(index(base), index(base + lists.listed_count[block])):
        s = listed[k]
        b = owner[s]
        if arm[b] == 0.0:
            set_centre(place, s, (position[0, b], position[1, b], position[2, b]))
            continue
        if b != last:
            rotation = matrix(attitude(orientation, b))
            template = first_of[index(species[b])] - first[b]
            last = b
        set_centre(place, s, carried(column(position, b), rotation, centre, index(template + s)))


@rare
def list_block(block, me, world, place, skin):
    """List the candidates of the spheres of one block, from a row of places. Returns whether there is room for them; if not,
    they are only counted."""
    bodies, templates, walls = world.bodies, world.templates, world.walls
    lists, grid, scratch = world.lists, world.grid, world.scratch
    position, orientation = bodies.position, bodies.orientation
    bounding, species = bodies.bounding_radius, bodies.species
    first, spheres_in_all = world.spheres.first, world.spheres.owner.size
    listed, subject, candidate = lists.listed, lists.subject, lists.candidate
    near, facing = scratch.near[me], scratch.facing[me]
    facing_first, used = scratch.facing_first[me], scratch.used[me]
    near_wall, facing_box = scratch.near_wall[me], scratch.facing_box[me]
    wide = 1.1 * skin  # for the first sieve: round-off must not lose a pair that the other block finds
    begin, end = bodies_of(block, block + 1, species.size)
    first_sphere, last_sphere = first[begin], first[end]
    base = lists.room[block]
    room = lists.capacity[block]
    for s in range(last_sphere - first_sphere):
        used[s] = False

    count = 0
    for a in range(begin, end):
        middle, low, high = (
            column(position, a),
            column(templates.low, index(species[a])),
            column(templates.high, index(species[a])),
        )
        rotation = matrix(attitude(orientation, a))
        # Near bodies, their spheres that come near the bounding box of this one, and a box around these spheres.
        near_count, facing_count = 0, 0
        lone = first[a + 1] - first[a] == 1  # two lone spheres whose bodies are near need no sieve
        for k in range(near_bodies(a, begin, position, bounding, skin, grid, near)):
            b = near[k]
            sieved = not (lone and first[b + 1] - first[b] == 1)
            if sieved and squared_distance_from_box(
                turned_back(rotation, minus(column(position, b), middle)), low, high
            ) > square(bounding[b] + wide):
                continue
            start, box_low, box_high = facing_count, (math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf)
            for j in range(index(first[b]), index(first[b + 1])):
                other = sphere(place, j)
                if not sieved or squared_distance_from_box(turned_back(rotation, minus(other, middle)), low, high) < square(
                    other[3] + wide
                ):
                    facing[facing_count] = j
                    facing_count += 1
                    x, y, z, r = other
                    box_low = (min(box_low[0], x - r), min(box_low[1], y - r), min(box_low[2], z - r))
                    box_high = (max(box_high[0], x + r), max(box_high[1], y + r), max(box_high[2], z + r))
            if facing_count > start:
                facing_first[near_count] = start
                for c in range(3):
                    facing_box[near_count, c], facing_box[near_count, 3 + c] = box_low[c], box_high[c]
                near_count += 1
        facing_first[near_count] = facing_count

        wall_count = 0  # walls near the bounding box
        for w in range(walls.material.size):
            if (
                gap(walls, index(w), middle)[0] < bounding[a] + wide
                and box_gap(walls, index(w), middle, rotation, low, high) < wide
            ):
                near_wall[wall_count] = w
                wall_count += 1
        if near_count + wall_count == 0:
            continue

        # The spheres of this body, each with its candidates.
        for i in range(index(first[a]), index(first[a + ONE])):
            this, before = sphere(place, i), count
            radius = this[3]
            for k in range(near_count):
                box = facing_box[k]
                box_low, box_high = (box[0], box[1], box[2]), (box[3], box[4], box[5])
                if squared_distance_from_box(this, box_low, box_high) < square(radius + wide):
                    for f in range(index(facing_first[k]), index(facing_first[k + 1])):
                        j = facing[f]
                        other = sphere(place, j)
                        if squared_distance(this, other) < square(radius + other[3] + skin):
                            if first_sphere <= j < last_sphere:
                                used[index(j - first_sphere)] = True
                            if count < room:
                                subject[base + count], candidate[base + count] = i, j
                            count += 1
            for k in range(wall_count):
                w = index(near_wall[k])
                if gap(walls, w, (this[0], this[1], this[2]))[0] < radius + skin:
                    if count < room:
                        subject[base + count], candidate[base + count] = i, index(spheres_in_all) + w
                    count += 1
            used[i - index(first_sphere)] |= count > before

    listed_count = 0
    for s in range(last_sphere - first_sphere):
        if used[s]:
            listed[first_sphere + listed_count] = first_sphere + s
            listed_count += 1
    lists.listed_count[block], lists.wanted[block] = listed_count, count
    return count <= room


@internal
def find_candidates(me, world, spheres, skin, foresight):
    """Make the lists of the blocks of thread `me`: pairs closer than skin and foresight (m). Returns whether all blocks have
    room for theirs."""
    bodies, lists, team = world.bodies, world.lists, world.team
    first, last = share(me, team, lists.wanted.size)
    begin, end = bodies_of(first, last, bodies.species.size)
    place_all(begin, end, bodies, world.templates, spheres)
    if me == 0:
        fill_grid(bodies.position, skin + foresight, world.grid)
        lists.skin[0], lists.age[0] = skin, 0
    barrier(team)
    full = False
    for block in range(first, last):
        full |= not list_block(block, me, world, spheres.place, skin + foresight)
    remember(begin, end, bodies, lists)
    return not any_says(team, me, bool(full))  # bool(): one type to compile, not False and bool


@internal
def narrow(world, spheres, skin, foresight):
    """Make the close lists of a single block: the candidates that are closer than a smaller skin, and foresight (m).

    In a dilute system most candidates are far from touching. Close lists have few and are cheap to make, so they are made
    often.
    """
    bodies, templates, walls = world.bodies, world.templates, world.walls
    lists, close, used = world.lists, world.close, world.scratch.used[0]
    place, spheres_in_all = spheres.place, spheres.owner.size
    begin, end = bodies_of(0, 1, bodies.species.size)
    block = lists.wanted.size - 1  # 0; a literal would be of another type, and compiled again
    place_listed(block, bodies, templates, spheres, lists)
    for s in range(spheres_in_all):
        used[s] = False
    count, listed_count = 0, 0
    for p in range(lists.wanted[0]):
        i, j = lists.subject[p], lists.candidate[p]
        this = sphere(place, i)
        if j < spheres_in_all:
            other = sphere(place, j)
            near = squared_distance(this, other) < square(this[3] + other[3] + (skin + foresight))
        else:
            near = gap(walls, index(j - spheres_in_all), (this[0], this[1], this[2]))[0] < this[3] + (skin + foresight)
        if near:
            if j < spheres_in_all:
                used[j] = True
            used[i] = True
            close.subject[count], close.candidate[count] = i, j
            count += 1
    for k in range(lists.listed_count[0]):
        if used[lists.listed[k]]:
            close.listed[listed_count] = lists.listed[k]
            listed_count += 1
    close.listed_count[0], close.wanted[0] = listed_count, count
    close.skin[0], close.age[0] = skin, 0
    remember(begin, end, bodies, close)


@internal
def renew_lists(me, world, spheres, step):
    """Make lists for the present positions, of `spheres` with their places at this step. Returns whether there is room for
    them; if not, make room and call again."""
    bodies, lists, close = world.bodies, world.lists, world.close
    single, with_account = lists.wanted.size == 1, world.edges.window > 1
    first, last = share(me, world.team, lists.wanted.size)
    for block in range(first, last if with_account else first):
        hold_touching(block, spheres.first, close, world.touching)
    rows = world.spheres.place.shape[0]
    foresight = foresight_of(bodies, lists, close, world.edges.dt, rows)
    outdated = True
    close_skin = 0.0
    if single:
        close_skin = next_skin(close.skin[0], close.age[0], STEPS_PER_CLOSE_LIST, 0.5 * lists.skin[0])
        lists.age[0] += close.age[0]
        close.age[0] = 0
        still = 0.5 * (lists.skin[0] - close_skin - foresight)  # the wide lists must last as long as the close ones
        begin, end = bodies_of(0, 1, bodies.species.size)
        outdated = still < 0.0 or travelled(begin, end, bodies, lists.old_position, lists.old_orientation, still)
    if outdated:
        mean_bounding = 0.0
        for bounding in bodies.bounding_radius:
            mean_bounding += bounding / bodies.bounding_radius.size
        foresight = min(foresight, LARGEST_FORESIGHT * mean_bounding)
        skin = next_skin(lists.skin[0], lists.age[0], STEPS_PER_LIST, mean_bounding)
        lone, largest = lists.old_orientation.shape[1] == 0, LARGEST_OF_MANY
        if with_account and (not lone or lists.wanted.size <= IN_CACHE):
            largest = LARGEST_OF_LONE if lone else LARGEST_OF_CLUMPS
        largest *= mean_bounding
        skin = max(skin, 2.0 * foresight) if single else min(skin, largest)
        barrier(world.team)  # all threads have read the old skin and age
        if not find_candidates(me, world, spheres, skin, 0.0 if single else foresight):
            return False
    if single:
        widest = 0.5 * lists.skin[0]
        narrow(world, spheres, min(close_skin, LARGEST_SKIN * widest), min(foresight, widest))
    for block in range(first, last if with_account else first):
        mark_touching(block, spheres.first, close, world.touching)
        if rows > 1:
            forget_unlisted(block, step, world.spheres, close, world.touching)
    barrier(world.team)  # what other threads have forgotten may be needed at once
    return True


@inlined
def foresight_of(bodies, lists, close, dt, rows):
    """By how much two spheres may approach each other (m) in the steps for which pairs must have been listed when they begin
    to touch. When lists become outdated, the fastest sphere has moved by half their skin. After a restart only the wide
    lists tell how fast that was."""
    if rows == 1:
        return 0.0
    steps = 1.0 if rows == 2 else 2.0
    skin, age = (close.skin[0], close.age[0]) if close.age[0] > 0 else (lists.skin[0], lists.age[0])
    fastest = 0.0
    for b in range(bodies.mass.size):
        fastest = max(fastest, squared_distance(column(bodies.velocity, b), (0.0, 0.0, 0.0)))
    return FASTER * steps * max(skin / max(age, 1), 2.0 * dt * math.sqrt(fastest))


@inlined
def remember(begin, end, bodies, lists):
    """Store the positions and orientations for which the lists were made."""
    position, orientation = bodies.position, bodies.orientation
    old_position, old_orientation = lists.old_position, lists.old_orientation
    for c in range(3):
        for b in range(begin, end):
            old_position[c, b] = position[c, b]
    if old_orientation.shape[1] > 0:
        for c in range(4):
            for b in range(begin, end):
                old_orientation[c, b] = orientation[c, b]


@inlined
def travelled(begin, end, bodies, position, orientation, distance):
    """Whether a sphere of bodies `begin` to `end` has moved by more than `distance` (m) since the lists were made.

    A point at R from the centre of mass has moved by at most |dx| + 2 R |dq|: its chord is 2 R sin(alpha/2) for a
    turn by alpha, and |dq| = 2 sin(alpha/4).
    """
    x, q, arm = bodies.position, bodies.orientation, bodies.arm
    x0, q0 = position, orientation
    beyond = 0
    if q0.shape[1] == 0:  # all spheres are at their centres of mass: rotation moves none
        for b in range(begin, end):
            beyond += not (squared_distance(column(x, b), column(x0, b)) <= distance * distance)  # also true of a NaN
    else:
        # (|dx| + 2 R |dq|)^2 is at most twice the sum of the squares: most of the time this is enough, without roots.
        for b in range(begin, end):
            squares = squared_distance(column(x, b), column(x0, b))
            squares += square(2.0 * arm[b]) * squared_difference(attitude(q, b), attitude(q0, b))
            beyond += not (2.0 * squares <= distance * distance)
        if beyond == 0:
            return False
        beyond = 0
        for b in range(begin, end):
            shift = math.sqrt(squared_distance(column(x, b), column(x0, b)))
            turn = 2.0 * arm[b] * math.sqrt(squared_difference(attitude(q, b), attitude(q0, b)))
            beyond += not (shift + turn <= distance)
    return beyond > 0


@inlined
def next_skin(skin, age, steps, unit):
    """The skin (m) with which lists would last about `steps` steps, from the skin and age of the last ones; bounded in units
    of a length `unit` (m). Results do not depend on it."""
    scale = min(max(steps / max(age, 1), 0.5), 2.0)
    return min(max(scale * skin, SMALLEST_SKIN * unit), LARGEST_SKIN * unit)
