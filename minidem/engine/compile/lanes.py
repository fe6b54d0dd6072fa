"""The loop of rows.py in LLVM's own instructions.

Every load and store of a row says that it does not overlap the other rows. LLVM would otherwise compare the addresses of
rows at each call, or not use vector lanes at all because there are too many rows to compare.
"""

from numba import float64, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from .rows import check_result

ROWS = types.Array(float64, 2, "C")


def over_bodies(one_body, values):
    """A kernel (orientation, spin, torque, inertia, first, last, dt) that moves bodies first to last - 1.

    `one_body` is a function of the columns of one body, with `values` rows of spin; see rotation/__init__.py.
    """
    counts = {"orientation": 4, "spin": values, "torque": 3, "inertia": 9}
    column_types = [types.UniTuple(float64, count) for count in counts.values()]

    @intrinsic
    def loop(typing, orientation, spin, torque, inertia, first, last, dt):
        called = typing.resolve_value_type(one_body)
        signature = called.get_call_type(typing, (*column_types, float64), {})
        made = signature.return_type
        check_result(one_body, made, values)

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
            builder.cbranch(builder.icmp_signed("<", following, last), body, after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(orientation, spin, torque, inertia, int64, int64, float64), generate

    return loop


def _places(context, builder, array, count, column):
    """Addresses of the `count` numbers of a column."""
    array = context.make_array(ROWS)(context, builder, array)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    return [builder.gep(array.data, [builder.add(builder.mul(columns.type(c), columns), column)]) for c in range(count)]


def _tell_rows_apart(instructions, name, counts):
    """Promise that these instructions, one for each row of array `name`, touch no other row of any array."""
    module = instructions[0].function.module
    domain = module.add_metadata(["rows"])
    scopes = {(a, c): module.add_metadata([f"{a}{c}", domain]) for a, count in counts.items() for c in range(count)}
    for c, instruction in enumerate(instructions):
        others = [scope for row, scope in scopes.items() if row != (name, c)]
        instruction.set_metadata("alias.scope", module.add_metadata([scopes[name, c]]))
        instruction.set_metadata("noalias", module.add_metadata(others))
