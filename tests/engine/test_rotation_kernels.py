"""The loops over bodies around the functions of the rotational integrators."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from minidem.engine.compile.kernels import fused, in_this_process, inlined
from minidem.engine.compile.pointers import rotation_pointer
from minidem.engine.rotation.loading import rotation
from minidem.engine.rotation.registry import SCHEMES
from minidem.engine.state import inertia_rows


@njit
def called(move, q, spin, torque, inertia, first, last, dt):
    move(q, spin, torque, inertia, first, last, dt)


def bodies(values, count=40):
    """At all speeds, turning by up to some radians in a step of 0.02 s; some with two equal moments, some without torque."""
    rng = np.random.default_rng(1)
    q = rng.normal(size=(4, count))
    spin = np.zeros((values, count))
    spin[:3] = rng.normal(size=(3, count)) * 10 ** rng.uniform(-3, 2, count)
    mass = rng.random((3, count))
    moments = mass.sum(0) - mass
    moments[1, ::2] = moments[0, ::2]
    torque = rng.normal(size=(3, count)) * (rng.random(count) > 0.3)
    return q / np.linalg.norm(q, axis=0), spin, torque, inertia_rows(moments)


@pytest.mark.parametrize("name", SCHEMES)
def test_range_does_not_matter(name):
    """Bodies in lanes, at the end of a range or alone: the same to the last bit, so threads may share them out."""
    scheme, ends = rotation(name), []
    for cuts in ([0, 40], [0, 8, 40], [0, 16, 24, 32, 40], [0, 1, 3, 17, 30, 40], range(41)):
        q, spin, torque, inertia = bodies(scheme.values)
        stages = (*scheme.starts, *scheme.stages, *scheme.stages)
        for move in (*(stage.move for stage in stages), scheme.on_step):
            for first, last in pairwise(cuts):
                called(move, q, spin, torque, inertia, first, last, 0.02)
        ends.append(np.concatenate([q, spin]))
    assert np.isfinite(ends[0][:7]).all()
    for end in ends[1:]:
        assert np.array_equal(end, ends[0], equal_nan=True)


def test_bodies_outside_the_range_stay():
    q, spin, torque, inertia = bodies(3)
    before = np.concatenate([q, spin])
    called(rotation("spiral").advance, q, spin, torque, inertia, 8, 24, 0.02)
    moved = (np.concatenate([q, spin]) != before).any(axis=0)
    assert moved.tolist() == [8 <= b < 24 for b in range(40)]


def test_whole_numbers_become_floats():
    rest = rotation_pointer([fused(lambda q, spin, torque, inertia, dt: (q, (0, 1, 2)))], "rest", 3, in_this_process)
    q, spin, torque, inertia = bodies(3)
    called(rest, q, spin, torque, inertia, 0, 40, 0.02)
    assert (spin.T == [0.0, 1.0, 2.0]).all()


def test_functions_of_a_tuple_act_one_after_the_other():
    doubled = fused(lambda q, spin, torque, inertia, dt: (q, (2.0 * spin[0], spin[1], dt)))
    shifted = fused(lambda q, spin, torque, inertia, dt: (q, (spin[0] + 1.0, spin[1], 2.0 * spin[2])))
    both = rotation_pointer([doubled, shifted], "both", 3, in_this_process)
    q, spin, torque, inertia = bodies(3)
    expected = np.array([2.0 * spin[0] + 1.0, spin[1], np.full(40, 0.04)])
    called(both, q, spin, torque, inertia, 0, 40, 0.02)
    assert np.array_equal(spin, expected)


def test_wrong_number_of_values_is_said():
    with pytest.raises(TypingError, match="spin: must have 4 numbers"):
        rotation_pointer([fused(lambda q, spin, torque, inertia, dt: (q, torque))], "few", 4, in_this_process)


@inlined
def rest(x, y, rounded):
    """What a product lacks of its rounded value: zero, unless both become one instruction."""
    return x * y - rounded


@fused
def rest_by_way_of_the_rotation(x, y, rounded):
    return rest(x, y, rounded)


def test_rounding_does_not_depend_on_who_is_compiled_first():
    """A helper that the rotation calls first must not take over its licence to fuse; contacts call the same one."""
    x, y = 1.0 + 2.0**-30, 1.0 - 2.0**-31
    by_way, directly = (
        in_this_process(lambda x, y, rounded: rest_by_way_of_the_rotation(x, y, rounded)),
        in_this_process(lambda x, y, rounded: rest(x, y, rounded)),
    )
    assert by_way(x, y, x * y) == directly(x, y, x * y) == 0.0
