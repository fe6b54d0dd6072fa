"""Clumps: spheres in, mass properties of their union out (overlaps count once, enclosed voids are empty)."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from .union import covered_integrals

EQUAL = 1e-9  # moments that differ by less (relative) are equal, products of inertia below it are zero
SMALLEST_MOMENT = 1e-300  # kg m^2; its inverse is a number, too
LARGEST_FILE = 64 * 2**20  # bytes; a sphere list is never that long, a wrong file easily is


@dataclass(frozen=True)
class Clump:
    """A rigid body of spheres. Body frame: origin at the centre of mass, axes along the principal axes."""

    name: str
    material: str  # key into the scenario's materials
    density: float  # kg/m^3
    spheres: np.ndarray  # (n, 4) x, y, z, radius as given, user's frame, m
    volume: float  # m^3, of the union
    mass: float  # kg
    center: np.ndarray  # (3,) centre of mass, user's frame, m
    inertia: np.ndarray  # (3, 3) about the centre, user's axes, kg m^2
    principal_inertia: np.ndarray  # (3,) kg m^2
    principal_axes: np.ndarray  # (4,) quaternion, body frame -> user's frame
    body_spheres: np.ndarray  # (n, 4) x, y, z in the body frame, radius; m
    bounding_radius: float  # about the centre, m


def make_clump(spheres, density, name="clump", material="", mass=None, moments=None) -> Clump:
    """The clump of the spheres (n, 4), a solid of that density (kg/m^3) that fills their union.

    `mass` (kg) overrules the density. `moments`, a volume, centre and second moments as of `union_moments`, overrule those
    of the union, for spheres that stand for a body of known shape.
    """
    spheres = _checked(spheres)
    if not 0.0 < density < np.inf:
        raise InputError(f"clump {name}: the density must be positive and finite, got {density}")
    with np.errstate(all="ignore"):  # of sizes whose fifth powers no number holds
        volume, center, second = union_moments(spheres) if moments is None else moments
        density = density if mass is None else mass / volume
        inertia = density * (np.trace(second) * np.eye(3) - second)
        in_range = 0 < volume * density < np.inf and np.isfinite(inertia).all() and np.trace(inertia) > 0
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


def union_moments(spheres) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre (3,), second moments about it, int (x-c)(x-c)^T dV (3, 3), of a union of spheres (n, 4).

    For f homogeneous of degree k, here 1, x_a and x_a x_b, the divergence theorem gives
    int f dV = 1/(3 + k) oint f (x . n) dS, with x = c + r n on each sphere. Round-off is the only error.
    """
    spheres = _without_redundant(_checked(spheres))
    origin = np.average(spheres[:, :3], axis=0, weights=(spheres[:, 3] / spheres[0, 3]) ** 3)
    spheres[:, :3] -= origin
    covered = covered_integrals(spheres)
    w, nw, nncw = covered[:, 1:4], covered[:, 4:13].reshape(-1, 3, 3), covered[:, 13:].reshape(-1, 3, 3)

    def pairs(a, b):  # a b^T + b a^T of each sphere
        return a[:, :, None] * b[:, None, :] + b[:, :, None] * a[:, None, :]

    c, r = spheres[:, :3], spheres[:, 3:]  # (n, 3), (n, 1)
    # integrals of 1, n, n n, n n (c . n) over the exposed part of each unit sphere: whole less covered part
    m0 = 4 * np.pi - covered[:, :1]
    m1 = -w / 2
    m2 = (m0[:, :, None] * np.eye(3) - (nw + nw.transpose(0, 2, 1)) / 2) / 3
    m3 = (pairs(c, m1) - nncw) / 4
    m2c = np.einsum("iab,ib->ia", m2, c)
    flux = np.sum(c * m1, axis=1, keepdims=True) + r * m0  # int x . n
    volume = float(np.sum(r**2 * flux)) / 3
    shift = np.sum(r**2 * (flux * c + r * m2c + r**2 * m1), axis=0) / 4 / volume
    vectors = pairs(c, r**2 * flux * c / 2 + r**3 * m2c + r**4 * m1)
    second = np.sum(vectors + r[:, :, None] ** 4 * (m3 + r[:, :, None] * m2), axis=0) / 5
    return volume, origin + shift, second - volume * np.outer(shift, shift)


def _without_redundant(spheres: np.ndarray) -> np.ndarray:
    """The spheres, large ones first, without those inside another.

    One that protrudes by 1e-12 of the radius goes too: a duplicate but for round-off.
    """
    kept = spheres[:0]
    for sphere in spheres[np.argsort(-spheres[:, 3], kind="stable")]:
        distance = np.linalg.norm(kept[:, :3] - sphere[:3], axis=1)
        inside = distance <= (1 + 1e-12) * kept[:, 3] - sphere[3]
        if not inside.any():
            kept = np.vstack([kept, sphere])
    return kept


def _checked(spheres) -> np.ndarray:
    try:
        spheres = np.array(spheres, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError("spheres must be rows of four numbers: x, y, z, radius") from None
    if spheres.ndim != 2 or spheres.shape[1] != 4 or len(spheres) == 0:
        raise InputError(f"spheres must be rows of x, y, z, radius, at least one; got shape {spheres.shape}")
    for index, sphere in enumerate(spheres):
        if not np.isfinite(sphere).all():
            raise InputError(f"sphere {index}: not a finite number")
        if sphere[3] <= 0.0:
            raise InputError(f"sphere {index}: the radius must be positive, got {sphere[3]}")
    return spheres


def _principal_frame(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def _merge_equal(moments: np.ndarray) -> np.ndarray:
    """Moments equal within round-off made exactly equal, so that a symmetric body is exactly symmetric."""
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


def _perpendicular(axis: np.ndarray) -> np.ndarray:
    other = np.cross(axis, np.eye(3)[np.argmin(np.round(np.abs(axis), 6))])
    return other / np.linalg.norm(other)


def _quaternion(rotation: np.ndarray) -> np.ndarray:
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
    return q / np.linalg.norm(q) * (1.0 if q[0] >= 0.0 else -1.0) + 0.0  # no -0


def read_spheres(path) -> np.ndarray:
    """Spheres (n, 4) from a text file with a row x, y, z, radius for each.

    Commas, semicolons, spaces or tabs separate columns, # starts a comment, the first row may be a header.
    """
    text = _text(Path(path))
    rows: list[list[float]] = []
    header_allowed = True  # in the first row that is not blank
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        fields = re.split(r"\s*[,;]\s*|\s+", re.sub(r"\s*[,;]$", "", content))  # one separator may end a row
        is_header = header_allowed and all(field and _number(field) is None for field in fields)
        header_allowed = False
        if is_header:
            continue
        where = f"{path}: line {number}"
        if len(fields) != 4:
            raise InputError(f"{where}: {len(fields)} columns instead of the 4 of x, y, z, radius")
        row = []
        for field in fields:
            value = _number(field)
            if value is None:
                raise InputError(f"{where}: not a number: {field[:40]!r}")
            if not math.isfinite(value):
                raise InputError(f"{where}: not a finite number: {field[:40]!r}")
            row.append(value)
        if row[3] <= 0.0:
            raise InputError(f"{where}: the radius must be positive, got {fields[3][:40]}")
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: no spheres in it; give rows of x, y, z, radius")
    return np.array(rows)


def read_mesh_moments(path) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and second moments of the mesh that a file of spheres was fitted to, from the comments at its top."""
    path = Path(path)
    text, found = _text(path), []
    for key, count in (("mesh volume", 1), ("mesh center", 3), ("mesh second moments", 6)):
        match = re.search(rf"^# {key} = (.*)$", text, re.MULTILINE)
        numbers = [_number(field) for field in match[1].split()] if match else []
        if len(numbers) != count or not all(n is not None and math.isfinite(n) for n in numbers):
            remedy = "make the file with minidem clump, or leave mass_from out"
            raise InputError(f'{path}: no line "# {key} = " with {count} numbers; {remedy}')
        found.append(np.array(numbers))
    xx, yy, zz, xy, xz, yz = found[2]
    return float(found[0][0]), found[1], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _text(path: Path) -> str:
    """Content of a text file that is not absurdly large."""
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a directory; give a file of x, y, z, radius rows")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a regular file")  # a device may never end
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE // 2**20} MB; this is no list of spheres")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{path}: not a text file (UTF-8); give rows of x, y, z, radius")
    return text


def _number(field: str) -> float | None:
    try:
        return None if "_" in field else float(field)
    except ValueError:
        return None
