"""Mutation testing: change the package a little, again and again, and see whether a test fails.

    python -m tests.mutation --files minidem/engine/contact minidem/running/guards.py --sample 40 --seed 0

For each file or folder it draws `--sample` mutants, runs the tests nearest to the mutated file and prints those that no test
noticed. Known equivalent mutants (equivalent.toml), which change nothing that can be told, do not count. Mutants of kernels
are first tested as plain Python (plain.toml), which takes a second; only those that are left are compiled, for 10 to 30 s,
and tested like all others (nearest.toml). The package is mutated in a temporary copy, with a cache of compiled kernels of
its own. A mutant that hangs or crashes counts as killed; a test that fails without the mutant, too, ends everything.
Returns 1 if fewer than 95 % are killed.
"""

import argparse
import compileall
import contextlib
import math
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

import h5py  # noqa: F401 - what all tests need is imported once
import hypothesis  # noqa: F401
import numba
import numpy as np
import pydantic  # noqa: F401
import pytest
import scipy.integrate
import scipy.optimize
import scipy.spatial.transform
import scipy.stats  # noqa: F401

from .mutants import Mutant, mutants, sample
from .plain import do_not_compile

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOAL = 0.95  # of the mutants that are not equivalent
KERNEL_ROOMS = ("engine", "shapes", "rotor")  # see minidem/engine/compile/cache.py
COPIED = ("minidem", "tests", "scenarios", "docs", "benchmarks", "pyproject.toml", "README.md")
MEMORY = 2**33  # bytes that the tests of a mutant may take
LIMIT, PLAIN_LIMIT = 600, 40  # s of processor time until a mutant hangs; with plain kernels
PATIENCE = 10  # times as much wall time, for mutants that wait for something


class Tests(NamedTuple):
    """Arguments of pytest, and whether the kernels are plain Python."""

    arguments: tuple[str, ...]
    plain: bool


def tests_of(file: str, plain: bool) -> list[Tests]:
    """The tests of a package file, the cheapest first: those of the longest path in a table that leads to it."""
    table = tomllib.loads((HERE / ("plain.toml" if plain else "nearest.toml")).read_text())
    paths = [path for path in table if file == path or file.startswith(f"{path}/")]
    found = table[max(paths, key=len)] if paths else []
    scheme = Path(file).stem.replace("_", "-")
    return [Tests(tuple(test.replace("{scheme}", scheme) for test in found), plain)] if found else []


def nearest_tests(file: str, plain_only: bool) -> list[Tests]:
    """All tests of a package file, one kind after the other."""
    plain = tests_of(file, plain=True)
    if plain and plain_only:
        return plain
    nearest = tests_of(file, plain=False)
    if not nearest:
        raise SystemExit(f"{file}: has no tests in {HERE / 'nearest.toml'}; add the nearest ones")
    return plain + nearest


def equivalent_mutants() -> set[tuple[str, str, str, str]]:
    """The mutants that are known to change nothing, by the fields that identify them."""
    known = tomllib.loads((HERE / "equivalent.toml").read_text())["mutant"]
    return {(each["file"], each["function"], each["was"], each["becomes"]) for each in known}


class Copy:
    """A temporary copy of the package and its tests."""

    def __init__(self, folder: Path, plain_only: bool):
        self.folder, self.plain_only = folder, plain_only
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / name, folder / name)
        compileall.compile_dir(folder / "minidem", quiet=2)
        self.passed: set[Tests] = set()  # without a change

    def outcome(self, mutant: Mutant) -> str:
        """The test that noticed the mutant, or how it ended; empty if none did."""
        path = self.folder / mutant.file
        kept, times, caches = path.read_bytes(), path.stat(), set(self.folder.glob("cache/*"))
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):  # Python compares whole seconds only
            compiled.unlink()
        try:
            path.write_text(mutant.source)
            failed, how = None, ""
            for tests in nearest_tests(mutant.file, self.plain_only):
                code, output = self.run(tests)
                if code in (4, 5):
                    raise SystemExit(f"{mutant.file}: these tests cannot be run: {' '.join(tests.arguments)}\n{output}")
                if code != 0:
                    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
                    how = found[1] if found else f"ended with {code}"
                    failed = Tests((found[1],), tests.plain) if found and "::" in found[1] else None
                    break
        finally:
            path.write_bytes(kept)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # by which numba knows it
            if Path(mutant.file).parts[1] in KERNEL_ROOMS:  # else they are kernels of the package as it is
                for cache in set(self.folder.glob("cache/*")) - caches:
                    shutil.rmtree(cache)
        if failed and failed not in self.passed:
            code, output = self.run(failed)
            if code != 0:
                raise SystemExit(f"this test fails without a change, too: {how}\n{output}")
            self.passed.add(failed)
        return how

    def run(self, tests: Tests) -> tuple[int, str]:
        """Exit code and output of pytest, within a limit of processor time."""
        limit = PLAIN_LIMIT if tests.plain else LIMIT
        with tempfile.TemporaryFile("w+") as output:
            child = os.fork()  # of a process that has imported what all tests need, which takes seconds, and no minidem
            if child == 0:  # which never returns from here
                try:
                    os._exit(self.pytest(tests, limit, output.fileno()))
                except BaseException as error:
                    print(repr(error), flush=True)
                    os._exit(1)
            status, end = None, time.monotonic() + PATIENCE * limit
            try:
                while status is None and time.monotonic() < end:
                    done, found = os.waitpid(child, os.WNOHANG)
                    status = found if done else None
                    time.sleep(0.02)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)  # also processes that the tests have left
                if status is None:
                    _, status = os.waitpid(child, 0)
            output.seek(0)
            return os.waitstatus_to_exitcode(status), output.read()

    def pytest(self, tests: Tests, limit: int, output: int) -> int:
        """Run tests of the copy in this process, with its output to a file. Returns the exit code."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self.folder)
        sys.path[:] = [str(self.folder), *(path for path in sys.path if path and not Path(path).is_relative_to(ROOT))]
        sys.dont_write_bytecode = True
        os.environ |= {
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MINIDEM_CACHE_DIR": str(self.folder / "cache"),
        }
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", f"--basetemp={self.folder / 'temporary'}"]
        if tests.plain:
            do_not_compile()
        code = int(pytest.main([*options, *tests.arguments]))
        sys.stdout.flush()
        return code


class Row(NamedTuple):
    """What became of the mutants of a file or folder."""

    path: str
    mutants: int  # of all
    sampled: int
    equivalent: int
    killed: int
    survivors: list[Mutant]

    @property
    def score(self) -> float:
        """Killed mutants as a fraction of those that are not equivalent."""
        return self.killed / max(self.sampled - self.equivalent, 1)


def sources(path: str) -> list[Path]:
    """The Python files of a path."""
    found = sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [ROOT / path]
    if not found or not all(file.is_file() for file in found):
        raise SystemExit(f"{path}: no such file or folder below {ROOT}")
    return found


def tested(path: str, count: int, seed: int, copy: Copy, known: set[tuple[str, str, str, str]]) -> Row:
    """Run the tests for a sample of the mutants of a path, and say how each went."""
    every = [mutant for file in sources(path) for mutant in mutants(file.read_text(), str(file.relative_to(ROOT)))]
    chosen = sample(every, count, seed)
    row = Row(path, len(every), len(chosen), sum(mutant[:4] in known for mutant in chosen), 0, [])
    for number, mutant in enumerate(chosen, 1):
        if mutant[:4] in known:
            continue
        began = time.monotonic()
        how = copy.outcome(mutant)
        took = f"{number}/{len(chosen)} in {time.monotonic() - began:.0f} s"
        print(f"{'killed' if how else 'SURVIVED'} {took}: {how}\n{mutant}", file=sys.stderr, flush=True)
        row = row._replace(killed=row.killed + bool(how))
        if not how:
            row.survivors.append(mutant)
            print(f"survived: {mutant}", flush=True)
    return row


def table(rows: list[Row]) -> str:
    """The outcome as a table in Markdown."""
    lines = ["| file | mutants | sample | equivalent | killed | survived | score |", "| --- " * 7 + "|"]
    total = Row("all", *(sum(row[k] for row in rows) for k in range(1, 5)), [each for row in rows for each in row.survivors])
    for row in [*rows, total] if len(rows) > 1 else rows:
        counts = (row.mutants, row.sampled, row.equivalent, row.killed, len(row.survivors))
        lines.append(f"| {row.path} | {' | '.join(map(str, counts))} | {100 * row.score:.0f} % |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--files", nargs="+", required=True, metavar="PATH", help="files or folders of the package")
    parser.add_argument("--sample", type=int, default=40, metavar="N", help="mutants of each path (40)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--plain", action="store_true", help="compile nothing: what is left, other tests may still kill")
    options = parser.parse_args()
    known, rows = equivalent_mutants(), []
    numba.njit(lambda row: math.sqrt(row.sum()))(np.ones(3))  # numba looks for what it can compile at its first call
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Copy(Path(folder), options.plain)
        for path in options.files:
            rows.append(tested(path.rstrip("/"), options.sample, options.seed, copy, known))
            print(table(rows[-1:]), flush=True)
    print(table(rows))
    killed = sum(row.killed for row in rows)
    return int(killed < GOAL * sum(row.sampled - row.equivalent for row in rows))


if __name__ == "__main__":
    sys.exit(main())
