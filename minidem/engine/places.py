"""Where the spheres are, and where they were in the steps before: their overlaps then tell when a contact began or ended.

`Spheres.place` has a row for each of these steps, used in turns, so nothing is copied. Only listed spheres are placed. Lists
look ahead (search/lists.py): two spheres that begin to touch have been listed for as many steps as the edge needs. Where
bodies speed up so suddenly that this fails, the place before is NaN, and the edge is neither corrected nor accounted for. A
pair that parts so fast that it is not listed in the next step misses its second kick.

With plain edges, if all spheres are at the centres of mass of their bodies, one row is enough: their velocities give the
places of the step before.
"""

import math

import numpy as np

from .compile.fours import four_of, numbers_of
from .compile.kernels import inlined, internal
from .geometry import FOUR, column, index, sphere
from .search.ordering import order_of_spheres
from .separation import from_sphere, from_wall, separation, squared_distance_and_reach
from .state import BLOCK, MADE, Spheres


@inlined
def row_of(step, place):
    """The row of a step in `place`; the number of rows is a power of two."""
    return index(step) & index(place.shape[0] - 1)


@inlined
def spheres_at(step, spheres):
    """The spheres with their places at one step."""
    return Spheres(spheres.first, spheres.owner, spheres.material, spheres.place[row_of(step, spheres.place)])


@inlined
def overlap(place, i, j, walls, spheres_in_all):
    """Overlap (m) of sphere i and sphere or wall j in a row of places; negative if apart, NaN if not known."""
    squared, minus_reach = squared_distance_and_reach(separation(place, i, j, walls, spheres_in_all))
    return -minus_reach - math.sqrt(squared)


@inlined
def overlap_before(step, i, j, dt, bodies, spheres, walls):
    """Overlap (m) of sphere i and sphere or wall j in the step before; NaN if not known."""
    places, owner = spheres.place, spheres.owner
    if places.shape[0] > 1:
        return overlap(places[row_of(step - 1, places)], i, j, walls, owner.size)
    this = before(places[0], i, owner[i], bodies, dt)
    if j < owner.size:
        apart = from_sphere(this, before(places[0], j, owner[j], bodies, dt))
    else:
        apart = from_wall(walls, index(j - owner.size), numbers_of(this))
    squared, minus_reach = squared_distance_and_reach(apart)
    return -minus_reach - math.sqrt(squared)


@inlined
def before(place, s, b, bodies, dt):
    """Four of a sphere in the step before, at the centre of mass of body b. Velocities are half a step back."""
    x, y, z, radius = sphere(place, s)
    u, v, w = column(bodies.velocity, index(b))
    return four_of(x - dt * u, y - dt * v, z - dt * w, radius)


@internal
def forget_unlisted(block, step, spheres, lists, touching):
    """The places before of the spheres of a block that its old lists did not have are not known: set them to NaN."""
    before = touching.count[block, MADE]
    first, made = index(spheres.first[block * BLOCK]), before + 1
    touching.count[block, MADE] = made
    now, rows = row_of(step, spheres.place), index(spheres.place.shape[0])
    for k in range(first, first + index(lists.listed_count[block])):
        s = index(lists.listed[k])
        if touching.listed_in[s] != before:
            for row in range(rows):
                if row != now:
                    spheres.place[row, FOUR * s] = np.nan
        touching.listed_in[s] = made


def forget_all(world):
    """Set the places of all spheres to NaN, of this step and of those before. They are placed again with new lists."""
    world.spheres.place[:, 0::4] = np.nan


def known_places(world, step):
    """The listed spheres (l,), and where they are and were (h, l, 3), m, the last step first; NaN if that is not known. None
    are needed if there is a row for this step only."""
    touching, spheres = world.touching, world.spheres
    if len(spheres.place) == 1:
        return np.zeros(0, np.int64), np.zeros((1, 0, 3))
    listed = np.flatnonzero(touching.listed_in == touching.count[spheres.owner // BLOCK, MADE])
    return listed, np.array([centres[listed] for centres in _centres(spheres, step)])


def reordered_places(world, step, order):
    """`known_places` if body order[k] becomes body k."""
    listed, places = known_places(world, step)
    return np.argsort(order_of_spheres(world.spheres.first, order))[listed], places


def restore_places(world, step, spheres, places):
    """Set where these spheres were to what `known_places` returned."""
    for centres, place in zip(_centres(world.spheres, step), places, strict=True):
        centres[spheres] = place


def _centres(spheres, step):
    """Views (s, 3) of the centres at this step, and at the steps before."""
    rows = len(spheres.place)
    return [spheres.place[(step - back) % rows].reshape(-1, 4)[:, :3] for back in range(rows)]
