"""How kernels are compiled and where the compiled code is kept.

numba keys its disk cache by the file of a kernel alone: an edited helper in another file would leave the caller
returning old results. So the cache lives in a folder named after a hash of all the kernel sources.
"""

import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import FunctionType

import numba
from llvmlite.binding import get_host_cpu_name
from numba import cfunc, config, float64, njit, types

# Division by zero must not raise: the check is a branch, and branches keep LLVM from using vector lanes. What only other
# kernels call goes without the wrappers that would let Python call it: they take longer to compile than the function.
_for_kernels = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
internal = njit(**_for_kernels)
inlined = njit(forceinline=True, **_for_kernels)


@cache
def cache_directory() -> Path:
    """A writable folder for compiled code, a new one for every state of the kernel sources and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {get_host_cpu_name()}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(f"{source} {source.stat().st_mtime_ns}".encode() + source.read_bytes())  # as numba does
    try:
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        wanted = os.environ.get("MINIDEM_CACHE_DIR") or Path(user_cache) / "minidem"
        directory = Path(wanted) / digest.hexdigest()[:16]
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except (OSError, RuntimeError):  # no home or a read-only one: compile anew in each process rather than fail
        directory = Path(tempfile.mkdtemp(prefix="minidem-"))
    return directory


def kernel(function, compiler=njit):
    """Compile `function` with the disk cache, leaving numba's own cache setting as it was."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory())
    try:
        return compiler(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = previous


_rows = types.Array(float64, 2, "C")
_rotation_signature = types.void(_rows, _rows, _rows, _rows, float64)


def _for_each_body(orientation, spin, torque, inertia, dt):
    # One-dimensional rows and a loop without branches: LLVM turns this into vector lanes.
    q0, q1, q2, q3 = orientation[0], orientation[1], orientation[2], orientation[3]
    s0, s1, s2 = spin[0], spin[1], spin[2]
    m0, m1, m2 = torque[0], torque[1], torque[2]
    i0, i1, i2 = inertia[0], inertia[1], inertia[2]
    for b in range(q0.size):
        q, s = one_body(  # noqa: F821 - bound by `rotation_kernel`
            (q0[b], q1[b], q2[b], q3[b]),
            (s0[b], s1[b], s2[b]),
            (m0[b], m1[b], m2[b]),
            (i0[b], i1[b], i2[b]),
            dt,
        )
        q0[b], q1[b], q2[b], q3[b] = q
        s0[b], s1[b], s2[b] = s


def rotation_kernel(one_body, name):
    """The loop over bodies around one function of a rotational integrator, as a function pointer.

    A pointer has the same type for every scheme, so the step kernel is compiled once and finds itself in the disk
    cache; a jitted function as an argument or in a closure would miss the cache in every process. `one_body` is
    bound as a global of the loop, and the loop is renamed, because numba's cache tells functions apart by name.
    """
    loop = FunctionType(_for_each_body.__code__, {"one_body": one_body, "range": range}, name)
    loop.__qualname__ = name
    loop.__module__ = one_body.py_func.__module__
    return kernel(loop, lambda **options: cfunc(_rotation_signature, **options))
