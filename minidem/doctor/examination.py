"""All checks of the installation, one after the other. Needs the standard library only."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from importlib import metadata
from typing import Any

from . import checks
from .findings import Check, Finding, said
from .processes import in_a_process

LIMIT = 60.0  # s that a check may take
COMPILING = 300.0  # s, with all kernels to be compiled on a slow machine
# As in pyproject.toml; a build may put an upper bound first.
REQUIREMENT = re.compile(
    r"([\w.-]+?)\s*(?:<[\d.]+,\s*)?>=\s*([\d.]+)(?:,\s*<[\d.]+)?(?:\s*;\s*extra == ['\"]([\w.-]+)['\"])?"
)


def examined() -> Generator[Check, None, None]:
    """Run all checks and yield their results. Their files are deleted in the end."""
    with temporary_folder(None) as scratch, temporary_folder(".") as here:

        def look(name: str, check: Callable[..., Finding], *arguments: Any, limit: float = LIMIT, remedy: str) -> Check:
            return Check(**asdict(in_a_process(check.__name__, arguments, scratch, limit, remedy)), name=name)

        again = "install minidem again"
        yield look("python", checks.python, remedy=again)
        yield look("minidem", checks.itself, remedy=again)
        try:
            wanted = requirements()
        except Exception as error:
            yield Check("failed", f"the requirements of minidem are unknown: {said(error)}", again, name="packages")
            wanted = []
        for name, minimum, extra in wanted:
            yield look(
                name, checks.package, name, minimum, extra, remedy=f"pip install --force-reinstall '{name}>={minimum}'"
            )
        yield look("threads", checks.threads, remedy=again)
        if scratch is None:
            yield Check(
                "failed", "no temporary directory is writable", "set TMPDIR to a writable directory", name="temporary"
            )
        yield look("kernels", checks.kernels, limit=COMPILING, remedy="delete the folder of compiled kernels (below)")
        yield look("kernel cache", checks.cache, remedy="set MINIDEM_CACHE_DIR to a directory on a local disk")
        if folder := here or scratch:
            yield look("HDF5", checks.hdf5, folder, remedy=checks.WITHOUT_LOCKS)
        yield look("rendering", checks.rendering, remedy=checks.drawing_advice())
        yield look("films", checks.films, remedy="pip install --force-reinstall imageio-ffmpeg")
        yield look("disk", checks.disk, here is not None, remedy="work in another directory")
        yield look("memory", checks.memory, remedy=again)


@contextlib.contextmanager
def temporary_folder(parent: str | None) -> Iterator[str | None]:
    """A folder in `parent`, or in the system's place for temporary files; deleted in the end. None if it cannot be made."""
    try:
        folder = tempfile.mkdtemp(prefix=".minidem-doctor-", dir=parent and os.path.abspath(parent))
    except OSError:
        yield None
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def requirements() -> list[tuple[str, str, str | None]]:
    """Name, lowest version and extra (None if always needed) of each required package, without those for tests."""
    found = [(text, REQUIREMENT.fullmatch(text)) for text in metadata.requires("minidem") or ()]
    if unclear := [text for text, match in found if match is None]:
        raise ValueError(f"unclear: {', '.join(unclear)}")
    return [(match[1], match[2], match[3]) for _, match in found if match and match[3] != "test"]
