"""Commands with damaged kernels, with those of others, and several that compile at the same time."""

import os
import pickle
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import h5py
import pytest
from command import BOX, PATIENCE, in_a_shell
from damage import WAYS, another_one, empty, half, noise, one_bit

from minidem.engine.compile.cache import cache_directory
from minidem.engine.compile.sealed import seal

COMPILING = 5 * PATIENCE  # s, on a busy machine
ROTOR = ("rotor", "constant-torque", "--integrator", "spiral", "--dt", "1e-2", "--json")  # compiles in a second
DAMAGE = (empty, half, noise, one_bit, another_one)  # tests/engine/test_kept.py tries all ways with one kernel


def called(directory, cache, *arguments):
    """What a command with its kernels in `cache` says on stderr, and on stdout. No temporary file stays."""
    scratch = directory / f"scratch-{time.monotonic_ns()}"
    scratch.mkdir()
    given = os.environ | {"MINIDEM_CACHE_DIR": str(cache), "TMPDIR": str(scratch)}
    outcome = in_a_shell(directory, *arguments, env=given, timeout=COMPILING)
    assert outcome.code == 0, outcome.stderr
    assert os.listdir(scratch) == []
    return outcome.stderr, outcome.stdout


def run(directory, cache, name):
    """What a run says on stderr, and its energies and positions."""
    said, _ = called(directory, cache, "run", "box.toml", "--quiet", "--out", name)
    with h5py.File(directory / name / "trajectory.h5") as file:
        positions = file["particles/bodies/position/value"][:]
    return said, ((directory / name / "energy.csv").read_bytes(), positions.tobytes())


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder of sound kernels, and what a run with them gives."""
    directory = tmp_path_factory.mktemp("good")
    (directory / "box.toml").write_text(BOX)
    usual = directory / "kernels" / cache_directory().name  # with those of this run only
    usual.parent.mkdir(mode=0o700)
    said, _ = run(directory, usual.parent, "compiled")
    again, result = run(directory, usual.parent, "loaded")
    assert said == again == ""
    return usual, result


def kernels_in(folder):
    """Files of kernels, and which writing they are from."""
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in folder.glob("*.kernel")}


def assert_one_line(said, folder):
    assert said.count("\n") == 1 and said.startswith(f"{folder}/")
    assert said.endswith("; further such files are not reported\n")


def test_a_run_with_damaged_kernels(directory, good, tmp_path):
    """Each of them in another way: compiled anew, with one line and the same result; the next run has nothing to say."""
    usual, expected = good
    copy = tmp_path / "cache" / usual.name
    copy.parent.mkdir(mode=0o700)
    shutil.copytree(usual, copy)
    present = sorted(copy.glob("*.kernel"))
    assert len(present) >= 8 and any("step.advance" in file.name for file in present)
    for number, file in enumerate(present):
        WAYS[number % len(WAYS)](file)
    (copy / "foreign.kernel").write_bytes(b"\x80\x04.")
    said, result = run(directory, copy.parent, "first")
    assert_one_line(said, copy)
    assert result == expected
    before = kernels_in(copy)
    assert run(directory, copy.parent, "second") == ("", expected)
    assert kernels_in(copy) == before


def pytest_generate_tests(metafunc):
    whole = metafunc.config.getoption("--long")
    if metafunc.function is test_damaged_alike:
        metafunc.parametrize("way", WAYS if whole else DAMAGE)
    if metafunc.function is test_starts_at_the_same_time:
        metafunc.parametrize("kind", ["rotor", "run"] if whole else ["rotor"])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder of kernels of the rotor bench, and what it prints."""
    folder = tmp_path_factory.mktemp("small")
    said, _ = called(folder, folder / "cache", *ROTOR)
    again, printed = called(folder, folder / "cache", *ROTOR)
    assert said == again == ""
    return folder / "cache", printed


def test_damaged_alike(directory, small, way):
    cache, expected = small
    shutil.copytree(cache, directory / "cache")
    (folder,) = (directory / "cache").iterdir()
    present = sorted(folder.glob("*.kernel"))
    assert len(present) >= 6
    for file in present:
        way(file)
    said, printed = called(directory, directory / "cache", *ROTOR)
    assert_one_line(said, folder)
    assert printed == expected
    assert called(directory, directory / "cache", *ROTOR) == ("", expected)


class Marker:
    """Unpickling it makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_kernels_of_others(directory, small, tmp_path):
    """In a folder that everybody may write to, each kernel is another's: none is looked at, and nothing is left there."""
    cache, expected = small
    shutil.copytree(cache, tmp_path / "cache")
    (folder,) = (tmp_path / "cache").iterdir()
    for file in folder.glob("*.kernel"):
        seal(file, pickle.dumps(Marker(tmp_path / "was run")))
    before = kernels_in(folder)
    (tmp_path / "cache").chmod(0o777)
    said, printed = called(directory, tmp_path / "cache", *ROTOR)
    assert printed == expected and not (tmp_path / "was run").exists()
    what = f"{tmp_path}/cache can be written to by other users (chmod go-w {tmp_path}/cache), so "
    assert said.count("\n") == 1 and said.startswith(what)
    assert kernels_in(folder) == before and os.listdir(tmp_path / "cache") == [folder.name]
    (tmp_path / "cache").chmod(0o755)  # the test is worth something: as its own, it is run, and found to be no kernel
    said, printed = called(directory, tmp_path / "cache", *ROTOR)
    assert printed == expected and (tmp_path / "was run").exists()
    assert_one_line(said, folder)


def killed_when_it_has_begun(directory, cache, *arguments):
    """Kill a command as soon as it begins to write kernels."""
    given = os.environ | {"MINIDEM_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "minidem.cli", *arguments]
    process = subprocess.Popen(command, cwd=directory, env=given)
    begun = time.monotonic()
    try:
        while not list(cache.glob("*/.*.new")) and not list(cache.glob("*/*.kernel")):
            assert process.poll() is None and time.monotonic() - begun < COMPILING, "nothing was written"
            time.sleep(0.001)
    finally:
        process.kill()
        process.wait()


def test_starts_at_the_same_time(directory, tmp_path, kind, request):
    """Four compile into one folder, which one that was killed while it compiled has begun to fill. The next only loads."""
    cache = tmp_path / "cache"
    if kind == "rotor":
        expected = request.getfixturevalue("small")[1]
        killed_when_it_has_begun(directory, cache, *ROTOR)
    else:
        expected = request.getfixturevalue("good")[1]
        killed_when_it_has_begun(directory, cache, "run", "box.toml", "--quiet", "--out", "killed")

    def use(number):
        return called(directory, cache, *ROTOR) if kind == "rotor" else run(directory, cache, f"run{number}")

    (folder,) = cache.iterdir()
    begun_with = kernels_in(folder)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(use, range(4)))
    assert results == [("", expected)] * 4
    filled = kernels_in(folder)
    assert begun_with.items() <= filled.items() and len(filled) >= 6
    assert use(4) == ("", expected) and kernels_in(folder) == filled
