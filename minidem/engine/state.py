"""The arrays that the kernels work on. They are component-major: row c holds component c of all n bodies."""

import math
from typing import Annotated, NamedTuple, get_origin, get_type_hints

import numpy as np

LANES = 8  # bodies that are rotated together: vector lanes, twice
CONTACTS = 192  # contacts whose forces are found together
CHUNK = 64  # candidates that are looked at together: as many as a word has bits
EDGES = 64  # edges of contacts whose errors are found together; a multiple of LANES
BLOCK = 512  # bodies that a thread works on at a time; a multiple of LANES


def aligned(rows, columns):
    """An empty array (rows, columns) whose rows start at cache lines; the columns are rounded up to a multiple of 8.

    Vector loads that cross cache lines would make the rotation of a small scene up to a fifth slower, in one process but not
    in the next.
    """
    columns += -columns % 8
    room = np.empty(rows * columns + 8)
    start = -room.ctypes.data // 8 % 8
    return room[start : start + rows * columns].reshape(rows, columns)


def padded(rows, fill):
    """An aligned copy of `rows` (k, n) with columns `fill` (k,) added until their number is a multiple of LANES, so that no
    lane stays empty."""
    k, n = rows.shape
    copy = aligned(k, n + -n % LANES)
    copy[:, :n], copy[:, n:] = rows, np.asarray(fill, float)[:, None]
    return copy


def inertia_rows(moments):
    """(9, n) from the principal moments (3, n): I_k, 1/I_k, (I_y - I_z)/I_x, (I_z - I_x)/I_y, (I_x - I_y)/I_z."""
    x, y, z = moments
    return np.array([x, y, z, 1 / x, 1 / y, 1 / z, (y - z) / x, (z - x) / y, (x - y) / z])


class Field(NamedTuple):
    """What an array holds; the annotation of the arrays of `Bodies` and `Lists`."""

    shape: tuple[int | str, ...]  # "n" bodies, "m" as in `Bodies`, "v" values that the rotational integrator keeps, ...
    unit: str  # in the notation of H5MD
    frame: str = ""  # axes of its components
    kept: bool = False  # a restart keeps it: the checkpoint holds it, since nothing else gives it back
    dtype: type[np.generic] = np.float64


def fields_of(arrays: type) -> dict[str, Field]:
    """The descriptors of the arrays of a named tuple, by name."""
    hints = get_type_hints(arrays, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if get_origin(hint) is Annotated}


class Bodies(NamedTuple):
    """n bodies. What the rotational integrators work on has m >= n columns, see `padded`; the last m - n are at rest."""

    # centre of mass, at step n
    position: Annotated[np.ndarray, Field((3, "n"), "m", "world", kept=True)]
    # at step n - 1/2
    velocity: Annotated[np.ndarray, Field((3, "n"), "m s-1", "world", kept=True)]
    # w, x, y, z: principal axes -> world, at step n
    orientation: Annotated[np.ndarray, Field((4, "m"), "1", kept=True)]
    # what the rotational integrator keeps, v >= 3, see rotation/__init__.py; its unit depends on the integrator
    spin: Annotated[np.ndarray, Field(("v", "m"), "1", kept=True)]
    # of the contacts, at step n. Kept only to be compared with the forces of the restarted run
    force: Annotated[np.ndarray, Field((3, "n"), "kg m s-2", "world", kept=True)]
    # of the contacts, at step n; zeros if no body has an arm. Kept as the forces are
    torque: Annotated[np.ndarray, Field((3, "m"), "kg m+2 s-2", "principal axes", kept=True)]
    mass: Annotated[np.ndarray, Field(("n",), "kg")]
    # principal moments, and what inertia_rows makes of them
    inertia: Annotated[np.ndarray, Field((9, "m"), "kg m+2", "principal axes")]
    # radius of the bounding sphere around the centre of mass
    bounding_radius: Annotated[np.ndarray, Field(("n",), "m")]
    # largest distance of a sphere's centre from the centre of mass
    arm: Annotated[np.ndarray, Field(("n",), "m")]
    # index into Templates
    species: Annotated[np.ndarray, Field(("n",), "1", dtype=np.int64)]


class Templates(NamedTuple):
    """The clump of each species. The spheres of species k are columns first[k] to first[k+1]."""

    first: np.ndarray  # (k+1,) int64
    centre: np.ndarray  # (3, s) principal axes, relative to the centre of mass, m
    radius: np.ndarray  # (s,) m
    material: np.ndarray  # (k,) int64, row of World.constants
    low: np.ndarray  # (3, k) corners of the bounding box, principal axes, m
    high: np.ndarray  # (3, k)


class Walls(NamedTuple):
    """Half-spaces; the bodies are on the side that the normal points to."""

    point: np.ndarray  # (3, w) world, m
    normal: np.ndarray  # (3, w) unit, world
    material: np.ndarray  # (w,) int64, row of World.constants


class Spheres(NamedTuple):
    """The s spheres of all bodies; those of body b are first[b] to first[b+1]."""

    first: np.ndarray  # (n+1,) int64
    owner: np.ndarray  # (s,) uint32, body
    material: np.ndarray  # (s,) uint16, row of World.constants
    # x, y, z, radius of each sphere at step n and the steps before: step n is in row n % h. Up to date for listed
    # spheres; NaN if a sphere was not listed then. Kernels get the row of one step (places.spheres_at)
    place: np.ndarray  # (h, 4 s) world, m

    @property
    def radius(self) -> np.ndarray:
        """(s,) radii, m; not for kernels."""
        return self.place[0, 3::4]


class Grid(NamedTuple):
    """Cells for bodies of similar size, on several levels; see search/grid.py."""

    level: np.ndarray  # (n,) int8, size class of each body
    level_radius: np.ndarray  # (l,) largest bounding radius on each level, m
    first_cell: np.ndarray  # (l+1,) int64, level l has the cells from first_cell[l] to first_cell[l+1]
    counts: np.ndarray  # (l, 3) int64, cells along x, y, z
    size: np.ndarray  # (l,) edge of the cells, m
    origin: np.ndarray  # (3,) corner of the first cell, m
    extent: np.ndarray  # (3,) size of all cells together, m
    sample: np.ndarray  # (500,) working space for coordinates
    start: np.ndarray  # (cells+1,) uint32, index into `member`
    member: np.ndarray  # (n,) uint32, the bodies ordered by cell
    slot: np.ndarray  # (n,) uint32, the cell of each body


class Lists(NamedTuple):
    """Neighbour lists: the candidates of each sphere, which are the spheres and walls that it may touch before anything has
    moved by half the skin.

    Bodies come in blocks of BLOCK. A block lists its own spheres in ascending order, each with its candidates in ascending
    order. So forces are always added in the same order, and results do not depend on the skin, the age of the lists or the
    number of threads, to the last bit. A pair within a block is listed once, for its first sphere. A pair across blocks is
    listed by both, so that each block can compute the forces on its own bodies alone.
    """

    listed: np.ndarray  # (s,) uint32, listed spheres; those of a block start at the number of its first sphere
    listed_count: np.ndarray  # (k,) int64, listed spheres of each block
    room: np.ndarray  # (k+1,) int64, block k has room for candidates from room[k] on, a multiple of CHUNK
    capacity: np.ndarray  # (k,) int64, the most candidates that each block lists; packings depend on it
    wanted: np.ndarray  # (k,) int64, number of candidates of each block
    subject: np.ndarray  # (c,) uint32, the sphere that has the candidate
    candidate: np.ndarray  # (c,) uint32, sphere; s + w for wall w
    skin: Annotated[np.ndarray, Field((1,), "m", kept=True)]  # decides, with the age, how the next lists are made
    age: Annotated[np.ndarray, Field((1,), "1", kept=True, dtype=np.int64)]  # steps since the lists were made
    old_position: np.ndarray  # (3, n) Bodies.position when the lists were made
    old_orientation: np.ndarray  # (4, m); (4, 0) if no body has a sphere off its centre of mass


IN_CONTACT, AT_EDGES, HELD, MADE = range(4)  # columns of Touching.count


class Touching(NamedTuple):
    """What was seen when forces were last found, of the pairs on the lists that a step uses."""

    elastic: np.ndarray  # (k,) elastic energy of each block, J
    # Four numbers of each block, in a cache line of its own: contacts; chunks with pairs at edges; pairs in `held`, or
    # UNKNOWN; how often its lists were made
    count: np.ndarray  # (k, 8) int64
    # Four words for each chunk of pairs. The first two have a bit for each pair, the highest for the first pair: whether it
    # touched, and whether it had begun or ceased to touch in that step. The other two, from Lists.room / CHUNK on for each
    # block: the number of a chunk with pairs at edges, and the bits of these pairs; see contact/edges.mark_edges
    word: np.ndarray  # (4 c / CHUNK,) uint64
    held: np.ndarray  # (c,) uint64, pairs of the old lists while new ones are made; see search/touching.py
    listed_in: np.ndarray  # (s,) uint32, the last list that listed the sphere, by how often lists were made


CORRECTED_WINDOW = 7  # of Edges


class Edges(NamedTuple):
    """How the edges of contacts are treated; see contact/edges.py."""

    window: int = 1  # a bit for each step in which an edge shows: this one, and the one or two before
    power: float = 1.0  # p of F ~ overlap^p where a contact begins
    dt: float = 0.0  # time step, s

    @property
    def corrected(self) -> bool:
        """Whether edges are corrected."""
        return self.window == CORRECTED_WINDOW

    def rows(self, turning: bool) -> int:
        """Rows of Spheres.place: 1, 2 or 4, for this step and for none, one or three steps before. `turning`: a sphere is
        off the centre of mass of its body."""
        return (self.window + 1) // 2 if turning or self.corrected else 1


class Account(NamedTuple):
    """What happened at the edges of contacts so far, in each of the k blocks."""

    # energy error of plain edges: made, or taken out by the correction
    edge_error: Annotated[np.ndarray, Field(("k",), "J", kept=True)]
    # sum of (F g)^2 over the edges; times the mean square of zeta (zeta.py) the variance that edges are expected to add
    edge_scale: Annotated[np.ndarray, Field(("k",), "kg+2 m+4 s-4", kept=True)]
    # contacts that began
    entered: Annotated[np.ndarray, Field(("k",), "1", kept=True, dtype=np.int64)]


class Limits(NamedTuple):
    """Beyond these an alarm is raised; see watching.py."""

    overlap: float = math.inf  # in radii of the smaller sphere
    suspect: float = math.inf  # the same for the smallest sphere of all, m: smaller overlaps need no look at the radii
    travel: float = math.inf  # of a body in one step, m
    outside: bool = False  # check for centres of mass behind walls
    motion: bool = False  # check travel, walls and numbers that are not finite


class Team(NamedTuple):
    """Threads that share the blocks."""

    size: int
    sync: np.ndarray  # (16,) int64, counters of the barrier; see threads.py
    flag: np.ndarray  # (threads, 8) int64, a flag of each thread, in its own cache line
    step: np.ndarray  # (2,) int64, the step that the threads start from, and the last one of the run
    limits: Limits
    alarm: np.ndarray  # (threads, 8) alarm of each thread, zeros for none; see watching.py


class Scratch(NamedTuple):
    """The working space of each thread."""

    sphere_force: np.ndarray  # (threads, 4 x (spheres of a block + 1)) force on each sphere, world, N; the 4th is unused
    pair: np.ndarray  # (threads, 3 x CONTACTS) uint32, spheres that touch; see contact/batch.py
    batch: np.ndarray  # (threads, 7 x CONTACTS) how they touch; see contact/batch.py
    edge_pair: np.ndarray  # (threads, 3 x EDGES) uint32, spheres that began or ceased to touch; see contact/edges.py
    edge_batch: np.ndarray  # (threads, 14 x EDGES) how; see contact/edges.py
    edge_count: np.ndarray  # (threads, 8) int64, the number of these
    used: np.ndarray  # (threads, spheres of a block) bool, whether a sphere has a candidate or is one
    near: np.ndarray  # (threads, n) uint32, bodies near one body
    near_wall: np.ndarray  # (threads, w) uint32, walls near that body
    facing: np.ndarray  # (threads, s) uint32, spheres of the near bodies that are near its bounding box
    facing_first: np.ndarray  # (threads, n+1) uint32, first of these for each near body
    facing_box: np.ndarray  # (threads, n, 6) low and high corner of a box around them, world, m


class World(NamedTuple):
    """Everything that a step needs."""

    bodies: Bodies
    templates: Templates
    walls: Walls
    constants: np.ndarray  # (m, m) of the contact law, for each pair of materials; (4/3 E*)^2 in Pa^2 for Hertz
    spheres: Spheres
    grid: Grid
    lists: Lists
    close: Lists  # the lists that a step uses: the close lists of a single block (see search/lists.narrow), else `lists`
    touching: Touching
    team: Team
    scratch: Scratch
    edges: Edges
    account: Account


# What a restart keeps of a World, by "part/array": the one list that states, checkpoints and restarts are made from. The
# lists themselves are made anew; forces do not depend on them, to the last bit.
KEPT = {
    f"{part}/{name}": field
    for part, arrays in get_type_hints(World).items()
    if hasattr(arrays, "_fields")
    for name, field in fields_of(arrays).items()
    if field.kept
}


def kept_arrays(world):
    """The arrays of KEPT, by name; not copies."""
    return {name: getattr(getattr(world, name.partition("/")[0]), name.partition("/")[2]) for name in KEPT}
