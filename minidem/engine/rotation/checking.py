"""What is wrong with a scheme from outside the package, in three lines."""

from ..compile.faults import compilation_fault, fault
from ..compile.kernels import fused, in_this_process

ARGUMENTS = ("q", "spin", "torque", "inertia", "dt")
USE = "use numbers, tuples and functions of math and minidem.schemes; helpers need the decorator minidem.schemes.compiled"
SEE = "`minidem new own_scheme` writes an example"


def scheme_fault(scheme, part, function):
    """An InputError of three lines for a registered scheme of which the function of one part cannot be compiled."""
    what = f'integrator "{scheme.name}": {part} cannot be compiled'
    plain = getattr(function, "py_func", function)
    if not hasattr(plain, "__code__") or plain.__code__.co_argcount != len(ARGUMENTS):
        return fault(what, plain, f"it must be a function of ({', '.join(ARGUMENTS)})", SEE)
    try:
        found = _called(function if hasattr(function, "py_func") else fused(function), scheme.values)
    except Exception as alone:  # numba raises errors of many kinds
        return compilation_fault(what, plain, alone, USE)
    returned = f"it must return q of 4 and spin of {scheme.values} numbers, as two tuples, not {found!r}"
    return fault(what, plain, returned, SEE)


def _called(function, values):
    """What the function returns for a body with some spin of `values` numbers."""
    spin = (0.1, 0.2, 0.3) + (0.0,) * (values - 3)

    def call(q, spin, torque, inertia, dt):
        return function(q, spin, torque, inertia, dt)

    return in_this_process(call)((1.0, 0.0, 0.0, 0.0), spin, (0.0,) * 3, (1.0,) * 9, 1e-3)
