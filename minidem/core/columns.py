"""Columns of component-major arrays, as tuples, in a form that LLVM turns into vector lanes.

A view of a row counts references, at every call of a kernel twice a row and atomically; an index [row, column] may be
negative, for all that the compiler knows; and of two rows one of which is written it has to ask whether they overlap, which
takes longer than to rotate thirty bodies and, of many rows, keeps it from using lanes at all. Hence the address is computed
here, and LLVM is told that rows do not overlap.
"""

from functools import cache

from numba import float64, int64, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic


@cache
def access(name, arrays):
    """Two functions for the array `name` of a kernel whose `arrays`, pairs of names and numbers of rows, do not overlap.

    read(rows, column) -> tuple, and write(rows, column, tuple).
    """
    components = range(dict(arrays)[name])

    def places(context, builder, kind, rows, column):
        rows = context.make_array(kind)(context, builder, rows)
        columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        return [builder.gep(rows.data, [builder.add(builder.mul(columns.type(c), columns), column)]) for c in components]

    def apart_from_other_rows(builder, instruction, component):
        module = builder.module
        domain = module.add_metadata(["rows"])
        scopes = {(a, c): module.add_metadata([f"{a}{c}", domain]) for a, count in arrays for c in range(count)}
        own = scopes.pop((name, component))
        instruction.set_metadata("alias.scope", module.add_metadata([own]))
        instruction.set_metadata("noalias", module.add_metadata(list(scopes.values())))

    @intrinsic
    def read(typing, rows, column):
        def generate(context, builder, signature, arguments):
            values = [builder.load(place) for place in places(context, builder, rows, *arguments)]
            for c in components:
                apart_from_other_rows(builder, values[c], c)
            return context.make_tuple(builder, signature.return_type, values)

        return types.UniTuple(float64, len(components))(rows, int64), generate

    @intrinsic
    def write(typing, rows, column, values):
        if not isinstance(values, types.BaseTuple) or len(values) != len(components):
            raise TypingError(f"{name}: {len(components)} numbers are wanted, got {values}")

        def generate(context, builder, signature, arguments):
            *where, new = arguments
            for c, place in enumerate(places(context, builder, rows, *where)):
                value = context.cast(builder, builder.extract_value(new, c), values[c], float64)
                apart_from_other_rows(builder, builder.store(value, place), c)
            return context.get_dummy_value()

        return types.void(rows, int64, values), generate

    return read, write
