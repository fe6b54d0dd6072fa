"""Cost of the parts of a step, each kernel timed alone after warm-up.

The kernels are internal to the engine and may change; if one cannot be timed, the table says so.
"""

import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .scenes import Scene

REPEATS = 5


def parts(scene: Scene, seconds: float = 0.2) -> list[list[str]]:
    """Rows of scene, part, us per step, and share of the whole step."""
    from .worker import Simulation, scenario_of

    simulation = Simulation(scenario_of(scene), threads=1, source=scene.path.name)
    simulation.advance(scene.warm_up)
    try:
        lasting = _steps_between_lists(simulation)
        kernels = _kernels(simulation)
        medians = _medians_us({"whole step": simulation.advance} | kernels, seconds)
    except (ImportError, AttributeError, TypeError) as error:
        return [[scene.name, f"parts cannot be timed: {error}", "", ""]]
    whole = medians["whole step"]
    lines = []
    for name, cost in medians.items():
        share, note = (cost / lasting[name], f", every {lasting[name]:.0f} steps") if name in lasting else (cost, "")
        lines.append([scene.name, name + note, f"{share:.4g}", f"{share / whole:.0%}"])
    return lines


def _medians_us(repeated: dict[str, Callable[[int], Any]], seconds: float) -> dict[str, float]:
    """Median time of one of the n repetitions in each `repeated(n)`, us; timed in turns."""
    counts = {}
    for name, function in repeated.items():
        function(1)  # compiles
        counts[name], took = 1, 0.0
        while took < seconds / 2:
            counts[name] *= 2
            took = _seconds(function, counts[name])
    values: dict[str, list[float]] = {name: [] for name in repeated}
    for _ in range(REPEATS):
        for name, function in repeated.items():
            values[name].append(1e6 * _seconds(function, counts[name]) / counts[name])
    return {name: statistics.median(times) for name, times in values.items()}


def _seconds(function: Callable[[int], Any], count: int) -> float:
    began = time.perf_counter()
    function(count)
    return time.perf_counter() - began


def _kernels(simulation: Any) -> dict[str, Callable[[int], Any]]:
    """The parts of a step as functions that repeat them n times, on a copy of the world. Nothing moves, since dt is 0."""
    translation, rotation, check, contacts, build_lists, build_close_lists = _loops()
    rotate, gravity, skin = simulation._rotation.advance, simulation.model.gravity, float(simulation._world.lists.skin[0])
    close_skin = float(simulation._world.close.skin[0])
    world = _apart(simulation, build_lists, skin)
    bodies, lists, close = world.bodies, world.lists, world.close
    kernels = {
        "translation": lambda n: translation(n, bodies, gravity, lists.wanted.size),
        "rotation": lambda n: rotation(n, rotate, bodies),
        "check displacements": lambda n: check(n, bodies, close),
        "contacts": lambda n: contacts(n, simulation.model.law.forces, world),
        "build lists": lambda n: build_lists(n, world, skin),
    }
    if lists.wanted.size == 1:
        build_close_lists(1, world, close_skin)
        kernels["build close lists"] = lambda n: build_close_lists(n, world, close_skin)
    return kernels


@cache
def _loops() -> tuple[Callable[..., Any], ...]:
    """Compiled loops over the parts: a call from Python would cost more than a step of a small scene."""
    from numba import njit

    from minidem.engine.contact.forces import contact_forces
    from minidem.engine.places import spheres_at
    from minidem.engine.search.lists import find_candidates, narrow, place_listed, travelled
    from minidem.engine.step import kick_and_drift
    from minidem.engine.threads import bodies_of

    loop = njit(error_model="numpy", _nrt=False)  # as for the engine's kernels

    @loop
    def translation(n, bodies, gravity, blocks):
        begin, end = bodies_of(0, blocks, bodies.mass.size)
        for _ in range(n):
            kick_and_drift(begin, end, False, bodies, gravity, 0.0)

    @loop
    def rotation(n, rotate, bodies):
        for _ in range(n):
            rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, 0, bodies.orientation.shape[1], 0.0)

    @loop
    def check(n, bodies, lists):
        begin, end = bodies_of(0, lists.wanted.size, bodies.mass.size)
        count = 0
        for k in range(n):  # a different distance each time, so that the compiler cannot reuse the result
            count += travelled(begin, end, bodies, lists.old_position, lists.old_orientation, lists.skin[0] / (2 + k))
        return count

    @loop
    def contacts(n, law, world):
        bodies, lists, spheres = world.bodies, world.close, spheres_at(0, world.spheres)
        touching, team, scratch, walls = world.touching, world.team, world.scratch, world.walls
        for _ in range(n):
            for block in range(lists.wanted.size):
                place_listed(block, bodies, world.templates, spheres, lists)
            for block in range(lists.wanted.size):
                contact_forces(block, 0, law, bodies, spheres, lists, touching, team, scratch, walls, world.constants, 1)

    @loop
    def build_lists(n, world, skin):
        room, spheres = True, spheres_at(0, world.spheres)
        for _ in range(n):
            room &= find_candidates(0, world, spheres, skin, 0.0)
        return room

    @loop
    def build_close_lists(n, world, skin):
        spheres = spheres_at(0, world.spheres)
        for _ in range(n):
            narrow(world, spheres, skin, 0.0)

    return translation, rotation, check, contacts, build_lists, build_close_lists


def _apart(simulation: Any, build_lists: Callable[..., bool], skin: float) -> Any:
    """A copy of the world for one thread, with lists of the same skin, which whole steps do not change."""
    from minidem.engine.world import make_room, make_world

    bodies, model = type(simulation.bodies)(*(values.copy() for values in simulation.bodies)), simulation.model
    copy = make_world(bodies, model.templates, model.walls, simulation._world.constants, 1, skin)
    while not build_lists(1, copy, skin):
        make_room(copy)
    return copy


def _steps_between_lists(simulation: Any, most: int = 1000) -> dict[str, float]:
    """Mean number of steps between rebuilds of each kind of list."""
    made = {"build lists": 0, "build close lists": 0}
    for _ in range(most):
        lists, close = simulation._world.lists, simulation._world.close
        state, close_age = lists.old_position.copy(), int(close.age[0])
        simulation.advance(1)
        made["build lists"] += not np.array_equal(state, simulation._world.lists.old_position)
        made["build close lists"] += int(simulation._world.close.age[0]) <= close_age
    return {name: most / max(count, 1) for name, count in made.items()}
