"""Simple shapes of height 1, standing on z = 0. Each function returns spheres (count, 4): x, y, z, radius."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sphere(count: int) -> Array:
    """One sphere."""
    return np.array([[0.0, 0.0, 0.5, 0.5]])


def rod(count: int) -> Array:
    """Touching spheres in a row."""
    radius = 0.5 / count
    return np.array([[0.0, 0.0, (2 * k + 1) * radius, radius] for k in range(count)])


def dumbbell(count: int) -> Array:
    """Two balls, connected by a bar of the other spheres."""
    bar = [[0.0, 0.0, z, 0.1] for z in np.linspace(0.25, 0.75, count)[1:-1]] if count > 2 else []
    return np.array([[0.0, 0.0, 0.25, 0.25], [0.0, 0.0, 0.75, 0.25], *bar])


def tetrapod(count: int) -> Array:
    """Four arms of touching spheres from a central one to the corners of a tetrahedron; one points up."""
    corners = np.array(
        [[0, 0, 1], *([math.sqrt(8) / 3 * math.cos(a), math.sqrt(8) / 3 * math.sin(a), -1 / 3] for a in THIRDS)]
    )
    arm = (count - 1) // 4
    centres = np.vstack([np.zeros((1, 3)), *(2 * k * corners for k in range(1, arm + 1))])
    return standing(np.column_stack([centres, np.ones(len(centres))]))


def cube(count: int) -> Array:
    """A cubic lattice of touching spheres."""
    edge = round(count ** (1 / 3))
    steps = (np.arange(edge) + 0.5) / edge
    x, y, z = (axis.ravel() for axis in np.meshgrid(steps - 0.5, steps - 0.5, steps, indexing="ij"))
    return np.column_stack([x, y, z, np.full(x.size, 0.5 / edge)])


def cylinder(count: int) -> Array:
    """Layers of seven touching spheres: one on the axis and six around it."""
    layers = count // 7
    radius = 0.5 / layers
    ring = [(2 * radius * math.cos(a), 2 * radius * math.sin(a)) for a in np.arange(6) * math.pi / 3]
    return np.array([[x, y, (2 * k + 1) * radius, radius] for k in range(layers) for x, y in [(0.0, 0.0), *ring]])


THIRDS = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)

# name: (spheres, default count, whether a count is valid, the rule in words)
SIMPLE = {
    "sphere": (sphere, 1, lambda n: n == 1, "1"),
    "rod": (rod, 3, lambda n: n >= 1, "1 or more"),
    "dumbbell": (dumbbell, 9, lambda n: n >= 2, "2 or more"),
    "tetrapod": (tetrapod, 13, lambda n: n >= 5 and n % 4 == 1, "5, 9, 13, ...: one and four arms"),
    "cube": (cube, 27, lambda n: n >= 1 and round(n ** (1 / 3)) ** 3 == n, "1, 8, 27, 64, ..."),
    "cylinder": (cylinder, 42, lambda n: n >= 7 and n % 7 == 0, "7, 14, 21, ...: layers of seven"),
}


def standing(spheres: Array) -> Array:
    """The spheres (n, 4) scaled to height 1 and moved to stand on z = 0."""
    low, high = (spheres[:, 2] - spheres[:, 3]).min(), (spheres[:, 2] + spheres[:, 3]).max()
    return np.asarray((spheres - [0, 0, low, 0]) / (high - low))
