"""Chess pieces in the Staunton style, of our own design: turned profiles with their crowns, and a horse's head.

Pieces have height 1, stand on z = 0 and face x. The functions named after pieces return signed distances (see solids.py).
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .solids import (
    Array,
    Point2,
    arc,
    ball,
    block,
    curve,
    ellipsoid,
    loop,
    polygon,
    ramp,
    smooth_intersection,
    smooth_union,
    surface,
    turned,
)
from .sphere_files import read_spheres
from .surfaces import DATA

# Heights after the FIDE Handbook, C.02 (Standards of Chess Equipment), in metres.
HEIGHTS = {"king": 0.095, "queen": 0.085, "bishop": 0.07, "knight": 0.06, "rook": 0.055, "pawn": 0.05}

COUNT = 100  # default number of spheres
SMALLEST = 0.015  # radius of an inscribed sphere: smaller ones would require smaller time steps
DRAWN_CELLS = 80  # grid cells along the height for the surfaces in pictures

FOOT = 0.225  # radius of the foot: a base of 45 % of the height


def foot(height: float) -> list[Point2]:
    """The plinth with a roll on it, the lowest part of every profile."""
    h = height / 0.13
    plinth = [(0.0, 0.0), (FOOT - 0.012, 0.0), (FOOT, 0.012 * h), (FOOT, 0.045 * h)]
    roll = arc((FOOT - 0.024, 0.068 * h), 0.024, -60, 90)
    return plinth + roll + curve((0.185, 0.10 * h), (0.175, 0.115 * h), (0.165, 0.13 * h))


def collar(height: float, radius: float, thickness: float) -> list[Point2]:
    """A ring around the neck, part of a profile."""
    return arc((radius - thickness / 2, height), thickness / 2, -90, 90)


def sector(x: Array, y: Array, count: int) -> Array:
    """Angle (rad) from the middle of the nearest of `count` equal sectors."""
    turn = np.arctan2(y, x) * count / (2 * np.pi)
    return (turn - np.round(turn)) * 2 * np.pi / count


def pawn(x: Array, y: Array, z: Array) -> Array:
    """A pawn."""
    body = foot(0.17) + curve((0.15, 0.20), (0.105, 0.30), (0.082, 0.42), (0.075, 0.53))
    neck = [(0.125, 0.555), *collar(0.575, 0.14, 0.03), (0.11, 0.60), (0.07, 0.63)]
    return turned(x, y, z, body + neck + arc((0, 0.815), 0.185, -68, 90))


def bishop(x: Array, y: Array, z: Array) -> Array:
    """A bishop: the mitre has a slanted slot."""
    body = foot(0.15) + curve((0.13, 0.18), (0.09, 0.28), (0.068, 0.42), (0.062, 0.53))
    neck = [
        (0.11, 0.55),
        *collar(0.565, 0.125, 0.025),
        (0.085, 0.585),
        (0.07, 0.60),
        *collar(0.617, 0.09, 0.02),
        (0.065, 0.635),
    ]
    head = curve((0.075, 0.655), (0.118, 0.72), (0.122, 0.78), (0.095, 0.86), (0.05, 0.925), (0.028, 0.945))
    piece = turned(x, y, z, body + neck + head + arc((0, 0.966), 0.034, -50, 90))
    slant = np.radians(50)  # the mitre's cut: a slanted slot from the front into the middle
    across = (x - 0.02) * np.cos(slant) - (z - 0.80) * np.sin(slant)
    into = (x - 0.02) * np.sin(slant) + (z - 0.80) * np.cos(slant)
    slot = np.maximum.reduce([abs(across) - 0.02, -into, z - 0.935])
    return np.asarray(np.maximum(piece, -slot))


def rook(x: Array, y: Array, z: Array) -> Array:
    """A rook: a tower with six battlements."""
    body = foot(0.18) + curve((0.155, 0.22), (0.128, 0.34), (0.115, 0.50), (0.11, 0.62))
    neck = [(0.14, 0.65), *collar(0.665, 0.15, 0.03), (0.135, 0.69), *curve((0.14, 0.72), (0.175, 0.77))]
    tower = [(0.185, 0.79), (0.185, 0.99), (0.175, 1.0), (0.12, 1.0), (0.12, 0.88), (0.0, 0.88)]
    slots = np.maximum(abs(sector(x, y, 6)) * np.hypot(x, y) - 0.032, 0.90 - z)
    return np.maximum(turned(x, y, z, body + neck + tower), -slots)


def queen(x: Array, y: Array, z: Array) -> Array:
    """A queen: a coronet with nine notches."""
    body = foot(0.13) + curve((0.13, 0.16), (0.09, 0.25), (0.068, 0.40), (0.06, 0.56))
    neck = [
        (0.11, 0.58),
        *collar(0.595, 0.125, 0.025),
        (0.085, 0.615),
        (0.07, 0.63),
        *collar(0.645, 0.095, 0.02),
        (0.066, 0.66),
    ]
    head = [*curve((0.07, 0.68), (0.095, 0.76), (0.145, 0.86), (0.168, 0.905)), (0.162, 0.92), (0.125, 0.885)]
    top = curve((0.12, 0.885), (0.08, 0.915), (0.035, 0.93), (0.024, 0.938)) + arc((0, 0.965), 0.035, -48, 90)
    angle, radius = sector(x, y, 9), np.hypot(x, y)  # the coronet: nine notches in the rim
    notches = ball(radius * np.cos(angle), radius * np.sin(angle), z, (0.16, 0.0, 0.93), 0.038)
    return np.maximum(turned(x, y, z, body + neck + head + top), -notches)


def king(x: Array, y: Array, z: Array) -> Array:
    """A king: a cross on top."""
    body = foot(0.13) + curve((0.13, 0.16), (0.092, 0.25), (0.07, 0.40), (0.062, 0.54))
    neck = [
        (0.11, 0.56),
        *collar(0.575, 0.13, 0.025),
        (0.09, 0.595),
        (0.072, 0.61),
        *collar(0.625, 0.10, 0.02),
        (0.068, 0.64),
    ]
    head = [*curve((0.07, 0.66), (0.092, 0.74), (0.13, 0.83)), (0.135, 0.845), (0.125, 0.855)]
    top = [*curve((0.11, 0.862), (0.06, 0.885), (0.03, 0.893)), (0.0, 0.893)]
    stem = block(x, y, z, (0, 0, 0.94), (0.022, 0.022, 0.06), 0.006)
    arms = block(x, y, z, (0, 0, 0.957), (0.055, 0.022, 0.02), 0.006)
    return np.asarray(np.minimum.reduce([turned(x, y, z, body + neck + head + top), stem, arms]))


# Side view of the horse in x and z: chest and throat, jaw and muzzle, face and poll, back of the neck.
# fmt: off
HORSE = [
    (-0.15, 0.17), (0.0, 0.165), (0.15, 0.17), (0.155, 0.23), (0.135, 0.30), (0.10, 0.37), (0.06, 0.435), (0.04, 0.49),
    (0.055, 0.53), (0.10, 0.535), (0.14, 0.51), (0.175, 0.475), (0.205, 0.465), (0.232, 0.478), (0.243, 0.51),
    (0.245, 0.555), (0.232, 0.60), (0.205, 0.65), (0.175, 0.705), (0.15, 0.765), (0.12, 0.825), (0.085, 0.875), (0.04, 0.91),
    (-0.02, 0.90), (-0.075, 0.855), (-0.115, 0.78), (-0.14, 0.68), (-0.155, 0.56), (-0.165, 0.43), (-0.168, 0.30),
    (-0.16, 0.21),
]
MANE = [
    (0.06, 0.90), (0.02, 0.955), (-0.05, 0.935), (-0.115, 0.88), (-0.16, 0.79), (-0.185, 0.68), (-0.20, 0.55),
    (-0.205, 0.42), (-0.195, 0.33), (-0.12, 0.36), (-0.08, 0.70), (0.0, 0.86),
]
# fmt: on


def knight(x: Array, y: Array, z: Array) -> Array:
    """A knight: a horse's head on a turned foot."""
    y = abs(y)  # the same on both sides
    half = 0.075 + 0.055 * ramp(z, 0.55, 0.2) + 0.012 * ramp(z, 0.6, 0.75) - 0.022 * ramp(x, 0.06, 0.2)
    horse = smooth_intersection(polygon(x, z, loop(*HORSE)) - 0.008, y - half, 0.09)
    mane = smooth_intersection(polygon(x, z, loop(*MANE)) - 0.004, y - 0.03, 0.02)
    ear = ellipsoid(x, y, z, (0.035, 0.048, 0.923), (0.034, 0.024, 0.077))
    ear = np.maximum(ear, -ellipsoid(x, y, z, (0.064, 0.056, 0.94), (0.022, 0.013, 0.05)))
    for part, width in (
        (mane, 0.02),
        (ellipsoid(x, y, z, (0.065, 0.045, 0.62), (0.075, 0.04, 0.08)), 0.03),  # cheek
        (ellipsoid(x, y, z, (0.205, 0.028, 0.535), (0.042, 0.032, 0.05)), 0.025),  # nose
        (ear, 0.012),
        (ellipsoid(x, y, z, (0.105, 0.06, 0.765), (0.035, 0.022, 0.022)), 0.015),  # brow
    ):
        horse = smooth_union(horse, part, width)
    socket = ellipsoid(x, y, z, (0.112, 0.082, 0.738), (0.026, 0.018, 0.017))
    nostril = ellipsoid(x, y, z, (0.235, 0.048, 0.545), (0.016, 0.014, 0.012))
    mouth = np.maximum(abs(0.97 * (z - 0.507) - 0.22 * (x - 0.16)) - 0.007, 0.16 - x)
    horse = np.maximum.reduce([horse, -socket, -nostril, -mouth])
    horse = np.minimum(horse, ball(x, y, z, (0.112, 0.062, 0.738), 0.016))  # eye
    base = turned(x, y, z, [*foot(0.16), (0.165, 0.185), (0.155, 0.20), (0.0, 0.205)])
    return smooth_union(base, horse, 0.02)


PIECES: dict[str, Callable[[Array, Array, Array], Array]] = {
    "king": king,
    "queen": queen,
    "bishop": bishop,
    "knight": knight,
    "rook": rook,
    "pawn": pawn,
}


def mesh(piece: str, cells: int = 160) -> Any:
    """The surface of a piece of height 1, as pyvista.PolyData; `cells` grid cells along its height."""
    return surface(PIECES[piece], (-0.26, -0.26, 0.0), (0.26, 0.26, 1.0), cells)


def spheres(piece: str, count: int) -> Array:
    """Spheres (count, 4) of a piece of height 1: those of a file for the default count, else fitted."""
    if count == COUNT:
        return read_spheres(DATA / f"{piece}.csv")
    from .fitting import fit_clump
    from .mesh import from_polydata

    return fit_clump(from_polydata(mesh(piece)), count, SMALLEST).spheres


def write_surfaces() -> None:
    """Write the surfaces of all pieces for surfaces.drawn_surface."""
    from .mesh import from_polydata

    surfaces: dict[str, Any] = {}
    for piece in PIECES:
        coarse = from_polydata(mesh(piece, DRAWN_CELLS))
        surfaces[f"{piece}_points"] = coarse.points.astype(np.float32)
        surfaces[f"{piece}_faces"] = coarse.faces.astype(np.uint16)
    np.savez_compressed(DATA / "surfaces.npz", **surfaces)


def write_data(pieces: Iterable[str]) -> None:
    """Fit the clumps of pieces and write them to the data directory."""
    from .fitting import csv_text, fit_clump
    from .mesh import from_polydata

    DATA.mkdir(exist_ok=True)
    for piece in pieces:
        surface_mesh = from_polydata(mesh(piece))
        text = csv_text(fit_clump(surface_mesh, COUNT, SMALLEST), surface_mesh, f"chess/{piece} of height 1")
        (DATA / f"{piece}.csv").write_text(text)
        print(text.split("x,y,z,r")[0])


if __name__ == "__main__":
    write_data(sys.argv[1:] or PIECES)
    write_surfaces()
