"""The loop over bodies around one function of a rotational integrator, in a form that LLVM turns into vector lanes.

It is made of LLVM's instructions, because numba's own loop over component-major arrays is slow for 30 bodies, and not in
lanes if a scheme keeps many numbers: views of rows count references, atomically, at every call; an index may be negative,
for all that the compiler knows; and of every two rows one of which is written it asks at every call whether they overlap.
Here addresses are computed, LLVM is told that rows do not overlap, and that two groups of lanes should go side by side: most
of the time of a scheme is spent waiting for square roots and quotients, where another group can be served.
"""

from llvmlite import ir
from numba import float64, int64, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

ROWS = types.Array(float64, 2, "C")
GROUPS = 2  # of lanes; two times four doubles are the LANES of state.py on most processors


def over_bodies(one_body, values):
    """A function of (orientation, spin, torque, inertia, first, last, dt) for other kernels to call.

    It gives bodies first to last - 1 what `one_body` makes of their columns, with `values` rows of spin.
    """
    counts = {"orientation": 4, "spin": values, "torque": 3, "inertia": 9}
    column_types = [types.UniTuple(float64, count) for count in counts.values()]

    @intrinsic
    def loop(typing, orientation, spin, torque, inertia, first, last, dt):
        called = typing.resolve_value_type(one_body)
        signature = called.get_call_type(typing, (*column_types, float64), {})
        wanted, made = {"q": 4, "spin": values}, signature.return_type
        if not isinstance(made, types.BaseTuple) or len(made) != 2:
            raise TypingError(f"{one_body.py_func.__name__}: q and spin are wanted, got {made}")
        for (name, count), part in zip(wanted.items(), made, strict=True):
            if not isinstance(part, types.BaseTuple) or len(part) != count:
                raise TypingError(f"{one_body.py_func.__name__}: {name}: {count} numbers are wanted, got {part}")

        def generate(context, builder, _, arguments):
            *arrays, first, last, dt = arguments
            arrays = dict(zip(counts, arrays, strict=True))
            before, body, after = builder.block, builder.append_basic_block("body"), builder.append_basic_block("after")
            builder.cbranch(builder.icmp_signed("<", first, last), body, after)
            builder.position_at_end(body)
            b = builder.phi(first.type)
            b.add_incoming(first, before)

            places = {name: _places(context, builder, arrays[name], count, b) for name, count in counts.items()}
            columns = []
            for name, kind in zip(counts, column_types, strict=True):
                numbers = [builder.load(place) for place in places[name]]
                _tell_rows_apart(numbers, name, counts)
                columns.append(context.make_tuple(builder, kind, numbers))
            function = context.get_function(called, signature)
            context.add_linking_libs(getattr(function, "libs", ()))
            parts = cgutils.unpack_tuple(builder, function(builder, (*columns, dt)))
            for name, kind, part in zip(("orientation", "spin"), made, parts, strict=True):
                numbers = [context.cast(builder, builder.extract_value(part, c), kind[c], float64) for c in range(len(kind))]
                _tell_rows_apart([builder.store(*pair) for pair in zip(numbers, places[name], strict=True)], name, counts)

            following = builder.add(b, b.type(1), flags=["nsw"])
            b.add_incoming(following, builder.block)
            _interleave(builder.cbranch(builder.icmp_signed("<", following, last), body, after))
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(orientation, spin, torque, inertia, int64, int64, float64), generate

    return loop


def _places(context, builder, array, count, column):
    """Addresses of the numbers of a column."""
    array = context.make_array(ROWS)(context, builder, array)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    return [builder.gep(array.data, [builder.add(builder.mul(columns.type(c), columns), column)]) for c in range(count)]


def _tell_rows_apart(instructions, name, counts):
    """Instructions that read or write a column of array `name`: no row is touched by instructions for another row."""
    module = instructions[0].function.module
    domain = module.add_metadata(["rows"])
    scopes = {(a, c): module.add_metadata([f"{a}{c}", domain]) for a, count in counts.items() for c in range(count)}
    for c, instruction in enumerate(instructions):
        others = [scope for row, scope in scopes.items() if row != (name, c)]
        instruction.set_metadata("alias.scope", module.add_metadata([scopes[name, c]]))
        instruction.set_metadata("noalias", module.add_metadata(others))


def _interleave(branch):
    """Mark the branch that closes a loop."""
    module = branch.function.module
    count = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), GROUPS)])
    loop = module.add_metadata(["a loop", count])
    loop.operands = (loop, count)  # LLVM wants the first entry to be the list itself
    branch.set_metadata("llvm.loop", loop)
