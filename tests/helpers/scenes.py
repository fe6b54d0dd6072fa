"""Scenes that several tests share: clumps, scenarios of bodies and walls, and how to follow them."""

import json
from pathlib import Path

import numpy as np

from minidem import Simulation
from minidem.model.building import build_model
from minidem.scenario.tables import parse

SCENARIOS = Path(__file__).parents[2] / "scenarios"
MATERIALS = """
[material.steel]
young = 200e9
poisson = 0.3
density = 7800.0
[material.plastic]
young = 1e9
poisson = 0.1
density = 2500.0
"""
CLUMPS = {  # the hook has no symmetry, not even that of a mirror
    "ball": ("steel", [[0, 0, 0, 0.01]]),
    "bead": ("steel", [[0, 0, 0, 0.006]]),
    "pea": ("plastic", [[0, 0, 0, 0.0099]]),
    "rod": ("plastic", [[-0.04, -0.04, -0.04, 0.0346], [0, 0, 0, 0.0346], [0.04, 0.04, 0.04, 0.0346]]),
    "hook": ("plastic", [[0, 0, 0, 0.03], [0.04, 0, 0, 0.03], [0.08, 0.01, 0, 0.025], [0.08, 0.04, 0.02, 0.02]]),
}


def table(header, **keys):
    """A table of a scenario file."""
    lines = [f"{key} = {json.dumps(np.asarray(value).tolist())}" for key, value in keys.items()]
    return "\n".join([header, *lines, ""])


def scene(dt, bodies, walls=(), *, scheme="spiral", gravity=(0, 0, 0), clumps=CLUMPS):
    """A scenario in open space. Bodies and walls are dictionaries of the keys of [[body]] and [[wall]]."""
    parts = [table("[time]", dt=dt, end=1.0), table("[integrator]", rotation=scheme), table("[domain]", gravity=gravity)]
    parts += [table(f"[clump.{name}]", material=material, spheres=rows) for name, (material, rows) in clumps.items()]
    parts += [table("[[body]]", **body) for body in bodies]
    parts += [table("[[wall]]", **wall) for wall in walls]
    return parse(MATERIALS + "".join(parts))


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
