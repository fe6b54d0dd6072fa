"""Scenes that several tests share: clumps, scenarios of bodies and walls, and how to follow them."""

from pathlib import Path

import numpy as np
from texts import ROD, scenario_text

from minidem import Simulation
from minidem.model.building import build_model
from minidem.scenario.reading import parse

SCENARIOS = Path(__file__).parents[2] / "scenarios"
MATERIALS = {"steel": (200e9, 0.3, 7800.0), "plastic": (1e9, 0.1, 2500.0)}
CLUMPS = {  # the hook has no symmetry, not even that of a mirror
    "ball": ("steel", [[0, 0, 0, 0.01]]),
    "bead": ("steel", [[0, 0, 0, 0.006]]),
    "pea": ("plastic", [[0, 0, 0, 0.0099]]),
    "rod": ("plastic", ROD),
    "hook": ("plastic", [[0, 0, 0, 0.03], [0.04, 0, 0, 0.03], [0.08, 0.01, 0, 0.025], [0.08, 0.04, 0.02, 0.02]]),
}


def scene(dt, bodies, walls=(), *, scheme="spiral", gravity=(0, 0, 0), clumps=CLUMPS):
    """A scenario in open space. Bodies and walls are dictionaries of the keys of [[body]] and [[wall]]."""
    clumps = {name: {"material": material, "spheres": rows} for name, (material, rows) in clumps.items()}
    tables = {"integrator": {"rotation": scheme}, "domain": {"gravity": gravity}}
    return parse(scenario_text(MATERIALS, clumps, bodies, walls=walls, dt=dt, end=1.0, **tables))


def simulated(scenario):
    return Simulation.from_model(build_model(scenario), scenario.integrator.rotation)


def followed(simulation, samples, every=1):
    """Observables by name, at the beginning and then `samples` times after `every` steps."""
    rows = [simulation.observables()]
    for _ in range(samples):
        simulation.advance(every)
        rows.append(simulation.observables())
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def slope(dts, errors):
    """The order of convergence: of a line through the logarithms."""
    return np.polyfit(np.log(dts), np.log(errors), 1)[0]


def two_rods(dt, scheme):
    """Rods in quick rotation that collide off centre and part within 8 ms."""
    first = dict(clump="rod", position=[0, 0, 0], angular_velocity=[30, 90, -60])
    turned = dict(orientation=[0.5, 0.7, -0.1, 0.3], angular_velocity=[0, 120, 30])
    second = dict(clump="rod", position=[0.115, 0.02, 0.03], velocity=[-4, 0, 0], **turned)
    return scene(dt, [first, second], scheme=scheme)
