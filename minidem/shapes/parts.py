"""The parts of a clump: groups of spheres that overlap or touch."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOUCHING = 1e-9  # gap of spheres that touch, relative to the sum of their radii: round-off of a file


def parts_of(spheres: Array) -> NDArray[np.int64]:
    """Number (n,) of the part that each of the spheres (n, 4) belongs to: 0 is the part with the most spheres."""
    part = np.full(len(spheres), -1, np.int64)
    count = 0
    for first in range(len(spheres)):
        if part[first] >= 0:
            continue
        part[first] = count
        ends = [first]
        while ends:
            x, y, z, radius = spheres[ends.pop()]
            free = np.flatnonzero(part < 0)
            distance = np.linalg.norm(spheres[free, :3] - (x, y, z), axis=1)
            reached = free[distance <= (1 + TOUCHING) * (spheres[free, 3] + radius)]
            part[reached] = count
            ends.extend(reached.tolist())
        count += 1
    order = np.argsort(-np.bincount(part), kind="stable")
    return np.argsort(order, kind="stable")[part]
