"""The kernels in plain Python: nothing is compiled, so that a mutant of a kernel is tested within a second."""

import math
import warnings

import numba


def do_not_compile():
    """Leave all kernels that are imported from now on as they are written. On one thread, and for small scenes only."""
    numba.njit = lambda function=None, **options: as_it_is(function) if function else as_it_is  # of tests
    from minidem.engine.compile import kernels

    kernels.available = lambda *names: False  # no functions in LLVM's instructions: those that stand in for them
    for name in ("fused", "inlined", "internal", "rare", "unaliased", "kernel", "in_this_process", "growing"):
        setattr(kernels, name, as_it_is)
    kernels.compiled_for = as_it_is
    from minidem.engine.compile import pointers

    pointers.over_bodies, pointers.signature_for = over_bodies, lambda *arguments: None
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # whole numbers of NumPy that wrap around
    for name in ("sqrt", "sinh", "cosh"):
        setattr(math, name, without_error(getattr(math, name)))


def as_it_is(function, *_):
    """The function, which is also what a compiled one calls its source."""
    function.py_func = function
    return function


def without_error(function):
    """The function, which returns NaN and infinity instead of raising an error."""

    def value(x):
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return value


def over_bodies(one_body, values):
    """As that of rows.py."""

    def loop(orientation, spin, torque, inertia, first, last, dt):
        for b in range(first, last):
            columns = (tuple(map(float, rows[:, b])) for rows in (orientation, spin[:values], torque, inertia))
            orientation[:, b], spin[:values, b] = one_body(*columns, dt)

    return loop
