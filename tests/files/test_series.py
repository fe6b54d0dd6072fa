"""Rows of a run as they grow."""

import h5py
import numpy as np
import pytest

from minidem.files.series import append, copy_rows, series

NAMES = ("position", "velocity")


@pytest.fixture
def file(tmp_path):
    """Two elements with two rows."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        series(file.create_group("bodies"), {name: ((2, 3), "m") for name in NAMES})
        append(file["bodies"], NAMES, [row(0), row(10)])
        yield file


def row(step, **more):
    return step, 0.1 * step, {name: np.full((2, 3), step + 0.5) for name in NAMES} | more


def lengths(group):
    return {part: len(group[part]) for part in (*(f"{name}/value" for name in NAMES), "position/time", "position/step")}


def test_rows_are_appended(file):
    append(file["bodies"], NAMES, [row(20)])
    append(file["bodies"], NAMES, [])
    assert set(lengths(file["bodies"]).values()) == {3}
    assert file["bodies/velocity/step"][:].tolist() == [0, 10, 20]
    assert file["bodies/velocity/time"][:].tolist() == [0.0, 1.0, 2.0]
    assert file["bodies/velocity/value"][:, 1, 2].tolist() == [0.5, 10.5, 20.5]


@pytest.mark.parametrize("fault", ["position", "velocity", "time"])
def test_the_step_is_written_last(file, fault):
    """Wherever the writing of a row stops, readers that count the steps see whole rows only."""
    step, time, values = row(20)
    rows = [(step, "nothing" if fault == "time" else time, values | {fault: "nothing"})]
    with pytest.raises((TypeError, ValueError, OSError)):
        append(file["bodies"], NAMES, rows)
    assert len(file["bodies/position/step"]) == 2
    assert lengths(file["bodies"])[{"time": "position/time"}.get(fault, f"{fault}/value")] == 3  # it stopped there


@pytest.mark.parametrize(("last", "steps"), [(-1, []), (0, [0]), (9, [0]), (10, [0, 10]), (99, [0, 10])])
def test_rows_are_copied_up_to_a_step(file, tmp_path, last, steps):
    with h5py.File(tmp_path / "copy.h5", "w") as copy:
        series(copy.create_group("bodies"), {name: ((2, 3), "m") for name in NAMES})
        assert copy_rows(file, copy, "bodies", NAMES, last, tmp_path / "rows.h5") == (len(steps), 2 - len(steps))
        assert copy["bodies/position/step"][:].tolist() == steps
        for part in lengths(file["bodies"]):
            assert np.array_equal(copy["bodies"][part][:], file["bodies"][part][: len(steps)])
