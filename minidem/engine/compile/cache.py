"""Where compiled code is kept.

numba's disk cache only notices changes of the file that a kernel is in. If a helper in another file were edited, the kernel
would still return old results. So the cache is in a folder named after a hash of all kernel sources.
"""

import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name

PACKAGE = Path(__file__).resolve().parents[2]
KERNEL_ROOMS = ("engine", "shapes", "rotor")  # rooms with sources of cached kernels


def _sources() -> list[Path]:
    return sorted(file for room in KERNEL_ROOMS for file in (PACKAGE / room).rglob("*.py"))


def source_digest() -> str:
    """Hash of the kernel sources, the same on every machine."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def processor() -> str:
    """Name of the processor that code is compiled for, as LLVM calls it."""
    return str(get_host_cpu_name())


@cache
def cache_directory() -> Path:
    """A writable folder for compiled code, a new one for each state of the kernel sources, numba, Python and processor."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {processor()}".encode())
    # Modification times too: numba compares that of the kernel's own file, and a mere `touch` would empty the cache.
    for source in _sources():
        digest.update(f"{source} {source.stat().st_mtime_ns}".encode() + source.read_bytes())
    try:
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        wanted = os.environ.get("MINIDEM_CACHE_DIR") or Path(user_cache) / "minidem"
        directory = Path(wanted) / digest.hexdigest()[:16]
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except (OSError, RuntimeError):  # without a writable home, each process compiles for itself
        directory = Path(tempfile.mkdtemp(prefix="minidem-"))
    return directory
