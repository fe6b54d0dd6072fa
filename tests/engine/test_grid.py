"""The cells that bodies are sorted into: small, few and nearly evenly filled, on which the speed of the search depends. That
all near bodies are found is in test_lists.py."""

from itertools import pairwise

import numpy as np
import pytest

from minidem.engine.search.grid import body_pairs
from minidem.engine.world import grid_for


def bodies_in_cells(position, reach, skin=0.1):
    """How many bodies each cell has, on each level, and the shape of the levels (g, 3)."""
    n, grid = reach.size, grid_for(reach)
    body_pairs(position, reach, skin, grid, np.empty(n, np.uint32), np.empty((2, n), np.int64), n * n)
    counted = np.bincount(grid.slot, minlength=grid.first_cell[-1])
    assert np.array_equal(grid.start[:-1], np.cumsum(counted) - counted) and grid.start[-1] == n
    levels = [counted[first:last] for first, last in pairwise(grid.first_cell)]
    for counts, numbers in zip(grid.counts, levels, strict=True):
        assert counts.min() >= 1 and not numbers[counts.prod() :].any()
    return levels, grid.counts


@pytest.mark.parametrize("corner", [0.0, -50.0, 1e4])
@pytest.mark.parametrize("shape", [(8, 8, 8), (2, 4, 64), (200, 1, 1)])
def test_bodies_are_spread_over_the_cells(corner, shape):
    """Wherever the box is and whatever its shape: cells are as small as bodies and skin allow, and few bodies share one."""
    rng = np.random.default_rng(1)
    position = corner + rng.uniform(0.0, 1.0, (3, 512)) * np.reshape(shape, (3, 1)) * 1.1
    (numbers,), (counts,) = bodies_in_cells(position, np.full(512, 0.5))
    assert (np.abs(counts - shape) <= 0.2 * np.array(shape) + 1).all()
    assert numbers.max() <= 9 and np.count_nonzero(numbers) > 150


def test_cells_of_small_bodies_are_no_more_than_there_is_room_for():
    """Two for each body, so that most of them are used."""
    rng = np.random.default_rng(1)
    for reach in (1e-2, 1e-4, 1e-30):
        (numbers,), (counts,) = bodies_in_cells(rng.uniform(0.0, 1.0, (3, 512)), np.full(512, reach), 0.0)
        assert 256 < counts.prod() <= 1024
        assert counts.max() <= counts.min() + 1 and numbers.max() <= 9


def test_large_and_small_bodies_have_cells_of_their_own():
    rng = np.random.default_rng(1)
    reach = np.where(np.arange(520) < 8, 8.0, 0.5)
    (small, large), counts = bodies_in_cells(rng.uniform(0.0, 9.0, (3, 520)), reach)
    assert (np.abs(counts[0] - 8) <= 2).all() and counts[1].tolist() == [1, 1, 1]
    assert (small.sum(), large.sum()) == (512, 8) and small.max() <= 9


def test_cells_are_those_of_the_others_where_one_body_flew_away():
    rng = np.random.default_rng(1)
    position = rng.uniform(0.0, 8.8, (3, 512))
    for place in (1e9, -1e9, 1e300, np.nan):
        position[:, 100] = place
        (numbers,), _ = bodies_in_cells(position, np.full(512, 0.5))
        assert numbers.max() <= 9 and np.count_nonzero(numbers) > 150
