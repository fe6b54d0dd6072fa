"""Which listed pairs touch."""

from ..compile.fours import four_at, put_four
from ..compile.kernels import inlined
from ..geometry import FOUR, ONE, THREE, index, sphere
from ..separation import from_sphere, from_wall, squared_distance_and_reach
from .batch import CONSTANT, FIRST, RADII, SECOND


@inlined
def find_touching(begin, end, count, walls, spheres, lists, pair, batch):
    """Put those of the listed pairs `begin` to `end`, at most CHUNK, that touch into a batch, after the `count` that are
    there. Returns the new count, and a bit for each pair, the last one lowest: whether it touches."""
    place, spheres_in_all = spheres.place, spheres.owner.size
    subject, candidate = lists.subject, lists.candidate
    touching = index(0)
    for p in range(begin, end):
        i, j = subject[p], candidate[p]
        if j < spheres_in_all:
            apart = from_sphere(four_at(place, FOUR * index(i)), four_at(place, FOUR * index(j)))
        else:
            apart = from_wall(walls, index(j - spheres_in_all), sphere(place, i))
        squared, reach = squared_distance_and_reach(apart)
        # No unpredictable branch: each pair is written, then kept or overwritten.
        put_four(batch, FOUR * count, apart)
        pair[FIRST + count], pair[SECOND + count] = i, j
        touches = index(squared < reach * reach)
        touching = touching << ONE | touches
        count += touches
    return count, touching


@inlined
def constant_of(i, j, spheres, walls, constants):
    """The law's constant for sphere i and sphere or wall j."""
    material, spheres_in_all = spheres.material, spheres.owner.size
    other = index(material[j]) if j < spheres_in_all else index(walls.material[index(j - spheres_in_all)])
    return constants[index(material[i]), other]


@inlined
def find_constants(count, walls, constants, spheres, pair, batch):
    """Set the radii and the law's constant of the first `count` contacts of a batch."""
    place, spheres_in_all = spheres.place, spheres.owner.size
    for c in range(count):
        i, j = pair[FIRST + c], pair[SECOND + c]
        radius = place[FOUR * index(i) + THREE]
        if j < spheres_in_all:
            batch[RADII + c] = radius * place[FOUR * index(j) + THREE]
        else:
            batch[RADII + c] = radius * -batch[FOUR * c + THREE]  # R* = R at a wall
        batch[CONSTANT + c] = constant_of(i, j, spheres, walls, constants)
