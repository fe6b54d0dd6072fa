"""From a scenario to what is simulated: clumps with their masses, placed bodies, walls, moduli and the time step."""

import ctypes
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.state import Bodies, Shapes, Walls, inertia_rows, padded
from ..engine.world import make_shapes
from ..errors import InputError, ScenarioError
from ..machine import available_memory, in_bytes
from ..scenario.tables import MAX_BODIES, Material, Scenario
from ..shapes.clump import Clump, make_clump, read_mesh_moments
from .placing.packing import packed_poses
from .placing.random import Streams, random_directions, random_poses

Array = NDArray[np.float64]
CHUNK = 4096  # bodies whose poses are worked out together: what that takes on the way stays small
MAX_SPHERES_IN_ALL = 2**32 - 2**16  # the kernels number them, and after them the walls, with 32 bits


@dataclass(frozen=True)
class Model:
    clumps: list[Clump]  # those that have bodies, in the scenario's order
    counts: list[int]  # bodies of each [[body]], which is one, and of each [[place]]
    species: NDArray[np.int64]  # (n,) index into `clumps`
    position: Array  # (n, 3) of the centres of mass, m
    orientation: Array  # (n, 4) clump as given -> world
    velocity: Array  # (n, 3) m/s
    angular_velocity: Array  # (n, 3) world frame, rad/s
    shapes: Shapes
    walls: Walls
    modulus: Array  # (m, m) effective modulus E* of each pair of materials, Pa
    gravity: tuple[float, float, float]  # m/s^2
    dt: float  # s
    steps: int

    @property
    def mass(self) -> Array:
        """(n,) kg"""
        return np.array([clump.mass for clump in self.clumps])[self.species]

    @property
    def spheres(self) -> int:
        return sum(len(self.clumps[k].spheres) for k in self.species)

    def bodies(self) -> Bodies:
        """The kernels' state, with velocities and spin still on step and no forces yet."""
        n = len(self.species)
        axes = np.array([clump.principal_axes for clump in self.clumps])
        moments = inertia_rows(rows(np.array([clump.principal_inertia for clump in self.clumps])))
        swing = [float(np.linalg.norm(clump.body_spheres[:, :3], axis=1).max()) for clump in self.clumps]
        orientation = padded(np.empty((4, n)), [1.0, 0.0, 0.0, 0.0])
        spin = padded(np.empty((3, n)), np.zeros(3))
        inertia = padded(np.empty((9, n)), [1.0] * 6 + [0.0] * 3)
        for some in chunks(n):
            turned = quaternions.unit(quaternions.product(self.orientation[some], axes[self.species[some]]))
            orientation[:, some] = turned.T
            spin[:, some] = quaternions.rotated(quaternions.conjugate(turned), self.angular_velocity[some]).T
            inertia[:, some] = moments[:, self.species[some]]
        return Bodies(
            position=rows(self.position),
            velocity=rows(self.velocity),
            orientation=orientation,
            spin=spin,
            force=np.zeros((3, n)),
            torque=padded(np.zeros((3, n)), np.zeros(3)),
            mass=self.mass,
            inertia=inertia,
            reach=np.array([clump.bounding_radius for clump in self.clumps])[self.species],
            swing=np.array(swing)[self.species],
            shape=self.species.copy(),
        )


def chunks(n: int) -> Iterator[slice]:
    """Of n bodies."""
    return (slice(begin, min(begin + CHUNK, n)) for begin in range(0, n, CHUNK))


def rows(vectors: Array) -> Array:
    """(n, k) -> component-major (k, n), a copy"""
    return np.array(np.asarray(vectors, float).T, order="C")


def model_at_rest(scenario: Scenario, source: str = "") -> Model:
    """All but where the bodies are: these are at the origin, at rest. `source` names the scenario in messages."""
    map_large_arrays()
    source = source or scenario.name
    names = scenario.used_clumps
    clumps = []
    for name in names:
        spec = scenario.clump[name]
        density = spec.density or scenario.material[spec.material].density
        try:
            moments = None
            if spec.mass_from == "mesh" and spec.file is not None:
                volume, centre, second = read_mesh_moments(spec.file)
                scale = spec.scale or 1.0
                moments = (volume * scale**3, centre * scale, second * scale**5)
            clumps.append(make_clump(spec.sphere_rows(), density, name, spec.material, spec.mass, moments))
        except InputError as error:
            raise ScenarioError([f"{source}: clump.{name}: {error}"]) from None
    materials = list(scenario.material)
    counts = body_counts(scenario, clumps, source)
    check_memory(scenario, clumps, counts, source)
    used = [body.clump for body in scenario.body] + [group.clump for group in scenario.place]
    species = np.repeat(np.array([names.index(name) for name in used], dtype=np.int64), counts)
    dt = scenario.dt_seconds({clump.name: clump.spheres for clump in clumps})
    return Model(
        clumps=clumps,
        counts=counts,
        species=species,
        position=np.broadcast_to(0.0, (len(species), 3)),
        orientation=np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(species), 4)),
        velocity=np.broadcast_to(0.0, (len(species), 3)),
        angular_velocity=np.broadcast_to(0.0, (len(species), 3)),
        shapes=make_shapes([clump.body_spheres for clump in clumps], [materials.index(clump.material) for clump in clumps]),
        walls=walls_of(scenario, materials),
        modulus=effective_moduli(list(scenario.material.values())),
        gravity=scenario.domain.gravity,
        dt=dt,
        steps=scenario.steps(dt, source),
    )


def build_model(scenario: Scenario, source: str = "") -> Model:
    """With the bodies where a run starts. `source` names the scenario in messages."""
    source = source or scenario.name
    model = model_at_rest(scenario, source)
    kind, clumps, shapes, walls = model.species, model.clumps, model.shapes, model.walls
    exact, counts = len(scenario.body), model.counts

    streams = Streams.of(scenario.seed)
    position = np.array([body.position for body in scenario.body], float).reshape(exact, 3)
    orientation = np.array([body.orientation for body in scenario.body], float).reshape(exact, 4)
    packed = any(group.packing_fraction is not None for group in scenario.place)
    if len(kind) > exact:
        assert scenario.domain.box is not None  # the scenario's own check
        axes = np.array([clump.principal_axes for clump in clumps])
        given = orientation
        fixed = (position, quaternions.product(given, axes[kind[:exact]]))
        if packed:
            position, orientation = packed_poses(kind, clumps, fixed, scenario.domain.box, shapes, walls, streams)
        else:
            reach = np.array([clump.bounding_radius for clump in clumps])[kind]
            position, orientation, placed = random_poses(kind, reach, fixed, scenario.domain.box, shapes, walls, streams)
            if placed < len(kind):
                fitted = f"{placed - exact} of {len(kind) - exact} bodies found room in the box without overlap"
                raise ScenarioError([f"{source}: place: {fitted}; place fewer or smaller ones, or enlarge domain.box"])
        for some in chunks(len(kind)):
            orientation[some] = quaternions.product(orientation[some], quaternions.conjugate(axes[kind[some]]))
        orientation[:exact] = given

    velocity = random_directions(streams.velocities, len(kind))
    angular_velocity = random_directions(streams.spins, len(kind))
    velocity *= np.repeat([0.0] * exact + [group.speed for group in scenario.place], counts)[:, None]
    angular_velocity *= np.repeat([0.0] * exact + [group.spin for group in scenario.place], counts)[:, None]
    for b, body in enumerate(scenario.body):
        velocity[b], angular_velocity[b] = body.velocity, body.angular_velocity
    return replace(model, position=position, orientation=orientation, velocity=velocity, angular_velocity=angular_velocity)


def map_large_arrays() -> None:
    """Arrays of a megabyte or more get memory of their own, which can grow where it is and is given back when they go.

    Left alone, glibc stops doing so once a few such arrays are gone, and keeps the holes between those that are left.
    """
    mmap_threshold = -3
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(mmap_threshold, 2**20)


def body_counts(scenario: Scenario, clumps: list[Clump], source: str) -> list[int]:
    """Bodies of each [[body]], which is one, and of each [[place]]: its count, or what fills its fraction of the box."""
    volume = {clump.name: clump.volume for clump in clumps}
    room = math.prod(scenario.domain.box or ())
    counts, errors = [1] * len(scenario.body), []
    for g, group in enumerate(scenario.place):
        wanted = float(group.count or 0)
        if group.packing_fraction is not None:
            wanted = group.packing_fraction * room / volume[group.clump]
        if 0.5 <= wanted <= MAX_BODIES:
            counts.append(max(1, round(wanted)))
        else:
            rule = f"gives {wanted:.3g} bodies, but must give 1 to {MAX_BODIES}"
            errors.append(f"{source}: place[{g}].packing_fraction: {rule}; change domain.box or the size of the clump")
    if errors:
        raise ScenarioError(errors)
    return counts


def run_memory(bodies: int, spheres: int) -> float:
    """Bytes that a run takes, Python included, as measured."""
    return 2e8 + 500.0 * bodies + 170.0 * spheres


def check_memory(scenario: Scenario, clumps: list[Clump], counts: list[int], source: str) -> None:
    """Refuse what this machine has no room for, before any is taken."""
    size = {clump.name: len(clump.spheres) for clump in clumps}
    used = [body.clump for body in scenario.body] + [group.clump for group in scenario.place]
    bodies, spheres = sum(counts), sum(count * size[name] for count, name in zip(counts, used, strict=True))
    needed, free = run_memory(bodies, spheres), available_memory()
    if free is not None and needed > free:
        what = f"need about {in_bytes(needed)} of memory, {in_bytes(free)} are free"
    elif spheres > MAX_SPHERES_IN_ALL:
        what = f"are more than the {MAX_SPHERES_IN_ALL} that can be told apart"
    else:
        return
    where, exact = "body", len(scenario.body)
    most = max(range(len(counts)), key=lambda k: counts[k] * size[used[k]])
    if most >= exact:
        group = scenario.place[most - exact]
        where = f"place[{most - exact}].{'count' if group.packing_fraction is None else 'packing_fraction'}"
    raise ScenarioError([f"{source}: {where}: {bodies} bodies of {float(spheres):.3g} spheres in all {what}; place fewer"])


def effective_moduli(materials: list[Material]) -> Array:
    """1/E* = (1 - v1^2)/E1 + (1 - v2^2)/E2 for each pair, Pa."""
    table = np.empty((len(materials), len(materials)))
    for (i, a), (j, b) in combinations_with_replacement(enumerate(materials), 2):
        table[i, j] = table[j, i] = 1.0 / ((1 - a.poisson**2) / a.young + (1 - b.poisson**2) / b.young)
    return table


BOX_WALLS = ("x = 0", "x = max", "y = 0", "y = max", "z = 0", "z = max")


def walls_of(scenario: Scenario, materials: list[str]) -> Walls:
    """The six walls of the box, in the order of BOX_WALLS, then the scenario's own."""
    points, normals, kinds = [], [], []
    if scenario.domain.box is not None:
        for axis, length in enumerate(scenario.domain.box):
            for end, sign in ((0.0, 1.0), (length, -1.0)):
                points.append(np.eye(3)[axis] * end)
                normals.append(np.eye(3)[axis] * sign)
                kinds.append(materials.index(str(scenario.domain.material)))
    for wall in scenario.wall:
        points.append(np.array(wall.point))
        normals.append(np.array(wall.normal))
        kinds.append(materials.index(wall.material))
    count = len(kinds)
    return Walls(
        point=rows(np.array(points).reshape(count, 3)),
        normal=rows(np.array(normals).reshape(count, 3)),
        material=np.array(kinds, dtype=np.int64),
    )


def box_walls(scenario: Scenario) -> int:
    """How many of the walls are those of the box: the first ones."""
    return len(BOX_WALLS) if scenario.domain.box else 0


def wall_name(wall: int, boxed: int) -> str:
    """`boxed`: how many walls are those of the box."""
    return f"the box at {BOX_WALLS[wall]}" if wall < boxed else f"wall[{wall - boxed}]"
