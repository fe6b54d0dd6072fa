"""Clumps: rigid bodies of spheres, with the mass properties of their union (overlaps count once, voids are empty)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..progress import report
from .union import Moments, checked_spheres, union_moments

Array = NDArray[np.float64]
EQUAL = 1e-9  # moments that differ by less (relative) are equal, products of inertia below it are zero
SMALLEST_MOMENT = 1e-300  # kg m^2; its inverse is still finite
SMALLEST_MASS = 1e-150  # kg; its square is not zero, and that of its inverse is finite


@dataclass(frozen=True)
class Clump:
    """A rigid body of n spheres. Body frame: origin at the centre of mass, axes along the principal axes."""

    name: str
    material: str  # key into the scenario's materials
    density: float  # kg/m^3
    spheres: Array  # (n, 4) x, y, z, radius as given, user's frame, m
    volume: float  # m^3, of the union
    mass: float  # kg
    center: Array  # (3,) centre of mass, user's frame, m
    inertia: Array  # (3, 3) about the centre, user's axes, kg m^2
    principal_inertia: Array  # (3,) kg m^2
    principal_axes: Array  # (4,) unit quaternion, body frame -> user's frame
    body_spheres: Array  # (n, 4) x, y, z in the body frame, radius, m
    bounding_radius: float  # about the centre of mass, m

    @property
    def arm(self) -> float:
        """Largest distance of a sphere's centre from the centre of mass, m."""
        return float(np.linalg.norm(self.body_spheres[:, :3], axis=1).max())


def make_clump(
    spheres: ArrayLike,
    density: float,
    name: str = "clump",
    material: str = "",
    mass: float | None = None,
    moments: Moments | None = None,
) -> Clump:
    """The clump of spheres (n, 4), m: a solid of uniform density (kg/m^3) that fills their union.

    A given `mass` (kg) replaces the density. Given `moments` replace those of the union, for spheres that approximate a
    body of known shape.
    """
    spheres = checked_spheres(spheres)
    if not 0.0 < density < np.inf:
        raise InputError(f"clump {name}: the density must be positive and finite, got {density}")
    with np.errstate(all="ignore"):  # the fifth powers of sizes may overflow
        if moments is None:
            moments = union_moments(spheres, lambda part: report(f"mass properties of {name}", part))
        volume, center, second = moments
        density = density if mass is None else mass / volume
        inertia = density * (np.trace(second) * np.eye(3) - second)
        in_range = SMALLEST_MASS < volume * density < 1 / SMALLEST_MASS and np.isfinite(inertia).all()
        in_range = in_range and np.trace(inertia) > 0
    if not in_range:
        raise InputError("its size is beyond the range of numbers; lengths are in metres")
    principal, rotation = _principal_frame(inertia)
    if not SMALLEST_MOMENT < principal.min() <= principal.max() < 1 / SMALLEST_MOMENT:
        raise InputError("its moments of inertia are beyond the range of numbers; lengths are in metres, masses in kg")
    arm = spheres[:, :3] - center
    return Clump(
        name=name,
        material=material,
        density=float(density),
        spheres=spheres,
        volume=volume,
        mass=float(density) * volume,
        center=center,
        inertia=inertia,
        principal_inertia=principal,
        principal_axes=_quaternion(rotation),
        body_spheres=np.column_stack([arm @ rotation, spheres[:, 3]]),
        bounding_radius=float(np.max(np.linalg.norm(arm, axis=1) + spheres[:, 3])),
    )


def _principal_frame(inertia: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and the right-handed matrix whose columns are the axes in the user's frame.

    The user's own axes if they are principal. Otherwise moments ascend, the largest component of the first
    two axes is positive, and the two axes of equal moments, which are arbitrary, depend on the third only.
    """
    scale = np.trace(inertia)
    if np.abs(inertia - np.diag(np.diag(inertia))).max() <= EQUAL * scale:
        return _merge_equal(np.diag(inertia)), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    moments = _merge_equal(moments)
    if moments[0] == moments[1]:
        axes[:, 0] = _perpendicular(axes[:, 2])
        axes[:, 1] = np.cross(axes[:, 2], axes[:, 0])
    elif moments[1] == moments[2]:
        axes[:, 1] = _perpendicular(axes[:, 0])
    for column in (0, 1):
        size = np.abs(axes[:, column])
        axes[:, column] *= np.sign(axes[np.flatnonzero(size > size.max() - 1e-6)[0], column])
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return moments, axes


def _merge_equal(moments: Array) -> Array:
    """The moments (3,), with those that are equal within round-off made equal, so that a symmetric body stays symmetric."""
    merged = moments.copy()
    order = np.argsort(moments)
    low, middle, high = moments[order]
    if high - low <= EQUAL * high:
        merged[:] = moments.mean()
    elif middle - low <= EQUAL * high:
        merged[order[:2]] = (low + middle) / 2
    elif high - middle <= EQUAL * high:
        merged[order[1:]] = (middle + high) / 2
    return merged


def _perpendicular(axis: Array) -> Array:
    """A unit vector at right angles to an axis."""
    other = np.cross(axis, np.eye(3)[np.argmin(np.round(np.abs(axis), 6))])
    return np.asarray(other / np.linalg.norm(other))


def _quaternion(rotation: Array) -> Array:
    """Unit quaternion (w, x, y, z), w >= 0, of a rotation matrix: the best conditioned row of 4 q q^T."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    outer = np.array(
        [
            [1 + xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz],
        ]
    )
    q = outer[np.argmax(np.diag(outer))]
    return np.asarray(q / np.linalg.norm(q) * (1.0 if q[0] >= 0.0 else -1.0) + 0.0)  # no -0
