"""Surfaces of the clumps that are built-in chess pieces."""

import numpy as np
from numpy.typing import NDArray

from ..files.trajectory import ClumpTemplate, Trajectory
from ..shapes.chess import HEIGHTS

Array = NDArray[np.float64]


def chess_names(trajectory: Trajectory) -> dict[int, str]:
    """Species that are chess pieces: number of the species, name of the piece."""
    names = {k: clump.builtin.partition("/") for k, clump in enumerate(trajectory.clumps)}
    return {k: piece for k, (folder, _, piece) in names.items() if folder == "chess" and piece in HEIGHTS}


def chess_pieces(trajectory: Trajectory, coarse: bool = False) -> dict[int, tuple[Array, NDArray[np.int64]]]:
    """Surfaces of the species that are chess pieces: points (p, 3) of the clump as given, m, and triangles (t, 3).

    Coarse surfaces have a quarter of the triangles, enough for the small pictures of films.
    """
    from ..shapes.surfaces import drawn_surface

    pieces = {}
    for k, name in chess_names(trajectory).items():
        points, faces = drawn_surface(name)
        if coarse:
            from pyvista import PolyData

            fewer = PolyData.from_regular_faces(points, faces).decimate(0.75)  # type: ignore[arg-type]
            points, faces = np.asarray(fewer.points, float), fewer.regular_faces
        pieces[k] = points * height_of(trajectory.clumps[k]), faces
    return pieces


def height_of(clump: ClumpTemplate) -> float:
    """Height of a clump that stands on z = 0, m."""
    return float((clump.spheres[:, 2] + clump.spheres[:, 3]).max())
