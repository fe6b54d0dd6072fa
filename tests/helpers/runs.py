"""Scenes for restarts, and what makes two runs the same."""

import h5py
import numpy as np

from minidem.scenario.reading import parse

SCENE = """\
name = "scene"
seed = 5
time = {{dt = 2e-5, end = {end}}}
integrator = {{rotation = "{rotation}"}}
domain = {{box = [{edge}, {edge}, {edge}], material = "soft", gravity = [0, 0, -9.81]}}
material.soft = {{young = 2e7, poisson = 0.2, density = 2000}}
{clumps}
place = [{place}]
guard = {{overlap = false, rayleigh = false}}
output = {{frames = 9, energies = 33}}
"""
CLUMPS = {
    "spheres": {"ball": "spheres = [[0, 0, 0, 0.01]]"},
    "rods": {"rod": "spheres = [[-0.01, 0, 0, 0.008], [0, 0, 0, 0.008], [0.01, 0, 0, 0.008]]"},
    "chess": {"king": 'builtin = "chess/king", height = 0.04', "pawn": 'builtin = "chess/pawn", height = 0.02'},
}


def scene(kind, rotation="spiral", count=16, steps=160):
    """So narrow that there are contacts all the time."""
    edge = {"spheres": 0.034, "rods": 0.042, "chess": 0.046}[kind] * count ** (1 / 3)
    clumps = "\n".join(f'clump.{name} = {{{text}, material = "soft"}}' for name, text in CLUMPS[kind].items())
    each = count // len(CLUMPS[kind])
    place = ", ".join(f'{{clump = "{name}", count = {each}, speed = 6, spin = 90}}' for name in CLUMPS[kind])
    return parse(SCENE.format(end=2e-5 * steps, rotation=rotation, edge=edge, clumps=clumps, place=place), kind)


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
