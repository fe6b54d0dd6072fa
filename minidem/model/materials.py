"""Constants of pairs of materials."""

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from ..scenario.tables import Material


def effective_moduli(materials: Sequence[Material]) -> NDArray[np.float64]:
    """Effective modulus E* of each pair of the m materials, (m, m), Pa: 1/E* = (1 - v1^2)/E1 + (1 - v2^2)/E2."""
    table = np.empty((len(materials), len(materials)))
    for (i, a), (j, b) in combinations_with_replacement(enumerate(materials), 2):
        table[i, j] = table[j, i] = 1.0 / ((1 - a.poisson**2) / a.young + (1 - b.poisson**2) / b.young)
    return table
