"""Which listed pairs touch."""

from ..compile.fours import difference, four_at, four_of, fourth_negated, numbers_of, put_four
from ..compile.kernels import inlined
from ..geometry import FOUR, THREE, index, sphere
from ..surfaces.plane import gap
from .batch import CONSTANT, FIRST, RADII, SECOND

NEXT_TO_NOTHING = 1e-9  # radii: the vector from a wall must not vanish


@inlined
def find_touching(begin, end, count, walls, spheres, lists, pair, batch):
    """Put those of the listed pairs `begin` to `end` that touch into a batch, after the `count` that are there. Returns the
    new count."""
    place, spheres_in_all = spheres.place, spheres.owner.size
    subject, candidate = lists.subject, lists.candidate
    for p in range(begin, end):
        i, j = subject[p], candidate[p]
        if j < spheres_in_all:
            apart = difference(fourth_negated(four_at(place, FOUR * index(i))), four_at(place, FOUR * index(j)))
        else:  # the vector from the wall to the centre, wherever that is; the overlap is reach - away = radius - above
            x, y, z, radius = sphere(place, i)
            above, normal = gap(walls, index(j - spheres_in_all), (x, y, z))
            away = max(abs(above), NEXT_TO_NOTHING * radius)
            apart = four_of(away * normal[0], away * normal[1], away * normal[2], -(radius - above + away))
        dx, dy, dz, reach = numbers_of(apart)
        # No unpredictable branch: each pair is written, then kept or overwritten.
        put_four(batch, FOUR * count, apart)
        pair[FIRST + count], pair[SECOND + count] = i, j
        count += index(dx * dx + dy * dy + dz * dz < reach * reach)
    return count


@inlined
def find_constants(count, walls, constants, spheres, pair, batch):
    """Set the radii and the law's constant of the first `count` contacts of a batch."""
    material, place, spheres_in_all = spheres.material, spheres.place, spheres.owner.size
    for c in range(count):
        i, j = pair[FIRST + c], pair[SECOND + c]
        radius = place[FOUR * index(i) + THREE]
        if j < spheres_in_all:
            batch[RADII + c] = radius * place[FOUR * index(j) + THREE]
            batch[CONSTANT + c] = constants[index(material[i]), index(material[j])]
        else:
            batch[RADII + c] = radius * -batch[FOUR * c + THREE]  # R* = R at a wall
            batch[CONSTANT + c] = constants[index(material[i]), index(walls.material[index(j - spheres_in_all)])]
