"""The contacts of a simulation at its present step, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.contact.loading import LoadedLaw
from ..engine.state import World
from ..engine.surfaces.plane import height
from ..engine.world import candidate_pairs

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


def contacts_of(world: World, law: LoadedLaw, body: Numbers, number: Numbers) -> Contacts:
    """The contacts in a world whose lists are up to date. `body` (n,) and `number` (s,) are the numbers in the scenario of
    the engine's bodies and spheres."""
    blocks = [_touching(world, law, i, j) for i, j in candidate_pairs(world)]
    i, j, wall, overlap, normal, force = (np.concatenate(column) for column in zip(*blocks, strict=True))
    radius, owner, at_wall = world.spheres.place[3::4], world.spheres.owner, wall >= 0
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
        point=sphere_centres(world, i) - (radius[i] - 0.5 * overlap)[:, None] * normal,
        force=force,
    )


def _touching(
    world: World, law: LoadedLaw, i: Numbers, other: Numbers
) -> tuple[Numbers, Numbers, Numbers, Array, Array, Array]:
    """Those of the candidate pairs that touch: spheres i and j (i again for a wall), wall or -1, overlap (m), normal, and
    force (N)."""
    count, radius, walls = world.spheres.owner.size, world.spheres.place[3::4], world.walls
    at_wall = other >= count
    j, w = np.where(at_wall, i, other), np.where(at_wall, other - count, -1)
    centre = sphere_centres(world, i)
    apart = centre - sphere_centres(world, j)
    reach, effective = radius[i] + radius[j], radius[i] * radius[j] / (radius[i] + radius[j])
    material = world.spheres.material.astype(np.int64)
    partner = material[j]
    if at_wall.any():
        s, k = np.flatnonzero(at_wall), w[at_wall]
        normal = walls.normal.T[k]
        above = height(walls.point[:, k], walls.normal[:, k], centre[s].T)
        apart[s] = normal  # the direction; the distance is the height
        reach[s], effective[s], partner[s] = radius[i[s]], radius[i[s]], walls.material[k]
    distance = np.linalg.norm(apart, axis=1)
    unit = apart / np.maximum(distance, 1e-300)[:, None]
    if at_wall.any():
        distance[s] = above
    overlap = reach - distance
    touch = overlap > 0
    force = np.zeros(touch.sum())
    if touch.any():
        # As contact/finding.py does: at a wall the distance may be zero or negative, and only the overlap counts.
        away = np.maximum(np.abs(distance[touch]), 1e-9 * radius[i[touch]])
        constant = world.constants[material[i[touch]], partner[touch]]
        reach = overlap[touch] + away
        force = away * np.vectorize(law.contact)(away, reach, effective[touch] * reach, constant)[0]
    return i[touch], j[touch], w[touch], overlap[touch], unit[touch], force
