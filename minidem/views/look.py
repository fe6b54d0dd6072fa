"""How pictures look: what `minidem view` and `minidem movie` let users choose, checked."""

import math
from dataclasses import dataclass

from ..errors import InputError, nearest
from .camera import OBLIQUE
from .colours import FIELDS, PALE, SCALE, TEXT, check_colour

CAMERAS = {  # azimuth and elevation, degrees
    "oblique": OBLIQUE,
    "front": (-90.0, 0.0),
    "back": (90.0, 0.0),
    "left": (180.0, 0.0),
    "right": (0.0, 0.0),
    "top": (-90.0, 90.0),
    "bottom": (-90.0, -90.0),
}
MOST_ZOOM = 100.0


@dataclass(frozen=True)
class Look:
    """Camera, background and scales of a picture."""

    camera: tuple[float, float] = OBLIQUE  # azimuth and elevation, degrees
    zoom: float = 1.0
    background: str = "#ffffff"
    transparent: bool = False
    span: tuple[float, float] | None = None  # of the colour scale; None fits it to the frames
    colour_map: str = SCALE
    scale_bar: bool = False

    @property
    def ink(self) -> str:
        """Colour of lines and text that is seen on the background."""
        red, green, blue = (int(self.background[k : k + 2], 16) for k in (1, 3, 5))
        return TEXT if 0.3 * red + 0.59 * green + 0.11 * blue > 115 else PALE


DEFAULT = Look()


def checked_look(
    camera: str | None,
    zoom: float,
    background: str,
    transparent: bool,
    span: str | None,
    colour_map: str | None,
    scale_bar: bool,
    colour_by: str,
) -> Look:
    """The look that options of the command line ask for; InputError if one cannot be."""
    check_colour(colour_by)
    if not 1 / MOST_ZOOM <= zoom <= MOST_ZOOM:
        raise InputError(f"--zoom {zoom:g}: must be from {1 / MOST_ZOOM:g} to {MOST_ZOOM:g}")
    for option, given in (("--range", span), ("--cmap", colour_map)):
        if given is not None and not FIELDS[colour_by]:
            numbers = ", ".join(name for name, title in FIELDS.items() if title)
            raise InputError(f"{option} {given}: is for numbers; give --colour {numbers} as well")
    return Look(
        OBLIQUE if camera is None else angles(camera),
        zoom,
        hexadecimal(background),
        transparent,
        None if span is None else limits(span, "--range"),
        SCALE if colour_map is None else known_map(colour_map),
        scale_bar,
    )


def angles(text: str) -> tuple[float, float]:
    """Azimuth and elevation (degrees) of AZIMUTH,ELEVATION or of one of CAMERAS."""
    if text in CAMERAS:
        return CAMERAS[text]
    try:
        azimuth, elevation = (float(part) for part in text.split(","))
    except ValueError:
        azimuth, elevation = math.nan, math.nan
    if not (math.isfinite(azimuth) and abs(elevation) <= 90):
        named = ", ".join(CAMERAS)
        raise InputError(f"--camera {text}: must be AZIMUTH,ELEVATION in degrees, as in -58,22, or one of {named}")
    return azimuth, elevation


def limits(text: str, option: str) -> tuple[float, float]:
    """Two ascending numbers of LOW:HIGH."""
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"{option} {text}: must be LOW:HIGH with two numbers, the smaller first, as in 0:1.5")
    return low, high


def hexadecimal(colour: str) -> str:
    """ "#rrggbb" of a colour as matplotlib names it."""
    from matplotlib.colors import is_color_like, to_hex

    if not is_color_like(colour) or colour == "none":
        raise InputError(f"--background {colour}: not a colour; give a name such as white or navy, or #RRGGBB")
    return str(to_hex(colour))


def known_map(name: str) -> str:
    """The name of a colour map of matplotlib; InputError for others."""
    from matplotlib import colormaps

    if name in colormaps:
        return name
    meant = nearest(name, list(colormaps))
    raise InputError(
        f'--cmap: unknown colour map "{name}"; {f"did you mean {meant}? " if meant else ""}'
        "give one of matplotlib, such as viridis, plasma, cividis or coolwarm"
    )
