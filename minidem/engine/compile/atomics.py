"""What threads need to meet at a barrier."""

import os

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())


@intrinsic
def fetch_add(context, array, index, value):
    """array[index] before `value` was added to it, as one operation that all threads see in the same order."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        struct = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, struct, [arguments[1]])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate
