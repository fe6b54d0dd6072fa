"""Integrators in figures: every reader can tell them apart, and they look the same everywhere."""

import itertools

import numpy as np
import pytest

from minidem.engine.rotation.registry import SCHEMES
from minidem.reproduce.newmark import common
from minidem.views.colours import BODY_COLOURS, COLOURS, rgb
from minidem.views.styles import LOOKS, style_of, styles_of

# What readers see who lack one kind of cone: Machado, Oliveira and Fernandes (2009), linear RGB.
SIGHT = {
    "full": np.eye(3),
    "no red (protanopia)": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green (deuteranopia)": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue (tritanopia)": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # of linear sRGB
WHITE = np.array([0.9505, 1.0, 1.089])
NOTICEABLE = 2.3  # difference in CIELAB that can just be seen side by side


def lab(colour, sight):
    """L*, a* and b* of "#RRGGBB" as readers with this sight see it."""
    c = rgb(colour) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    x, y, z = (XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1)) / WHITE
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first, second, sight):
    return float(np.linalg.norm(lab(first, sight) - lab(second, sight)))


def test_colour_space():
    """Against published values: white, and pure red and green, which are far apart unless red or green is not seen."""
    assert lab("#FFFFFF", "full") == pytest.approx([100, 0, 0], abs=0.02)
    assert lab("#FF0000", "full") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    far = {sight: distance("#C00000", "#607000", sight) for sight in SIGHT}
    assert far["full"] > 60 > 25 > far["no green (deuteranopia)"]


def test_looks_are_those_of_integrators():
    """An integrator without one, such as a new one, looks like no other all the same."""
    assert set(LOOKS) <= set(SCHEMES)
    looks = [tuple(style_of(name)[key] for key in ("color", "marker", "linestyle")) for name in SCHEMES]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_of_integrators_differ(sight):
    """Six times what can just be noticed, for all pairs; with the same marker, ten times."""
    for (first, a), (second, b) in itertools.combinations(LOOKS.items(), 2):
        between = distance(a[0], b[0], sight)
        assert between > (10 if a[1] == b[1] else 6) * NOTICEABLE, (first, second, between)


def test_markers_and_lines_differ():
    """In grey, too: no two integrators share marker and line style, and no marker is used more than twice."""
    looks = [(marker, line) for _, marker, line in LOOKS.values()]
    assert len(set(looks)) == len(looks)
    markers = [marker for marker, _ in looks]
    assert max(markers.count(marker) for marker in markers) == 2


def test_colours_are_seen_on_white():
    for name, (colour, *_) in LOOKS.items():
        assert lab(colour, "full")[0] < 80, name


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [COLOURS, BODY_COLOURS])
def test_other_colours_differ(sight, palette):
    for first, second in itertools.combinations(palette, 2):
        assert distance(first, second, sight) > 4 * NOTICEABLE, (first, second)


def test_registered_integrators_come_after(monkeypatch):
    monkeypatch.setitem(SCHEMES, "mine", SCHEMES["spiral"])
    look = style_of("mine")
    assert look["label"] == "mine" and look["color"] in COLOURS
    assert (look["marker"], look["linestyle"]) not in [(marker, line) for _, marker, line in LOOKS.values()]


def test_the_look_is_the_same_in_every_figure():
    assert styles_of(["buss", "spiral"]) == [style_of("buss"), style_of("spiral")]
    for name in common.NAMES:
        shown = common.look(name)
        assert {key: shown[key] for key in ("color", "marker", "linestyle")} == {
            key: style_of(name)[key] for key in ("color", "marker", "linestyle")
        }
