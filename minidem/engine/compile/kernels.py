"""Decorators that compile kernels.

Some of what they do needs attributes of numba that are not documented. Each such trick says what it buys; docs/compile.md
has the measurements. Where numba lacks an attribute, kernels are compiled the plain way: slower, and
two schemes then round differently.
"""

from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import Any

from numba import config, njit, typeof

from .cache import cache_directory

Function = Callable[..., Any]


def available(*names: str) -> bool:
    """Whether all of these attributes exist, each written as "module:attribute"."""
    try:
        for name in names:
            resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def known_options(**options: Any) -> dict[str, Any]:
    """Those of the options that njit knows."""
    return {name: value for name, value in options.items() if available(f"numba.core.options:DefaultOptions.{name}")}


_pipeline_of_parts: dict[str, Any] = {}
_pipeline_of_inlined_parts: dict[str, Any] = {}
_pipeline_without_overlap: dict[str, Any] = {}
if available(
    "numba.core.compiler:Compiler.define_pipelines",
    "numba.core.compiler:Compiler.compile_extra",
    "numba.core.compiler:Flags.no_compile",
    "numba.core.compiler:CompileResult._replace",
    "numba.core.base:BaseContext.insert_user_function",
    "numba.core.codegen:Codegen.create_library",
    "numba.core.codegen:CPUCodeLibrary._finalize_dynamic_globals",
    "numba.core.codegen:CPUCodeLibrary._finalize_final_module",
    "numba.core.codegen:CPUCodeLibrary._finalized",
    "numba.core.codegen:CPUCodeLibrary._optimize_final_module",
):
    from numba.core.compiler import Compiler

    class _Part(Compiler):
        """Compiles functions that only become parts of kernels, without machine code of their own: 1.8 s of a first run."""

        def define_pipelines(self):
            self.state.flags.no_compile = True
            library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)

            def finish():
                library._finalize_dynamic_globals()
                library._finalized = True

            library._finalize_final_module = finish
            self.state.library = library
            return super().define_pipelines()

        def compile_extra(self, function):
            result = super().compile_extra(function)
            stand_in = [].append  # numba identifies a compiled function by its entry point; here there is none
            result.target_context.insert_user_function(stand_in, result.fndesc, [result.library])
            return result._replace(entry_point=stand_in)

    class _InlinedPart(_Part):
        """Leaves the optimisation to the kernel that these become part of: about 2 s of a first run."""

        def define_pipelines(self):
            pipelines = super().define_pipelines()
            self.state.library._optimize_final_module = lambda: None
            return pipelines

    _pipeline_of_parts, _pipeline_of_inlined_parts = {"pipeline_class": _Part}, {"pipeline_class": _InlinedPart}

    if available("numba.core.compiler:Flags.noalias"):

        class _WithoutOverlap(_Part):
            """Compiles functions whose array arguments do not overlap: 15 % of a step of chess or rods."""

            def define_pipelines(self):
                self.state.flags.noalias = True
                return super().define_pipelines()

        _pipeline_without_overlap = {"pipeline_class": _WithoutOverlap}

# Kernels allocate nothing, so references to arrays need no counting: a step of small systems takes a third of the time, and
# a first run 4.7 s less.
uncounted = known_options(_nrt=False)
# For functions that Python never calls: 8 s of a first run.
_no_wrappers = known_options(no_cpython_wrapper=True, no_cfunc_wrapper=True)
_forced = known_options(forceinline=True)  # a step takes 30 % (small systems) to 80 % of the time
_not_forced = known_options(forceinline=False)  # else it is inherited from an inlined caller

# Division by zero must not raise: the check is a branch, and branches keep LLVM from using vector lanes.
# If fastmath were left open, it would be that of the first caller, and results would depend on the order of compilation.
_common = {"error_model": "numpy", "fastmath": False, **uncounted, **_no_wrappers}
internal = njit(**_common, **_pipeline_of_inlined_parts)
# Never inlined, for what is rarely called: it would take registers from the loops around it.
rare = njit(**_common, **_not_forced, **_pipeline_of_inlined_parts)
inlined = njit(**_common, **_forced, **_pipeline_of_inlined_parts)
# For the rotation: a product and a sum, both in such functions, may become one instruction with one rounding.
fused = njit(**_common | {"fastmath": {"contract"}}, **_forced, **_pipeline_of_parts)

# For functions whose array arguments do not overlap.
unaliased = njit(**_common, **_pipeline_without_overlap)

_for_python = partial(njit, nogil=True, **uncounted, **known_options(no_cfunc_wrapper=True))


if available(
    "numba.core.caching:NullCache.load_overload",
    "numba.core.caching:NullCache.save_overload",
    "numba.core.ccallback:FunctionCache",
    "numba.core.codegen:CodeLibrary.has_dynamic_globals",
    "numba.core.codegen:CPUCodegen.magic_tuple",
    "numba.core.compiler:CompileResult._rebuild",
    "numba.core.compiler:CompileResult._reduce",
    "numba.core.compiler_lock:global_compiler_lock",
    "numba.core.dispatcher:FunctionCache",
    "numba.core.serialize:dumps",
):
    from numba.core import ccallback, dispatcher
    from numba.core.compiler_lock import global_compiler_lock

    from .kept import KeptKernels

    @contextmanager
    def _kept_in(directory, function):
        """Functions that numba compiles with its cache keep their code in files with checksums: this one alone."""
        with global_compiler_lock:  # of other threads that are here at the same time
            before = dispatcher.FunctionCache, ccallback.FunctionCache

            def cache_of(other):
                return KeptKernels(other, directory) if other is function else before[0](other)

            dispatcher.FunctionCache = ccallback.FunctionCache = cache_of
            try:
                yield
            finally:
                dispatcher.FunctionCache, ccallback.FunctionCache = before
else:

    @contextmanager
    def _kept_in(directory, function):
        """numba's own cache, in this folder: what is damaged there ends every process that loads it."""
        before = config.CACHE_DIR
        config.CACHE_DIR = str(directory)
        try:
            yield
        finally:
            config.CACHE_DIR = before


def kernel(function: Function, compiler: Function = _for_python) -> Any:
    """Compile `function` with a cache on the disk. The cache of numba itself stays as it was."""
    directory = cache_directory()
    if directory is None:
        return in_this_process(function, compiler)
    with _kept_in(directory, function):
        return compiler(cache=True, error_model="numpy")(function)


def in_this_process(function: Function, compiler: Function = njit) -> Any:
    """Compile `function` without the disk cache, for sources that the name of the cache folder does not cover."""
    return compiler(error_model="numpy")(function)


growing = partial(kernel, compiler=njit)  # for kernels that allocate memory


def compiled_for(function: Any, arguments: tuple[Any, ...]) -> Any:
    """`function` compiled for the types of these arguments, to be called without numba's check of the types.

    The check takes 20 us of the 34 us that `Simulation.advance(1)` would take with 30 rods.
    """
    kinds = tuple(typeof(argument) for argument in arguments)
    function.compile(kinds)
    return function.get_overload(kinds)
