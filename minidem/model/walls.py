"""The walls of a scenario: those of its box, then its own."""

import numpy as np

from ..engine.state import Walls
from ..scenario.reading import Scenario

BOX_WALLS = ("x = 0", "x = max", "y = 0", "y = max", "z = 0", "z = max")


def walls_of(scenario: Scenario, materials: list[str]) -> Walls:
    """The six walls of the box, in the order of BOX_WALLS, then the [[wall]] tables; `materials` are indexed by name."""
    points, normals, material = [], [], []
    if scenario.domain.box is not None:
        for axis, length in enumerate(scenario.domain.box):
            for end, sign in ((0.0, 1.0), (length, -1.0)):
                points.append(np.eye(3)[axis] * end)
                normals.append(np.eye(3)[axis] * sign)
                material.append(materials.index(str(scenario.domain.material)))
    for wall in scenario.wall:
        points.append(np.array(wall.point))
        normals.append(np.array(wall.normal))
        material.append(materials.index(wall.material))
    return Walls(
        point=np.array(np.array(points).reshape(-1, 3).T, order="C"),
        normal=np.array(np.array(normals).reshape(-1, 3).T, order="C"),
        material=np.array(material, dtype=np.int64),
    )


def box_walls(scenario: Scenario) -> int:
    """The number of walls of the box, which are the first ones: 6 or 0."""
    return len(BOX_WALLS) if scenario.domain.box else 0


def wall_name(wall: int, boxed: int) -> str:
    """A wall as messages name it; the first `boxed` walls are those of the box."""
    return f"the box at {BOX_WALLS[wall]}" if wall < boxed else f"wall[{wall - boxed}]"
