"""How far a sphere is from another one or from a wall: a vector of four, from the other centre to this one and minus the
reach (m), which is the distance below which the two touch."""

from .compile.fours import difference, four_at, four_of, fourth_negated, numbers_of
from .compile.kernels import inlined
from .geometry import FOUR, index, sphere
from .surfaces.plane import gap

NEXT_TO_NOTHING = 1e-9  # radii: the vector from a wall must not vanish


@inlined
def from_sphere(this, other):
    """From one sphere to another, both fours of centre and radius; the reach is the sum of the radii."""
    return difference(fourth_negated(this), other)


@inlined
def from_wall(walls, w, this):
    """From wall w to a sphere (x, y, z, radius). The vector has the length of the gap between wall and centre, wherever that
    is; the overlap is the reach less this length = radius - gap."""
    x, y, z, radius = this
    above, normal = gap(walls, w, (x, y, z))
    away = max(abs(above), NEXT_TO_NOTHING * radius)
    return four_of(away * normal[0], away * normal[1], away * normal[2], -(radius - above + away))


@inlined
def separation(place, i, j, walls, spheres_in_all):
    """From sphere j, or wall j - spheres_in_all, to sphere i of a row of places."""
    if j < spheres_in_all:
        return from_sphere(four_at(place, FOUR * index(i)), four_at(place, FOUR * index(j)))
    return from_wall(walls, index(j - spheres_in_all), sphere(place, i))


@inlined
def squared_distance_and_reach(apart):
    """Squared distance (m^2) and minus the reach (m). The two touch if the first is below the square of the second."""
    dx, dy, dz, minus_reach = numbers_of(apart)
    return dx * dx + dy * dy + dz * dz, minus_reach
