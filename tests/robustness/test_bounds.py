"""Bounds before work: what a file can cost in memory and time is known before it is spent."""

import json
import tracemalloc
import warnings
from itertools import product

import h5py
import numpy as np
import pytest
from command import BOX, in_a_shell
from limits import LEAST, lines_of_script, short_of_memory
from texts import scenario_text
from unions import random_clump

import minidem
from minidem.errors import LISTED, InputError, ScenarioError
from minidem.files.checkpoint import read_checkpoint
from minidem.files.hdf5 import HEAP, check_heaps
from minidem.files.trajectory import Trajectory
from minidem.model import crowds
from minidem.model.building import build_model, clumps_of
from minidem.model.placing.random import Poses
from minidem.progress import watched
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse
from minidem.shapes import caps, crowded, union
from minidem.shapes.fitting import fit_clump
from minidem.shapes.mesh import Mesh
from minidem.shapes.mesh_files import read_mesh

SOFT = {"soft": (1e7, 0.2, 1000.0)}
BALL = {"ball": [[0, 0, 0, 0.05]]}


def body(position, clump="ball"):
    return {"clump": clump, "position": list(position)}


def scenario_of(bodies, clumps=BALL, **tables):
    return parse(scenario_text(SOFT, clumps, bodies, **tables), "crowd.toml")


def refusal(scenario):
    """The lines with which a scenario is refused before it runs."""
    with pytest.raises(ScenarioError) as caught:
        Simulation(scenario, source="crowd.toml")
    return caught.value.errors


# --- bodies at one place -------------------------------------------------------------------------------------


def test_thousands_of_bodies_at_one_place_are_listed_up_to_twenty(directory):
    """In a process without the 2.2 GB that lists of 4.5 million pairs and a line for each would take."""
    (directory / "crowd.toml").write_text(scenario_text(SOFT, BALL, [body((0, 0, 0))] * 3001))
    outcome = in_a_shell(directory, "check", "crowd.toml", "--quiet", preexec_fn=short_of_memory(LEAST))
    lines = outcome.stderr.splitlines()
    assert outcome.code == 2 and len(lines) == LISTED + 1
    for k, line in enumerate(lines[:LISTED]):
        assert line == f"crowd.toml: body[{k}]: overlaps body[{k + 1}] by 0.1 m at the start; move it"
    assert lines[-1] == "crowd.toml: body: at least 2980 more overlaps at the start; move these bodies, too"


def test_crowds_take_memory_in_proportion_to_their_bodies():
    """100,000 at one place, where pairs are 5e9: 200 bytes for each, and little more."""
    count = 100_000
    (clump,) = clumps_of(scenario_of([body((0, 0, 0))]), "crowd.toml")
    walls = build_model(scenario_of([body((0, 0, 0))])).walls
    poses = Poses(np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)))
    tracemalloc.start()
    with pytest.raises(ScenarioError, match=f"at least {count - 1 - LISTED} more overlaps"):
        crowds.check_crowds([clump], np.zeros(count, np.int64), poses, walls, 0, "crowd.toml")
    assert tracemalloc.get_traced_memory()[1] < 300 * count
    tracemalloc.stop()


@pytest.mark.parametrize("place", [{"count": 3}, {"packing_fraction": 0.3}])
def test_crowds_are_refused_before_others_are_placed_around_them(place):
    places = [(0.5, 0.5, 0.5)] * 500
    tables = {"domain": {"box": [1, 1, 1]}, "place": [{"clump": "ball", **place}]}
    with pytest.raises(ScenarioError) as caught:
        build_model(scenario_of(map(body, places), **tables), "crowd.toml")
    assert len(caught.value.errors) == LISTED + 1
    assert caught.value.errors[0] == "crowd.toml: body[0]: overlaps body[1] by 0.1 m at the start; move it"


def test_crowds_of_spheres_that_are_parts_of_others():
    """Two bodies of 4,000 spheres, of which lists would have 16 million pairs: one line, of one of them."""
    cloud = np.random.default_rng(0).uniform(-0.01, 0.01, (4000, 4))
    cloud[:, 3] += 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowds, "MOST_PAIRS", 10**7)
        patch.setattr("minidem.model.building.make_clump", quick_clump)
        (line,) = refusal(scenario_of([body((0, 0, 0), "cloud"), body((0.1, 0, 0), "cloud")], {"cloud": cloud}))
    assert line.startswith("crowd.toml: body[0]: overlaps body[1] by ") and line.endswith(" m at the start; move it")


def quick_clump(spheres, density, name="clump", material="", mass=None, moments=None):
    """With the mass properties of its largest sphere: those of thousands are another matter."""
    from minidem.shapes.clump import make_clump

    return make_clump(spheres, density, name, material, mass, union.union_moments(spheres[:1]))


def test_bodies_behind_walls_are_listed_up_to_twenty():
    places = [(-1.0 - k, 0.5, 0.5) for k in range(50)]
    lines = refusal(scenario_of([body((0.5, 0.5, 0.5)), *map(body, places)], domain={"box": [1, 1, 1]}))
    assert len(lines) == LISTED + 1
    assert lines[0] == "crowd.toml: body[1]: reaches beyond the box at x = 0 by 1.05 m at the start; move it"
    assert lines[LISTED - 1].startswith("crowd.toml: body[20]: reaches beyond the box at x = 0 by 20")
    assert lines[-1] == "crowd.toml: body: at least 30 more overlaps at the start; move these bodies, too"


def test_slight_overlaps_are_counted_exactly():
    """A row of balls, each of which reaches into the next by a tenth of its radius: none share a cell."""
    lines = refusal(scenario_of([body((0.095 * k, 0, 0)) for k in range(101)]))
    assert lines[:LISTED] == [
        f"crowd.toml: body[{k}]: overlaps body[{k + 1}] by 0.005 m at the start; move it" for k in range(LISTED)
    ]
    assert lines[LISTED:] == ["crowd.toml: body: 80 more overlaps at the start; move these bodies, too"]


@pytest.mark.parametrize("far", [0.0, 1e9, 1e29])
def test_crowds_of_any_size_and_anywhere(far):
    """Cells are as wide as the spacing of floats there, so that many bodies share one that do not touch."""
    grid = np.array(list(product(range(4), repeat=3)), float)
    spacing = 0.2 if far < 1e20 else 1e15
    scenario = scenario_of([body(far + spacing * place) for place in grid])
    Simulation(scenario.with_changes({"guard.rayleigh": False}))
    crowd = [body((far, far, far))] * 30
    assert len(refusal(scenario_of(crowd))) == LISTED + 1


SPECKS = """
import resource, sys
from minidem.errors import ScenarioError
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

def limited(bytes_):
    with open("/proc/self/statm") as file:
        taken = resource.getpagesize() * int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (taken + bytes_, taken + bytes_))

few, many = (parse(open(path).read()) for path in sys.argv[1:])
Simulation(few)  # loads and compiles what is needed
limited(10**9)
try:
    Simulation(many, source="crowd.toml")
except ScenarioError as error:
    print(error)
"""


def test_lists_beyond_the_memory_are_refused_with_a_message(tmp_path):
    """Bodies of 3,000 specks around one place, each with one far away: lists have all pairs of specks, 54 million, as the
    skin is a part of the size of a body. There is 1 GB for them."""
    paths = []
    for count in (3, 3000):
        specks = np.column_stack([np.random.default_rng(1).uniform(-0.05, 0.05, (count, 3)), np.full(count, 1e-5)])
        specks[0, :3] = 30.0, 0.0, 0.0
        bodies = [body((0, 0, 0), "cloud") | {"orientation": [1, 0, 0, k / 100]} for k in range(4)]
        guard = {"rayleigh": False, "contact": False}
        paths.append(tmp_path / f"{count}.toml")
        paths[-1].write_text(scenario_text(SOFT, {"cloud": {"spheres": specks, "mass": 1.0}}, bodies, guard=guard, dt=1e-9))
    (line,) = lines_of_script(SPECKS, *paths, size=2**40)
    pairs = "5.4e+07 pairs of spheres are so close that they may touch; lists of them need about 1.55 GB of memory, "
    assert line.startswith(f"crowd.toml: body: {pairs}")
    assert line.endswith(" are free; place fewer, or farther apart")


# --- mistakes ------------------------------------------------------------------------------------------------


GOOD = scenario_text(SOFT, BALL, [body((0, 0, 0))])


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ("[[body]]\n" * 100_000, "crowd.toml: body[1].clump: required, but missing"),
        (
            '[[body]]\nclump = "bell"\nposition = [0, 0, 0]\n' * 30_000,
            'crowd.toml: body[1].clump: unknown clump "bell"; did',
        ),
        ("[[wall]]\n" * 2000, "crowd.toml: wall: must be at most 1000 tables, got 2000"),
        ("".join(f"k{k} = 1\n" for k in range(100_000)), "crowd.toml: body[0].k0: unknown key; "),
        ("".join(f"[a{k}]\n" for k in range(50_000)), "crowd.toml: a0: unknown key; valid keys: "),
        ("".join(f"[material.m{k}]\n" for k in range(5000)), "crowd.toml: material: must be at most 100 tables, got 5001"),
        ("".join(f"[clump.c{k}]\n" for k in range(20_000)), "crowd.toml: clump: must be at most 10000 tables, got 20001"),
        (f"[clump.x]\nspheres = [{'[0, 0, 0, 0],' * 9000}]", "crowd.toml: clump.x.spheres[0]: the radius must be above 0"),
        (f"[clump.x]\nspheres = [{'[0, 0, 0, 0],' * 90_000}]", "crowd.toml: clump.x.spheres: 90000 spheres are more than"),
        (f"[clump.{'x' * 100_000}]", 'crowd.toml: clump."xxxxxxxxxxxxxxx'),
    ],
    ids=["tables", "names", "walls", "keys", "unknown", "materials", "clumps", "rows", "spheres", "long"],
)
def test_thousands_of_mistakes_make_a_short_message(more, first):
    """And take memory in proportion to the text."""
    text = GOOD + more
    tracemalloc.start()
    with pytest.raises(ScenarioError) as caught:
        parse(text, "crowd.toml")
    assert tracemalloc.get_traced_memory()[1] < 3e7 + 150 * len(text)
    tracemalloc.stop()
    lines = caught.value.errors
    assert lines[0].startswith(first), lines[0]
    assert len(lines) <= LISTED + 1 and len(str(caught.value)) < 20_000
    if len(lines) > LISTED:
        assert lines[LISTED].startswith("crowd.toml: others: at least ")
        assert lines[LISTED].endswith(" more errors; correct these first")


def test_valid_names_are_listed_up_to_forty():
    """Of 5,000 clumps."""
    clumps = "".join(f'[clump.c{k:04}]\nmaterial = "soft"\nbuiltin = "sphere"\n' for k in range(5000))
    with pytest.raises(ScenarioError) as caught:
        parse(GOOD.replace('clump = "ball"', 'clump = "c9999"') + clumps, "crowd.toml")
    (line,) = caught.value.errors
    assert line.startswith(
        'crowd.toml: body[0].clump: unknown clump "c9999"; did you mean "c0998"? valid names: ball, c0000, '
    )
    assert line.endswith(" c0038 and 4961 more")


def test_a_long_list_of_good_tables_is_read_as_before():
    places = [(k, 0.0, 0.0) for k in range(3456)]
    assert [entry.position for entry in scenario_of(map(body, places)).body] == places


# --- numbers -------------------------------------------------------------------------------------------------

RANGE = "must be between 1e-30 and 1e+30"
OUT_OF_RANGE = {
    "material.plastic.density=1e308": f"material.plastic.density: {RANGE}, got 1e+308",
    "material.plastic.density=1e-300": f"material.plastic.density: {RANGE}, got 1e-300",
    "material.plastic.young=1e200": "material.plastic.young: must be between 1e-100 and 1e+100, got 1e+200",
    "clump.rod.scale=1e300": "clump.rod.spheres: radii must be at least 1e-30 m, and all numbers at most 1e+30 m, after",
    "clump.rod.scale=1e-300": "clump.rod.spheres: radii must be at least 1e-30 m, and all numbers at most 1e+30 m, after",
    "clump.rod.spheres[0][3]=1e200": "clump.rod.spheres: radii must be at least 1e-30 m, and all numbers at most 1e+30 m",
    "clump.rod.spheres[0][0]=-1e308": "clump.rod.spheres: radii must be at least 1e-30 m, and all numbers at most 1e+30",
    "clump.rod.mass=1e200": "clump.rod.mass: must be between 1e-100 and 1e+100, got 1e+200",
    "clump.rod.density=1e200": f"clump.rod.density: {RANGE}, got 1e+200",
    "body[0].velocity[0]=1e308": "body[0].velocity: each entry must be between -1e+30 and 1e+30, got 1e+308 in [",
    "body[0].angular_velocity=[0, -1e308, 0]": "body[0].angular_velocity: each entry must be between -1e+30 and 1e+30, got",
    "body[0].position[2]=1e40": "body[0].position: each entry must be between -1e+30 and 1e+30, got 1e+40 in [",
    "place[0].speed=1e308": "place[0].speed: must be at most 1e+30, got 1e+308",
    "place[0].spin=1e31": "place[0].spin: must be at most 1e+30, got 1e+31",
    "domain.box[1]=1e200": "domain.box: each entry must be between -1e+30 and 1e+30, got 1e+200 in [",
    "domain.box[1]=1e-200": "domain.box: each length must be at least 1e-30, got [",
    "domain.gravity=[0, 0, -1e300]": "domain.gravity: each entry must be between -1e+30 and 1e+30, got -1e+300 in [",
    "time.end=1e308": f"time.end: {RANGE}, got 1e+308",
    "time.dt=1e308": "time.dt: must be at most 1e+30, got 1e+308",
}


@pytest.mark.parametrize("change", OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused_by_their_key(minidem_command, directory, change):
    outcome = minidem_command("check", "box.toml", "--set", change)
    assert outcome.code == 2
    key = change.partition("=")[0]
    assert outcome.stderr.startswith((f"--set {change}: {OUT_OF_RANGE[change]}", f"box.toml: {OUT_OF_RANGE[change]}")), key


TABLES = {
    "time": ("dt", "end"),
    "material.plastic": ("young", "density"),
    "clump.rod": ("scale", "mass", "density", "spheres[0][0]", "spheres[0][3]"),
    "body[0]": ("position[0]", "velocity[0]", "angular_velocity[1]"),
    "place[0]": ("speed", "spin"),
    "domain": ("box[0]", "gravity[2]"),
    "guard": ("overlap", "travel", "turn", "energy", "contact", "rayleigh"),
}
EXTREMES = (1e308, 1e150, 1e99, 1e30, 1e15, 1e-15, 1e-30, 1e-99, 1e-150, 5e-324)


@pytest.mark.parametrize("key", [f"{table}.{key}" for table, keys in TABLES.items() for key in keys])
def test_numbers_of_any_size_run_or_are_refused(minidem_command, directory, key):
    """Without a traceback or a word of NumPy's."""
    for value in EXTREMES:
        arguments = ("--set", f"{key}={value}", "--set", "place[0].count=1", "--overwrite", "--max-wall", "0.05s", "--quiet")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outcome = minidem_command("run", "box.toml", *arguments)
        assert outcome.code in (0, 2, 3), outcome.stderr
        assert (
            (outcome.code == 0) == (outcome.stderr == "") or "stopped after" in outcome.stderr or "warning" in outcome.stderr
        )


# --- mass properties -----------------------------------------------------------------------------------------


def nearly_coincident(count, size, seed=0):
    """Spheres of radius 1 with their centres within a ball of that size, most of them covered by the others."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count, 3))
    centres *= size * rng.uniform(size=(count, 1)) ** (1 / 3) / np.linalg.norm(centres, axis=1)[:, None]
    return np.column_stack([centres, np.ones(count)])


def off(found, expected):
    """Largest difference of two moments, relative, or in radii of gyration."""
    (volume, centre, second), size = expected, np.sqrt(np.trace(expected[2]) / expected[0])
    differences = (found[0] / volume - 1, (found[1] - centre) / size, (found[2] - second) / np.trace(second))
    return max(np.abs(values).max() for values in differences)


CROWDS = {
    "buried": random_clump(150, 1, 0.5),
    "loose": random_clump(200, 2, 1.5, smallest=0.1),
    "coincident": nearly_coincident(120, 0.1),
    "very coincident": nearly_coincident(120, 1e-4),
    "raspberry": np.vstack([[0, 0, 0, 1.0], random_clump(150, 3, smallest=0.1)[:, :4] * [0, 0, 0, 0.3]]),
}
ON_THE_SURFACE = np.random.default_rng(5).normal(size=(150, 3))
CROWDS["raspberry"][1:, :3] = ON_THE_SURFACE / np.linalg.norm(ON_THE_SURFACE, axis=1)[:, None]


@pytest.mark.parametrize("spheres", CROWDS.values(), ids=CROWDS)
def test_a_few_caps_give_the_same_moments_as_all(monkeypatch, spheres):
    expected = union.union_moments(spheres)
    monkeypatch.setattr(crowded, "PLENTY", 0)
    monkeypatch.setattr(crowded, "MANY", 10)
    monkeypatch.setattr(crowded, "FEW", 4)
    assert off(union.union_moments(spheres), expected) < 1e-12


def comparisons(monkeypatch, spheres):
    """Pairs of circles that are compared."""
    budgets = []

    class Counted(caps.Budget):
        def __init__(self):
            super().__init__()
            budgets.append(self)

    monkeypatch.setattr(union, "Budget", Counted)
    union.union_moments(spheres)
    (budget,) = budgets
    return caps.MOST_COMPARISONS - budget.left


def test_the_work_for_nearly_coincident_spheres_grows_as_their_square(monkeypatch):
    """All pairs of caps of all spheres would be 1,200^3 / 2 = 9e8. Chosen from the nearest, they are a few for each pair of
    spheres."""
    monkeypatch.setattr(crowded, "PLENTY", 0)
    monkeypatch.setattr(crowded, "MANY", 50)
    small, large = (comparisons(monkeypatch, nearly_coincident(count, 1e-3)) for count in (300, 1200))
    assert large < 40 * 1200**2
    assert large < 20 * small


def test_clumps_that_take_too_long_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(caps, "MOST_COMPARISONS", 10_000)
    with pytest.raises(ScenarioError) as caught:
        build_model(scenario_of([body((0, 0, 0), "crowd")], {"crowd": nearly_coincident(100, 0.1)}), "crowd.toml")
    (line,) = caught.value.errors
    assert line.startswith(
        "crowd.toml: clump.crowd: too many of its spheres overlap each other: more than 1e+04 pairs of circles"
    )
    assert line.endswith("; take fewer spheres, or leave out those inside the clump")


def test_tables_of_intervals_are_as_large_as_these(monkeypatch):
    """One belt that crosses all others, each of which crosses two: in one table they would be as its square. The results are
    the same, bit for bit."""
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.full(200, 0.3), np.full(200, 0.02)])
    spheres = np.vstack([[0, 0, 0, np.hypot(1, 0.3)], [0, 0, -5.0, np.hypot(1, 5.3)], ring])
    expected = union.union_moments(spheres)
    monkeypatch.setattr(caps, "LARGEST_TABLE", 300)
    found = union.union_moments(spheres)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_progress_of_mass_properties_is_reported(monkeypatch):
    monkeypatch.setattr(union, "PAIRS", 1000)
    seen = []
    with watched(lambda what, part: seen.append((what, part))):
        build_model(scenario_of([body((0, 0, 0), "crowd")], {"crowd": nearly_coincident(100, 0.5)}))
    parts = [part for what, part in seen if what == "mass properties of crowd"]
    assert len(parts) > 5 and parts == sorted(parts) and parts[0] == 0 and parts[-1] < 1


# --- HDF5 ----------------------------------------------------------------------------------------------------

VALUE = "particles/bodies/position/value"
CLUMPS = "parameters/minidem/clumps"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A good run."""
    directory = tmp_path_factory.mktemp("whole")
    minidem.run(parse(BOX), directory / "run").trajectory.close()
    return directory / "run"


def packed(file, name, shape, chunks, *filters):
    """A dataset with one chunk of zeros written, through filters one after the other."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    for one in filters:
        one(properties)
    space = h5py.h5s.create_simple(shape, (h5py.h5s.UNLIMITED, *shape[1:]))
    if name in file:
        del file[name]
    dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, space, properties))
    dataset[0] = 0.0


def deflated(properties):
    properties.set_deflate(9)


def scaled(properties):
    properties.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 2)


def large_chunk(file):
    packed(file, VALUE, (5, 5, 3), (1_000_000, 5, 3), deflated)


def two_filters(file):
    packed(file, VALUE, (5, 5, 3), (50_000, 5, 3), deflated, deflated)


def filter_without_bound(file):
    packed(file, VALUE, (5, 5, 3), (1000, 5, 3), scaled)


def tiny_chunks(file):
    packed(file, VALUE, (60_000, 5, 3), (1, 1, 1))


def links_to_one_group(file):
    for k in range(1, 60_000):
        file[CLUMPS][str(k)] = file[f"{CLUMPS}/0"]


def links_to_large_spheres(file):
    del file[f"{CLUMPS}/0/spheres"]
    file[f"{CLUMPS}/0/spheres"] = np.ones((100_000, 4))
    for k in range(1, 1000):
        file[CLUMPS][str(k)] = file[f"{CLUMPS}/0"]


def one_byte_numbers(file):
    del file[VALUE]
    file[VALUE] = np.zeros((5, 5, 3), np.int8)


def long_text(file):
    del file["parameters/minidem/scenario"]
    file.create_dataset("parameters/minidem/scenario", (), "S1000000000")


def unwritten(file):
    del file["particles/bodies/mass"]
    file.create_dataset("particles/bodies/mass", (5_000_000,), "f8")


HARM = {
    large_chunk: "has chunks of 120 MB for 0.12 kB",
    two_filters: "is compressed by filters [1, 1]; only one of (1, 32000) can be read",
    filter_without_bound: "is compressed by filters [6]; only one of (1, 32000) can be read",
    tiny_chunks: "has 900000 chunks for 7.2 MB",
    links_to_one_group: "not a minidem trajectory",
    links_to_large_spheres: "not a minidem trajectory",
    one_byte_numbers: "holds no such numbers",
    long_text: "not a minidem trajectory",
    unwritten: "not a minidem trajectory",
}
READ = """
import sys
from minidem.errors import InputError
from minidem.files.trajectory import Trajectory
for path in sys.argv[1:]:
    try:
        with Trajectory(path) as run:
            run.position, run.frame(0), run.spheres(0), run.observables
        print(path, "was read")
    except InputError as error:
        print(error)
"""


def test_files_that_unfold_are_refused(whole, tmp_path):
    """In a process that could not take the gigabytes."""
    paths = []
    for harm in HARM:
        paths.append(tmp_path / f"{harm.__name__}.h5")
        paths[-1].write_bytes((whole / "trajectory.h5").read_bytes())
        with h5py.File(paths[-1], "r+") as file:
            harm(file)
    lines = lines_of_script(READ, *paths, size=3 * 2**29)
    assert len(lines) == len(HARM)
    for line, path, what in zip(lines, paths, HARM.values(), strict=True):
        assert line.startswith(f"{path}: ") and what in line, line


def test_usual_compression_is_read(whole, tmp_path):
    """Whatever other programs may have done to a run: gzip, shuffle, checksums, other chunks."""
    path = tmp_path / "run.h5"
    path.write_bytes((whole / "trajectory.h5").read_bytes())
    with Trajectory(path) as run:
        expected = np.asarray(run.position), run.mass
    with h5py.File(path, "r+") as file:
        for name, chunks in ((VALUE, (3, 5, 3)), ("particles/bodies/mass", (5,))):
            values, rest = file[name][()], file[name].shape[1:]
            del file[name]
            more = {"maxshape": (None, *rest), "compression": "gzip", "shuffle": True, "fletcher32": True}
            file.create_dataset(name, data=values, chunks=chunks, **more)
    with Trajectory(path) as run:
        assert np.array_equal(run.position, expected[0]) and np.array_equal(run.mass, expected[1])


def test_heaps_in_heaps(tmp_path):
    """Each of 2,000 heaps claims the rest of the file: to walk through each to the end would be 2 million steps. At most one
    step for 16 bytes is taken."""
    entry = (1).to_bytes(2, "little") + bytes(6) + (16).to_bytes(8, "little")
    data = bytearray()
    for k in range(2000):
        data += HEAP + (32 * (2000 - k)).to_bytes(8, "little") + entry
    path = tmp_path / "heaps.h5"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="a damaged heap"):
        check_heaps(path, len(data), 0)


def sealed(directory, change):
    """A checkpoint that was changed and has the right checksum."""
    from minidem.files.checkpoint import head_of

    path = directory / "checkpoint.h5"
    with h5py.File(path, "r+") as file:
        change(file)
    with open(path, "r+b") as raw:
        head = head_of(raw)
        raw.seek(0)
        raw.write(head)
    return path


def ladder(file):
    """Thirty groups, each with two names of the next: a billion paths."""
    group = file["state"].create_group("a")
    for _ in range(30):
        inner = group.create_group("a")
        group["b"] = inner
        group = inner


def many_links(file):
    for k in range(30_000):
        file["state"][f"x{k}"] = file["state/step"]


def large_links(file):
    file["state/large"] = np.zeros(10**6)
    for k in range(500):
        file["state"][f"x{k}"] = file["state/large"]


@pytest.mark.parametrize("change", [ladder, many_links, large_links])
def test_checkpoints_that_unfold_are_refused(whole, tmp_path, change):
    (tmp_path / "checkpoint.h5").write_bytes((whole / "checkpoint.h5").read_bytes())
    assert read_checkpoint(sealed(tmp_path, lambda file: None)).frames == 5
    tracemalloc.start()
    with pytest.raises(InputError, match="not a whole checkpoint"):
        read_checkpoint(sealed(tmp_path, change))
    assert tracemalloc.get_traced_memory()[1] < 5e7
    tracemalloc.stop()


# --- meshes --------------------------------------------------------------------------------------------------


def test_a_face_of_very_many_corners_is_refused(tmp_path):
    corners = "".join(f"v {np.cos(t)} {np.sin(t)} 0\n" for t in np.linspace(0, 6, 2000))
    (tmp_path / "fan.obj").write_text(corners + f"f {' '.join(map(str, range(1, 2001)))}\n")
    with pytest.raises(
        InputError, match=r"fan\.obj: cannot be read as a mesh \(a face of less than three or more than 1000"
    ):
        read_mesh(tmp_path / "fan.obj")


def test_triangles_too_long_for_their_number_are_refused(tmp_path):
    """A needle of 6,000 sides, whose triangles are all near each other: 7e7 pairs."""
    count = 6000
    angles = 2 * np.pi * np.arange(count) / count
    rim = np.column_stack([0.01 * np.cos(angles), 0.01 * np.sin(angles), np.zeros(count)])
    points = np.vstack([[0, 0, 1.0], [0, 0, -1.0], rim])
    k = 2 + np.arange(count)
    after = np.roll(k, -1)
    faces = np.vstack([np.column_stack([0 * k, k, after]), np.column_stack([0 * k + 1, after, k])])
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in points) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces + 1)
    (tmp_path / "needle.obj").write_text(text)
    with pytest.raises(InputError, match=r"needle\.obj: has triangles too long for their number: more than 5e\+07 pairs"):
        read_mesh(tmp_path / "needle.obj")


def test_a_mesh_that_fills_little_of_its_box_is_refused():
    """Two cubes of 1 m that are a kilometre apart along a diagonal."""
    import pyvista

    cube = pyvista.Cube().triangulate().clean()
    points = np.vstack([cube.points, cube.points + 1000.0])
    faces = cube.regular_faces
    mesh = Mesh(points, np.vstack([faces, faces + len(cube.points)]))
    with pytest.raises(InputError, match="the mesh fills too little of its bounding box"):
        fit_clump(mesh, 10)


# --- the fuzzer ----------------------------------------------------------------------------------------------

LIMITS = """
import json, sys, os, signal, time
sys.path.insert(0, sys.argv[1])
import forks

def task(job):
    if job == "memory":
        bytearray(3 * 2**30)
    if job == "time":
        while True:
            pass
    if job == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if job == "hang":
        time.sleep(100)
    if job == "end":
        os._exit(7)
    return "accepted", str(job)

forks.CPU = 1
with open(os.devnull, "w") as noise:
    for patience, jobs in ((100.0, [1, "time", 2, "crash", 3, "memory", 4, "end", 5]), (1.0, ["hang", 6])):
        forks.PATIENCE = patience
        for job, answer in forks.answers(task, jobs, noise.fileno()):
            print(json.dumps([job, answer.outcome, answer.words]), flush=True)
"""


def test_the_fuzzer_finds_what_reaches_a_limit(request):
    lines = lines_of_script(LIMITS, request.path.parent, size=2**40)
    found = {job: (outcome, words) for job, outcome, words in map(json.loads, lines)}
    assert list(found) == [1, "time", 2, "crash", 3, "memory", 4, "end", 5, "hang", 6]
    assert all(found[k] == ("accepted", str(k)) for k in range(1, 7))
    assert found["time"] == ("finding", "takes more than 60 s of processor time")
    assert found["crash"] == ("finding", "crashes with signal 11")
    assert found["hang"][1].startswith("hangs for ") and found["end"] == ("finding", "exits with code 7")
    assert found["memory"] == ("finding", "MemoryError()")
