"""Dense random packings: bodies start at random positions, overlapping, and their overlaps relax.

A quench from a random state, as in O'Hern et al., Phys. Rev. E 68, 011306 (2003): below random close packing (about 0.64 for
equal spheres, less beside walls) the overlaps vanish; above it the remaining overlaps carry the pressure of the packing.
"""

import numpy as np
from numpy.typing import NDArray

from ...engine.contact.loading import contact_law
from ...engine.relaxation import TURNING, relax
from ...engine.state import Bodies, Templates, Walls
from ...engine.world import make_world
from ...progress import report
from ...shapes.clump import Clump
from ..memory import make_checked_room
from .random import Poses, Streams, random_orientations

Array = NDArray[np.float64]
MOST_STEPS = 500  # 1000 would reduce the overlaps by another tenth
LOOKS_BACK, LEAST_FALL = 50, 0.05  # steps, and the fraction by which the energy must fall in these to continue
LEAST_STRAIN = 1e-4  # overlap in radii at which the relaxation is done
FIRST_SKIN = 0.3  # mean bounding radii
FIRST_STEP = 0.2  # (mass / modulus / radius)^(1/2)


def packed_poses(
    species: NDArray[np.int64],
    clumps: list[Clump],
    fixed: Poses,
    box: tuple[float, float, float],
    templates: Templates,
    walls: Walls,
    streams: Streams,
) -> Poses:
    """Poses of n bodies, principal axes -> world, with small overlaps where the packing is dense.

    `species` (n,) is the clump of each body. The first bodies are `fixed`; the others fill the box (m) around them.
    """
    bodies, size = random_start(species, clumps, fixed, box, streams)
    # Hertz contacts whatever the scenario's law, and one stiffness for all materials: only the overlaps count.
    constants = np.full((1 + max(templates.material.max(), walls.material.max()),) * 2, (4.0 / 3.0) * (4.0 / 3.0))
    least_energy = LEAST_STRAIN**2.5 * float(np.sum(size**3))
    pace = np.array([FIRST_STEP, TURNING, 0.0])
    world = make_world(bodies, templates, walls, constants, skin=FIRST_SKIN * float(bodies.bounding_radius.mean()))
    energy, law = np.empty(0), contact_law("hertz").pointers(world)
    while energy.size < MOST_STEPS and not settled(energy, least_energy):
        report("packing, at most", energy.size / MOST_STEPS)
        latest = np.empty(LOOKS_BACK)
        steps, crowded = relax(*law, world, size, len(fixed.position), pace, latest)
        energy = np.append(energy, latest[:steps])
        if crowded:
            make_checked_room(world)
        elif steps < LOOKS_BACK:  # no contacts are left
            break
    return Poses(bodies.position.T, bodies.orientation.T)  # no copies, to save memory


def settled(energy: Array, least: float) -> bool:
    """Whether the last of the energies is at most `least`, or the energy has almost stopped falling."""
    if energy.size <= 2 * LOOKS_BACK:
        return bool(energy.size and energy[-1] <= least)
    return bool(energy[-1] <= least or energy[-1] > (1.0 - LEAST_FALL) * energy[-1 - LOOKS_BACK])


def random_start(
    species: NDArray[np.int64],
    clumps: list[Clump],
    fixed: Poses,
    box: tuple[float, float, float],
    streams: Streams,
) -> tuple[Bodies, Array]:
    """Overlapping bodies at rest, and the radii (n,) of spheres of the same volumes, m."""
    n, first = species.size, len(fixed.position)
    size = np.cbrt([0.75 / np.pi * clump.volume for clump in clumps])[species]
    margin = np.minimum(size[first:], 0.5 * np.array(box)[:, None])
    position, orientation = np.empty((3, n)), np.empty((4, n))
    position[:, :first], orientation[:, :first] = fixed.position.T, fixed.orientation.T
    room = np.array(box)[:, None] - 2.0 * margin
    position[:, first:] = margin + room * one_in_each_cell(species[first:], box, streams.positions)
    orientation[:, first:] = random_orientations(streams.orientations, n - first).T
    # The stiffness of a contact grows with the radius; masses that do so too let small and large bodies relax alike.
    gyration = np.array([clump.principal_inertia / clump.mass for clump in clumps]).T
    return Bodies(
        position=position,
        velocity=np.zeros((3, n)),
        orientation=orientation,
        spin=np.zeros((3, n)),
        force=np.zeros((3, n)),
        torque=np.zeros((3, n)),
        mass=size,
        inertia=size * gyration.take(species, axis=1),  # `relax` reads the moments only
        bounding_radius=np.array([clump.bounding_radius for clump in clumps])[species],
        arm=np.array([clump.arm for clump in clumps])[species],
        species=species,
    ), size


def one_in_each_cell(species: NDArray[np.int64], box: tuple[float, float, float], generator: np.random.Generator) -> Array:
    """Random positions (3, n) as fractions of the box, evenly spread: one in each of n cells of a grid.

    Species are mixed at random. The bodies of one species are in the order of the cells, so that neighbours are close in
    memory.
    """
    n = species.size
    edge = np.cbrt(np.prod(box) / n)
    cells = np.ceil(np.array(box) / edge).astype(np.int64)
    cell = generator.permutation(int(cells.prod()))[:n]
    for k in np.unique(species):
        cell[species == k] = np.sort(cell[species == k])
    column = np.stack(np.unravel_index(cell, cells[::-1])[::-1])  # x varies fastest
    return np.asarray((column + generator.random((3, n))) / cells[:, None])
