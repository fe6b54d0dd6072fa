"""Names in a run directory, and which directory a run may be written to."""

import os
from pathlib import Path

from ..errors import InputError, option
from .locks import locks, opened_for_lock
from .manifest import never_begun, writer_of

CHECKPOINT, PREVIOUS = "checkpoint.h5", "checkpoint.previous.h5"
DAMAGED = "trajectory.damaged.h5"  # a damaged trajectory that a resumed run set aside
PLUGINS = {"integrator": "integrator.py", "law": "law.py"}  # copies of the plugins that these are from
FILES = (
    "scenario.toml",
    "resolved.toml",
    "manifest.json",
    "trajectory.h5",
    "energy.csv",
    CHECKPOINT,
    PREVIOUS,
    DAMAGED,
    *PLUGINS.values(),
)


def holds_a_run(directory: Path) -> InputError:
    """The error about a directory with a run that may not be replaced."""
    remedy = f"give {option('overwrite=True')} to replace it, or another {option('out')}"
    return InputError(f"{directory}: holds a run already; {remedy}")


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
            raise InputError(f"{directory}: is a file; give a directory with {option('out')}")
        found = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; give another directory with {option('out')}") from None
    if found and "manifest.json" not in found:
        files = f"holds other files ({', '.join(found[:3])})"
        raise InputError(f"{directory}: {files}; give an empty directory with {option('out')}")
    if found and not overwrite and not never_begun(directory):
        raise holds_a_run(directory)
    if found:
        os.close(locked(directory))
    return directory


def locked(directory: Path) -> int:
    """A file descriptor that locks the directory for other writers, until it is closed or this process ends."""
    handle = opened_for_lock(directory)
    if not locks(handle):
        os.close(handle)
        process = writer_of(directory)
        who = f"process {process}" if process else "another process"
        raise InputError(f"{directory}: {who} is writing a run there; stop it first, or give another directory")
    return handle
