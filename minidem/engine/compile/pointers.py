"""Function pointers: one type for every rotational scheme, contact law and torque.

The step kernel takes them as arguments. So it is compiled once and then found in the disk cache. With a jitted function as
an argument or in a closure it would be compiled again in every process.
"""

from types import FunctionType

from numba import cfunc, float64, int64, typeof, types

from .kernels import available, kernel, uncounted

if available(
    "llvmlite.ir:IRBuilder.gep",
    "llvmlite.ir:Module.add_metadata",
    "numba.core.base:BaseContext.add_linking_libs",
    "numba.core.base:BaseContext.get_function",
    "numba.core.base:BaseContext.make_array",
    "numba.core.base:BaseContext.make_tuple",
    "numba.core.cgutils:unpack_tuple",
    "numba.core.typing.context:BaseContext.resolve_value_type",
    "numba.extending:intrinsic",
):
    from .lanes import over_bodies
else:
    from .rows import over_bodies

ROWS, ROW = types.Array(float64, 2, "C"), types.Array(float64, 1, "C")
_rotation = types.void(ROWS, ROWS, ROWS, ROWS, int64, int64, float64)
_law = types.int64(int64, ROW, float64)
_torque = types.void(float64, float64, ROWS, ROWS, ROWS)


def _pointer(template, name, module, signature, compiler, **functions):
    """A function pointer to a copy of `template` whose global names are bound to `functions`.

    The copy has its own name because numba's disk cache distinguishes functions by their names.
    """
    copy = FunctionType(template.__code__, {**template.__globals__, **functions}, name)
    copy.__qualname__, copy.__module__ = name, module
    return compiler(copy, lambda **options: cfunc(signature, **uncounted, **options))


def _one_pass(orientation, spin, torque, inertia, first, last, dt):
    first_pass(orientation, spin, torque, inertia, first, last, dt)  # noqa: F821 - bound by _pointer


def _two_passes(orientation, spin, torque, inertia, first, last, dt):
    first_pass(orientation, spin, torque, inertia, first, last, dt)  # noqa: F821
    second_pass(orientation, spin, torque, inertia, first, last, dt)  # noqa: F821


def rotation_pointer(functions, name, values=3, compiler=kernel):
    """A function pointer to the loop over bodies around one or two functions of a rotational scheme.

    The scheme keeps `values` numbers of spin per body. The pointer is called with (orientation, spin, torque, inertia,
    first, last, dt) and moves bodies first to last - 1. The result for a body does not depend on the range, to the last
    bit. The arrays must not overlap.
    """
    passes = [over_bodies(function, values) for function in functions]
    bound = dict(zip(("first_pass", "second_pass"), passes, strict=False))
    template = _one_pass if len(passes) == 1 else _two_passes
    return _pointer(template, name, functions[0].py_func.__module__, _rotation, compiler, **bound)


def law_pointer(loop, contact, name, compiler=kernel):
    """`loop`, the loop over a batch of contacts, around the function `contact` of a law: (count, batch, deep overlap) -> the
    number of deep overlaps."""
    return _pointer(loop, name, contact.py_func.__module__, _law, compiler, contact=contact)


def edge_pointer(loop, contact, name, signature, compiler=kernel, **constants):
    """`loop`, the pass over the edges of contacts (contact/edges.py), around the function `contact` of a law. The constants
    become part of its code. `signature` is from `signature_for`."""
    return _pointer(loop, name, contact.py_func.__module__, signature, compiler, contact=contact, **constants)


def signature_for(*arguments):
    """The signature of a function pointer that takes such arguments and returns nothing."""
    return types.void(*(typeof(argument) for argument in arguments))


def torque_pointer(function):
    """A function pointer to a torque of the rotor bench: (t, dt, q, omega, torque) sets `torque` (N m)."""
    return kernel(function, lambda **options: cfunc(_torque, **uncounted, **options))
