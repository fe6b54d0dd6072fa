"""The benchmarks: results of a tiny run, comparison of two results, scenes for other codes."""

import copy
import io
import json
import re
import sys
from contextlib import redirect_stdout

import brute_force
import numpy as np
import pytest

import minidem
from benchmarks import bits, checkouts, integrators, report, split, worker
from benchmarks.__main__ import main
from benchmarks.peers import export
from benchmarks.protocol import ROOT, Worker, WorkerError
from benchmarks.scenes import Scene, changes, scene_of
from benchmarks.timing import spread
from minidem.engine.contact.registry import LAWS
from minidem.engine.rotation.registry import SCHEMES
from minidem.scenario.reading import parse

TWO_BALLS = str(ROOT / "scenarios/two_spheres.toml")
TINY = ["--scenes", TWO_BALLS, "--threads", "1", "--repeats", "3", "--seconds", "0.002", "--no-start"]


HEAP = """
time = {dt = "0.1 rayleigh", end = 1.0}
domain = {box = [0.09, 0.09, 0.09], material = "soft", gravity = [0.0, 0.0, -9.81]}
material.soft = {young = 1e7, poisson = 0.25, density = 1000.0}
clump.ball = {spheres = [[0, 0, 0, 0.005]], material = "soft"}
clump.pair = {spheres = [[0, 0, 0, 0.005], [0.005, 0, 0, 0.004]], material = "soft"}
place = [{clump = "pair", packing_fraction = 0.3, speed = 1.0}, {clump = "ball", packing_fraction = 0.32, speed = 1.0}]
"""
HOUR = spread([3.6e9, 3.7e9, 3.8e9])  # us per step
EARLIER = {
    "scene": "two_spheres",
    "code": "minidem",
    "threads": 1,
    "us_per_step": HOUR,
    "cpu_us_per_step": HOUR,
    "peak_mb": 100,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The result of a tiny run: the JSON that was written, and the text that was printed."""
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "earlier.json").write_text(json.dumps({"results": [EARLIER]}))
    file, printed = folder / "new" / "tiny.json", io.StringIO()
    with redirect_stdout(printed):
        assert main([*TINY, "--out", str(file), "--compare", str(folder / "earlier.json")]) == 0
    return json.loads(file.read_text()), printed.getvalue()


@pytest.fixture(scope="module")
def tiny(run):
    return run[0]


def test_what_is_written(tiny):
    (row,) = tiny["results"]
    assert (row["scene"], row["code"], row["threads"], row["bodies"], row["spheres"]) == ("two_spheres", "minidem", 1, 2, 2)
    us = row["us_per_step"]
    assert len(us["values"]) == 3
    assert 0 < min(us["values"]) <= us["low"] <= us["median"] <= us["high"] <= max(us["values"])
    assert us["median"] == sorted(us["values"])[1]
    assert row["msphere_steps_per_s"] == pytest.approx(2 / us["median"])
    assert row["steps"] >= 1 and row["end"]["step"] > 100
    assert 10 < row["peak_mb"] < 2000
    assert abs(row["drift"]) < 1e-3


def test_what_is_printed(run):
    printed = run[1]
    for column in ("bodies", "us per step", "M sphere-steps/s", "contacts", "ns per contact", "peak MB", "new / old"):
        assert column in printed
    assert "two_spheres" in printed and "faster" in printed


def test_a_difference_is_flagged_above_the_spread_only(tiny):
    def compared(values):
        old, new = copy.deepcopy(tiny), copy.deepcopy(tiny)
        old["results"][0]["us_per_step"] = spread([10.0, 11.0, 12.0])
        new["results"][0]["us_per_step"] = spread(values)
        return report.comparison(new, old).splitlines()[1]

    assert "SLOWER" in compared([20.0, 21.0, 22.0]) and " 1.91 " in compared([20.0, 21.0, 22.0])
    assert "faster" in compared([5.0, 6.0, 7.0])
    assert "within the spread" in compared([11.0, 12.0, 13.0])
    other = copy.deepcopy(tiny)
    other["results"][0]["scene"] = "another"
    assert "nothing to compare" in report.comparison(tiny, other)


def test_start_up_times_are_shown_and_compared():
    start = {"help_s": spread([0.1, 0.2]), "cold_s": {"scene": "rods", "seconds": 20.0}, "warm_s": {"rods": spread([1.0])}}
    assert "empty cache" in report.starts(start)
    later = start | {"warm_s": {"rods": spread([3.0])}}
    lines = report.comparison({"results": [], "start": later}, {"results": [], "start": start}).splitlines()
    assert "within the spread" in lines[1] and "SLOWER" in lines[2]


def test_a_missing_scene_is_reported(capsys):
    assert main(["--scenes", "no-such-scene"]) == 2
    assert "no-such-scene: left out: no file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--threads", "0"], ["--threads", "two"], ["--compare", "no-such.json"]])
def test_bad_options_are_refused(words):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2


def test_a_worker_that_fails_says_why(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("raise SystemExit('no such luck')\n")
    with pytest.raises(WorkerError, match="no such luck"):
        Worker([sys.executable, str(script)])


def test_a_larger_box_of_the_same_scene():
    """Ten times the volume, and ten times the bodies if their number is given."""
    rods = scene_of("rods")
    larger = minidem.load(rods.path, changes(Scene("more", rods.path, 0, times=10)))
    assert np.prod(larger.domain.box) == pytest.approx(10 * np.prod(minidem.load(rods.path).domain.box))
    assert [place.count for place in larger.place] == [300]


def test_what_other_codes_are_given(tmp_path):
    """Rods: masses, positions and energies are those of minidem's initial state and of a rod of three spheres."""
    scenario = minidem.load(ROOT / "scenarios/rods.toml")
    export.write(scenario, "rods.toml", tmp_path / "rods.npz")
    scene = dict(np.load(tmp_path / "rods.npz"))
    simulation = minidem.Simulation(scenario)
    model = simulation.model
    radius = 0.02 * np.sqrt(3)
    np.testing.assert_allclose(scene["mass"], 3 * 2500 * 4 / 3 * np.pi * radius**3, rtol=1e-9)
    np.testing.assert_array_equal(scene["position"], model.position)
    assert scene["sphere_position"].shape == (90, 3) and (np.bincount(scene["sphere_body"]) == 3).all()
    np.testing.assert_allclose(scene["sphere_radius"], radius)
    places = scene["sphere_position"].reshape(30, 3, 3)
    np.testing.assert_allclose(places.mean(axis=1), model.position, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(places[:, 0] - places[:, 2], axis=1), 4 * radius, rtol=1e-9)
    assert scene["dt"] == model.dt
    assert export.kinetic_energy(scene) == pytest.approx(simulation.observables()["total"], rel=1e-12)
    assert export.elastic_energy(scene, scene["sphere_position"]) == 0.0


def test_elastic_energy_from_positions_is_that_of_the_engine():
    """Two balls in the middle of their collision against the engine, and one pressed into a wall against Hertz' formula."""
    scenario = minidem.load(TWO_BALLS)
    scene = export.exported(scenario)
    simulation = minidem.Simulation(scenario)
    while simulation.energies["elastic"] == 0.0:
        simulation.advance(1)
    simulation.advance(20)
    places = simulation.frame().position
    assert export.elastic_energy(scene, places) == pytest.approx(simulation.energies["elastic"], rel=1e-9)

    wall = scene | {"wall_point": np.zeros((1, 3)), "wall_normal": np.array([[0.0, 0.0, 1.0]])}
    depth, radius = 1e-4, scene["sphere_radius"][0]
    apart = np.array([[0.0, 0.0, radius - depth], [10.0, 0.0, 1.0]])
    expected = 8 / 15 * scene["wall_modulus"] * np.sqrt(radius) * depth**2.5
    assert export.elastic_energy(wall, apart) == pytest.approx(expected, rel=1e-9)


def test_contacts_are_counted_at_the_current_step():
    """Rods in flight and in contact, and a heap between walls, against a search over all pairs of spheres."""
    for text, steps in ((None, [0] + [40] * 30), (HEAP, [0, 20, 20])):
        scenario = minidem.load(ROOT / "scenarios/rods.toml") if text is None else parse(text)
        simulation, seen = minidem.Simulation(scenario), []
        for count in steps:
            simulation.advance(count)
            counts, world = worker.contacts(simulation), simulation._world
            seen.append(counts["contacts"])
            expected = brute_force.contacts(
                world.bodies, world.templates, world.walls, brute_force.modulus_of(simulation.model)
            )[0].size
            assert counts["contacts"] == expected <= counts["candidates"]
            assert (counts["contacts"] > 0) == (simulation.energies["elastic"] > 0)
        assert max(seen) > 0 and len(set(seen)) > 1


def test_parts_of_a_step():
    """Two balls, and a heap of more than one block: every part can be timed, and the scene does not change."""
    for scenario in (minidem.load(TWO_BALLS), parse(HEAP)):
        simulation = minidem.Simulation(scenario)
        simulation.advance(10)
        before = simulation.frame(), simulation.energies["elastic"], int(simulation._world.lists.age[0])
        kernels = split._kernels(simulation)
        names = ["translation", "rotation", "check displacements", "contacts", "build lists", "build close lists"]
        assert list(kernels) == (names if simulation._world.lists.wanted.size == 1 else names[:-1])
        for kernel in kernels.values():
            kernel(3)
        assert (simulation.energies["elastic"], simulation._world.lists.age[0]) == before[1:]
        assert np.array_equal(simulation.frame().position, before[0].position)
        assert np.array_equal(simulation.frame().velocity, before[0].velocity)
        assert kernels["check displacements"](3) == 0  # they have not moved since their lists were built
        assert kernels["build lists"](1)  # there is room for the lists


def test_parts_are_shown_with_their_share():
    lines = split.parts(scene_of(TWO_BALLS), seconds=0.002)
    names = ["whole step", "translation", "rotation", "check displacements", "contacts"]
    assert [line[1] for line in lines[:-2]] == names
    assert re.fullmatch(r"build lists, every \d+ steps", lines[-2][1])
    assert re.fullmatch(r"build close lists, every \d+ steps", lines[-1][1])
    assert all(float(line[2]) > 0 and line[3].endswith("%") for line in lines)


def test_parts_that_cannot_be_timed_are_reported(monkeypatch):
    def changed(simulation):
        raise AttributeError("no such kernel")

    monkeypatch.setattr(split, "_kernels", changed)
    monkeypatch.setattr(split, "_steps_between_lists", lambda simulation: 1.0)
    assert split.parts(scene_of(TWO_BALLS)) == [["two_spheres", "parts cannot be timed: no such kernel", "", ""]]


def test_a_scene_that_differs_is_reported():
    ours = {"bodies": 2, "spheres": 6, "drift": 0.0, "start": {"kinetic": 1.0, "elastic": 0.5}, "warm": {"kinetic": 0.8}}
    assert report.same_scene(copy.deepcopy(ours), ours) == "yes"
    assert report.same_scene(ours | {"bodies": 3}, ours) == "NO"
    assert report.same_scene(ours | {"start": {"kinetic": 1.00001, "elastic": 0.5}}, ours) == "NO"
    assert report.same_scene(ours | {"warm": {"kinetic": 0.9}}, ours) == "NO"
    assert report.same_scene(ours | {"drift": 0.1}, ours) == "yes, then drifts"


def test_every_integrator_is_timed_against_spiral():
    """Those that can run scenarios, each once, in ascending order of time per step."""
    messages: list[str] = []
    found = integrators.lines(scene_of(TWO_BALLS), 1, 50, messages.append)
    single = {name for name, scheme in SCHEMES.items() if scheme.torque_evaluations == 1}
    assert {name for name, _, _ in found} == single and len(found) == len(single)
    costs = [float(cost) for _, cost, _ in found]
    assert costs == sorted(costs) and min(costs) > 0
    assert {name: ratio for name, _, ratio in found}["spiral"] == "1"
    assert len(messages) == 1


def test_directories_without_the_package_are_refused(tmp_path, capsys):
    """The installed package would run in its place, and be compared with itself."""
    two_balls = scene_of(TWO_BALLS)
    for attempt in (
        lambda: bits.main([str(tmp_path), str(ROOT), "--only", "book"]),
        lambda: bits.main([str(ROOT), str(tmp_path), "--only", "book"]),
        lambda: checkouts.cold_start(two_balls, tmp_path, 1),
        lambda: list(checkouts.lines([two_balls], [1], tmp_path, 1, 0.001, print)),
    ):
        with pytest.raises(SystemExit, match="no checkout of minidem"):
            attempt()
    assert "equal" not in capsys.readouterr().out


def test_bits_of_no_case_are_not_equal(capsys):
    assert bits.main([str(ROOT), str(ROOT), "--only", "no such case"]) == 1
    assert 'no case has "no such case" in its name' in capsys.readouterr().err


def test_bits_of_one_checkout_are_equal(capsys):
    assert bits.main([str(ROOT), str(ROOT), "--only", "rods, spiral-sync"]) == 0
    assert re.fullmatch(r"rods, spiral-sync +equal\n", capsys.readouterr().out)


def test_other_codes_are_given_hertz_contacts_only(monkeypatch):
    monkeypatch.setitem(LAWS, "soft", LAWS["hertz"])
    scenario = minidem.load(TWO_BALLS).with_changes({"contact.law": "soft"})
    with pytest.raises(ValueError, match='other codes are given Hertz contacts only, got "soft"'):
        export.exported(scenario, "two.toml")
