"""Surfaces of the chess pieces for pictures, from a file: making them takes a minute."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"  # written by `python -m minidem.shapes.chess`


def drawn_surface(piece: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points (p, 3) and triangles (t, 3) of a piece of height 1, standing on z = 0, facing x."""
    with np.load(DATA / "surfaces.npz") as surfaces:
        return surfaces[f"{piece}_points"].astype(float), surfaces[f"{piece}_faces"].astype(np.int64)
