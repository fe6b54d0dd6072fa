"""What threads need to meet at a barrier. Without it (see MOST_THREADS) a simulation runs on one thread."""

import os
import sys

from numba import types

from .kernels import available, inlined

if available(
    "llvmlite.ir:IRBuilder.atomic_rmw",
    "numba.core.base:BaseContext.make_array",
    "numba.core.cgutils:get_item_pointer",
    "numba.core.types:ExternalFunction",
    "numba.extending:intrinsic",
):
    from numba.core import cgutils
    from numba.extending import intrinsic

    MOST_THREADS = sys.maxsize
    give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())

    @intrinsic
    def fetch_add(context, array, index, value):
        """Add `value` to array[index] as one atomic operation. Returns array[index] as it was before."""

        def generate(context, builder, signature, arguments):
            kind = signature.args[0]
            struct = context.make_array(kind)(context, builder, arguments[0])
            place = cgutils.get_item_pointer(context, builder, kind, struct, [arguments[1]])
            return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

        return types.int64(array, types.int64, types.int64), generate

else:
    MOST_THREADS = 1

    @inlined
    def give_way():
        """Nothing: there is no other thread."""

    @inlined
    def fetch_add(array, index, value):
        """Add `value` to array[index]. Returns array[index] as it was before."""
        before = array[index]
        array[index] = before + value
        return before
