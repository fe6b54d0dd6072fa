"""Write files all or nothing, and never over an existing file unless asked to."""

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError


def replace_hint(option: str = "--out") -> str:
    """What to do about an existing output; `option` is the command-line option that names it."""
    return f"give --overwrite to replace it, or another {option}"


def check_free(*paths: Path, overwrite: bool, option: str = "--out", otherwise: str = "") -> None:
    """Raise InputError if one of the files exists and `overwrite` is false. `otherwise` ends the message: another remedy."""
    there = [str(path) for path in paths if path.exists()]
    if there and not overwrite:
        raise InputError(f"{', '.join(there)}: exists already; {replace_hint(option)}{otherwise}")


def beside(path: Path, unique: str = "") -> Path:
    """Where a file is written before it replaces `path`: in the same directory, with the same suffix. Nothing is there yet:
    no file of an earlier writer, and no link to somewhere else."""
    new = path.with_name(f".{path.stem}{unique}.new{path.suffix}")
    new.unlink(missing_ok=True)
    return new


def is_leftover(name: str) -> bool:
    """Whether a file name is one of `beside`: that of a writer at work, or of one that was killed."""
    return re.fullmatch(r"\..*\.new(\.\w+)?", name) is not None


@contextmanager
def replacing(path: Path, locked: bool = False) -> Iterator[Path]:
    """A path to write to. Without an error the new file replaces `path` in one step; with one, `path` stays as it was.

    Several processes may write the same file: the last one wins. With `locked`, only one does, and a killed writer leaves at
    most one file behind.
    """
    new = beside(path, "" if locked else f".{uuid.uuid4().hex}")
    try:
        yield new
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def write_whole(path: Path, text: str, locked: bool = False) -> None:
    """Write a text file all or nothing; `locked` as in `replacing`."""
    with replacing(path, locked) as new, open(new, "xb") as file:  # x: no link is followed
        file.write(text.encode())


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
