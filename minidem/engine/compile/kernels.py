"""Decorators that compile kernels."""

from functools import partial

from numba import config, njit, typeof
from numba.core.compiler import Compiler

from .cache import cache_directory


class _Part(Compiler):
    """Compiles functions that only become parts of kernels: without machine code of their own."""

    def define_pipelines(self):
        self.state.flags.no_compile = True
        return super().define_pipelines()

    def compile_extra(self, function):
        result = super().compile_extra(function)
        stand_in = [].append  # numba knows compiled functions by a function for Python to call; there is none
        result.target_context.insert_user_function(stand_in, result.fndesc, [result.library])
        return result._replace(entry_point=stand_in)


class _InlinedPart(_Part):
    """Compiles functions that are to vanish in others: it is for those to be optimised, with all that they call."""

    def define_pipelines(self):
        self.state.library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
        self.state.library._optimize_final_module = lambda: None
        return super().define_pipelines()


# Division by zero must not raise: the check is a branch, and branches keep LLVM from using vector lanes. Kernels allocate
# nothing, so that references to arrays need no counting (_nrt): it is an atomic operation at every mention of an array, and
# takes long to compile, too. What only other kernels call goes without the wrappers that would let Python call it.
_for_kernels = {
    "error_model": "numpy",
    "fastmath": False,  # left open, it would be that of whichever caller is compiled first, and results with it
    "_nrt": False,
    "pipeline_class": _Part,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
internal = njit(**_for_kernels)
inlined = njit(forceinline=True, **_for_kernels | {"pipeline_class": _InlinedPart})
# For the rotation: a product and a sum may become one instruction with one rounding, if both are in such functions.
fused = njit(forceinline=True, **_for_kernels | {"fastmath": {"contract"}})

_for_python = partial(njit, nogil=True, _nrt=False, no_cfunc_wrapper=True)


def kernel(function, compiler=_for_python):
    """Compile `function` with the disk cache, leaving numba's own cache setting as it was."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory())
    try:
        return compiler(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = previous


def in_this_process(function, compiler=njit):
    """Compile `function` without the disk cache, for sources that the cache folder's name does not cover."""
    return compiler(error_model="numpy")(function)


growing = partial(kernel, compiler=njit)  # for kernels that allocate memory


def compiled_for(function, arguments):
    """The kernel compiled for the types of these arguments. A call skips numba's look at the types: 60 us."""
    kinds = tuple(typeof(argument) for argument in arguments)
    function.compile(kinds)
    return function.get_overload(kinds)
