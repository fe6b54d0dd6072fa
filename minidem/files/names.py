"""Names in a run directory, and which directory a run may be written to."""

import fcntl
import os
from pathlib import Path

from ..errors import InputError
from .manifest import never_begun, writer_of
from .whole import replace_hint

CHECKPOINT, PREVIOUS = "checkpoint.h5", "checkpoint.previous.h5"
DAMAGED = "trajectory.damaged.h5"  # a damaged trajectory that a resumed run set aside
FILES = (
    "scenario.toml",
    "resolved.toml",
    "manifest.json",
    "trajectory.h5",
    "energy.csv",
    CHECKPOINT,
    PREVIOUS,
    DAMAGED,
)
HOLDS_A_RUN = f"holds a run already; {replace_hint()}"


def default_directory(name: str) -> Path:
    """The directory of the scenario or study of that name. A symbolic link is refused: it might point anywhere."""
    directory = Path("output") / name
    if directory.is_symlink():
        raise InputError(f"{directory}: is a symbolic link; remove it, or give the directory with --out")
    return directory


def claimed_directory(directory: Path, overwrite: bool) -> Path:
    """The directory, if a run may be written there; InputError if not."""
    try:
        if directory.exists() and not directory.is_dir():
            raise InputError(f"{directory}: is a file; give a directory with --out")
        found = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; give another directory with --out") from None
    if found and "manifest.json" not in found:
        raise InputError(f"{directory}: holds other files ({', '.join(found[:3])}); give an empty directory with --out")
    if found and not overwrite and not never_begun(directory):
        raise InputError(f"{directory}: {HOLDS_A_RUN}")
    if found:
        os.close(locked(directory))
    return directory


def locked(directory: Path) -> int:
    """A file descriptor that locks the directory for other writers, until it is closed or this process ends."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        process = writer_of(directory)
        who = f"process {process}" if process else "another process"
        raise InputError(f"{directory}: {who} is writing a run there; stop it first, or give another directory") from None
    except OSError:  # a file system without locks
        pass
    return handle
