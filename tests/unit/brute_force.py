"""Slow and plain answers to what the kernels compute, and small states to ask about. Rotations are scipy's."""

import numpy as np
from scipy.spatial.transform import Rotation

from minidem.core.state import Bodies, Shapes, Walls


def rotations(quaternions):
    """scipy's rotations of quaternions (..., 4) w, x, y, z."""
    return Rotation.from_quat(np.roll(quaternions, -1, axis=-1))


def random_quaternions(rng, count):
    """(count, 4) unit"""
    q = rng.standard_normal((count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def shapes_of(clumps, material=None):
    """Clumps (k, 4) of x, y, z relative to the centre of mass in principal axes and radius."""
    rows = np.vstack(clumps)
    return Shapes(
        first=np.cumsum([0] + [len(clump) for clump in clumps]).astype(np.int64),
        centre=np.ascontiguousarray(rows[:, :3].T),
        radius=rows[:, 3].copy(),
        material=np.array([0] * len(clumps) if material is None else material, dtype=np.int64),
    )


def bodies_of(shapes, shape, position, orientation):
    """Bodies at rest of unit mass and inertia at positions (n, 3) with principal-axis orientations (n, 4)."""
    n = len(shape)
    arm = np.linalg.norm(shapes.centre, axis=0)
    spans = [slice(shapes.first[k], shapes.first[k + 1]) for k in shape]
    return Bodies(
        position=np.array(np.transpose(position), dtype=float, order="C"),
        velocity=np.zeros((3, n)),
        orientation=np.array(np.transpose(orientation), dtype=float, order="C"),
        spin=np.zeros((3, n)),
        force=np.zeros((3, n)),
        torque=np.zeros((3, n)),
        mass=np.ones(n),
        inertia=np.ones((3, n)),
        reach=np.array([(arm + shapes.radius)[span].max() for span in spans]),
        swing=np.array([arm[span].max() for span in spans]),
        shape=np.array(shape, dtype=np.int64),
    )


def walls_of(points, normals, material=None):
    """Half-spaces from points (w, 3) and normals (w, 3) of any length."""
    count = len(points)
    normals = np.reshape(normals, (count, 3)) / np.linalg.norm(np.reshape(normals, (count, 3)), axis=1, keepdims=True)
    return Walls(
        point=np.array(np.reshape(points, (count, 3)).T, dtype=float, order="C"),
        normal=np.array(normals.T, dtype=float, order="C"),
        material=np.array([0] * count if material is None else material, dtype=np.int64),
    )


def all_spheres(bodies, shapes):
    """Centres (s, 3), radii (s,), bodies (s,) and columns of `shapes` (s,) of all the spheres of all the bodies."""
    owner = np.concatenate([np.full(shapes.first[k + 1] - shapes.first[k], b) for b, k in enumerate(bodies.shape)])
    column = np.concatenate([np.arange(shapes.first[k], shapes.first[k + 1]) for k in bodies.shape])
    turn = rotations(bodies.orientation.T[owner])
    return bodies.position.T[owner] + turn.apply(shapes.centre.T[column]), shapes.radius[column], owner, column


def sphere_gaps(centre, radius, owner):
    """Pairs i < j (p,), (p,) of spheres of different bodies and the gaps between their surfaces (p,), m."""
    i, j = np.nonzero(np.triu(owner[:, None] != owner[None, :], 1))
    return i, j, np.linalg.norm(centre[i] - centre[j], axis=1) - radius[i] - radius[j]


def wall_gaps(centre, radius, walls):
    """(s, w) gaps between spheres and walls, m"""
    return np.einsum("swc,cw->sw", centre[:, None, :] - walls.point.T[None, :, :], walls.normal) - radius[:, None]


def elastic_energy(bodies, shapes, walls, modulus):
    """U = 8/15 E* sqrt(R*) d^(5/2) over all contacts, J."""
    centre, radius, owner, _ = all_spheres(bodies, shapes)
    material = shapes.material[bodies.shape[owner]]
    i, j, gap = sphere_gaps(centre, radius, owner)
    root = np.sqrt(radius[i] * radius[j] / (radius[i] + radius[j]))
    energy = np.sum(8 / 15 * modulus[material[i], material[j]] * root * np.maximum(-gap, 0.0) ** 2.5)
    overlap = np.maximum(-wall_gaps(centre, radius, walls), 0.0)
    return energy + np.sum(8 / 15 * modulus[material[:, None], walls.material] * np.sqrt(radius)[:, None] * overlap**2.5)
