"""Built-in shapes, as spheres: rows of x, y, z, radius in metres, standing on z = 0 and scaled to a height."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from . import chess
from .simple import SIMPLE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Builtin:
    spheres: Callable[[int], Array]  # (n, 4) of height 1, for a number of spheres
    height: float  # m, if a scenario gives none
    count: int  # spheres, if a scenario gives no number
    valid_count: Callable[[int], bool]
    count_rule: str


BUILTINS = {
    f"chess/{piece}": Builtin(partial(chess.spheres, piece), height, chess.COUNT, lambda n: 10 <= n <= 2000, "10 to 2000")
    for piece, height in chess.HEIGHTS.items()
} | {name: Builtin(spheres, 0.05, count, valid, rule) for name, (spheres, count, valid, rule) in SIMPLE.items()}


def builtin_spheres(name: str, height: float | None = None, count: int | None = None) -> Array:
    """(n, 4) rows of x, y, z, radius (m)."""
    shape = BUILTINS[name]
    return shape.spheres(shape.count if count is None else count) * (shape.height if height is None else height)
