"""What the parts of a step cost, each kernel timed alone on a warmed state. The kernels are the engine's inner parts and may
change: what cannot be timed is told instead."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from .scenes import Scene

REPEATS = 5


def parts(scene: Scene, seconds: float = 0.2) -> list[list[str]]:
    """Lines of scene, part, us a step, part of the step."""
    from .worker import scenario_of, started

    simulation = started(scenario_of(scene), scene.path.name, 1)
    simulation.advance(scene.warm_up)
    try:
        lists = _steps_between_lists(simulation)
        kernels = _kernels(simulation)
        medians = _medians_us({"whole step": simulation.advance} | kernels, seconds)
    except (ImportError, AttributeError, TypeError) as error:
        return [[scene.name, f"no parts: {error}", "", ""]]
    whole = medians["whole step"]
    lines = []
    for name, cost in medians.items():
        share, note = (cost / lists, f", every {lists:.0f} steps") if name == "lists anew" else (cost, "")
        lines.append([scene.name, name + note, f"{share:.4g}", f"{share / whole:.0%}"])
    return lines


def _medians_us(repeated: dict[str, Callable[[int], Any]], seconds: float) -> dict[str, float]:
    """us of one of the n repetitions of each `repeated(n)`, timed in turns."""
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
    """Loops in compiled code: a call from Python costs more than a step of a small scene. Nothing moves, since dt is 0."""
    from numba import njit

    from minidem.core.contact import contact_forces
    from minidem.core.neighbours import candidates, outdated
    from minidem.core.step import kick_and_drift

    model, near, rotate = simulation.model, simulation._near, simulation._rotation.advance
    bodies = type(simulation.bodies)(*(values.copy() for values in simulation.bodies))  # which the whole steps do not move

    @njit
    def translation(n, bodies, gravity):
        for _ in range(n):
            kick_and_drift(bodies, gravity, 0.0)

    @njit
    def rotation(n, rotate, bodies):
        for _ in range(n):
            rotate(bodies.orientation, bodies.spin, bodies.torque, bodies.inertia, 0, bodies.orientation.shape[1], 0.0)

    @njit
    def check(n, bodies, near):
        count = 0
        for _ in range(n):
            count += outdated(bodies, near)
        return count

    @njit
    def contacts(n, bodies, walls, near):
        energy = 0.0
        for _ in range(n):
            energy += contact_forces(bodies, walls, near)
        return energy

    @njit
    def lists(n, bodies, shapes, walls, modulus, skin):
        for _ in range(n):
            candidates(bodies, shapes, walls, modulus, skin)

    return {
        "translation": lambda n: translation(n, bodies, model.gravity),
        "rotation": lambda n: rotation(n, rotate, bodies),
        "are the lists outdated": lambda n: check(n, bodies, near),
        "contacts": lambda n: contacts(n, bodies, model.walls, near),
        "lists anew": lambda n: lists(n, bodies, model.shapes, model.walls, model.modulus, near.skin),
    }


def _steps_between_lists(simulation: Any, most: int = 1000) -> float:
    rebuilt = 0
    for _ in range(most):
        before = int(simulation._near.age[0])
        simulation.advance(1)
        rebuilt += int(simulation._near.age[0]) <= before
    return most / max(rebuilt, 1)
