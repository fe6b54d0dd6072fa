"""Numbers of all frames, read when they are needed: what they give is what an array in memory gives."""

import numpy as np
import pytest
from runs import scene

import minidem
from minidem.files.frame_array import FrameArray

NUMBERS = np.random.default_rng(3).standard_normal((7, 5, 3))


@pytest.fixture
def read():
    """The frames that were read so far."""
    return []


@pytest.fixture
def lazy(read):
    def rows(frames):
        read.extend(range(7)[frames])
        return NUMBERS[frames]

    return FrameArray(rows, NUMBERS.shape)


KEYS = [
    0, -1, np.int64(3), slice(None), slice(2, 5), slice(None, None, 2), slice(None, None, -1), slice(5, 1, -2), slice(4, 4),
    [0, 2, 2, -1], np.array([3, 1]), [True, False, True, False, False, True, False], (2, 1), (2, 1, 0), (-1, slice(1, 3)),
    (slice(1, 4), 2), (slice(1, 6, 2), slice(None), 1), ([0, 3], 1), ([0, 3], [1, 2]), ([1, 0], slice(None), [0, 2]),
    (3, slice(None), [0, 2]), (..., 0), (slice(None), ..., 1), None, (None, 2), NUMBERS > 0, (), ..., [],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_indexing_is_that_of_an_array(lazy, key):
    found, expected = lazy[key], NUMBERS[key]
    assert np.shape(found) == expected.shape and np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("key", "frames"), [(2, [2]), (-1, [6]), ((3, 1, 2), [3]), (slice(1, 6, 2), [1, 3, 5]), ([4, 0, 4], [0, 4])]
)
def test_only_what_is_asked_for_is_read(lazy, read, key, frames):
    lazy[key]
    assert read == frames


def test_iteration_reads_frame_by_frame(lazy, read):
    frames = iter(lazy)
    assert np.array_equal(next(frames), NUMBERS[0]) and read == [0]
    assert np.array_equal(list(frames), NUMBERS[1:])


def test_shape_needs_no_reading(lazy, read):
    assert (lazy.shape, lazy.ndim, lazy.size, len(lazy), lazy.dtype) == ((7, 5, 3), 3, 105, 7, np.float64)
    assert "7, 5, 3" in repr(lazy) and read == []


@pytest.mark.parametrize("frame", [7, -8, 999])
def test_frames_that_are_not_there(lazy, frame):
    with pytest.raises(IndexError, match=f"frame {frame}: must be -7 to 6, as there are 7 frames"):
        lazy[frame]
    with pytest.raises(IndexError):
        lazy[[0, frame]]


@pytest.mark.parametrize("key", [1.5, "a", (0, 9), (slice(0, 2), 0, 3)])
def test_what_an_array_refuses(lazy, key):
    with pytest.raises(IndexError):
        lazy[key]


def test_arithmetic_and_functions(lazy):
    for found, expected in (
        (2 * lazy - lazy / 3, 2 * NUMBERS - NUMBERS / 3),
        (lazy**2, NUMBERS**2),
        (lazy > 0, NUMBERS > 0),
        (-lazy, -NUMBERS),
        (np.sqrt(abs(lazy)), np.sqrt(abs(NUMBERS))),
        (np.linalg.norm(lazy, axis=2), np.linalg.norm(NUMBERS, axis=2)),
        (np.concatenate([lazy, lazy]), np.concatenate([NUMBERS, NUMBERS])),
        (np.add.reduce(lazy), np.add.reduce(NUMBERS)),
        (lazy.mean(axis=0), NUMBERS.mean(axis=0)),
        (lazy.T, NUMBERS.T),
        (np.asarray(lazy, np.float32), NUMBERS.astype(np.float32)),
    ):
        assert np.array_equal(found, expected)
    with pytest.raises(AttributeError, match="a FrameArray has no nothing"):
        _ = lazy.nothing
    with pytest.raises(ValueError, match="copy"):
        np.asarray(lazy, copy=False)


def test_numbers_of_a_file_are_not_changed_in_place(lazy):
    with pytest.raises(TypeError, match=r"read-only; change a copy: numpy.asarray"):
        lazy -= 1.0


def test_a_frame_of_a_run_on_disk_is_read_alone(tmp_path, monkeypatch):
    """Of the file itself: HDF5 is asked for one row."""
    minidem.run(scene("rods"), tmp_path / "run").trajectory.close()
    with minidem.Trajectory(tmp_path / "run") as trajectory:
        asked, states = [], trajectory._states
        monkeypatch.setattr(trajectory, "_states", lambda frames, *names: asked.append(frames) or states(frames, *names))
        positions = trajectory.position
        assert np.array_equal(positions[3], trajectory[3].position)
        assert np.array_equal(positions, [frame.position for frame in trajectory])
        assert asked[0] == slice(3, 4)
    with pytest.raises(ValueError, match="is closed"):
        positions[0]
