"""Which listed pairs touched in the steps before. New lists learn it from the past positions of the bodies, so that results
do not depend on when the lists were made."""

from ..compile.fours import four_at
from ..compile.kernels import inlined, rare
from ..geometry import FOUR, ONE, index, sphere, square
from ..past import past_separation
from ..separation import from_sphere, from_wall, squared_distance_and_reach
from ..state import CHUNK

ROUND_OFF = 1.01  # by which the bound of what bodies have moved is enlarged


@rare
def mark_touching(block, step, world):
    """Mark the pairs of a block that touched in the steps before this one. A step that is not known counts as the next."""
    lists = world.lists
    scene = world.bodies, world.templates, world.spheres, world.walls, world.constants, world.past, world.edges.dt
    place, others, owner, moved = world.spheres.place, world.spheres.owner.size, world.spheres.owner, lists.moved
    base, last = lists.room[block], lists.room[block] + lists.wanted[block]
    two_steps = world.edges.window == 7
    now = before = index(0)
    for p in range(base, last):
        i, j = lists.subject[p], lists.candidate[p]
        near = moved[index(owner[i])]
        if j < others:
            apart = from_sphere(four_at(place, FOUR * index(i)), four_at(place, FOUR * index(j)))
            near += moved[index(owner[j])]
        else:
            apart = from_wall(world.walls, index(j - others), sphere(place, i))
        squared, reach = squared_distance_and_reach(apart)
        reach, near = -reach, ROUND_OFF * near
        last_step = two_ago = squared < square(reach)
        if not ((squared > square(reach + near)) | (near < reach) & (squared < square(reach - near))):  # else it stays so
            then, reach = past_separation(i, j, 1, step, scene)
            if then == then:  # else not known
                last_step = then < square(reach)
            two_ago = last_step
            if two_steps:
                then, reach = past_separation(i, j, 2, step, scene)
                if then == then:
                    two_ago = then < square(reach)
        now, before = now << ONE | index(last_step), before << ONE | index(two_ago)
        if (p + 1) % CHUNK == 0 or p + 1 == last:
            lists.touched[p // CHUNK], lists.touched_before[p // CHUNK] = now, before
            now = before = index(0)


@inlined
def place_of(p, count):
    """Word and bit of pair p of a block that begins at 0 and has `count` pairs; see state.Lists."""
    word = p // index(CHUNK)
    return word, min((word + ONE) * index(CHUNK), count) - ONE - p


@inlined
def is_marked(p, lists):
    """Whether pair p of the lists of a single block touched in the steps before."""
    word, bit = place_of(p, index(lists.wanted[0]))
    return (lists.touched[word] | lists.touched_before[word]) >> bit & ONE != index(0)


@inlined
def return_marks(close, lists):
    """Mark in the wide lists what is marked in the close ones, and nothing else."""
    few, many = index(close.wanted[0]), index(lists.wanted[0])
    for w in range((many + index(CHUNK - 1)) // index(CHUNK)):
        lists.touched[w] = lists.touched_before[w] = index(0)
    for k in range(few):
        word, bit = place_of(k, few)
        touched, before = close.touched[word] >> bit & ONE, close.touched_before[word] >> bit & ONE
        if touched | before != index(0):
            word, bit = place_of(index(close.origin[k]), many)
            lists.touched[word] |= touched << bit
            lists.touched_before[word] |= before << bit


@inlined
def take_marks(close, lists):
    """Mark in the close lists what is marked in the wide ones."""
    few, many = index(close.wanted[0]), index(lists.wanted[0])
    for w in range((few + index(CHUNK - 1)) // index(CHUNK)):
        close.touched[w] = close.touched_before[w] = index(0)
    for k in range(few):
        word, bit = place_of(index(close.origin[k]), many)
        touched, before = lists.touched[word] >> bit & ONE, lists.touched_before[word] >> bit & ONE
        if touched | before != index(0):
            word, bit = place_of(k, few)
            close.touched[word] |= touched << bit
            close.touched_before[word] |= before << bit
