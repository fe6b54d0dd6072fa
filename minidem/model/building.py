"""From a scenario to the model that is simulated: clumps, placed bodies, walls, constants of materials, the time step."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.contact.edges import edges_of
from ..engine.contact.loading import LoadedLaw, contact_law
from ..engine.contact.registry import LAWS
from ..engine.state import Bodies, Edges, Templates, Walls, inertia_rows, padded
from ..engine.world import make_templates
from ..errors import InputError, ScenarioError
from ..progress import report
from ..scenario.reading import Scenario
from ..shapes.clump import Clump, make_clump
from ..shapes.sphere_files import read_mesh_moments
from .counts import body_counts, groups
from .crowds import check_crowds
from .memory import check_memory
from .placing.packing import packed_poses
from .placing.random import Poses, Streams, random_directions, random_poses
from .times import step_count, time_step
from .walls import box_walls, walls_of

Array = NDArray[np.float64]
CHUNK = 4096  # bodies that are computed together: intermediate results take little memory and stay in the cache


@dataclass(frozen=True)
class Model:
    """What is simulated, with n bodies at their initial positions. Vectors are in the world frame."""

    clumps: list[Clump]  # those that have bodies, in the scenario's order
    counts: list[int]  # bodies of each [[body]], which is 1, and of each [[place]]
    species: NDArray[np.int64]  # (n,) index into `clumps`
    position: Array  # (n, 3) centres of mass, m
    orientation: Array  # (n, 4) unit quaternions, user's frame of the clump -> world
    velocity: Array  # (n, 3) m/s
    angular_velocity: Array  # (n, 3) rad/s
    templates: Templates
    walls: Walls
    law: LoadedLaw  # of the contacts
    constants: Array  # (m, m) of the law, for each pair of materials
    edges: Edges  # of the contacts
    gravity: tuple[float, float, float]  # m/s^2
    dt: float  # s
    steps: int

    @property
    def mass(self) -> Array:
        """Mass of each body, (n,), kg."""
        return np.array([clump.mass for clump in self.clumps])[self.species]

    @property
    def spheres(self) -> int:
        """The number of spheres of all bodies."""
        return sum(len(self.clumps[k].spheres) for k in self.species)

    @property
    def spheres_by_clump(self) -> dict[str, Array]:
        """Spheres (s, 4) of each clump as given, m, by its name."""
        return {clump.name: clump.spheres for clump in self.clumps}

    def bodies(self) -> Bodies:
        """The state of the kernels, with velocities and spins on step and without forces."""
        n = len(self.species)
        axes = np.array([clump.principal_axes for clump in self.clumps])
        moments = inertia_rows(rows(np.array([clump.principal_inertia for clump in self.clumps])))
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
            bounding_radius=np.array([clump.bounding_radius for clump in self.clumps])[self.species],
            arm=np.array([clump.arm for clump in self.clumps])[self.species],
            species=self.species.copy(),
        )


def chunks(n: int) -> Iterator[slice]:
    """Slices of at most CHUNK that cover n bodies."""
    return (slice(begin, min(begin + CHUNK, n)) for begin in range(0, n, CHUNK))


def rows(vectors: Array) -> Array:
    """A component-major copy (k, n) of vectors (n, k)."""
    return np.array(np.asarray(vectors, float).T, order="C")


def clumps_of(scenario: Scenario, source: str) -> list[Clump]:
    """The clumps that have bodies, with their mass properties, in the scenario's order."""
    clumps: list[Clump] = []
    names = scenario.used_clumps
    for name in names:
        report(f"mass properties of {len(names)} clumps", len(clumps) / len(names))
        spec = scenario.clump[name]
        density = spec.density or scenario.material[spec.material].density
        try:
            moments = None
            if spec.mass_from == "mesh" and spec.file is not None:
                moments = read_mesh_moments(spec.file).scaled(spec.scale or 1.0)
            clumps.append(make_clump(spec.sphere_rows(), density, name, spec.material, spec.mass, moments))
        except InputError as error:
            raise ScenarioError([f"{source}: clump.{name}: {error}"]) from None
    return clumps


def model_at_rest(scenario: Scenario, source: str = "") -> Model:
    """The model with all bodies at the origin, at rest. `source` names the scenario in messages."""
    source = source or scenario.name
    clumps = clumps_of(scenario, source)
    number = {clump.name: k for k, clump in enumerate(clumps)}
    law, keys = contact_law(scenario.contact.law), LAWS[scenario.contact.law].keys
    # A material that nothing is made of may lack the keys of the law.
    numbers = {name: m.numbers for name, m in scenario.material.items() if all(key in m.numbers for key in keys)}
    materials = list(numbers)
    try:
        constants = law.constants(numbers)
    except InputError as error:
        raise ScenarioError([f"{source}: contact.law: {error}"]) from None
    counts = body_counts(scenario, clumps, source)
    check_memory(scenario, clumps, counts, source)
    species = np.repeat(np.array([number[name] for name in groups(scenario)], dtype=np.int64), counts)
    dt = time_step(scenario, {clump.name: clump.spheres for clump in clumps})
    return Model(
        clumps=clumps,
        counts=counts,
        species=species,
        position=np.broadcast_to(0.0, (len(species), 3)),
        orientation=np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(species), 4)),
        velocity=np.broadcast_to(0.0, (len(species), 3)),
        angular_velocity=np.broadcast_to(0.0, (len(species), 3)),
        templates=make_templates(
            [clump.body_spheres for clump in clumps], [materials.index(clump.material) for clump in clumps]
        ),
        walls=walls_of(scenario, materials),
        law=law,
        constants=constants,
        edges=edges_of(LAWS[scenario.contact.law].edge_power, scenario.contact.edges == "corrected", dt),
        gravity=scenario.domain.gravity,
        dt=dt,
        steps=step_count(scenario, dt, source),
    )


def build_model(scenario: Scenario, source: str = "") -> Model:
    """The model with the bodies where a run starts. `source` names the scenario in messages."""
    source = source or scenario.name
    model = model_at_rest(scenario, source)
    streams = Streams.of(scenario.seed)
    exact, n = len(scenario.body), len(model.species)
    position = np.array([body.position for body in scenario.body], float).reshape(exact, 3)
    orientation = np.array([body.orientation for body in scenario.body], float).reshape(exact, 4)
    given = Poses(position, orientation)
    check_crowds(model.clumps, model.species[:exact], given, model.walls, box_walls(scenario), source)
    if n > exact:
        position, orientation = placed_poses(scenario, model, given, streams, source)
    velocity = random_directions(streams.velocities, n)
    angular_velocity = random_directions(streams.spins, n)
    velocity *= np.repeat([0.0] * exact + [place.speed for place in scenario.place], model.counts)[:, None]
    angular_velocity *= np.repeat([0.0] * exact + [place.spin for place in scenario.place], model.counts)[:, None]
    for b, body in enumerate(scenario.body):
        velocity[b], angular_velocity[b] = body.velocity, body.angular_velocity
    return replace(model, position=position, orientation=orientation, velocity=velocity, angular_velocity=angular_velocity)


def placed_poses(scenario: Scenario, model: Model, given: Poses, streams: Streams, source: str) -> Poses:
    """Poses of all bodies, user's frame -> world: those of the [[body]] tables as `given`, then those of [[place]]."""
    assert scenario.domain.box is not None  # a rule of scenarios
    species, clumps, exact = model.species, model.clumps, len(given.position)
    axes = np.array([clump.principal_axes for clump in clumps])
    fixed = Poses(given.position, quaternions.product(given.orientation, axes[species[:exact]]))
    scene = (scenario.domain.box, model.templates, model.walls, streams)
    if any(place.packing_fraction is not None for place in scenario.place):
        position, orientation = packed_poses(species, clumps, fixed, *scene)
    else:
        bounding = np.array([clump.bounding_radius for clump in clumps])[species]
        (position, orientation), placed = random_poses(species, bounding, fixed, *scene)
        if placed < len(species):
            fitted = f"only {placed - exact} of {len(species) - exact} bodies fit into the box without overlap"
            raise ScenarioError([f"{source}: place: {fitted}; place fewer or smaller ones, or enlarge domain.box"])
    for some in chunks(len(species)):
        orientation[some] = quaternions.product(orientation[some], quaternions.conjugate(axes[species[some]]))
    orientation[:exact] = given.orientation
    return Poses(position, orientation)
