"""Overlap-free random placement, seeded, with isotropic directions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import quaternions
from ...engine.insertion import Crowd, fill
from ...engine.state import Shapes, Walls

Array = NDArray[np.float64]
MOST_TRIES = 20_000  # for one body, before the box counts as full
BATCH = 4096  # random poses made at a time


@dataclass(frozen=True)
class Streams:
    """Independent random streams, so that, say, another speed leaves the positions as they were."""

    positions: np.random.Generator
    orientations: np.random.Generator
    velocities: np.random.Generator
    spins: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> "Streams":
        return cls(*(np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)))


def random_directions(generator: np.random.Generator, count: int) -> Array:
    """(count, 3) unit vectors, uniform on the sphere."""
    return unit_vectors(generator, (count, 3))


def random_orientations(generator: np.random.Generator, count: int) -> Array:
    """(count, 4) unit quaternions, uniform over all rotations."""
    return unit_vectors(generator, (count, 4))


def unit_vectors(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Rows of length one in directions without preference."""
    vectors = generator.standard_normal(shape)
    for begin in range(0, len(vectors), BATCH):
        vectors[begin : begin + BATCH] /= np.linalg.norm(vectors[begin : begin + BATCH], axis=1, keepdims=True)
    return vectors


def random_poses(
    shape: NDArray[np.int64],
    reach: Array,
    fixed: tuple[Array, Array],
    box: tuple[float, float, float],
    shapes: Shapes,
    walls: Walls,
    streams: Streams,
) -> tuple[Array, Array, int]:
    """Positions (n, 3) and principal-axis orientations (n, 4) of all bodies, and how many of them could be placed.

    The first bodies stand as given in `fixed` (positions, orientations). The others are placed at random in the box, the
    largest first, since they find room only while there is some.
    """
    n, first = shape.size, len(fixed[0])
    offset = np.concatenate([[0], np.cumsum(np.diff(shapes.first)[shape])]).astype(np.int64)
    owner = np.repeat(np.arange(n), np.diff(offset))
    template = np.arange(owner.size) + (shapes.first[shape] - offset[:-1])[owner]
    # A centre of mass stays at least this far from a wall; negative for shapes whose centre lies outside of them.
    to_surface = shapes.radius - np.linalg.norm(shapes.centre, axis=0)
    depth = np.maximum(np.maximum.reduceat(to_surface, shapes.first[:-1]), 0.0)
    finest = 2.0 * float(reach.min())
    level = np.ceil(np.log2(2.0 * reach / finest)).astype(np.int64)
    levels = int(level.max()) + 1
    level[:first] = levels - 1
    crowd = Crowd(
        position=np.zeros((3, n)),
        reach=reach,
        depth=depth[shape],
        level=level,
        offset=offset,
        place=np.zeros((3, owner.size)),
        centre=shapes.centre[:, template],
        radius=shapes.radius[template],
        head=np.full(2 ** int(np.ceil(np.log2(2 * n))), -1, dtype=np.int64),
        previous=np.full(n, -1, dtype=np.int64),
    )
    orientation = np.zeros((n, 4))
    crowd.position[:, :first], orientation[:first] = fixed[0].T, fixed[1]
    held = owner < first
    arm = quaternions.rotated(orientation[owner[held]], crowd.centre[:, held].T)
    crowd.place[:, held] = crowd.position[:, owner[held]] + arm.T
    waiting = np.concatenate([np.arange(first), first + np.argsort(-reach[first:], kind="stable")])
    accepted = np.empty(n, dtype=np.int64)
    placed, tries = 0, 0
    while placed < n and tries < MOST_TRIES:
        positions = streams.positions.random((BATCH, 3))
        orientations = random_orientations(streams.orientations, BATCH)
        poses = (tries, MOST_TRIES, positions, orientations, accepted)
        stood, tries = fill(crowd, walls, box, finest, levels, first, waiting[placed:], *poses)
        tried = slice(max(first - placed, 0), stood)  # not those that are fixed
        orientation[waiting[placed:][tried]] = orientations[accepted[tried]]
        placed += stood
    return crowd.position.T.copy(), orientation, placed
