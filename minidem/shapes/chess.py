"""Chess pieces as stacks of 100 spheres: 76 along the axis, inside a turned profile, and a ring of 24 around the foot."""

import math

import numpy as np
from numpy.typing import NDArray

# Heights after the FIDE Handbook, C.02 (Standards of Chess Equipment), in metres.
HEIGHTS = {"king": 0.095, "queen": 0.085, "bishop": 0.07, "knight": 0.06, "rook": 0.055, "pawn": 0.05}

FOOT = 0.22  # radius of the foot, in heights: a base of 44 % of the height

# Radius of the turned profile at some heights, both in heights of the piece.
PROFILES = {
    "king": [(0, 0.11), (0.5, 0.08), (0.62, 0.13), (0.78, 0.15), (0.86, 0.07), (1, 0.06)],
    "queen": [(0, 0.11), (0.55, 0.08), (0.7, 0.13), (0.82, 0.17), (0.9, 0.07), (1, 0.06)],
    "bishop": [(0, 0.12), (0.5, 0.08), (0.6, 0.13), (0.75, 0.14), (0.9, 0.09), (1, 0.06)],
    "knight": [(0, 0.13), (0.35, 0.12), (0.6, 0.17), (0.8, 0.18), (1, 0.14)],
    "rook": [(0, 0.13), (0.6, 0.12), (0.75, 0.17), (1, 0.17)],
    "pawn": [(0, 0.12), (0.5, 0.09), (0.6, 0.13), (0.8, 0.17), (1, 0.16)],
}
LEAN = {"knight": 0.12}  # how far the head stands in front of the axis, in heights


def spheres(piece: str) -> NDArray[np.float64]:
    """(100, 4) rows of x, y, z, radius of a piece of height 1 that stands on z = 0."""
    heights, radii = np.array(PROFILES[piece]).T
    z = np.linspace(radii[0], 1 - radii[-1], 76)
    radius = np.minimum(np.interp(z, heights, radii), 1 - z)
    lean = LEAN.get(piece, 0.0) * np.clip((z - 0.4) / 0.6, 0, 1) ** 2
    stack = np.column_stack([lean, np.zeros_like(z), z, radius])

    angle = 2 * math.pi * np.arange(24) / 24
    bead = 0.06
    ring = (FOOT - bead) * np.column_stack([np.cos(angle), np.sin(angle)])
    foot = np.column_stack([ring, np.full((24, 2), bead)])
    return np.vstack([stack, foot])
