"""Dense packings: the fraction asked for, small overlaps, nothing outside, the same bits again, and clear refusals."""

import json
import re

import numpy as np
import pytest
from brute_force import all_spheres, elastic_energy, modulus_of, sphere_gaps, wall_gaps
from texts import scenario_text
from typer.testing import CliRunner

from minidem.cli import app
from minidem.errors import ScenarioError
from minidem.model.building import build_model
from minidem.model.overlaps import PRESSED
from minidem.running.conduct import run
from minidem.running.outlook import outlook
from minidem.running.simulation import Simulation
from minidem.scenario.reading import parse

CLUMPS = {
    "ball": [[0.3, 0, 0, 0.005]],
    "large": [[0, 0, 0, 0.015]],
    "trimer": [[0, 0, 0, 0.005], [0.005, 0, 0, 0.005], [0.0025, 0.00433012701892219, 0, 0.005]],
    "rod": [[-0.01, 0, 0, 0.005], [0, 0, 0, 0.005], [0.01, 0, 0, 0.005]],
}
BOX = (0.08, 0.07, 0.075)


def text_of(*groups, place=(), seed=1, box=BOX, **tables):
    """A scenario of groups of clump and packing fraction, after the keys of [[place]]."""
    place = [*place, *(dict(clump=name, packing_fraction=part, speed=0.1, spin=2.0) for name, part in groups)]
    tables |= {"domain": {"box": box}, "output": {"frames": 2, "energies": 11}}
    rubber = {"rubber": (5e7, 0.25, 2500.0)}
    return scenario_text(rubber, CLUMPS, place=place, dt="0.1 rayleigh", end=2e-3, seed=seed, **tables)


def packed(*groups, **options):
    return build_model(parse(text_of(*groups, **options), "heap.toml"))


def contacts(model):
    """Overlaps of the touching pairs of spheres (p,) and of all spheres and walls (s, w), in smaller radii; whose (p, 2)."""
    centre, radius, owner, _ = all_spheres(model.bodies(), model.templates)
    i, j, gap = sphere_gaps(centre, radius, owner)
    touching = gap < 0
    i, j = i[touching], j[touching]
    into_walls = -wall_gaps(centre, radius, model.walls) / radius[:, None]
    return -gap[touching] / np.minimum(radius[i], radius[j]), into_walls, np.column_stack([owner[i], owner[j]])


def fraction(model, name, box=BOX):
    (clump,) = (clump for clump in model.clumps if clump.name == name)
    return np.sum(np.array(model.clumps, dtype=object)[model.species] == clump) * clump.volume / np.prod(box)


# --- what is asked for --------------------------------------------------------------------------------------

# Just above the largest overlaps, in radii, of 20 seeds in this box: 0.0009, 0.0003, 0.09, 0.17, 0.25 and 0.28. Beside walls
# spheres pack less well, so larger boxes have smaller ones: 0.09 for 10,000 spheres at 0.65, 0.07 for 100,000.
LARGEST_OVERLAPS = [(0.3, 2e-3), (0.5, 2e-3), (0.6, 0.1), (0.65, 0.19), (0.7, 0.27), (0.74, PRESSED)]


@pytest.mark.parametrize(("wanted", "limit"), LARGEST_OVERLAPS)
def test_spheres_fill_their_fraction_inside_the_box(wanted, limit):
    model = packed(("ball", wanted))
    one = model.clumps[0].volume / np.prod(BOX)
    assert abs(fraction(model, "ball") - wanted) <= one / 2
    overlaps, into_walls, _ = contacts(model)
    assert max(overlaps, default=0.0) < limit
    assert into_walls.max() < limit
    assert (model.position > 0).all() and (model.position < BOX).all()
    if wanted > 0.6:
        assert overlaps.max() > limit / 5  # as small as that, and still no empty words


def test_spheres_at_065_have_about_three_contacts_each_counted_once():
    model = packed(("ball", 0.65))
    overlaps, _, _ = contacts(model)
    assert 2.9 < overlaps.size / len(model.species) < 3.7
    assert 0.01 < overlaps.mean() < 0.07


def test_a_packing_is_in_balance():
    """Every sphere is held by its neighbours: what is left of the sum of forces is little beside any one of them."""
    simulation = Simulation.from_model(packed(("ball", 0.68)), "spiral")
    overlaps, _, _ = contacts(simulation.model)
    radius, modulus = 0.005, modulus_of(simulation.model)[0, 0]
    typical = 4 / 3 * modulus * np.sqrt(radius / 2) * (overlaps.mean() * radius) ** 1.5
    assert np.linalg.norm(simulation.bodies.force, axis=0).mean() < 0.1 * typical


def test_a_packing_is_no_lattice():
    """Neighbours are as often along the axes as elsewhere: <x^4 + y^4 + z^4> is 3/5; it is 1 for a cubic grid."""
    model = packed(("ball", 0.62), box=(0.1, 0.1, 0.1))
    _, into_walls, pairs = contacts(model)
    away = into_walls.max(axis=1) < -1.0  # layers along the walls are real
    pairs = pairs[away[pairs].all(axis=1)]
    arm = model.position[pairs[:, 0]] - model.position[pairs[:, 1]]
    arm /= np.linalg.norm(arm, axis=1, keepdims=True)
    assert len(arm) > 500
    assert np.mean(np.sum(arm**4, axis=1)) == pytest.approx(0.6, abs=0.02)


def test_clumps_fill_the_fraction_of_their_union():
    model = packed(("trimer", 0.68))
    assert model.clumps[0].volume < 2.5 * 4 / 3 * np.pi * 0.005**3
    assert abs(fraction(model, "trimer") - 0.68) <= model.clumps[0].volume / np.prod(BOX) / 2
    overlaps, into_walls, pairs = contacts(model)
    assert max(overlaps.max(), into_walls.max()) < 0.15
    assert 3 < len(np.unique(pairs, axis=0)) / len(model.species) < 6
    np.testing.assert_allclose(np.linalg.norm(model.orientation, axis=1), 1.0, rtol=1e-14)


def test_clumps_turn_to_find_room():
    """Rods that keep their first, random orientations would overlap far more."""
    model = packed(("rod", 0.5))
    overlaps, into_walls, _ = contacts(model)
    assert max(overlaps.max(), into_walls.max()) < 0.15


def test_a_mixture_of_sizes():
    groups = [("large", 0.3), ("ball", 0.36)]
    box = (0.1, 0.12, 0.11)
    model = packed(*groups, box=box)
    for k, (name, wanted) in enumerate(groups):
        assert abs(fraction(model, name, box) - wanted) <= model.clumps[1 - k].volume / np.prod(box) / 2
    overlaps, into_walls, pairs = contacts(model)
    assert max(overlaps.max(), into_walls.max()) < 0.2
    species = model.species[pairs]
    assert set(map(tuple, np.unique(np.sort(species, axis=1), axis=0))) == {(0, 0), (0, 1), (1, 1)}  # mixed, not apart
    names = [model.clumps[k].name for k in model.species]
    assert names == sorted(names, reverse=True)  # large before ball, in the order of the file


def test_exact_bodies_stay_and_walls_hold():
    body = dict(clump="large", position=[0.035, 0.03, 0.04], velocity=[1.0, 2.0, 3.0])
    model = packed(("ball", 0.45), bodies=[body], walls=[dict(point=[0.01, 0, 0], normal=[1, 0, 0])])
    assert np.array_equal(model.position[0], [0.035, 0.03, 0.04])
    assert np.array_equal(model.velocity[0], [1.0, 2.0, 3.0])
    overlaps, into_walls, _ = contacts(model)
    assert into_walls.shape[1] == 7
    assert max(overlaps.max(), into_walls.max()) < 0.2
    assert model.position[1:, 0].min() > 0.01


def test_counted_bodies_are_packed_with_the_others():
    model = packed(("ball", 0.5), place=[dict(clump="large", count=3)])
    assert np.sum(np.array([clump.name for clump in model.clumps])[model.species] == "large") == 3
    overlaps, into_walls, _ = contacts(model)
    assert max(overlaps.max(), into_walls.max()) < 0.2


def test_without_a_fraction_nothing_overlaps():
    model = packed(place=[dict(clump="ball", count=200)])
    overlaps, into_walls, _ = contacts(model)
    assert overlaps.size == 0 and into_walls.max() <= 0


# --- again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [[("ball", 0.64)], [("trimer", 0.6), ("ball", 0.05)]])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(groups):
    first, again, other = (packed(*groups, seed=seed) for seed in (5, 5, 6))
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.allclose(getattr(first, name), getattr(other, name))


def test_another_speed_leaves_the_packing_as_it_was():
    text = text_of(("ball", 0.64))
    one, other = (build_model(parse(text.replace("speed = 0.1", f"speed = {speed}"))) for speed in (0.1, 7.0))
    assert np.array_equal(one.position, other.position)
    assert np.linalg.norm(other.velocity, axis=1) == pytest.approx(7.0)


# --- as the start of a run ----------------------------------------------------------------------------------


def test_the_elastic_energy_of_the_packing_counts_and_is_conserved():
    scenario = parse(text_of(("ball", 0.66)))
    simulation = Simulation.from_model(build_model(scenario), "spiral")
    model, start = simulation.model, simulation.observables()
    elastic = elastic_energy(simulation.bodies, model.templates, model.walls, modulus_of(model))
    assert start["elastic"] == pytest.approx(elastic, rel=1e-10)
    kinetic = 0.5 * np.sum(model.mass * 0.1**2)
    assert elastic > 0.1 * kinetic
    assert simulation.initial_energy == pytest.approx(kinetic + start["kinetic_rotational"] + elastic, rel=1e-10)
    assert run(scenario).summary["energy"]["drift_max"] < 1e-3


def test_check_tells_how_many_bodies_a_fraction_gives(tmp_path):
    text = text_of(("ball", 0.6))
    expected = round(0.6 * np.prod(BOX) / (4 / 3 * np.pi * 0.005**3))
    assert outlook(parse(text))["bodies"] == expected
    (tmp_path / "heap.toml").write_text(text)
    told = CliRunner().invoke(app, ["check", str(tmp_path / "heap.toml"), "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["bodies"] == expected


def test_a_written_scenario_reads_back_with_its_fraction():
    scenario = parse(text_of(("ball", 0.6)), "heap.toml")
    assert "packing_fraction = 0.6\n" in scenario.to_toml() and "count" not in scenario.to_toml()
    assert parse(scenario.to_toml(), "heap.toml") == scenario


# --- refusals -----------------------------------------------------------------------------------------------


def errors_of(text):
    with pytest.raises(ScenarioError) as caught:
        Simulation(parse(text, "heap.toml"), source="heap.toml")
    return caught.value.errors


FRACTION = "packing_fraction = 0.6"
BAD_VALUES = [
    (FRACTION, f"{FRACTION}\ncount = 9", "place[0].packing_fraction: give a count or a packing_fraction, not both"),
    (FRACTION, "", "place[0].count: required, but missing; give a count or a packing_fraction"),
    (FRACTION, "packing_fraction = 0.75", "place[0].packing_fraction: must be below 0.75, got 0.75"),
    (FRACTION, "packing_fraction = 60", "place[0].packing_fraction: must be below 0.75, got 60"),
    (FRACTION, "packing_fraction = 0", "place[0].packing_fraction: must be above 0, got 0"),
    (FRACTION, "packing_fraction = nan", "place[0].packing_fraction: must be a finite number, got nan"),
    (FRACTION, "packing_fraction = '60 %'", 'place[0].packing_fraction: must be a number, got "60 %"'),
    (FRACTION, "packing = 0.6", 'place[0].packing: unknown key; did you mean "packing_fraction"?'),
    ("box = ", "gravity = ", "place: random placement needs a box; add one to [domain] or use [[body]]"),
    (
        FRACTION,
        "packing_fraction = 0.0001",
        "place[0].packing_fraction: gives 0.0802 bodies, but must give 1 to 1000000000; change domain.box or the size of",
    ),
    (
        "[0.08, 0.07, 0.075]",
        "[80, 70, 75]",
        "place[0].packing_fraction: gives 4.81e+11 bodies, but must give 1 to 1000000000; change domain.box or the size of",
    ),
    (
        "[0.08, 0.07, 0.075]",
        "[1e30, 1e30, 1e30]",
        "place[0].packing_fraction: gives 1.15e+96 bodies, but must give 1 to 1000000000; change domain.box or the size of",
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), BAD_VALUES)
def test_a_bad_value_is_the_only_thing_reported(old, new, line):
    text = text_of(("ball", 0.6))
    assert old in text
    (error,) = errors_of(text.replace(old, new, 1))
    assert error.startswith(f"heap.toml: {line}"), error


def test_all_mistakes_are_reported_at_once():
    text = text_of(("ball", 0.8), ("trimer", 0.4), ("large", 0.3), ("rod", 0.2))
    text += '[[place]]\nclump = "ball"\n[[place]]\nclump = "ball"\ncount = 1\npacking_fraction = 0.1\n'
    assert errors_of(text) == [
        "heap.toml: place[0].packing_fraction: must be below 0.75, got 0.8",
        "heap.toml: place[3].packing_fraction: the fractions up to here must add up to less than 0.75, got 0.9; lower some",
        "heap.toml: place[4].count: required, but missing; give a count or a packing_fraction",
        "heap.toml: place[5].packing_fraction: give a count or a packing_fraction, not both",
    ]
    few = errors_of(text_of(("ball", 1e-6), ("large", 1e-6)))
    assert [line.split(":")[1] for line in few] == [" place[0].packing_fraction", " place[1].packing_fraction"]


def test_a_packing_that_stays_too_tight_is_refused():
    """Rods in random order jam near 0.55."""
    (error,) = errors_of(text_of(("rod", 0.74)))
    found = re.fullmatch(
        r"heap.toml: place: (\d+) contacts of packed bodies are deeper than 0.3 radii, the deepest (\S+); "
        r"lower packing_fraction or enlarge domain.box",
        error,
    )
    assert found, error
    assert int(found[1]) > 10 and PRESSED < float(found[2]) < 2


def test_a_body_larger_than_the_box_is_refused():
    (error,) = errors_of(text_of(("rod", 0.4), box=(0.016, 0.016, 0.016)))
    assert "packed bodies are deeper than 0.3 radii" in error


def test_exact_bodies_must_not_overlap_in_a_packing_either():
    bodies = [dict(clump="large", position=[x, 0.03, 0.03]) for x in (0.014, 0.04)]
    errors = errors_of(text_of(("ball", 0.2), bodies=bodies))
    assert [re.sub(r" by \S+ m", "", line) for line in errors] == [
        "heap.toml: body[0]: overlaps body[1] at the start; move it",
        "heap.toml: body[0]: reaches beyond the box at x = 0 at the start; move it",
    ]
