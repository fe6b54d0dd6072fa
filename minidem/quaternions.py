"""Quaternion algebra on NumPy arrays of shape (..., 4), components w, x, y, z.

Used for set-up and output; engine/quaternion.py has the same for kernels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(p: Array, q: Array) -> Array:
    """The product p q (Hamilton), shape (..., 4); as a rotation, q acts first."""
    pw, px, py, pz = np.moveaxis(np.asarray(p, float), -1, 0)
    qw, qx, qy, qz = np.moveaxis(np.asarray(q, float), -1, 0)
    return np.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        axis=-1,
    )


def conjugate(q: Array) -> Array:
    """The conjugate of q, shape (..., 4): the inverse rotation if q is a unit quaternion."""
    reversed_axis: Array = np.asarray(q, float) * np.array([1.0, -1.0, -1.0, -1.0])
    return reversed_axis


def rotated(q: Array, v: Array) -> Array:
    """v rotated by the unit quaternion q, shape (..., 3): from body to world axes if q is an orientation.

    The shapes (..., 4) and (..., 3) broadcast.
    """
    w, *axis = np.moveaxis(np.asarray(q, float), -1, 0)
    parts = list(np.moveaxis(np.asarray(v, float), -1, 0))
    across = [2.0 * part for part in _cross(axis, parts)]
    further = _cross(axis, across)
    return np.stack([parts[c] + w * across[c] + further[c] for c in range(3)], axis=-1)


def _cross(a: Sequence[Array], b: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Cross product by components; several times as fast as `numpy.cross`."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def unit(q: Array) -> Array:
    """q divided by its norm, shape (..., 4)."""
    q = np.asarray(q, float)
    normalised: Array = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return normalised


def slerp(p: Array, q: Array, part: float) -> Array:
    """Spherical linear interpolation from p (part = 0) to q (part = 1) along the shorter arc, shape (..., 4).

    p and q are unit quaternions.
    """
    p, q = np.asarray(p, float), np.asarray(q, float)
    cosine = np.sum(p * q, axis=-1, keepdims=True)
    q, cosine = np.where(cosine < 0, -q, q), np.minimum(np.abs(cosine), 1.0)  # q and -q are the same orientation
    angle = np.arccos(cosine)
    near = angle < 1e-6  # the ratio of the sines equals that of the angles to round-off
    sine = np.where(near, 1.0, np.sin(angle))
    first = np.where(near, 1.0 - part, np.sin((1.0 - part) * angle) / sine)
    second = np.where(near, part, np.sin(part * angle) / sine)
    return unit(first * p + second * q)
