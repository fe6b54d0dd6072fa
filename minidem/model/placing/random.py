"""Overlap-free random placement, seeded, with isotropic directions."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import quaternions
from ...engine.insertion import Crowd, fill
from ...engine.state import Templates, Walls
from ...progress import report

Array = NDArray[np.float64]
MOST_TRIES = 20_000  # for one body, before the box counts as full
BATCH = 4096  # random poses drawn at a time


class Poses(NamedTuple):
    """Where n bodies are and how they are oriented."""

    position: Array  # (n, 3) centres of mass, world, m
    orientation: Array  # (n, 4) unit quaternions, frame of the clump -> world


@dataclass(frozen=True)
class Streams:
    """Independent random streams: a change of the speeds, for example, does not change the positions."""

    positions: np.random.Generator
    orientations: np.random.Generator
    velocities: np.random.Generator
    spins: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> "Streams":
        """The streams of a scenario's seed."""
        return cls(*(np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)))


def random_directions(generator: np.random.Generator, count: int) -> Array:
    """(count, 3) unit vectors, uniform on the sphere."""
    return unit_vectors(generator, (count, 3))


def random_orientations(generator: np.random.Generator, count: int) -> Array:
    """(count, 4) unit quaternions, uniform over all rotations."""
    return unit_vectors(generator, (count, 4))


def unit_vectors(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Rows of length one, uniform over all directions."""
    vectors = generator.standard_normal(shape)
    for begin in range(0, len(vectors), BATCH):
        vectors[begin : begin + BATCH] /= np.linalg.norm(vectors[begin : begin + BATCH], axis=1, keepdims=True)
    return vectors


def random_poses(
    species: NDArray[np.int64],
    bounding: Array,
    fixed: Poses,
    box: tuple[float, float, float],
    templates: Templates,
    walls: Walls,
    streams: Streams,
) -> tuple[Poses, int]:
    """Poses of n bodies, principal axes -> world, and the number of bodies that could be placed.

    `species` (n,) is the clump of each body, `bounding` (n,) the radius of its bounding sphere, m. The first bodies are
    `fixed`. The others are placed at random in the box (m), the largest first, because they need the most room.
    """
    n, first = species.size, len(fixed.position)
    offset = np.concatenate([[0], np.cumsum(np.diff(templates.first)[species])]).astype(np.int64)
    owner = np.repeat(np.arange(n), np.diff(offset))
    template = np.arange(owner.size) + (templates.first[species] - offset[:-1])[owner]
    # A centre of mass is at least this far from a wall; zero for a clump whose centre lies outside its spheres.
    to_surface = templates.radius - np.linalg.norm(templates.centre, axis=0)
    depth = np.maximum(np.maximum.reduceat(to_surface, templates.first[:-1]), 0.0)
    finest = 2.0 * float(bounding.min())
    level = np.ceil(np.log2(2.0 * bounding / finest)).astype(np.int64)
    levels = int(level.max()) + 1
    level[:first] = levels - 1
    crowd = Crowd(
        position=np.zeros((3, n)),
        bounding_radius=bounding,
        depth=depth[species],
        level=level,
        offset=offset,
        place=np.zeros((3, owner.size)),
        centre=templates.centre[:, template],
        radius=templates.radius[template],
        head=np.full(2 ** int(np.ceil(np.log2(2 * n))), -1, dtype=np.int64),
        previous=np.full(n, -1, dtype=np.int64),
    )
    orientation = np.zeros((n, 4))
    crowd.position[:, :first], orientation[:first] = fixed.position.T, fixed.orientation
    held = owner < first
    arm = quaternions.rotated(orientation[owner[held]], crowd.centre[:, held].T)
    crowd.place[:, held] = crowd.position[:, owner[held]] + arm.T
    waiting = np.concatenate([np.arange(first), first + np.argsort(-bounding[first:], kind="stable")])
    accepted = np.empty(n, dtype=np.int64)
    placed, tries = 0, 0
    while placed < n and tries < MOST_TRIES:
        report("bodies placed", placed / n)
        positions = streams.positions.random((BATCH, 3))
        orientations = random_orientations(streams.orientations, BATCH)
        poses = (tries, MOST_TRIES, positions, orientations, accepted)
        filled, tries = fill(crowd, walls, box, finest, levels, first, waiting[placed:], *poses)
        tried = slice(max(first - placed, 0), filled)  # without the fixed ones
        orientation[waiting[placed:][tried]] = orientations[accepted[tried]]
        placed += filled
    return Poses(crowd.position.T.copy(), orientation), placed
