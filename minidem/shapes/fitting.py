"""A clump of spheres fitted to a closed mesh.

Candidates are inscribed spheres: each voxel inside the mesh is a centre, its distance from the surface the radius (the
Euclidean distance map, as in the Euclidean 3D method of CLUMP, Angelidakis et al., SoftwareX 15, 100735, 2021). Where that
method picks the largest remaining distance, this one picks the sphere that covers most of the uncovered volume. The last
fifth of the spheres is placed where the clump is farthest from the mesh, to represent thin parts. Inscribed spheres do not
reach the corners, so finally all radii grow by the same length until the union has the mesh's volume.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..progress import report
from .clump import make_clump
from .mesh import Mesh
from .parts import parts_of
from .union import union_moments

Array = NDArray[np.float64]
VOXELS = 120_000  # approximate number inside the mesh
MOST_VOXELS = 2 * 10**8  # in the bounding box: about 1 GB
FOR_DETAILS = 0.2  # fraction of the spheres for thin parts


@dataclass(frozen=True)
class Fit:
    """A fitted clump and its errors."""

    spheres: Array  # (n, 4) x, y, z, radius, m
    growth: float  # m, of the radii beyond those of the inscribed spheres
    uncovered: float  # fraction of the volume that the inscribed spheres do not cover
    volume_error: float  # relative
    centre_error: float  # distance of the centres, in cube roots of the mesh's volume
    inertia_error: float  # largest relative error of a principal moment
    distance_mean: float  # m, of the mesh's points from the surface of the clump
    distance_max: float  # m


def fit_clump(mesh: Mesh, spheres: int = 100, min_radius: float = 0.0, target_error: float = 0.0) -> Fit:
    """A clump of at most `spheres` spheres, none smaller than `min_radius` (m).

    Fewer spheres are used if the inscribed ones leave at most the fraction `target_error` of the volume uncovered.
    """
    from scipy.optimize import brentq

    from .covering import greedy_cover

    volume, centre, second = mesh.moments()
    inside, origin, edge = voxelised(mesh, (volume / VOXELS) ** (1 / 3))
    voxels = np.argwhere(inside)
    distances = distance_from(mesh, origin + edge * voxels)
    candidates = distances >= max(min_radius, 0.5 * edge)
    if not candidates.any():
        raise InputError(f"no sphere of radius {min_radius:g} m fits into the mesh; its largest is {distances.max():.3g} m")
    voxels, distances = voxels[candidates], distances[candidates]
    left, total = inside.copy(), np.count_nonzero(inside)
    details = int(FOR_DETAILS * spheres)
    chosen = greedy_cover(left, voxels, distances / edge, spheres - details, int(target_error * total))
    fitted = np.column_stack([origin + edge * voxels, distances])[chosen]
    if len(chosen) == spheres - details:
        fitted = with_details(fitted, np.column_stack([origin + edge * voxels, distances]), details)
    uncovered = np.count_nonzero(gaps(fitted, origin + edge * np.argwhere(inside)) > 0) / total

    def excess(growth: float) -> float:
        grown = fitted + np.array([0, 0, 0, growth])
        return union_moments(grown, lambda part: report(f"volume with radii grown by {growth:.2g} m", part))[0] / volume - 1

    growth = float(brentq(excess, 0.0, volume ** (1 / 3), rtol=1e-6)) if excess(0.0) < 0 else 0.0
    fitted[:, 3] += growth
    union_volume, union_centre, union_second = union_moments(fitted)
    surface_distance = np.abs(gaps(fitted, mesh.points))
    return Fit(
        spheres=fitted,
        growth=growth,
        uncovered=uncovered,
        volume_error=union_volume / volume - 1,
        centre_error=float(np.linalg.norm(union_centre - centre)) / volume ** (1 / 3),
        inertia_error=float(np.abs(principal_moments(union_second) / principal_moments(second) - 1).max()),
        distance_mean=float(surface_distance.mean()),
        distance_max=float(surface_distance.max()),
    )


def gaps(spheres: Array, points: Array) -> Array:
    """Distances (n,) of points (n, 3) from a union of spheres (s, 4), m; negative inside, where they are bounds."""
    nearest = np.full(len(points), np.inf)
    for x, y, z, radius in spheres:
        nearest = np.minimum(nearest, np.linalg.norm(points - (x, y, z), axis=1) - radius)
    return nearest


def with_details(fitted: Array, candidates: Array, count: int) -> Array:
    """`fitted` and `count` more spheres: each the largest candidate that holds the point farthest from the union."""
    gap = gaps(fitted, candidates[:, :3])
    for _ in range(count):
        worst = candidates[np.argmax(gap), :3]
        holding = np.linalg.norm(candidates[:, :3] - worst, axis=1) <= candidates[:, 3]
        best = candidates[np.argmax(np.where(holding, candidates[:, 3], 0.0))]
        fitted = np.vstack([fitted, best])
        gap = np.minimum(gap, gaps(best[None], candidates[:, :3]))
    return fitted


def principal_moments(second: Array) -> Array:
    """Principal moments of inertia (3,) of a solid of density 1 with these second moments (3, 3), m^5."""
    return np.linalg.eigvalsh(np.trace(second) * np.eye(3) - second)


def voxelised(mesh: Mesh, edge: float) -> tuple[NDArray[np.bool_], Array, float]:
    """Which points of a grid of spacing `edge` (m) lie inside (nx, ny, nz), its first point (3,), m, and its spacing, m."""
    import pyvista
    from vtkmodules.vtkImagingStencil import vtkImageStencilToImage, vtkPolyDataToImageStencil

    low, high = mesh.points.min(axis=0) - edge, mesh.points.max(axis=0) + edge
    with np.errstate(divide="ignore"):  # a mesh may be so small that its volume is 0
        wanted = np.ceil((high - low) / edge) + 1
    if not np.prod(wanted) <= MOST_VOXELS:
        part = f"{np.prod(wanted):.2g} voxels, of which about {VOXELS} are inside"
        raise InputError(f"the mesh fills too little of its bounding box ({part}); turn it along an axis, or fit its parts")
    size = wanted.astype(int)
    stencil = vtkPolyDataToImageStencil()
    stencil.SetInputData(mesh.polydata())
    stencil.SetOutputOrigin(low)
    stencil.SetOutputSpacing(edge, edge, edge)
    stencil.SetOutputWholeExtent(0, int(size[0]) - 1, 0, int(size[1]) - 1, 0, int(size[2]) - 1)
    image = vtkImageStencilToImage()
    image.SetInputConnection(stencil.GetOutputPort())
    image.SetInsideValue(1)
    image.SetOutsideValue(0)
    image.SetOutputScalarTypeToUnsignedChar()
    image.Update()
    wrapped: Any = pyvista.wrap(image.GetOutput())
    values = np.asarray(wrapped.point_data.active_scalars)
    return values.reshape(size, order="F").astype(bool), low, edge


def distance_from(mesh: Mesh, points: Array) -> Array:
    """Distances (n,) of points (n, 3) from the surface, m."""
    import pyvista

    measured: Any = pyvista.PolyData(points).compute_implicit_distance(mesh.polydata())
    return np.asarray(np.abs(measured["implicit_distance"]))


def csv_text(fit: Fit, mesh: Mesh, source: str) -> str:
    """The text of a sphere file, with the errors of the fit and the moments of the mesh in its head."""
    volume, centre, second = mesh.moments()
    xx, yy, zz, xy, xz, yz = second[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    head = [
        f"{len(fit.spheres)} spheres fitted to {source} by minidem clump; lengths in m",
        f"errors: volume {fit.volume_error:.2e}, inertia {fit.inertia_error:.2e}, centre {fit.centre_error:.2e}",
        f"distance of the surfaces: mean {fit.distance_mean:.3g} m, max {fit.distance_max:.3g} m",
        "mesh volume = " + repr(volume),
        "mesh center = " + " ".join(map(repr, centre.tolist())),
        "mesh second moments = " + " ".join(repr(float(value)) for value in (xx, yy, zz, xy, xz, yz)),
    ]
    rows = [",".join(f"{value:.9g}" for value in row) for row in fit.spheres]
    return "".join(f"# {line}\n" for line in head) + "x,y,z,r\n" + "\n".join(rows) + "\n"


def fit_report(fit: Fit, density: float) -> dict[str, Any]:
    """The errors of a fit and the mass properties of its clump, for JSON; `density` in kg/m3."""
    clump = make_clump(fit.spheres, density)
    parts = parts_of(fit.spheres)
    return {
        "spheres": len(fit.spheres),
        "parts": int(parts.max()) + 1,
        "detached": int(np.count_nonzero(parts)),
        "note": note_on_parts(fit, parts),
        "smallest_radius": float(fit.spheres[:, 3].min()),
        "mass": clump.mass,
        "volume": clump.volume,
        "center": clump.center.tolist(),
        "inertia": clump.inertia.tolist(),
        "principal_inertia": clump.principal_inertia.tolist(),
        "errors": {
            "volume": fit.volume_error,
            "centre": fit.centre_error,
            "inertia": fit.inertia_error,
            "mean_distance": fit.distance_mean,
            "max_distance": fit.distance_max,
        },
    }


def note_on_parts(fit: Fit, parts: NDArray[np.int64]) -> str | None:
    """A warning if spheres of a fit are apart from the others, with the remedy; `parts` (n,) as of `parts_of`."""
    apart = parts > 0
    if not apart.any():
        return None
    count = np.count_nonzero(apart)
    larger = 2 * float(fit.spheres[apart, 3].max() - fit.growth)  # the smallest radius holds before they grow
    return (
        f"warning: the clump is in {parts.max() + 1} parts that do not touch: {count} of {len(parts)} spheres "
        f"{'is' if count == 1 else 'are'} apart from the largest part; "
        f"give --min-radius R, for example {larger:.2g}, or more --spheres"
    )
