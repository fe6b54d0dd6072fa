"""Which listed pairs touch."""

from ..compile.fours import put_four
from ..compile.kernels import inlined
from ..geometry import FOUR, ONE, THREE, index
from ..separation import separation, squared_distance_and_reach
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
        apart = separation(place, i, j, walls, spheres_in_all)
        squared, reach = squared_distance_and_reach(apart)
        # No unpredictable branch: each pair is written, then kept or overwritten.
        put_four(batch, FOUR * count, apart)
        pair[FIRST + count], pair[SECOND + count] = i, j
        touches = index(squared < reach * reach)
        touching = touching << ONE | touches
        count += touches
    return count, touching


@inlined
def radii_of(i, j, minus_reach, place, spheres_in_all):
    """R* times reach (m^2) of sphere i and sphere or wall j: R1 R2 for two spheres, and R* = R at a wall."""
    radius = place[FOUR * index(i) + THREE]
    return radius * (place[FOUR * index(j) + THREE] if j < spheres_in_all else -minus_reach)


@inlined
def constant_of(i, j, material, walls, constants):
    """The law's constant for sphere i and sphere or wall j."""
    spheres_in_all = material.size
    other = index(material[j]) if j < spheres_in_all else index(walls.material[index(j - spheres_in_all)])
    return constants[index(material[i]), other]


@inlined
def find_constants(count, walls, constants, spheres, pair, batch):
    """Set the radii and the law's constant of the first `count` contacts of a batch."""
    one_material = constants.size == 1
    for c in range(count):
        i, j = pair[FIRST + c], pair[SECOND + c]
        batch[RADII + c] = radii_of(i, j, batch[FOUR * c + THREE], spheres.place, spheres.owner.size)
        batch[CONSTANT + c] = constants[0, 0] if one_material else constant_of(i, j, spheres.material, walls, constants)
