"""Closed triangle meshes: exact mass properties, and checks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .union import Moments

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mesh:
    """A closed surface; corners in counter-clockwise order seen from outside."""

    points: Array  # (p, 3) m
    faces: NDArray[np.int64]  # (f, 3) indices of points

    @property
    def triangles(self) -> Array:
        """Corners of the triangles, (f, 3, 3), m."""
        return self.points[self.faces]

    def moments(self) -> Moments:
        """The moments of the inside.

        They are sums over signed tetrahedra from one point to each triangle: polynomials of the corners.
        """
        origin = self.points.mean(axis=0)
        corners = self.triangles - origin
        volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
        volume = volumes.sum()
        sums = corners.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a flat mesh, which `inward` reports
            centre = volumes @ sums / (4 * volume)
        squares = np.einsum("i,ikj,ikl->jl", volumes, corners, corners) + np.einsum("i,ij,il->jl", volumes, sums, sums)
        return Moments(float(volume), origin + centre, squares / 20 - volume * np.outer(centre, centre))

    def polydata(self) -> Any:
        """The mesh as pyvista.PolyData."""
        import pyvista

        return pyvista.PolyData.from_regular_faces(self.points, self.faces.astype(int))


def from_polydata(data: Any) -> Mesh:
    """The mesh of a pyvista.PolyData, whose points may be shared by its faces or repeated."""
    return merged(np.asarray(data.points, dtype=float), np.asarray(data.triangulate().regular_faces, dtype=np.int64))


def merged(points: Array, faces: NDArray[np.int64]) -> Mesh:
    """The mesh of points (p, 3), m, and faces (f, 3), with points that coincide exactly merged."""
    points, index = np.unique(points, axis=0, return_inverse=True)
    return Mesh(points, index.reshape(-1)[faces])


def degenerate_triangles(mesh: Mesh) -> str:
    """Fault if triangles have no area."""
    corners = mesh.triangles
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    flat = area <= 1e-12 * longest**2
    if not flat.any():
        return ""
    return f"{np.count_nonzero(flat)} degenerate triangles, the first is number {np.argmax(flat)}; clean the mesh"


def open_edges(mesh: Mesh) -> str:
    """Fault unless each edge is passed once in each direction, as on a closed, consistently oriented surface."""
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
    """Fault if normals point inward, or the mesh is flat."""
    with np.errstate(invalid="ignore"):
        volume = mesh.moments().volume
    if not volume < 0:
        return "" if volume > 0 else "has no inside: its volume is zero"
    return "is turned inside out: its normals point inward; flip its faces"


def self_intersections(mesh: Mesh) -> str:
    """Fault if triangles cross."""
    from .crossings import MOST_PAIRS, crossing_triangles

    try:
        crossing = crossing_triangles(mesh.triangles, mesh.faces)
    except MemoryError:
        why = f"more than {MOST_PAIRS:.0e} pairs of them are near each other"
        return f"has triangles too long for their number: {why}; remesh it with triangles of about one size"
    if len(crossing) == 0:
        return ""
    first, second = crossing[0]
    return f"intersects itself: triangles {first} and {second} cross, one of {len(crossing)} pairs; repair it"


# Checks of a mesh: each returns a message, empty for a sound mesh.
FAULT_FINDERS = (degenerate_triangles, open_edges, inward, self_intersections)
