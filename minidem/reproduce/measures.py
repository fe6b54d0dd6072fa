"""Slopes, shifts and standard errors of measured curves and samples."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def line_slope(x: Array, y: Array) -> float:
    """Slope of a straight line fitted to y(x)."""
    return float(np.polyfit(x, y, 1)[0])


def log_slope(x: Array | Sequence[float], y: Array | Sequence[float]) -> float:
    """Exponent p of a power law y ~ x^p: the slope of a line fitted to log(y) against log(x)."""
    return line_slope(np.log(x), np.log(y))


def shift(values: Array) -> float:
    """Mean of the last tenth of the values minus that of the first tenth: a drift makes it grow, an oscillation does not."""
    n = max(1, len(values) // 10)
    return float(values[-n:].mean() - values[:n].mean())


def standard_error(values: Array) -> float:
    """Standard error of the mean; NaN for a single value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else math.nan
