"""How kernels are compiled and where compiled code is kept."""

import ast
import os
import shutil
from pathlib import Path

import pytest

from minidem.engine.compile import cache

PACKAGE = cache.PACKAGE
# What puts a function into the disk cache, or into a kernel that is in it. `inlined` may also serve kernels of one process.
CACHED = {"kernel", "growing", "internal", "fused", "rotation_pointer", "law_pointer", "torque_pointer"}


def names_from_compile(file: Path) -> set[str]:
    """Names that a source imports from the room of compilation."""
    imports = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in imports if "compile." in (node.module or "") for alias in node.names}


def test_every_cached_kernel_is_in_a_room_that_the_hash_covers():
    users = {file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py") if names_from_compile(file) & CACHED}
    assert {Path("rotor/bench.py"), Path("shapes/crossings.py"), Path("engine/step.py")} <= users
    assert {file.parts[0] for file in users} == set(cache.KERNEL_ROOMS)


@pytest.mark.parametrize("room", cache.KERNEL_ROOMS)
def test_an_edit_of_any_kernel_source_means_another_folder(monkeypatch, tmp_path, room):
    """Even if the time of modification stays the same."""
    for name in cache.KERNEL_ROOMS:
        shutil.copytree(PACKAGE / name, tmp_path / name)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path / "cache"))
    before, digest = cache.cache_directory.__wrapped__(), cache.source_digest()
    assert cache.cache_directory.__wrapped__() == before and cache.source_digest() == digest
    source = next(file for file in sorted((tmp_path / room).rglob("*.py")) if names_from_compile(file) & CACHED)
    time = source.stat().st_mtime_ns
    source.write_text(source.read_text() + "\n")
    os.utime(source, ns=(time, time))
    assert cache.cache_directory.__wrapped__() != before and cache.source_digest() != digest
