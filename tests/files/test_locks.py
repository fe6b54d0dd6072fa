"""Locks between processes, and systems that have none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minidem
from minidem.errors import InputError
from minidem.files import locks
from minidem.files.names import locked

UNIX_ONLY = ("fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty")


def test_one_process_has_the_lock(tmp_path):
    handle = locked(tmp_path)
    script = "import sys, pathlib; from minidem.files.names import locked; locked(pathlib.Path(sys.argv[1]))"
    other = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert "another process is writing a run there" in other.stderr.splitlines()[-1]
    os.close(handle)
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True)


def test_a_second_lock_is_refused_until_the_first_is_closed(tmp_path):
    handle = locked(tmp_path)
    with pytest.raises(InputError, match="is writing a run there"):
        locked(tmp_path)
    os.close(handle)
    os.close(locked(tmp_path))


def test_systems_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    first, second = locked(tmp_path), locked(tmp_path)
    os.close(first)
    os.close(second)


def test_imports_without_modules_that_only_unix_has():
    """Every module of the package, in a process where these modules cannot be imported."""
    package = Path(minidem.__file__).parent
    files = [file for file in package.rglob("*.py") if file.name != "__main__.py"]
    names = [".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__") for file in files]
    assert "minidem.files.names" in names and len(names) > 100
    script = f"""
import importlib, sys
for name in {UNIX_ONLY!r}:
    sys.modules[name] = None
for name in {names!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
