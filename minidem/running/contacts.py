"""The contacts of a simulation at its present step, as arrays."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.contact.loading import LoadedLaw
from ..engine.separation import NEXT_TO_NOTHING
from ..engine.state import Spheres, World
from ..engine.world import measured_pairs

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Contacts(NamedTuple):
    """The c contacts of a step: pairs of overlapping spheres of different bodies, and spheres that overlap a wall.

    Bodies, spheres and walls are numbered in the order of the scenario; spheres as in ``Simulation.spheres``, and walls with
    the six of the box first. For a contact with a wall, `second` and `second_sphere` are -1; otherwise `wall` is -1.
    """

    first: Numbers  # (c,) body
    second: Numbers  # (c,) body, or -1
    wall: Numbers  # (c,) wall, or -1
    first_sphere: Numbers  # (c,)
    second_sphere: Numbers  # (c,) or -1
    overlap: Array  # (c,) m
    normal: Array  # (c, 3) unit vector from the second body or the wall towards the first, world frame
    point: Array  # (c, 3) in the middle of the overlap, world frame, m
    force: Array  # (c,) magnitude, N; force * normal acts on the first body


def sphere_centres(world: World, spheres: Numbers) -> Array:
    """(p, 3) centres of the given spheres of the engine at the present step, m. (The engine's own are up to date only for
    spheres that may touch something.)"""
    bodies, templates = world.bodies, world.templates
    body = world.spheres.owner[spheres]
    template = spheres + templates.first[bodies.species[body]] - world.spheres.first[body]
    centres: Array = bodies.position.T[body]
    return centres + quaternions.rotated(bodies.orientation.T[body], templates.centre.T[template])


def sphere_numbers(spheres: Spheres, rank: Numbers) -> Numbers:
    """(s,) the number in the scenario of each sphere of the engine. `rank` (n,) are the engine's numbers of its bodies."""
    counts = np.diff(spheres.first)[rank]  # of each body of the scenario
    first = np.cumsum(counts) - counts
    offset = first[np.argsort(rank)] - spheres.first[:-1]
    numbers: Numbers = np.arange(spheres.owner.size) + offset[spheres.owner]
    return numbers


def contacts_of(world: World, law: LoadedLaw, body: Numbers, number: Numbers) -> Contacts:
    """The contacts in a world whose lists are up to date. `body` (n,) and `number` (s,) are the numbers in the scenario of
    the engine's bodies and spheres."""
    centre = sphere_centres(world, np.arange(world.spheres.owner.size))
    found = [np.concatenate(column) for column in zip(*touching(world, centre), strict=True)]
    columns: tuple[Any, ...] = (*found[:5], law.force(*found[5:]))
    i, j, wall, overlap, normal, force = columns
    radius, owner, at_wall = world.spheres.radius, world.spheres.owner, wall >= 0
    swapped = ~at_wall & (number[i] > number[j])  # engines sort bodies in space: the first is the lower number here
    i, j = np.where(swapped, j, i), np.where(swapped, i, j)
    normal = np.where(swapped[:, None], -normal, normal)
    order = np.lexsort((wall, np.where(at_wall, -1, number[j]), number[i]))
    i, j, wall, overlap, normal, force = (column[order] for column in (i, j, wall, overlap, normal, force))
    at_wall = wall >= 0
    return Contacts(
        first=body[owner[i]],
        second=np.where(at_wall, -1, body[owner[j]]),
        wall=wall,
        first_sphere=number[i],
        second_sphere=np.where(at_wall, -1, number[j]),
        overlap=overlap,
        normal=normal,
        point=centre[i] - (radius[i] - 0.5 * overlap)[:, None] * normal,
        force=force,
    )


class Touching(NamedTuple):
    """c touching pairs: spheres i and j (i again for a wall), wall or -1, and how they touch. The last four
    are what a law takes, see LoadedLaw.force."""

    i: Numbers
    j: Numbers
    wall: Numbers
    overlap: Array  # m
    normal: Array  # (c, 3) unit vector from j or the wall towards i
    distance: Array  # m
    reach: Array  # m
    radii: Array  # m^2
    constant: Array


def touching(world: World, centre: Array) -> Iterator[Touching]:
    """The touching pairs of each block, in a world whose lists are up to date. `centre` (s, 3) are the centres of all
    spheres, m."""
    radius, material = world.spheres.radius, world.spheres.material
    for pairs in measured_pairs(world, centre):
        touch = pairs.reach > pairs.distance
        i, j, wall, distance, reach, normal = (column[touch] for column in pairs)
        overlap, at_wall = reach - distance, wall >= 0
        effective = np.where(at_wall, radius[i], radius[i] * radius[j] / reach)
        partner = material[j].astype(np.int64)
        partner[at_wall] = world.walls.material[wall[at_wall]]
        # As contact/finding.py does: at a wall the distance may be zero or negative, and only the overlap counts.
        away = np.maximum(np.abs(distance), NEXT_TO_NOTHING * radius[i])
        reach = overlap + away
        constant = world.constants[material[i], partner]
        yield Touching(i, j, wall, overlap, normal, away, reach, effective * reach, constant)
