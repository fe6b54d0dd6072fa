"""CPU time per step of a rotational integrator: one body in a loop, or many bodies in vector lanes."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.compile.kernels import in_this_process, inlined
from ...engine.quaternion import unit
from ...engine.rotation.loading import rotation
from ...engine.rotation.registry import SCHEMES
from ...engine.state import inertia_rows
from .errors import CASE

Array = NDArray[np.float64]


@inlined
def as_it_is(q):  # type: ignore[no-untyped-def]
    """q, not normalised."""
    return q


def without_normalisation(function: Any) -> Any:
    """A copy of a function of a scheme in which `unit` does nothing."""
    plain = function.py_func
    names = {**plain.__globals__, "unit": as_it_is}
    return inlined(FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__))


def with_normalisation(function: Any) -> Any:
    """The function of a scheme, followed by a normalisation of q."""

    @inlined
    def normalised(q, spin, torque, inertia, dt):  # type: ignore[no-untyped-def]
        q, spin = function(q, spin, torque, inertia, dt)
        return unit(q), spin

    return normalised


def in_turn(first: Any, second: Any) -> Any:
    """Two stages as one function; evaluating the torque between them costs nothing here."""

    @inlined
    def both(q, spin, torque, inertia, dt):  # type: ignore[no-untyped-def]
        q, spin = first(q, spin, torque, inertia, dt)
        return second(q, spin, torque, inertia, dt)

    return both


def stepper(integrator: str, normalised: bool | None = None) -> Callable[[int, int, float], None]:
    """A compiled function (rounds, steps, dt) that moves the body of the constant-torque case `rounds` times from the start.

    `normalised`: whether q is normalised; None for what the scheme itself does. dt is in s.
    """
    scheme = SCHEMES[integrator]
    parts = vars(import_module(scheme.module))
    advance = parts.get("stages") or parts["advance"]
    stages = list(advance) if isinstance(advance, tuple) else [advance]
    if normalised is False and scheme.normalises:
        stages[-1] = without_normalisation(stages[-1])
    if normalised is True and not scheme.normalises:
        stages[-1] = with_normalisation(stages[-1])
    start, step = parts["start"], reduce(in_turn, stages)

    def loop(rounds, steps, q0, omega, torque, inertia, dt):  # type: ignore[no-untyped-def]
        total = 0.0
        for _ in range(rounds):
            q, spin = start(q0, omega, torque, inertia, dt)
            for _ in range(steps):
                q, spin = step(q, spin, torque, inertia, dt)
            total += q[0] + spin[0]
        return total

    compiled = in_this_process(loop)
    omega = (*CASE.omega[:, 0], *[0.0] * (scheme.values - 3))
    body = (tuple(CASE.orientation[:, 0]), omega, (0.5, 0.0, 0.0), tuple(inertia_rows(CASE.inertia)[:, 0]))

    def run(rounds: int, steps: int, dt: float) -> None:
        compiled(rounds, steps, *body, dt)

    run(1, 1, 1e-6)
    return run


@in_this_process
def repeated(stages, times, q, spin, torque, inertia, dt):  # type: ignore[no-untyped-def]
    """Apply all stages `times` times to all bodies."""
    for _ in range(times):
        for stage in stages:
            stage.move(q, spin, torque, inertia, 0, q.shape[1], dt)


BODIES = 1000  # not a power of two, at which rows would compete for the same cache lines


def many_bodies_stepper(integrator: str) -> Callable[[int, float], None]:
    """A function (steps, dt) that moves BODIES bodies with the kernels of a simulation; dt in s."""
    scheme = rotation(integrator)
    q, inertia, torque = (
        np.repeat(v, BODIES, axis=1) for v in (CASE.orientation, inertia_rows(CASE.inertia), [[0.5], [0.0], [0.0]])
    )
    spin = np.zeros((scheme.values, BODIES))
    spin[:3] = CASE.omega
    repeated(scheme.starts, 1, q, spin, torque, inertia, 1e-6)

    def run(steps: int, dt: float) -> None:
        repeated(scheme.stages, steps, q, spin, torque, inertia, dt)

    run(1, 1e-6)
    return run


def cpu_time(run: Callable[[], object]) -> float:
    """CPU time of one call, s."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def interleaved(runs: Mapping[Any, Callable[[], object]], repeats: int) -> dict[Any, Array]:
    """CPU times of each run, s, shape (repeats,). The runs take turns, so that a slow moment of the machine affects all."""
    found: dict[Any, list[float]] = {key: [] for key in runs}
    for _ in range(repeats):
        for key, run in runs.items():
            found[key].append(cpu_time(run))
    return {key: np.array(times) for key, times in found.items()}


def ratios(times: Mapping[Any, Array], to: Any) -> dict[Any, float]:
    """For each run, the median over the repeats of the ratio of its time to that of the run `to`."""
    return {key: float(np.median(values / times[to])) for key, values in times.items()}


def median(values: Sequence[float] | Array) -> float:
    """The median, as a float."""
    return float(np.median(values))
