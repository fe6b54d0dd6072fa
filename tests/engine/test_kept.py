"""Compiled kernels on the disk: what is damaged or foreign is compiled anew, and never looked at."""

import contextlib
import os
import pickle
import resource
import shutil
import subprocess
import sys
import time
from types import FunctionType

import pytest
from damage import WAYS
from numba import cfunc, float64

from minidem.engine.compile import kernels, sealed

NOBODY = 65534


@pytest.fixture(autouse=True)
def silent_so_far(monkeypatch):
    monkeypatch.setattr(sealed, "told", {})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where kernels are kept."""
    monkeypatch.setattr(kernels, "cache_directory", lambda: tmp_path / "kernels")
    return tmp_path / "kernels"


def triple(x):
    return 3 * x


def half(x):
    return 0.5 * x


def called(function, x):
    """The value of a function that was compiled or loaded, and how many of its forms were loaded."""
    compiled = kernels.kernel(function)
    return compiled(x), sum(compiled.stats.cache_hits.values())


def pointed(function, x):
    """The same by a function pointer."""
    compiled = kernels.kernel(function, lambda **options: cfunc(float64(float64), **options))
    return compiled.ctypes(x), compiled.cache_hits


def files(folder):
    return sorted(file for file in folder.iterdir())


@pytest.mark.parametrize("use", [called, pointed])
def test_second_time(folder, use, capfd):
    assert use(triple, 2.0) == (6.0, 0)
    (file,) = files(folder)
    assert file.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    before = file.stat()
    assert use(triple, 2.0) == (6.0, 1)
    assert files(folder) == [file] and file.stat().st_mtime_ns == before.st_mtime_ns
    assert capfd.readouterr() == ("", "")


def test_each_signature_has_a_file_of_its_own(folder):
    """With numba's own cache, two processes that start together may give both the same."""
    assert called(triple, 2.0) == (6.0, 0) and called(triple, 2) == (6, 0)
    assert len(files(folder)) == 2
    assert called(triple, 2.0) == (6.0, 1) and called(triple, 2) == (6, 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use", [called, pointed])
def test_damaged(folder, use, way, capfd):
    assert use(triple, 2.0) == (6.0, 0) and use(half, 2.0) == (1.0, 0)
    (file,) = folder.glob("*triple*")
    way(file)
    assert capfd.readouterr() == ("", "")
    assert use(triple, 2.0) == (6.0, 0)
    said = capfd.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(f"{file} ") and "; it was removed, and the kernel is compiled anew" in said.err
    sealed.told.clear()
    assert use(triple, 2.0) == (6.0, 1) and use(half, 2.0) == (1.0, 1)
    assert file.is_file() and file.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_one_line_for_many(folder, capfd):
    assert called(triple, 2.0) == (6.0, 0) and called(half, 2.0) == (1.0, 0)
    for file in files(folder):
        os.truncate(file, 0)
    assert called(triple, 2.0) == (6.0, 0) and called(half, 2.0) == (1.0, 0)
    assert capfd.readouterr().err.count("\n") == 1


def test_functions_of_equal_code_are_told_apart(folder, capfd):
    """As the passes of a rotational scheme: only the names that their code refers to differ."""

    def copy(name, factor):
        function = FunctionType((lambda x: FACTOR * x).__code__, {"FACTOR": factor}, name)  # noqa: F821
        function.__qualname__ = name
        return function

    two, five = copy("two", 2.0), copy("five", 5.0)
    assert pointed(two, 1.0) == (2.0, 0) and pointed(five, 1.0) == (5.0, 0)
    assert pointed(two, 1.0) == (2.0, 1) and pointed(five, 1.0) == (5.0, 1)
    (first,), (second,) = folder.glob("*two*"), folder.glob("*five*")
    shutil.copy(first, second)
    assert pointed(five, 1.0) == (5.0, 0) and "comes from elsewhere" in capfd.readouterr().err


def test_a_file_of_another_state_of_the_sources(folder, monkeypatch, tmp_path, capfd):
    called(triple, 2.0)
    (file,) = files(folder)
    monkeypatch.setattr(kernels, "cache_directory", lambda: tmp_path / "others")
    called(triple, 2.0)
    shutil.copy(file, tmp_path / "others")
    assert called(triple, 2.0) == (6.0, 0) and "comes from elsewhere" in capfd.readouterr().err


def test_a_sound_file_for_another_signature(folder, capfd):
    """Two signatures may share a name, though it is unlikely: then each process compiles one of them."""
    called(triple, 2.0)
    (file,) = files(folder)
    content = pickle.loads(sealed.unseal(file))
    sealed.seal(file, pickle.dumps((("another key",), content[1])))
    assert called(triple, 2.0) == (6.0, 0) and called(triple, 2.0) == (6.0, 1)
    assert capfd.readouterr().err == ""


class Marker:
    """Unpickling it makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_of_other_users_is_not_run(folder, tmp_path, capfd):
    called(triple, 2.0)
    (file,) = files(folder)
    poison = pickle.dumps(Marker(tmp_path / "was run"))
    sealed.seal(file, poison)
    assert called(triple, 2.0) == (6.0, 0) and (tmp_path / "was run").is_dir()  # it works: what is ours is trusted
    (tmp_path / "was run").rmdir()
    assert "cannot be loaded" in capfd.readouterr().err
    ways = {"can be written to by other users": lambda: file.chmod(0o660)}
    if os.geteuid() == 0:
        ways["belongs to another user"] = lambda: os.chown(file, NOBODY, -1)
    for reason, way in ways.items():
        sealed.told.clear()
        sealed.seal(file, poison)
        way()
        assert called(triple, 2.0) == (6.0, 0) and not (tmp_path / "was run").exists()
        assert reason in capfd.readouterr().err
        assert called(triple, 2.0) == (6.0, 1)


def test_a_folder_that_is_replaced_while_it_is_in_use(folder, tmp_path, capfd):
    """By somebody who may write to the folder above: their files are still theirs."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")
    called(triple, 2.0)
    (file,) = files(folder)
    folder.rename(tmp_path / "moved")
    sealed.seal(file, pickle.dumps(Marker(tmp_path / "was run")))
    for theirs in (folder, file):
        os.chown(theirs, NOBODY, -1)
    assert called(triple, 2.0) == (6.0, 0) and not (tmp_path / "was run").exists()
    assert "belongs to another user" in capfd.readouterr().err


@contextlib.contextmanager
def limit_of_files(size):
    """No file may grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk(folder, capfd):
    with limit_of_files(1000):
        assert called(triple, 2.0) == (6.0, 0) and called(half, 2.0) == (1.0, 0)
    assert files(folder) == []
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and said.startswith(f"{folder} cannot be written to (File too large), so ")
    assert called(triple, 2.0) == (6.0, 0) and called(triple, 2.0) == (6.0, 1)
    assert capfd.readouterr().err == ""


def test_a_file_instead_of_the_folder(folder, capfd):
    """It appeared after the folder was looked at."""
    folder.write_text("")
    assert called(triple, 2.0) == (6.0, 0)
    assert str(folder) in capfd.readouterr().err


def test_a_folder_that_vanishes(folder, capfd):
    called(triple, 2.0)
    shutil.rmtree(folder)
    assert called(triple, 2.0) == (6.0, 0) and called(triple, 2.0) == (6.0, 1)
    assert capfd.readouterr().err == ""


def test_a_file_that_vanishes_while_it_is_read(folder, monkeypatch, capfd):
    called(triple, 2.0)
    real = os.open

    def opened(path, *flags):
        handle = real(path, *flags)
        if str(path).endswith(".kernel"):
            os.unlink(path)
        return handle

    monkeypatch.setattr(os, "open", opened)
    assert called(triple, 2.0) == (6.0, 1)
    monkeypatch.undo()
    assert files(folder) == [] and capfd.readouterr().err == ""


def test_without_a_folder(monkeypatch):
    monkeypatch.setattr(kernels, "cache_directory", lambda: None)
    assert called(triple, 2.0) == (6.0, 0) == called(triple, 2.0)


def test_functions_of_others_keep_their_cache(folder, tmp_path):
    """Even those that are decorated in another thread at the same time."""
    from numba.core import caching, ccallback, dispatcher

    with kernels._kept_in(folder, triple):
        theirs = dispatcher.FunctionCache(half)
        assert isinstance(theirs, caching.FunctionCache) and isinstance(ccallback.FunctionCache(half), caching.FunctionCache)
        assert not isinstance(dispatcher.FunctionCache(triple), caching.FunctionCache)
    assert dispatcher.FunctionCache is ccallback.FunctionCache is caching.FunctionCache


# --- the files ------------------------------------------------------------------------------------------------


def test_every_change_of_a_file_is_noticed(tmp_path):
    file = tmp_path / "file"
    sealed.seal(file, b"content")
    assert sealed.unseal(file) == b"content"
    whole = file.read_bytes()
    changed = [whole[:size] for size in range(len(whole))]
    for place in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        changed.append(bytes(flipped))
    for other in [*changed, whole + b"\0", whole * 2]:
        file.write_bytes(other)
        with pytest.raises(sealed.Unsealed, match="damaged"):
            sealed.unseal(file)
    file.write_bytes(whole)
    assert sealed.unseal(file) == b"content" and sealed.unseal(tmp_path / "none") is None


def test_a_file_is_replaced_as_a_whole(tmp_path):
    file = tmp_path / "file"
    sealed.seal(file, b"old")
    with limit_of_files(40), pytest.raises(OSError, match="too large"):
        sealed.seal(file, b"new" * 100)
    assert sealed.unseal(file) == b"old" and os.listdir(tmp_path) == ["file"]


def test_what_killed_processes_leave_is_removed(tmp_path):
    for name, age in (("old", 2 * sealed.ABANDONED), ("young", 0.5 * sealed.ABANDONED)):
        unfinished = tmp_path / f".{name}.new"
        unfinished.write_text("")
        os.utime(unfinished, (time.time() - age,) * 2)
    sealed.seal(tmp_path / "file", b"content")
    assert sorted(os.listdir(tmp_path)) == [".young.new", "file"]


def test_nobody_listens():
    """Without stderr nothing is said; least of all on stdout."""
    code = "from minidem.engine.compile.sealed import tell; tell('a', 'b'); print('done')"
    for closed in ("2>&-", "2</dev/null"):
        done = subprocess.run(["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, code], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "done\n")
