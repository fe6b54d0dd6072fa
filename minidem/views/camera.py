"""Where the camera is, and the lamp that follows it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .space import Space

Array = NDArray[np.float64]

OBLIQUE = (-58.0, 21.7)  # degrees: azimuth and elevation of the camera, seen from the bodies
VIEW_ANGLE = 30.0  # degrees, of the height of a picture
MARGIN = 0.95  # part of a picture that the box fills


def light(plotter: Any, size: float, shadows: int = 32) -> None:
    """Add the lamp that lights walls, and soft shadows where bodies are near each other, the floor or a wall.

    `size` is the diagonal of the scene (m), `shadows` the number of samples of the shadows, 0 for none.
    """
    import pyvista

    # The direction is seen from the camera, that the lamp follows: to the right, up, and towards it.
    lamp = pyvista.Light(position=(0.35, 0.8, 0.65), focal_point=(0.0, 0.0, 0.0), light_type="camera light")
    plotter.add_light(lamp)
    if shadows:
        size = size or 1.0
        plotter.enable_ssao(radius=0.04 * size, bias=0.002 * size, kernel_size=shadows, blur=True)


def direction(azimuth: float, elevation: float) -> Array:
    """Unit vector (3,) from the bodies to a camera, given angles in degrees."""
    a, e = np.radians([azimuth, elevation])
    return np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])


def aim(
    plotter: Any,
    points: Array,
    turn: float = 0.0,
    left: float = 0.0,
    right: float = 0.0,
    below: float = 0.0,
    place: tuple[float, float] = OBLIQUE,
    zoom: float = 1.0,
    radii: Array | float = 0.0,
) -> None:
    """Move the camera as near as possible with all points (p, 3), or spheres of `radii` (p,) around them, in the picture.

    The camera is at azimuth and elevation `place`, turned by `turn` degrees about the vertical. Fractions `left` and `right`
    of the width and `below` of the height are kept free. The middle is then enlarged `zoom` times.
    """
    width, height = plotter.window_size
    azimuth = np.radians(place[0] + turn)
    forward = -direction(place[0] + turn, place[1])
    across = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    upward = np.cross(across, forward)
    depth = points @ forward
    up = MARGIN * np.tan(np.radians(VIEW_ANGLE / 2))
    aside = up * width / height
    # For a camera `back` behind the origin, the edges of the picture have these slopes: x - eye = slope * (depth + back).
    edges = [(across, aside * (1 - 2 * left), aside * (1 - 2 * right)), (upward, up * (1 - 2 * below), up)]
    spans = [
        (
            np.max(points @ to - high * depth + radii * np.hypot(1.0, high)),  # a sphere touches the plane through the edge
            np.min(points @ to + low * depth - radii * np.hypot(1.0, low)),
            low,
            high,
        )
        for to, low, high in edges
    ]
    back = max((a - b) / (low + high) for a, b, low, high in spans)
    eye = -back * forward
    for (to, *_), (a, b, low, high) in zip(edges, spans, strict=True):
        eye = eye + (a + b + (low - high) * back) / 2 * to
    near, far = float((depth - radii).min() + back), float((depth + radii).max() + back)
    camera = plotter.camera
    camera.view_angle = 2 * float(np.degrees(np.arctan(np.tan(np.radians(VIEW_ANGLE / 2)) / zoom)))
    camera.position, camera.focal_point = tuple(eye), tuple(eye + (near + far) / 2 * forward)
    camera.up = tuple(upward)
    camera.clipping_range = (0.3 * near, 2.0 * far)
    plotter.camera_set = True  # or pyvista moves it


def pixels_per_metre(plotter: Any, size: Sequence[int]) -> float:
    """Scale of a picture of that size (pixels) in the middle of the scene."""
    camera = plotter.camera
    height = 2 * camera.distance * np.tan(np.radians(camera.view_angle / 2))  # m
    return float(size[1] / height)


def rim(space: Space) -> Array:
    """Points (144, 3) around the cylinder that a space sweeps when it turns about its vertical axis, m."""
    low, high = space.low, space.high
    middle, radius = (low + high)[:2] / 2, np.linalg.norm((high - low)[:2]) / 2
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    x, y = middle[:, None] + radius * np.array([np.cos(angles), np.sin(angles)])
    return np.concatenate([np.column_stack([x, y, np.full(len(x), z)]) for z in (low[2], high[2])])
