"""The functions of fours.py in LLVM's own instructions: a four is a vector of the processor."""

from llvmlite import ir
from numba import float64, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

_DOUBLES = ir.VectorType(ir.DoubleType(), 4)


class _Four(types.Type):
    def __init__(self):
        super().__init__("Four")


four_type = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _DOUBLES)


def _address(context, builder, kind, array, k):
    """Address of entries k to k + 3 of a one-dimensional array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [k]), _DOUBLES.as_pointer())


def _is_row(array):
    return array == types.Array(float64, 1, "C")


@intrinsic
def four_at(typing, array, k):
    """Entries k to k + 3 of an array."""
    if not _is_row(array):
        return None

    def generate(context, builder, signature, arguments):
        place = _address(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return four_type(array, types.uint64), generate


@intrinsic
def put_four(typing, array, k, four):
    """Store into entries k to k + 3 of an array."""
    if not _is_row(array):
        return None

    def generate(context, builder, signature, arguments):
        array, k, four = arguments
        builder.store(four, _address(context, builder, signature.args[0], array, k), align=8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, four), generate


def _four(builder, numbers):
    four = ir.Constant(_DOUBLES, ir.Undefined)
    for lane, number in enumerate(numbers):
        four = builder.insert_element(four, number, ir.IntType(32)(lane))
    return four


@intrinsic
def four_of(typing, a, b, c, d):
    """The four (a, b, c, d)."""

    def generate(context, builder, signature, arguments):
        return _four(builder, arguments)

    return four_type(float64, float64, float64, float64), generate


@intrinsic
def numbers_of(typing, four):
    """The four as a tuple of numbers."""
    kind = types.UniTuple(float64, 4)

    def generate(context, builder, signature, arguments):
        lanes = [builder.extract_element(arguments[0], ir.IntType(32)(lane)) for lane in range(4)]
        return cgutils.pack_array(builder, lanes)

    return kind(four), generate


@intrinsic
def difference(typing, a, b):
    """a - b, number by number."""

    def generate(context, builder, signature, arguments):
        return builder.fsub(*arguments)

    return four_type(a, b), generate


@intrinsic
def total(typing, a, b):
    """a + b, number by number."""

    def generate(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return four_type(a, b), generate


@intrinsic
def multiple(typing, four, factor):
    """All four numbers times `factor`."""

    def generate(context, builder, signature, arguments):
        four, factor = arguments
        return builder.fmul(four, _four(builder, [factor] * 4))

    return four_type(four, float64), generate


@intrinsic
def fourth_negated(typing, four):
    """(a, b, c, -d) of a four (a, b, c, d)."""

    def generate(context, builder, signature, arguments):
        return builder.fmul(arguments[0], ir.Constant(_DOUBLES, [1.0, 1.0, 1.0, -1.0]))

    return four_type(four), generate
