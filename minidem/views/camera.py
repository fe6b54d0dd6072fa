"""Where the camera is, and the lights that follow it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .space import Space

Array = NDArray[np.float64]

AWAY = np.array([1.0, -1.6, 0.75]) / np.linalg.norm([1.0, -1.6, 0.75])  # direction from the bodies to the camera
VIEW_ANGLE = 30.0  # degrees, of the height of a picture
MARGIN = 0.95  # part of a picture that the box fills


def light(plotter: Any, size: float, shadows: int = 32) -> None:
    """Add lights that follow the camera, and soft shadows where bodies are near each other, the floor or a wall.

    `size` is the diagonal of the scene (m), `shadows` the number of samples of the shadows, 0 for none.
    """
    import pyvista

    # Directions as seen from the camera: to the right, up, and towards it.
    for direction, intensity in (((0.35, 0.8, 0.65), 0.8), ((-0.9, 0.1, 0.5), 0.35), ((0.2, 0.5, -0.8), 0.25)):
        lamp = pyvista.Light(position=direction, focal_point=(0.0, 0.0, 0.0), light_type="camera light")
        lamp.intensity = intensity
        plotter.add_light(lamp)
    if shadows:
        size = size or 1.0
        plotter.enable_ssao(radius=0.04 * size, bias=0.002 * size, kernel_size=shadows, blur=True)
    plotter.enable_anti_aliasing("ssaa")


def aim(plotter: Any, points: Array, turn: float = 0.0, left: float = 0.0, right: float = 0.0, below: float = 0.0) -> None:
    """Move the camera as near as possible with all points (p, 3) in the picture.

    The camera is turned by `turn` degrees about the vertical. Fractions `left` and `right` of the width and `below` of the
    height are kept free.
    """
    width, height = plotter.window_size
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    forward = -np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ AWAY
    across = np.cross(forward, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    upward = np.cross(across, forward)
    depth = points @ forward
    up = MARGIN * np.tan(np.radians(VIEW_ANGLE / 2))
    aside = up * width / height
    # For a camera `back` behind the origin, the edges of the picture have these slopes: x - eye = slope * (depth + back).
    edges = [(across, aside * (1 - 2 * left), aside * (1 - 2 * right)), (upward, up * (1 - 2 * below), up)]
    spans = [(np.max(points @ to - high * depth), np.min(points @ to + low * depth), low, high) for to, low, high in edges]
    back = max((a - b) / (low + high) for a, b, low, high in spans)
    eye = -back * forward
    for (to, *_), (a, b, low, high) in zip(edges, spans, strict=True):
        eye = eye + (a + b + (low - high) * back) / 2 * to
    near, far = float(depth.min() + back), float(depth.max() + back)
    camera = plotter.camera
    camera.view_angle = VIEW_ANGLE
    camera.position, camera.focal_point = tuple(eye), tuple(eye + (near + far) / 2 * forward)
    camera.up = (0.0, 0.0, 1.0)
    camera.clipping_range = (0.3 * near, 2.0 * far)
    plotter.camera_set = True  # or pyvista moves it


def rim(space: Space) -> Array:
    """Points (144, 3) around the cylinder that a space sweeps when it turns about its vertical axis, m."""
    low, high = space.low, space.high
    middle, radius = (low + high)[:2] / 2, np.linalg.norm((high - low)[:2]) / 2
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    x, y = middle[:, None] + radius * np.array([np.cos(angles), np.sin(angles)])
    return np.concatenate([np.column_stack([x, y, np.full(len(x), z)]) for z in (low[2], high[2])])
