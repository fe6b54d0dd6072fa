"""Forward, then backward with all velocities negated: reversible schemes return to the initial state."""

import numpy as np
import pytest
from scenes import scene, simulated

from minidem.engine.rotation.registry import SCHEMES

REVERSIBLE = ("newmark-body", "newmark-spatial", "no-squish", "free-rotor")
NEARLY = ("svanberg", "constraint-force")  # would be reversible if their iterations converged
USABLE = [name for name, row in SCHEMES.items() if row.torque_evaluations == 1]
NAMES = ("position", "velocity", "orientation", "angular_velocity")


def missed(dt, bodies, steps, **surroundings):
    """Largest difference from the initial state after integrating forward and backward, in SI units and of quaternions."""
    forward = simulated(scene(dt, bodies, **surroundings))
    start = forward.frame()
    forward.advance(steps)
    end = forward.frame()
    assert np.abs(end.velocity - start.velocity).max(axis=1).min() > 0.1  # all bodies have collided
    assert forward.energies["elastic"] == 0
    rows = zip(end.position, -end.velocity, end.orientation, -end.angular_velocity, strict=True)
    reversed_bodies = [
        dict(clump=body["clump"], **dict(zip(NAMES, row, strict=True))) for body, row in zip(bodies, rows, strict=True)
    ]
    backward = simulated(scene(dt, reversed_bodies, **surroundings))
    backward.advance(steps)
    final = backward.frame()
    signs = np.sign(np.sum(final.orientation * start.orientation, axis=1, keepdims=True))  # q and -q are the same
    return max(
        np.abs(final.position - start.position).max(),
        np.abs(final.velocity + start.velocity).max(),
        np.abs(final.angular_velocity + start.angular_velocity).max(),
        np.abs(signs * final.orientation - start.orientation).max(),
    )


def test_spheres_return():
    """Against the initial state: off-centre collisions of spheres of two sizes, and with a wall, under gravity.

    Leapfrog is reversible; round-off (1e-16) grows about tenfold in each collision.
    """
    bodies = [
        dict(clump="ball", position=[0, 0, 0.0101], velocity=[1, 0.2, -1]),
        dict(clump="bead", position=[0.02, 0.004, 0.015], velocity=[-1, 0, -0.5]),
        dict(clump="bead", position=[0.01, 0.002, 0.04], velocity=[0, 0.1, -2]),
    ]
    floor = [dict(point=[0, 0, 0], normal=[0, 0, 1], material="steel")]
    off = missed(1e-6, bodies, 20_000, walls=floor, gravity=[0, 0, -9.81])
    assert off < 1e-11


@pytest.mark.parametrize("scheme", USABLE)
def test_clumps_return_with_reversible_schemes(scheme):
    """Against the initial state of a rod and a hook.

    Round-off (1e-14 rad/s) accumulates over 500 steps and grows in the collision. Schemes that are not reversible miss the
    initial state by more than a thousand times the bound for those that are.
    """
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
