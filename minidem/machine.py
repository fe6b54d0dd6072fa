"""What this machine is like."""

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path


def processors() -> int:
    """That this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def machine() -> str:
    """For people."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not on every system
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} processors"


@cache
def version(package: str) -> str:
    return metadata.version(package)
