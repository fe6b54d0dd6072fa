"""What the kernels work on. Component-major arrays: row c holds component c of all n bodies."""

from typing import NamedTuple

import numpy as np

LANES = 8  # bodies that are rotated together: vector lanes, twice


def padded(rows, fill):
    """`rows` (k, n) with columns `fill` (k,) added until their number is a multiple of LANES: no lane stays empty."""
    spare = -rows.shape[1] % LANES
    return np.hstack([rows, np.repeat(np.asarray(fill, float)[:, None], spare, axis=1)])


def inertia_rows(moments):
    """(9, n) from the principal moments (3, n): I_k, 1/I_k, (I_y - I_z)/I_x, (I_z - I_x)/I_y, (I_x - I_y)/I_z."""
    x, y, z = moments
    return np.array([x, y, z, 1 / x, 1 / y, 1 / z, (y - z) / x, (z - x) / y, (x - y) / z])


class Bodies(NamedTuple):
    """n bodies. What the rotational integrators work on has m >= n columns, see `padded`; the last m - n are at rest."""

    position: np.ndarray  # (3, n) of the centre of mass, world, m, at step n
    velocity: np.ndarray  # (3, n) world, m/s, at step n - 1/2
    orientation: np.ndarray  # (4, m) w, x, y, z, principal axes -> world, at step n
    spin: np.ndarray  # (k, m) what the rotational integrator keeps, k >= 3, see rotation/__init__.py
    force: np.ndarray  # (3, n) of the contacts, world, N, at step n
    torque: np.ndarray  # (3, m) of the contacts, principal axes, N m, at step n
    mass: np.ndarray  # (n,) kg
    inertia: np.ndarray  # (9, m) principal moments, kg m^2, and what inertia_rows makes of them
    reach: np.ndarray  # (n,) radius of the bounding sphere around the centre of mass, m
    swing: np.ndarray  # (n,) largest distance of a sphere's centre from the centre of mass, m
    shape: np.ndarray  # (n,) int64, index into Shapes


class Shapes(NamedTuple):
    """The clumps; the spheres of shape k are columns first[k] to first[k+1]."""

    first: np.ndarray  # (k+1,) int64
    centre: np.ndarray  # (3, s) principal axes, relative to the centre of mass, m
    radius: np.ndarray  # (s,) m
    material: np.ndarray  # (k,) int64, index into the table of moduli


class Walls(NamedTuple):
    """Half-spaces; the bodies are on the side that the normal points to."""

    point: np.ndarray  # (3, w) world, m
    normal: np.ndarray  # (3, w) unit, world
    material: np.ndarray  # (w,) int64


class Candidates(NamedTuple):
    """Spheres that may touch before any of them has moved half the skin. Lists are in ascending order of bodies and
    spheres, so that forces add up in the same order, to the last bit, whatever the skin or the age of the lists.
    """

    body: np.ndarray  # (a,) int64, bodies with at least one candidate
    sphere_owner: np.ndarray  # (s,) int64, index into `body`
    sphere_centre: np.ndarray  # (3, s) principal axes, m
    pair: np.ndarray  # (2, p) int64, indices of the spheres
    pair_reach: np.ndarray  # (p,) sum of the radii, m
    pair_stiffness: np.ndarray  # (p,) 4/3 E* sqrt(R*), N/m^1.5
    wall: np.ndarray  # (2, w) int64, index of the sphere, index of the wall
    wall_reach: np.ndarray  # (w,) radius, m
    wall_stiffness: np.ndarray  # (w,) 4/3 E* sqrt(R), N/m^1.5
    skin: float  # m
    age: np.ndarray  # (1,) int64, steps since the lists were made
    old_position: np.ndarray  # (3, n) Bodies.position when the lists were made
    old_orientation: np.ndarray  # (4, m)
    # room for one force evaluation
    place: np.ndarray  # (3, s) centres of the spheres, world, m
    load: np.ndarray  # (6, a) force and torque on each listed body, world
