"""Scenes for restarts, and what makes two runs the same."""

import h5py
import numpy as np
from texts import scenario_text

from minidem.scenario.reading import parse

CLUMPS = {
    "spheres": {"ball": [[0, 0, 0, 0.01]]},
    "rods": {"rod": [[-0.01, 0, 0, 0.008], [0, 0, 0, 0.008], [0.01, 0, 0, 0.008]]},
    "chess": {"king": {"builtin": "chess/king", "height": 0.04}, "pawn": {"builtin": "chess/pawn", "height": 0.02}},
}


def scene(kind, rotation="spiral", count=16, steps=160):
    """So narrow that there are contacts all the time."""
    edge = {"spheres": 0.034, "rods": 0.042, "chess": 0.046}[kind] * count ** (1 / 3)
    return crowd(CLUMPS[kind], count // len(CLUMPS[kind]), edge, kind, rotation, steps)


def crowd(clumps, each, edge, name, rotation="spiral", steps=160):
    """A box of that edge (m) with as many bodies of each clump."""
    place = [dict(clump=clump, count=each, speed=6, spin=90) for clump in clumps]
    tables = {
        "integrator": {"rotation": rotation},
        "domain": {"box": [edge] * 3, "gravity": [0, 0, -9.81]},
        "guard": {"overlap": False, "rayleigh": False},
        "output": {"frames": 9, "energies": 33},
    }
    times = {"dt": 2e-5, "end": 2e-5 * steps}
    text = scenario_text({"soft": (2e7, 0.2, 2000)}, clumps, place=place, name="scene", seed=5, **times, **tables)
    return parse(text, name)


def assert_same(run, other):
    """Two run directories hold the same, to the last bit."""
    assert (run / "energy.csv").read_bytes() == (other / "energy.csv").read_bytes()
    with h5py.File(run / "trajectory.h5", "r") as file, h5py.File(other / "trajectory.h5", "r") as expected:
        names, others = [], []
        file.visit(names.append)
        expected.visit(others.append)
        assert names == others
        for name in names:
            if isinstance(file[name], h5py.Dataset):
                assert file[name].shape == expected[name].shape, name
                assert np.asarray(file[name][()]).tobytes() == np.asarray(expected[name][()]).tobytes(), name
