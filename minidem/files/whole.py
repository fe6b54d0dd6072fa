"""Write files all or nothing, and never over an existing file unless asked to."""

import hashlib
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InputError

LONGEST_NAME = 255  # bytes, of a file


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
    if len(os.fsencode(new.name)) > LONGEST_NAME:
        digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
        new = path.with_name(f".{digest}{unique}.new{path.suffix if len(path.suffix) < 20 else ''}")
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
    """Write a text file all or nothing, even if the power fails; `locked` as in `replacing`. Its name is on the disk only
    after a `sync` of its directory: until then, the old file may come back."""
    with replacing(path, locked) as new, open(new, "xb") as file:  # x: no link is followed
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_missing(directory: Path, texts: Mapping[str, str], overwrite: bool) -> list[Path]:
    """Write text files, given by name, to a directory; returns their paths. A file that has this text already stays.
    InputError if a file has another one and `overwrite` is false; then nothing is written."""
    files = {directory / name: text.encode() for name, text in texts.items()}
    try:
        todo = [path for path, content in files.items() if not path.is_file() or path.read_bytes() != content]
        check_free(*todo, overwrite=overwrite)
        directory.mkdir(parents=True, exist_ok=True)
        for path in todo:
            write_whole(path, files[path].decode())
    except OSError as error:
        raise InputError(f"{directory}: cannot be written ({error.strerror}); give another --out") from None
    return list(files)


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, and wait until their names are on the disk."""
    missing = [above for above in path.parents if not above.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for made in (path, *missing):
        with suppress(OSError):  # its parent may be readable to others only
            sync(made.parent)
