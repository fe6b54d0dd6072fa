"""Slopes, shifts and standard errors against curves and samples whose values are known."""

import math

import numpy as np
import pytest

from minidem.reproduce.measures import line_slope, log_slope, shift, standard_error
from minidem.reproduce.outcome import stacked


def test_slopes_of_a_line_and_of_a_power_law():
    x = np.array([1.0, 2.0, 4.0, 5.0])
    assert line_slope(x, 3 - 2 * x) == pytest.approx(-2)
    assert log_slope(x, 7 * x**2.5) == pytest.approx(2.5)


def test_shift_is_that_of_a_drift_and_not_of_an_oscillation():
    """A drift from 0 to 1 shifts the mean by 0.9 from the first to the last tenth; a sine of whole periods does not."""
    time = np.linspace(0, 1, 10_001)
    assert shift(time) == pytest.approx(0.9, abs=1e-3)
    assert shift(np.sin(200 * np.pi * time)) == pytest.approx(0, abs=1e-3)
    assert shift(np.array([1.0, 4.0])) == 3


def test_standard_error_of_the_mean():
    assert standard_error(np.array([1.0, 2.0, 6.0])) == pytest.approx(math.sqrt(7 / 3))
    assert math.isnan(standard_error(np.array([1.0])))


def test_stacked_columns_repeat_single_values():
    parts = [{"name": "a", "x": np.array([1, 2])}, {"name": "b", "x": np.array([3])}]
    assert stacked(parts) == {"name": ["a", "a", "b"], "x": [1, 2, 3]}
