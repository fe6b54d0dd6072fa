"""The loop over bodies around one function of a rotational integrator.

Every row of an array is an argument of its own, and `unaliased` promises LLVM that no two rows overlap. LLVM would otherwise
compare their addresses at each call, or not use vector lanes at all because there are too many rows to compare.
"""

from functools import cache

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import overload

from .kernels import inlined, unaliased


def over_bodies(one_body, values):
    """A kernel (orientation, spin, torque, inertia, first, last, dt) that moves bodies first to last - 1.

    `one_body` is a function of the columns of one body, with `values` rows of spin; see rotation/__init__.py.
    """
    more_rows, more_numbers, set_more = _beyond_three(values)

    def checked(result):
        """The result itself. numba asks for the function below when it knows its type."""

    @overload(checked)
    def _checked(result):
        check_result(one_body, result, values)
        return lambda result: result

    @unaliased
    def over_rows(q, s, more, t, i, first, last, dt):
        q0, q1, q2, q3 = q
        s0, s1, s2 = s
        t0, t1, t2 = t
        i0, i1, i2, i3, i4, i5, i6, i7, i8 = i
        for b in range(np.uint64(first), np.uint64(last)):  # numba checks signed indices for negative ones
            columns = (
                (q0[b], q1[b], q2[b], q3[b]),
                (s0[b], s1[b], s2[b], *more_numbers(more, b)),
                (t0[b], t1[b], t2[b]),
                (i0[b], i1[b], i2[b], i3[b], i4[b], i5[b], i6[b], i7[b], i8[b]),
            )
            new_q, new_spin = checked(one_body(*columns, dt))
            q0[b], q1[b], q2[b], q3[b] = new_q
            s0[b], s1[b], s2[b] = new_spin[:3]
            set_more(more, b, new_spin)

    @inlined
    def loop(q, s, t, i, first, last, dt):
        over_rows(
            (q[0], q[1], q[2], q[3]),
            (s[0], s[1], s[2]),
            more_rows(s),
            (t[0], t[1], t[2]),
            (i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8]),
            first,
            last,
            dt,
        )

    return loop


@cache
def _beyond_three(values):
    """Functions for the rows of spin after the third: a tuple of these rows, their numbers of body b, and to set these."""
    if values == 3:
        return inlined(lambda spin: ()), inlined(lambda rows, b: ()), inlined(lambda rows, b, new_spin: None)
    rows_before, numbers_before, set_before = _beyond_three(values - 1)
    last, place = values - 1, values - 4

    @inlined
    def set_numbers(rows, b, new_spin):
        set_before(rows, b, new_spin)
        rows[place][b] = new_spin[last]

    return (
        inlined(lambda spin: (*rows_before(spin), spin[last])),
        inlined(lambda rows, b: (*numbers_before(rows, b), rows[place][b])),
        set_numbers,
    )


def check_result(one_body, result, values):
    """Raise a TypingError unless `result`, the type of what `one_body` returns, is that of 4 and `values` numbers."""
    name = one_body.py_func.__name__
    if not isinstance(result, types.BaseTuple) or len(result) != 2:
        raise TypingError(f"{name}: must return q and spin, not {result}")
    for (part, count), kind in zip({"q": 4, "spin": values}.items(), result, strict=True):
        if not isinstance(kind, types.BaseTuple) or len(kind) != count:
            raise TypingError(f"{name}: {part}: must have {count} numbers, not {kind}")
