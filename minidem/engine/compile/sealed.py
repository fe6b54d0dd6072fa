"""Files that start with a checksum of the rest, which is verified before anybody else looks at the content.

Compiled kernels are pickles around machine code: reading a damaged one may crash the process, and reading one from
somebody else means running their code.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

LARGEST = 2**28  # bytes; the largest kernel takes 2**20
ABANDONED = 3600.0  # s, after which an unfinished file is that of a process that was killed
_CHECKSUM = 32  # bytes
_UNFINISHED = ".new"
told: dict[str, str] = {}  # what this process has said, by subject


class Unsealed(Exception):
    """A file that is not what `seal` wrote to this place. The message continues the name of the file."""


def tell(subject: str, text: str) -> None:
    """Say something on stderr, once in a process for each subject."""
    if subject not in told:
        told[subject] = text
        if sys.stderr is not None:
            try:
                print(text, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody listens any more; at exit Python would try again, and fail
                sys.stderr = None


def others_may_write(status: os.stat_result, shared: bool = False) -> str:
    """Why other users may change what has this status; "" if only the user and the system may.

    With `shared`, a folder may be one like /tmp, where everybody adds files and nobody replaces those of others.
    """
    if not hasattr(os, "geteuid"):  # another system of permissions
        return ""
    if status.st_uid != os.geteuid() and not (shared and status.st_uid == 0):
        return "belongs to another user"
    open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to_others and not (shared and status.st_mode & stat.S_ISVTX):
        return "can be written to by other users"
    return ""


def unseal(path: Path) -> bytes | None:
    """What `seal` wrote to a file of this name in a folder of this name; None without such a file. Raises Unsealed."""
    try:
        with open(path, "rb", opener=_as_it_is) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unsealed("is no regular file")
            if reason := others_may_write(status):
                raise Unsealed(reason)
            if status.st_size > LARGEST:
                raise Unsealed(f"has {status.st_size} bytes")
            whole = file.read(LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unsealed(f"cannot be read ({error.strerror})") from None
    checksum, content = whole[:_CHECKSUM], whole[_CHECKSUM:]
    if checksum != _checksum(path, content):
        raise Unsealed("is damaged or comes from elsewhere")
    return content


def seal(path: Path, content: bytes) -> None:
    """Write a file for `unseal`, all or nothing, that only this user may read or change. Raises OSError.

    It is not synced: what a power cut leaves behind has another checksum.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for unfinished in path.parent.glob(f".*{_UNFINISHED}"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - unfinished.lstat().st_mtime > ABANDONED:
                unfinished.unlink()
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_UNFINISHED)
    try:
        with open(handle, "wb") as file:
            file.write(_checksum(path, content))
            file.write(content)
        os.replace(new, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)


def drop(path: Path) -> None:
    """Remove a file, or a folder in its place, if that is possible."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _checksum(path: Path, content: bytes) -> bytes:
    """A hash of the content and of its place: a sound file is foreign everywhere else."""
    digest = hashlib.sha256(f"{path.parent.name}/{path.name}\n".encode())
    digest.update(content)
    return digest.digest()


def _as_it_is(path: str, flags: int) -> int:
    """Open neither what a link points to nor wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
