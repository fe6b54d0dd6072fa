"""Spatial order of bodies, and how many threads share them."""

import math
import os

import numpy as np
import pytest

from minidem.engine.search.ordering import _spread, order_of_spheres, reorder, spatial_order
from minidem.engine.state import BLOCK, Bodies, fields_of
from minidem.running.wall_clock import Pace, sensible_threads


def test_bits_are_spread_to_every_third_place():
    numbers = np.concatenate([[0, 1, 2, 2**15, 2**16 - 1], np.random.default_rng(0).integers(0, 2**16, 200)]).astype(
        np.uint64
    )
    expected = [sum(((int(n) >> bit) & 1) << 3 * bit for bit in range(16)) for n in numbers]
    assert _spread(numbers).tolist() == expected


def extents(position, order):
    """Mean volume of the boxes around each block of bodies."""
    blocks = [position[:, order[k : k + BLOCK]] for k in range(0, order.size - BLOCK + 1, BLOCK)]
    return np.mean([np.prod(np.ptp(block, axis=1)) for block in blocks])


@pytest.mark.parametrize("shape", [(1.0, 1.0, 1.0), (1.0, 0.2, 5.0)])
def test_blocks_are_compact(shape):
    """Most of 16 blocks of bodies at random fill little more than their sixteenth of the box; a Z curve has jumps."""
    rng = np.random.default_rng(1)
    position = rng.uniform(0, 1, (3, 16 * BLOCK)) * np.reshape(shape, (3, 1))
    order = spatial_order(position)
    assert sorted(order) == list(range(position.shape[1]))
    assert extents(position, order) < 3 / 16 * np.prod(shape) < extents(position, np.arange(order.size))


def test_bodies_far_away_or_nowhere_spoil_nothing():
    rng = np.random.default_rng(2)
    position = rng.uniform(0, 1, (3, 4096))
    position[:, 7], position[:, 8], position[:, 9] = 1e300, -1e9, np.nan
    order = spatial_order(position)
    assert sorted(order) == list(range(4096))
    here = order[~np.isin(order, [7, 8, 9])]
    assert extents(position, here) < 0.4 < extents(position, np.setdiff1d(np.arange(4096), [7, 8, 9]))


def test_reordering_moves_whole_bodies_and_leaves_what_is_beyond_them():
    sizes = {"n": 6, "m": 9, "v": 3}
    shapes = {name: [sizes.get(length, length) for length in field.shape] for name, field in fields_of(Bodies).items()}
    before = {name: np.arange(math.prod(shape)).reshape(shape) for name, shape in shapes.items()}
    order = np.array([5, 3, 1, 0, 2, 4])
    some = Bodies(**{name: values.copy() for name, values in before.items()})
    reorder(some, order)
    for name, values in before.items():
        assert np.array_equal(getattr(some, name)[..., :6], values[..., order]), name
        assert np.array_equal(getattr(some, name)[..., 6:], values[..., 6:]), name


def test_spheres_follow_their_bodies():
    first = np.array([0, 1, 3, 6])  # bodies of one, two and three spheres
    assert order_of_spheres(first, np.array([2, 0, 1])).tolist() == [3, 4, 5, 0, 1, 2]
    assert order_of_spheres(first, np.array([1, 2, 0])).tolist() == [1, 2, 3, 4, 5, 0]


def test_small_systems_stay_on_one_thread():
    processors = len(os.sched_getaffinity(0))
    assert [sensible_threads(None, blocks) for blocks in (1, 2, 3)] == [1, 1, 1]
    assert sensible_threads(None, 4) == min(2, processors)
    assert sensible_threads(None, 10**6) == processors
    assert [sensible_threads(wanted, 4) for wanted in (1, 3, 9)] == [1, 3, 4]


def test_the_faster_number_of_threads_is_kept_and_the_other_tried_again():
    pace = Pace(4)
    chosen = []
    for _ in range(100):
        chosen.append(pace.threads)
        pace.took(100, 0.1 if pace.threads == 4 else 0.3)
    assert chosen[:3] == [4, 1, 4]
    assert chosen.count(4) > 85 and chosen.count(1) >= 2
    chosen.clear()
    for _ in range(400):  # others want the processors now
        chosen.append(pace.threads)
        pace.took(100, 9.0 if pace.threads == 4 else 0.3)
    assert 1 <= chosen.count(4) <= 3  # half a minute each, in two minutes of steps


def test_nothing_is_tried_where_threads_are_given_or_one_is_enough():
    for pace in (Pace(None), Pace(1)):
        pace.took(100, 1.0)
        assert pace.threads is None


def test_what_is_too_short_tells_nothing():
    pace = Pace(2)
    pace.took(0, 10.0)
    pace.took(5, 1e-4)
    assert pace.threads == 2
