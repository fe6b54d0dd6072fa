"""Where compiled code is kept.

numba's disk cache only notices changes of the file that a kernel is in. If a helper in another file were edited, the kernel
would still return old results. So the cache is in a folder named after a hash of all kernel sources.
"""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name

from .sealed import drop, others_may_write, tell

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
def cache_directory() -> Path | None:
    """A folder for compiled code, a new one for each state of the kernel sources, numba, Python and processor.

    None, and a line on stderr, if it cannot be made, or if other users could put code there: then each process compiles for
    itself and leaves nothing behind.
    """
    given = os.environ.get("MINIDEM_CACHE_DIR")
    place = f"MINIDEM_CACHE_DIR={given}" if given else "~/.cache/minidem"
    try:
        wanted = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minidem").absolute()
        place = place if given else str(wanted)
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_others(wanted, shared=True)
        directory = wanted / _name()
        if os.path.lexists(directory) and not directory.is_dir():
            drop(directory)
            tell("kernel", f"{directory} is no folder; it was removed, and the kernels are compiled anew")
        directory.mkdir(mode=0o700, exist_ok=True)
        _refuse_others(directory)
        return directory
    except _Refused as error:
        trouble = str(error)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home
        trouble = f"{place} cannot be written to ({getattr(error, 'strerror', None) or error})"
    private = "each process compiles its kernels in private, for itself alone"
    tell("folder", f"{trouble}, so {private}; set MINIDEM_CACHE_DIR to a folder of your own")
    return None


class _Refused(Exception):
    """A folder that other users could put code into."""


def _refuse_others(folder: Path, shared: bool = False) -> None:
    """Raise _Refused if other users may write to a folder; `shared` as in `others_may_write`."""
    if reason := others_may_write(folder.stat(), shared):
        remedy = f" (chmod go-w {folder})" if "written" in reason else ""
        raise _Refused(f"{folder} {reason}{remedy}")


def _name() -> str:
    """Name of the folder for the sources as they are."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {processor()}".encode())
    # Modification times too: numba compares that of the kernel's own file, and a mere `touch` would empty the cache.
    for source in _sources():
        digest.update(os.fsencode(source) + f" {source.stat().st_mtime_ns}".encode() + source.read_bytes())
    return digest.hexdigest()[:16]
