"""Quaternion algebra on numpy arrays, (..., 4) as w, x, y, z. For set-up and output; the kernels have their own scalars."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(p: Array, q: Array) -> Array:
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
    return np.asarray(q, float) * np.array([1.0, -1.0, -1.0, -1.0])


def rotated(q: Array, v: Array) -> Array:
    """v turned by q: body -> world for an orientation q. Shapes (..., 4) and (..., 3) broadcast."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    axis = q[..., 1:]
    across = 2.0 * np.cross(axis, v)
    return v + q[..., :1] * across + np.cross(axis, across)


def unit(q: Array) -> Array:
    q = np.asarray(q, float)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
