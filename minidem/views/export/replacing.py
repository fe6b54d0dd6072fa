"""Files that are written completely or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def part_of(path: Path) -> Path:
    """Name of the file while it is being written."""
    return path.with_name(f".{path.name}.part")


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write. It replaces `path` when it is complete; after an error nothing is left of it."""
    try:
        yield part_of(path)
        os.replace(part_of(path), path)
    finally:
        part_of(path).unlink(missing_ok=True)
