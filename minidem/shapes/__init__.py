"""Built-in shapes, as spheres: rows of x, y, z, radius in metres, standing on z = 0 and scaled to a height."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import chess

# name -> (spheres of unit height, height in metres if the scenario gives none)
BUILTINS: dict[str, tuple[Callable[[], NDArray[np.float64]], float]] = {
    f"chess/{piece}": (lambda piece=piece: chess.spheres(piece), height)  # type: ignore[misc]
    for piece, height in chess.HEIGHTS.items()
}


def builtin_spheres(name: str, height: float | None = None) -> NDArray[np.float64]:
    """(n, 4) rows of x, y, z, radius (m)."""
    unit_spheres, usual_height = BUILTINS[name]
    return unit_spheres() * (usual_height if height is None else height)
