"""Closed triangle meshes: reading, checking, exact mass properties."""

import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Array = NDArray[np.float64]
FORMATS = (".stl", ".obj", ".ply")
LARGEST_FILE = 512 * 2**20  # bytes


@dataclass(frozen=True)
class Mesh:
    """A closed surface; corners in counter-clockwise order seen from outside."""

    points: Array  # (p, 3) m
    faces: NDArray[np.int64]  # (f, 3) indices of points

    @property
    def triangles(self) -> Array:
        """(f, 3, 3) corners, m"""
        return self.points[self.faces]

    def moments(self) -> tuple[float, Array, Array]:
        """Volume (m^3), centre (3,) and second moments about it (3, 3), int (x-c)(x-c)^T dV, of the inside.

        Divergence theorem: signed tetrahedra from a point to each triangle, whose moments are polynomials of their corners.
        """
        origin = self.points.mean(axis=0)
        corners = self.triangles - origin
        volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
        volume = volumes.sum()
        sums = corners.sum(axis=1)
        centre = volumes @ sums / (4 * volume)
        squares = np.einsum("i,ikj,ikl->jl", volumes, corners, corners) + np.einsum("i,ij,il->jl", volumes, sums, sums)
        return float(volume), origin + centre, squares / 20 - volume * np.outer(centre, centre)

    def polydata(self) -> Any:
        """As pyvista.PolyData."""
        import pyvista

        return pyvista.PolyData.from_regular_faces(self.points, self.faces.astype(int))  # type: ignore[arg-type]


def from_polydata(data: Any) -> Mesh:
    """Of triangles with shared or repeated points; points that coincide exactly are merged."""
    faces = np.asarray(data.triangulate().regular_faces, dtype=np.int64)
    points, index = np.unique(np.asarray(data.points, dtype=float), axis=0, return_inverse=True)
    return Mesh(points, index.reshape(-1)[faces])


def read_mesh(path: str | PathLike[str]) -> Mesh:
    """A checked mesh from an STL (binary or ASCII), OBJ or PLY file."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: give a mesh file that ends in {', '.join(FORMATS)}")
    if not path.is_file():
        raise InputError(f"{path}: {'is a directory' if path.is_dir() else 'no such file'}; give a mesh file")
    size = path.stat().st_size
    if size == 0 or size > LARGEST_FILE:
        raise InputError(f"{path}: {'is empty' if size == 0 else f'is larger than {LARGEST_FILE // 2**20} MB'}")
    import pyvista

    try:
        with pyvista.vtk_verbosity("off"), warnings.catch_warnings(action="ignore"):
            data = pyvista.read(path)
    except Exception as error:  # whatever a reader makes of a broken file
        raise InputError(f"{path}: cannot be read as a mesh ({error})") from None
    if not isinstance(data, pyvista.PolyData) or data.n_cells == 0 or data.n_points == 0:
        raise InputError(f"{path}: holds no triangles")
    if not np.isfinite(data.points).all():
        raise InputError(f"{path}: point {int(np.argwhere(~np.isfinite(data.points))[0, 0])} is not finite")
    mesh = from_polydata(data)
    if len(mesh.faces) == 0:
        raise InputError(f"{path}: holds no triangles")
    for fault in FAULT_FINDERS:
        if message := fault(mesh):
            raise InputError(f"{path}: {message}")
    return mesh


def degenerate_triangles(mesh: Mesh) -> str:
    corners = mesh.triangles
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    flat = area <= 1e-12 * longest**2
    if not flat.any():
        return ""
    return f"{np.count_nonzero(flat)} degenerate triangles, the first is number {np.argmax(flat)}; clean the mesh"


def open_edges(mesh: Mesh) -> str:
    """Each edge of a closed, consistently oriented surface is run through once in each direction."""
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]])
    forward = edges[:, 0] * len(mesh.points) + edges[:, 1]
    backward = edges[:, 1] * len(mesh.points) + edges[:, 0]
    unmatched = ~np.isin(forward, backward)
    if unmatched.any():
        once = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)[1] == 1
        if once.any():
            return f"is not closed: {np.count_nonzero(once)} open edges; fill the holes"
        return f"{np.count_nonzero(unmatched)} edges lie between triangles of opposite orientation; make the normals agree"
    if len(np.unique(forward)) < len(forward):
        return "some edges belong to more than two triangles; remove the doubled or inner faces"
    return ""


def inward(mesh: Mesh) -> str:
    return "is turned inside out: its normals point inward; flip its faces" if mesh.moments()[0] <= 0 else ""


def self_intersections(mesh: Mesh) -> str:
    from ..core.meshes import crossing_triangles

    crossing = crossing_triangles(mesh.triangles, mesh.faces)
    if len(crossing) == 0:
        return ""
    first, second = crossing[0]
    return f"intersects itself: triangles {first} and {second} cross, one of {len(crossing)} pairs; repair it"


# What each finds wrong with a mesh, in words; nothing for a sound one.
FAULT_FINDERS = (degenerate_triangles, open_edges, inward, self_intersections)
