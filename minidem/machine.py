"""Facts about this machine: processors, memory, installed versions."""

import contextlib
import ctypes
import os
import platform
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

DRAWING_LIBRARIES = "libegl1 and libgl1-mesa-dri, or libosmesa6 (Debian, Ubuntu), or libegl or mesalib (conda-forge)"


def processors() -> int:
    """Number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def machine() -> str:
    """Processor model and number of processors, as text."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not on every system
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} processors"


@cache
def version(package: str) -> str:
    """Installed version of a package."""
    return metadata.version(package)


def available_memory() -> int | None:
    """Bytes that this process can still allocate within all limits of the system; None if unknown."""
    return min((max(0, bytes_) for bytes_ in _memory_bounds()), default=None)


def _memory_bounds() -> Iterator[int]:
    """Bytes left by each limit that can be read: free memory, control groups, address space."""
    with contextlib.suppress(OSError):  # not on every system
        if found := re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE):
            yield 1024 * int(found[1])
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if not controllers:  # version 2
                yield from _cgroup_bounds(Path("/sys/fs/cgroup"), name, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
                yield from _cgroup_bounds(Path("/sys/fs/cgroup/memory"), name, *names)
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])


def _cgroup_bounds(root: Path, name: str, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Bytes left in the control group of this process and in each of its parents. Cached files count as free."""
    group = root / name.lstrip("/")
    for level in (group, *group.parents):
        if level == root.parent:
            break
        with contextlib.suppress(OSError, ValueError):  # ValueError: "max"
            bound = int((level / limit).read_text())
            droppable = re.search(rf"^{cached} (\d+)", (level / "memory.stat").read_text(), re.MULTILINE)
            yield bound - int((level / usage).read_text()) + (int(droppable[1]) if droppable else 0)


def map_large_arrays() -> None:
    """Give arrays of a megabyte or more memory of their own, which can grow in place and is returned when they are freed.

    By default, glibc stops doing so once a few such arrays were freed, and keeps the gaps between the others.
    """
    mmap_threshold = -3
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(mmap_threshold, 2**20)


def in_bytes(count: float) -> str:
    """A number of bytes as text with a unit, such as "1.5 GB"."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {unit}"
    return f"{count / 1000:.3g} kB"
