"""How kernels are compiled and where the compiled code is kept.

numba keys its disk cache by the file of a kernel alone: an edited helper in another file would leave the caller
returning old results. So the cache lives in a folder named after a hash of all the kernel sources.
"""

import hashlib
import os
import sys
import tempfile
import warnings
from functools import cache, partial
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name
from numba import cfunc, config, float64, int64, njit, typeof, types
from numba.core.compiler import Compiler
from numba.core.errors import NumbaExperimentalFeatureWarning

from .lanes import ROWS, over_bodies

# Function pointers in a tuple (the stages of a scheme) still make numba say this at every call.
warnings.filterwarnings("ignore", "First-class function type", NumbaExperimentalFeatureWarning)


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


PACKAGE = Path(__file__).resolve().parents[2]
KERNEL_ROOMS = ("engine", "shapes", "rotor")  # where kernels are


def _sources() -> list[Path]:
    return sorted(file for room in KERNEL_ROOMS for file in (PACKAGE / room).rglob("*.py"))


def source_digest() -> str:
    """A name for the present state of the kernel sources, the same on every machine."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_directory() -> Path:
    """A writable folder for compiled code, a new one for every state of the kernel sources and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {get_host_cpu_name()}".encode())
    # The times too: numba looks at that of a kernel's own file, and would find no kernel after a mere `touch`.
    for source in _sources():
        digest.update(f"{source} {source.stat().st_mtime_ns}".encode() + source.read_bytes())
    try:
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        wanted = os.environ.get("MINIDEM_CACHE_DIR") or Path(user_cache) / "minidem"
        directory = Path(wanted) / digest.hexdigest()[:16]
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except (OSError, RuntimeError):  # no home or a read-only one: compile anew in each process rather than fail
        directory = Path(tempfile.mkdtemp(prefix="minidem-"))
    return directory


def kernel(function, compiler=_for_python):
    """Compile `function` with the disk cache, leaving numba's own cache setting as it was."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory())
    try:
        return compiler(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = previous


_rotation_signature = types.void(ROWS, ROWS, ROWS, ROWS, int64, int64, float64)
_LOOP = "def loop(orientation, spin, torque, inertia, first, last, dt):\n"
_PASS = "    pass_{}(orientation, spin, torque, inertia, first, last, dt)\n"


def rotation_kernel(functions, name, values=3, compiler=kernel):
    """The loop over bodies around a function of a rotational integrator that keeps `values` numbers a body; or loops, one
    after the other, around some of them.

    To be called with (orientation, spin, torque, inertia, first, last, dt): moves the bodies first to last - 1, each in the
    same way, to the last bit, whatever the range. No two of the arrays may overlap.

    It is a function pointer, which has the same type for every scheme, so the step kernel is compiled once and finds itself
    in the disk cache; a jitted function as an argument or in a closure would miss the cache in every process. What the loop
    calls is a global of it, and the loop is renamed, because numba's cache tells functions apart by name.
    """
    bound = {f"pass_{k}": over_bodies(function, values) for k, function in enumerate(functions)}
    source = _LOOP + "".join(_PASS.format(k) for k in range(len(functions)))
    exec(compile(source, __file__, "exec"), bound)  # numba's cache wants the name of a real file
    loop = bound["loop"]
    loop.__name__ = loop.__qualname__ = name
    loop.__module__ = functions[0].py_func.__module__
    return compiler(loop, lambda **options: cfunc(_rotation_signature, **options))


def compiled_for(function, arguments):
    """The compiled kernel for arguments of these types; called itself, it does not look at them for 60 us first."""
    kinds = tuple(typeof(argument) for argument in arguments)
    function.compile(kinds)
    return function.get_overload(kinds)


def in_this_process(function, compiler=njit):
    """Compile `function` without the disk cache: for functions whose source the cache folder's name says nothing about."""
    return compiler(error_model="numpy")(function)
