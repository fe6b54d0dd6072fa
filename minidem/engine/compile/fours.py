"""Four adjacent numbers of an array as one value: the centre and radius of a sphere, or a force on it.

They are vectors of the processor (vectors.py), which subtracts, scales and stores them in one instruction. Where numba or
llvmlite lacks what that needs, a four is a tuple of numbers: the same results to the last bit, but a step of dense-10k or
trimers takes 1.25 times as long.
"""

import numpy as np

from .kernels import available, inlined

__all__ = ["difference", "four_at", "four_of", "fourth_negated", "multiple", "numbers_of", "put_four", "total"]

if available(
    "llvmlite.ir:VectorType",
    "llvmlite.ir:Undefined",
    "llvmlite.ir:IRBuilder.extract_element",
    "llvmlite.ir:IRBuilder.insert_element",
    "numba.core.base:BaseContext.get_dummy_value",
    "numba.core.base:BaseContext.make_array",
    "numba.core.cgutils:pack_array",
    "numba.extending:intrinsic",
    "numba.extending:models.PrimitiveModel",
    "numba.extending:register_model",
):
    from .vectors import difference, four_at, four_of, fourth_negated, multiple, numbers_of, put_four, total
else:
    ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)

    @inlined
    def four_at(array, k):
        """Entries k to k + 3 of an array."""
        return array[k], array[k + ONE], array[k + TWO], array[k + THREE]

    @inlined
    def put_four(array, k, four):
        """Store into entries k to k + 3 of an array."""
        array[k], array[k + ONE], array[k + TWO], array[k + THREE] = four

    @inlined
    def four_of(a, b, c, d):
        """The four (a, b, c, d)."""
        return a, b, c, d

    @inlined
    def numbers_of(four):
        """The four as a tuple of numbers."""
        return four

    @inlined
    def difference(a, b):
        """a - b, number by number."""
        return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]

    @inlined
    def total(a, b):
        """a + b, number by number."""
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]

    @inlined
    def multiple(four, factor):
        """All four numbers times `factor`."""
        return four[0] * factor, four[1] * factor, four[2] * factor, four[3] * factor

    @inlined
    def fourth_negated(four):
        """(a, b, c, -d) of a four (a, b, c, d)."""
        return four[0], four[1], four[2], -four[3]
