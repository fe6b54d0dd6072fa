"""A run, and the same run back: all velocities negated at the end, and as many steps again."""

import numpy as np
import pytest
from scenes import scene, simulated

from minidem.engine.rotation.registry import SCHEMES

REVERSIBLE = ("newmark-body", "newmark-spatial", "no-squish", "free-rotor")
NEARLY = ("svanberg", "constraint-force")  # would be if they iterated to the end
USABLE = [name for name, row in SCHEMES.items() if row.torque_evaluations == 1]
NAMES = ("position", "velocity", "orientation", "angular_velocity")


def missed(dt, bodies, steps, **surroundings):
    """Largest difference from the start after there and back, in m, m/s, rad/s and parts of a quaternion."""
    there = simulated(scene(dt, bodies, **surroundings))
    start = there.frame()
    there.advance(steps)
    end = there.frame()
    assert np.abs(end.velocity - start.velocity).max(axis=1).min() > 0.1  # all have met something
    assert there.elastic == 0
    rows = zip(end.position, -end.velocity, end.orientation, -end.angular_velocity, strict=True)
    turned = [
        dict(clump=body["clump"], **dict(zip(NAMES, row, strict=True))) for body, row in zip(bodies, rows, strict=True)
    ]
    back = simulated(scene(dt, turned, **surroundings))
    back.advance(steps)
    home = back.frame()
    signs = np.sign(np.sum(home.orientation * start.orientation, axis=1, keepdims=True))  # q and -q are the same
    return max(
        np.abs(home.position - start.position).max(),
        np.abs(home.velocity + start.velocity).max(),
        np.abs(home.angular_velocity + start.angular_velocity).max(),
        np.abs(signs * home.orientation - start.orientation).max(),
    )


def test_spheres_come_back():
    """Leapfrog is reversible: off-centre collisions of spheres of two sizes, and on a wall, under gravity. Round-off (1e-16)
    grows tenfold or so in each of the collisions."""
    bodies = [
        dict(clump="ball", position=[0, 0, 0.0101], velocity=[1, 0.2, -1]),
        dict(clump="bead", position=[0.02, 0.004, 0.015], velocity=[-1, 0, -0.5]),
        dict(clump="bead", position=[0.01, 0.002, 0.04], velocity=[0, 0.1, -2]),
    ]
    floor = [dict(point=[0, 0, 0], normal=[0, 0, 1], material="steel")]
    off = missed(1e-6, bodies, 20_000, walls=floor, gravity=[0, 0, -9.81])
    assert off < 1e-11


@pytest.mark.parametrize("scheme", USABLE)
def test_clumps_come_back_with_the_schemes_that_are_reversible(scheme):
    """A rod and a hook. Round-off (1e-14 rad/s) adds up over 500 steps and grows in the collision; what is not reversible
    misses by a thousand times the bound of what is."""
    spins = [10, 30, -20], [0, 40, 10]
    turned = [0.5, 0.7, -0.1, 0.3]
    bodies = [
        dict(clump="rod", position=[0, 0, 0], angular_velocity=spins[0]),
        dict(clump="hook", position=[0.115, 0.02, 0.03], velocity=[-4, 0, 0], orientation=turned, angular_velocity=spins[1]),
    ]
    off = missed(4e-5, bodies, 250, scheme=scheme)
    if scheme in REVERSIBLE:
        assert off < 1e-10
    elif scheme in NEARLY:
        assert off < 1e-8
    else:
        assert off > 1e-7
