"""Built-in shapes as spheres, standing on z = 0 and scaled to a height."""

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
    """A built-in shape."""

    spheres: Callable[[int], Array]  # from a count to rows (count, 4) of a shape of height 1
    height: float  # default, m
    count: int  # default number of spheres
    valid_count: Callable[[int], bool]
    count_rule: str  # the rule of `valid_count` in words


BUILTINS = {
    f"chess/{piece}": Builtin(partial(chess.spheres, piece), height, chess.COUNT, lambda n: 10 <= n <= 2000, "10 to 2000")
    for piece, height in chess.HEIGHTS.items()
} | {name: Builtin(spheres, 0.05, count, valid, rule) for name, (spheres, count, valid, rule) in SIMPLE.items()}


def builtin_spheres(name: str, height: float | None = None, count: int | None = None) -> Array:
    """Spheres (n, 4) of a built-in shape: x, y, z, radius, m; its defaults if no height (m) or count is given."""
    shape = BUILTINS[name]
    return shape.spheres(shape.count if count is None else count) * (shape.height if height is None else height)
