"""Clumps that push each other and walls after Hertz, and how they move: by numpy and scipy, with nothing of the package.

Bodies are turned by matrices, and spin by their angular momentum in world axes, so that principal axes are never needed.
"""

from itertools import combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np
from oracle import matrix
from scipy.integrate import solve_ivp
from scipy.spatial import cKDTree


def mass_properties(rows, density):
    """Mass (kg), centre (3,) and moments of inertia (3, 3) about it, kg m^2, of spheres (s, 4) that do not overlap."""
    rows = np.array(rows, float)
    mass = density * 4 / 3 * np.pi * rows[:, 3] ** 3
    centre = mass @ rows[:, :3] / mass.sum()
    inertia = np.zeros((3, 3))
    for m, arm, radius in zip(mass, rows[:, :3] - centre, rows[:, 3], strict=True):
        inertia += m * ((0.4 * radius**2 + arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return mass.sum(), centre, inertia


class Contacts(NamedTuple):
    """Spheres i that touch spheres j, or wall j - s of s spheres."""

    i: np.ndarray  # (c,)
    j: np.ndarray  # (c,)
    overlap: np.ndarray  # (c,) m
    normal: np.ndarray  # (c, 3) towards i
    stiffness: np.ndarray  # (c,) 4/3 E* sqrt(R*), N m^(-3/2)

    @property
    def force(self):
        """Magnitudes (c,), N."""
        return self.stiffness * np.maximum(self.overlap, 0.0) ** 1.5

    @property
    def energy(self):
        """Of all contacts together, J."""
        return float(np.sum(0.4 * self.force * self.overlap))


class Crowd:
    """The spheres of bodies (n,) of clumps between walls.

    materials: {name: (young, poisson, density)}; clumps: {name: (material, rows x, y, z, radius)}; species: the clump of
    each body; walls: (point, normal, material) of each.
    """

    def __init__(self, materials, clumps, species, walls=()):
        names = list(materials)
        compliance = np.array([(1 - poisson**2) / young for young, poisson, _ in materials.values()])
        self.modulus = 1 / (compliance[:, None] + compliance)  # E* of each pair of materials, Pa
        parts = {}
        for name, (material, rows) in clumps.items():
            mass, centre, inertia = mass_properties(rows, materials[material][2])
            parts[name] = mass, np.array(rows, float) - [*centre, 0], inertia, names.index(material)
        bodies = [parts[name] for name in species]
        self.mass = np.array([body[0] for body in bodies])  # (n,)
        self.inertia = np.array([body[2] for body in bodies])  # (n, 3, 3) in the axes of the clump as given
        self.owner = np.repeat(np.arange(len(bodies)), [len(body[1]) for body in bodies])  # (s,) body of each sphere
        rows = np.concatenate([body[1] for body in bodies])
        self.arm, self.radius = rows[:, :3], rows[:, 3]
        self.material = np.array([body[3] for body in bodies])[self.owner]
        self.wall_point = np.array([wall[0] for wall in walls], float).reshape(-1, 3)
        normal = np.array([wall[1] for wall in walls], float).reshape(-1, 3)
        self.wall_normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        self.wall_material = np.array([names.index(wall[2]) for wall in walls], int)

    def centres(self, position, orientation):
        """(s, 3) of all spheres, from positions (n, 3) and orientations (n, 4) of the bodies, clump as given -> world."""
        turn = np.moveaxis(matrix(orientation.T), 2, 0)
        return position[self.owner] + np.einsum("sab,sb->sa", turn[self.owner], self.arm)

    def pairs(self):
        """All pairs (p,), (p,) of spheres of different bodies."""
        return np.nonzero(np.triu(self.owner[:, None] != self.owner, 1))

    def near_pairs(self, centre):
        """Those pairs that overlap, or miss it by round-off, and others: from trees of spheres of one octave of size."""
        octave = np.floor(np.log2(self.radius / self.radius.min()))
        classes = [np.flatnonzero(octave == k) for k in np.unique(octave)]
        trees = [cKDTree(centre[some]) for some in classes]
        found = [np.empty((0, 2), int)]
        for a, b in combinations_with_replacement(range(len(classes)), 2):
            reach = 1.001 * (self.radius[classes[a]].max() + self.radius[classes[b]].max())
            near = trees[a].sparse_distance_matrix(trees[b], reach, output_type="ndarray")
            found.append(np.stack([classes[a][near["i"]], classes[b][near["j"]]], axis=1))
        i, j = np.unique(np.sort(np.concatenate(found), axis=1), axis=0).T
        apart = self.owner[i] != self.owner[j]
        return i[apart], j[apart]

    def contacts(self, centre, pairs, doubt=0.0):
        """What overlaps of these pairs and at the walls, or fails to by no more than `doubt` (m)."""
        i, j = pairs
        radius, material = self.radius, self.material
        along = centre[i] - centre[j]
        distance = np.linalg.norm(along, axis=1)
        overlap = radius[i] + radius[j] - distance
        touch = overlap > -doubt
        i, j = i[touch], j[touch]
        effective = radius[i] * radius[j] / (radius[i] + radius[j])
        between = Contacts(
            i,
            j,
            overlap[touch],
            along[touch] / distance[touch, None],
            4 / 3 * self.modulus[material[i], material[j]] * np.sqrt(effective),
        )
        depth = radius - np.einsum("wsc,wc->ws", centre - self.wall_point[:, None], self.wall_normal)
        wall, s = np.nonzero(depth > -doubt)
        at_walls = Contacts(
            s,
            radius.size + wall,
            depth[wall, s],
            self.wall_normal[wall],
            4 / 3 * self.modulus[material[s], self.wall_material[wall]] * np.sqrt(radius[s]),
        )
        return Contacts(*(np.concatenate(both) for both in zip(between, at_walls, strict=True)))

    def loads(self, centre, position, contacts):
        """Forces (n, 3), N, and torques (n, 3) about the centres of mass, N m, in world axes."""
        force, torque = np.zeros((2, self.mass.size, 3))
        push = contacts.force[:, None] * contacts.normal
        between = contacts.j < self.radius.size
        for s, f in ((contacts.i, push), (contacts.j[between], -push[between])):
            body = self.owner[s]
            np.add.at(force, body, f)
            np.add.at(torque, body, np.cross(centre[s] - position[body], f))
        return force, torque


class Motion(NamedTuple):
    """On-step values of n bodies at t times, in world axes."""

    position: np.ndarray  # (t, n, 3) m
    velocity: np.ndarray  # (t, n, 3) m/s
    orientation: np.ndarray  # (t, n, 4) clump as given -> world
    angular_velocity: np.ndarray  # (t, n, 3) rad/s


def motion(crowd, start, gravity, times, longest_step, tolerance=1e-12):
    """Of a crowd from time 0, by DOP853; `start` has position, velocity, orientation and angular velocity of each body.

    No step (s) may be longer than one during which a whole contact could be missed.
    """
    n, pairs = crowd.mass.size, crowd.pairs()
    mass = crowd.mass[:, None]
    inverse = np.linalg.inv(crowd.inertia)

    def turned(orientation):
        return np.moveaxis(matrix((orientation / np.linalg.norm(orientation, axis=1, keepdims=True)).T), 2, 0)

    def spinning(turn, momentum):
        return np.einsum("nab,nbc,ndc,nd->na", turn, inverse, turn, momentum)

    def unpacked(state):
        x, v, momentum, q = np.split(state, [3 * n, 6 * n, 9 * n])
        return x.reshape(n, 3), v.reshape(n, 3), momentum.reshape(n, 3), q.reshape(n, 4)

    def rates(t, state):
        x, v, momentum, q = unpacked(state)
        omega = spinning(turned(q), momentum)
        centre = crowd.centres(x, q / np.linalg.norm(q, axis=1, keepdims=True))
        force, torque = crowd.loads(centre, x, crowd.contacts(centre, pairs))
        w, vector = q[:, :1], q[:, 1:]  # dq/dt = (0, omega) q / 2
        turning = [-np.sum(omega * vector, axis=1, keepdims=True), w * omega + np.cross(omega, vector)]
        rows = (v, force / mass + gravity, torque, 0.5 * np.hstack(turning))
        return np.concatenate([row.ravel() for row in rows])

    x, v, q, omega = (np.array(start[name], float) for name in Motion._fields)
    turn = turned(q)
    momentum = np.einsum("nab,nbc,ndc,nd->na", turn, crowd.inertia, turn, omega)
    state = np.concatenate([row.ravel() for row in (x, v, momentum, q)])
    sizes = [np.full(row.size, np.abs(row).max()) for row in (x, v, momentum, q)]
    options = dict(rtol=tolerance, atol=tolerance * np.concatenate(sizes), max_step=longest_step)
    rows = []
    for begin, end in pairwise((0.0, *times)):  # not by interpolation, which is less accurate
        found = solve_ivp(rates, (begin, end), state, "DOP853", **options)
        assert found.success
        state = found.y[:, -1]
        x, v, momentum, q = unpacked(state)
        rows.append((x, v, q / np.linalg.norm(q, axis=1, keepdims=True), spinning(turned(q), momentum)))
    return Motion(*(np.array(part) for part in zip(*rows, strict=True)))
