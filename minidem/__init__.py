"""minidem: a multi-sphere DEM code with conservative contacts and a choice of rotational integrators.

    scenario = minidem.load("scenarios/rods.toml").with_changes({"time.end": 1.0})
    result = minidem.run(scenario, out="output/rods")    # every=100, call=f for a callback
    sim = minidem.Simulation(scenario)                   # or advance it yourself
    sim.advance(100)
    sim.positions, sim.velocities, sim.contacts, sim.energies
    trajectory = minidem.Trajectory("output/rods")
    trajectory[-1].position

All numbers are in SI units; quaternions are (w, x, y, z). Importing or calling minidem leaves the process as it is: no
warning filters or environment variables are set, and Python's handler of Ctrl-C is replaced only while a run is recorded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import laws, schemes
    from .engine.rotation.registry import register
    from .errors import InputError, PhysicsError, ScenarioError, WriteError
    from .files.trajectory import Frame, Trajectory
    from .running.conduct import Result, resume, run
    from .running.contacts import Contacts
    from .running.simulation import Simulation
    from .scenario.plugins import load_plugin
    from .scenario.reading import Scenario, load
    from .views.shown import view

    __version__: str

# Where each public name lives; imported when first used, so that `import minidem` does not load numba.
_HOMES = {
    "Contacts": "running.contacts",
    "Frame": "files.trajectory",
    "InputError": "errors",
    "PhysicsError": "errors",
    "Result": "running.conduct",
    "Scenario": "scenario.reading",
    "ScenarioError": "errors",
    "Simulation": "running.simulation",
    "Trajectory": "files.trajectory",
    "WriteError": "errors",
    "load": "scenario.reading",
    "load_plugin": "scenario.plugins",
    "register": "engine.rotation.registry",
    "resume": "running.conduct",
    "run": "running.conduct",
    "view": "views.shown",
}
_MODULES = ("laws", "schemes")  # for laws and schemes of one's own
__all__ = [
    "Contacts",
    "Frame",
    "InputError",
    "PhysicsError",
    "Result",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Trajectory",
    "WriteError",
    "laws",
    "load",
    "load_plugin",
    "register",
    "resume",
    "run",
    "schemes",
    "view",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .machine import version

        return version("minidem")
    if name in _HOMES:
        return getattr(import_module(f"minidem.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"minidem.{name}")
    raise AttributeError(f"module 'minidem' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"])
