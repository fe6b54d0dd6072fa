"""minidem: rigid clumps of spheres bouncing in a box, with a choice of rotational integrators."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.rotation.registry import register
    from .errors import InputError, ScenarioError
    from .files.trajectory import Trajectory
    from .running.simulation import Result, Simulation, resume, run
    from .scenario.reading import Scenario, load

# Where each public name lives; imported when first asked for, so that `minidem --help` need not load numba.
_HOMES = {
    "InputError": "errors",
    "ScenarioError": "errors",
    "Scenario": "scenario.reading",
    "load": "scenario.reading",
    "Result": "running.simulation",
    "Simulation": "running.simulation",
    "register": "engine.rotation.registry",
    "resume": "running.simulation",
    "run": "running.simulation",
    "Trajectory": "files.trajectory",
}
__all__ = [
    "InputError",
    "Result",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Trajectory",
    "load",
    "register",
    "resume",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'minidem' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"minidem.{_HOMES[name]}"), name)
