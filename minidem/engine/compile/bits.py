"""Bits of a word."""

import numpy as np

from .kernels import available, inlined

__all__ = ["leading_zeros"]

if available("numba.cpython.unsafe.numbers:leading_zeros"):
    from numba.cpython.unsafe.numbers import leading_zeros
else:
    ONE, HIGHEST = np.uint64(1), np.uint64(63)

    @inlined
    def leading_zeros(word):
        """How many of the highest bits of a word (uint64) that is not zero are zero."""
        count = np.uint64(0)
        while word >> HIGHEST == np.uint64(0):
            word, count = word << ONE, count + ONE
        return count
