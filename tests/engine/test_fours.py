"""Four numbers as one value."""

import numpy as np
import pytest
from numba import njit

from minidem.engine.compile.fours import difference, four_at, four_of, fourth_negated, multiple, numbers_of, put_four, total
from minidem.engine.state import CONTACTS
from minidem.engine.world import aligned

K = np.uint64(3)  # not a multiple of four


@njit
def each(values, room, factor):
    """What every function makes of entries 3 to 6 and 1, 2, 3, 4."""
    this, that = four_at(values, K), four_of(1.0, 2.0, 3.0, 4.0)
    put_four(room, K, difference(this, that))
    return (
        numbers_of(this),
        numbers_of(total(this, that)),
        numbers_of(multiple(this, factor)),
        numbers_of(fourth_negated(this)),
    )


def test_fours_are_the_four_numbers():
    values, room = np.random.default_rng(0).normal(size=10), np.full(10, np.nan)
    four, that = values[3:7], np.array([1.0, 2.0, 3.0, 4.0])
    found = each(values, room, 2.5)
    assert np.array_equal(found, [four, four + that, 2.5 * four, four * [1, 1, 1, -1]])
    assert np.array_equal(room[3:7], four - that)
    assert np.isnan(room[[0, 1, 2, 7, 8, 9]]).all()


@pytest.mark.parametrize(("rows", "columns"), [(1, 4), (2, 12), (3, 7 * CONTACTS)])
def test_no_four_is_cut_by_a_cache_line(rows, columns):
    room = aligned(rows, columns)
    assert room.shape[0] == rows and room.shape[1] >= columns and room.flags.c_contiguous
    assert all(row.ctypes.data % 64 == 0 for row in room)
