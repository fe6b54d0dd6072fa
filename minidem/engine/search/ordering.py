"""Bodies that are near each other get numbers that are near each other: what they need lies together in memory, and few
pairs reach from one block of bodies into another."""

import numpy as np

from ..state import Bodies, fields_of

_CELLS = 2**16  # along each axis


def spatial_order(position):
    """Indices (n,) that put bodies at `position` (3, n) in the order of a Z curve (Morton, IBM, 1966)."""
    # A few may have flown far away.
    low, high = np.transpose([np.percentile(np.nan_to_num(along), [1, 99]) for along in position])
    edge = max(float((high - low).max()), 1e-300) * 1.1 / _CELLS
    key = np.zeros(position.shape[1], np.uint64)
    for axis, along in enumerate(position):
        cell = np.clip((np.nan_to_num(along) - low[axis]) / edge + 0.05 * _CELLS, 0, _CELLS - 1).astype(np.uint64)
        key |= _spread(cell) << np.uint64(axis)
    return np.argsort(key, kind="stable")


def _spread(bits):
    """Sixteen bits with two zeros between each and the next."""
    for shift, mask in ((32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3)):
        bits = (bits | bits << np.uint64(shift)) & np.uint64(mask)
    return (bits | bits << np.uint64(2)) & np.uint64(0x1249249249249249)


def reorder(bodies: Bodies, order: np.ndarray) -> None:
    """Put the bodies in another order, in place: column k becomes what column order[k] was."""
    n = order.size
    for name, field in fields_of(Bodies).items():
        values = getattr(bodies, name)
        if field.shape[-1] in ("n", "m"):
            for row in values.reshape(-1, values.shape[-1]):
                row[:n] = row[order]


def order_of_spheres(first: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Indices (s,) that put spheres in the order of their bodies; those of body b are first[b] to first[b+1]."""
    counts = np.diff(first)[order]
    return np.repeat(first[order] - (np.cumsum(counts) - counts), counts) + np.arange(first[-1])
