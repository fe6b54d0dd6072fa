"""Locks that a process holds on a file or directory until it closes it or ends."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on every system: there, nothing is locked
    fcntl = None  # type: ignore[assignment]


def locks(handle: int) -> bool:
    """Lock an open file or directory, given its descriptor. False if another process has the lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def opened_for_lock(directory: Path) -> int:
    """A file descriptor of a directory; where directories cannot be locked, one that stands for it."""
    return os.open(directory if fcntl else os.devnull, os.O_RDONLY)
