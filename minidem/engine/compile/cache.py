"""Where compiled code is kept.

numba keys its disk cache by the file of a kernel alone: an edited helper in another file would leave the caller returning
old results. So the cache lives in a folder named after a hash of all kernel sources.
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
KERNEL_ROOMS = ("engine", "shapes", "rotor")  # where kernels in the disk cache come from


def _sources() -> list[Path]:
    return sorted(file for room in KERNEL_ROOMS for file in (PACKAGE / room).rglob("*.py"))


def source_digest() -> str:
    """Hash of the kernel sources, the same on every machine."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def processor() -> str:
    """Name of the processor that code is compiled for."""
    return str(get_host_cpu_name())


@cache
def cache_directory() -> Path:
    """A writable folder for compiled code: a new one for each state of the kernel sources, numba, Python and processor."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {processor()}".encode())
    # Modification times too: numba compares that of a kernel's own file, and would find no kernel after a mere `touch`.
    for source in _sources():
        digest.update(f"{source} {source.stat().st_mtime_ns}".encode() + source.read_bytes())
    try:
        user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        wanted = os.environ.get("MINIDEM_CACHE_DIR") or Path(user_cache) / "minidem"
        directory = Path(wanted) / digest.hexdigest()[:16]
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except (OSError, RuntimeError):  # no home or a read-only one: compile in each process rather than fail
        directory = Path(tempfile.mkdtemp(prefix="minidem-"))
    return directory
