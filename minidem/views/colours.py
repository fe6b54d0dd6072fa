"""The palette of pictures, figures and reports, and the colours of bodies."""

import numpy as np
from numpy.typing import NDArray

from ..errors import unknown_name
from ..files.trajectory import Frame, Trajectory
from .pieces import chess_names

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Okabe and Ito (2008): distinguishable without full colour vision.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE, BLACK, GREY = "#0072B2", "#D55E00", "#CC79A7", "#000000", "#666666"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)  # of lines in figures
BODY_COLOURS = (ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE, GREY)  # by species, or by body
IVORY, WALNUT = "#EAD8B1", "#5B3A24"  # of chess pieces
MESH = "#E8D8B0"  # surface that a clump is fitted to
FLOOR = "#EFEBE3"  # of the box, and walls
SIDES = "#F9F8F6"  # of the box
TEXT, PALE, SLIDER = "#222222", "#DDDDDD", "#555555"  # TEXT and lines on light backgrounds, PALE on dark ones
MARK = "#D62728"  # current time in a plot
SCALE = "viridis"  # colour map for numbers: its hues differ, so that shading does not change what a colour says

FIELDS: dict[str, str] = {  # what bodies may be coloured by: title of the scale, empty for plain colours
    "species": "",
    "body": "",
    "speed": "speed (m/s)",
    "spin": "angular velocity (rad/s)",
    "energy": "kinetic energy (J)",
}


def fields_of(trajectory: Trajectory) -> list[str]:
    """Names of FIELDS that the trajectory has the numbers for."""
    needed = {"speed": {"velocity"}, "spin": {"angular_velocity"}, "energy": {"velocity", "angular_velocity"}}
    return [name for name in FIELDS if needed.get(name, set()) <= set(trajectory.fields)]


def check_colour(name: str) -> None:
    """Raise InputError unless bodies may be coloured by that name."""
    if name not in FIELDS:
        raise unknown_name("field to colour by", name, FIELDS)


def rgb(colour: str) -> Bytes:
    """Red, green and blue of "#RRGGBB", shape (3,)."""
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=np.uint8)


def plain_colours(trajectory: Trajectory) -> dict[str, Bytes]:
    """Colours of the bodies by "species" and by "body", shape (n, 3) each.

    The first half of each species of chess pieces is white, the second black.
    """
    species, n = trajectory.species, len(trajectory.species)
    palette = np.array([rgb(colour) for colour in BODY_COLOURS])
    by_species = palette[species % len(palette)]
    for k in chess_names(trajectory):
        own = np.flatnonzero(species == k)
        half = (len(own) + 1) // 2
        by_species[own[:half]], by_species[own[half:]] = rgb(IVORY), rgb(WALNUT)
    return {"species": by_species, "body": palette[np.arange(n) % len(palette)]}


def field_of(trajectory: Trajectory, frame: Frame, name: str) -> Array | None:
    """Value of a field for each body, shape (n,), in the unit given in FIELDS; None for plain colours."""
    if name == "speed":
        return np.asarray(np.linalg.norm(frame.velocity, axis=1))
    if name == "spin":
        return np.asarray(np.linalg.norm(frame.angular_velocity, axis=1))
    if name == "energy":
        return trajectory.kinetic_energy(frame)
    return None


def scaled_colours(values: Array, span: tuple[float, float], colour_map: str = SCALE) -> Bytes:
    """Colours of values (n,) on a scale from span[0] to span[1], shape (n, 3); the middle one if the ends are the same."""
    from matplotlib import colormaps

    if span[0] == span[1]:
        part = np.full(len(values), 0.5)
    else:
        part = np.clip((np.nan_to_num(values) - span[0]) / (span[1] - span[0]), 0.0, 1.0)
    colours: Bytes = (255 * colormaps[colour_map](part)[:, :3]).astype(np.uint8)
    return colours
