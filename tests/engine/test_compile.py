"""How kernels are compiled and where compiled code is kept."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minidem
from minidem.engine.compile import cache

PACKAGE = cache.PACKAGE
# What puts a function into the disk cache, or into a kernel that is in it. `inlined` may also serve kernels of one process.
CACHED = {"kernel", "growing", "internal", "fused", "rotation_pointer", "law_pointer", "torque_pointer"}


def names_from_compile(file: Path) -> set[str]:
    """Names that a source imports from the room of compilation."""
    imports = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in imports if "compile." in (node.module or "") for alias in node.names}


def test_every_cached_kernel_is_in_a_room_that_the_hash_covers():
    files = (file.relative_to(PACKAGE) for file in PACKAGE.glob("*/**/*.py"))  # those above only name functions for users
    users = {file for file in files if names_from_compile(PACKAGE / file) & CACHED}
    assert {Path("rotor/torques.py"), Path("shapes/crossings.py"), Path("engine/step.py")} <= users
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


# Attributes of numba and llvmlite that numba itself does not look up again once it has compiled something, and the names of
# the plain ways that are taken without them. Classes are replaced by empty ones: then their methods are missing.
HIDDEN = {
    "numba.core.compiler.Compiler": {"parts", "inlined parts", "overlap"},
    "numba.core.codegen.CPUCodeLibrary": {"parts", "inlined parts", "overlap"},
    "numba.cpython.unsafe.numbers.leading_zeros": {"bits"},
    "llvmlite.ir.VectorType": {"fours"},
    "numba.core.typing.context.BaseContext": {"loops"},
    "numba.extending.intrinsic": {"fours", "loops", "threads"},
    "numba.core.options.DefaultOptions": {"options"},
    "numba.core.caching.NullCache": {"files"},
}
HIDE = """
import json, sys
import llvmlite.ir, numba.cpython.unsafe.numbers
import numba.core.caching, numba.core.codegen, numba.core.compiler, numba.core.options
import numba.core.typing.context, numba.extending
import numpy as np
numba.njit(lambda x: x[0] + 1.0)(np.ones(1))  # loads the rest of numba
for name in json.loads(sys.argv[1]):
    module, attribute = name.rsplit(".", 1)
    if name.startswith("numba.core."):
        setattr(sys.modules[module], attribute, type(attribute, (), {}))
    else:
        delattr(sys.modules[module], attribute)
from minidem.engine.compile import atomics, bits, fours, kernels, pointers
taken = {
    "parts": not kernels._pipeline_of_parts,
    "inlined parts": kernels._pipeline_of_inlined_parts == kernels._pipeline_of_parts,
    "overlap": not kernels._pipeline_without_overlap,
    "fours": hasattr(fours.four_at, "py_func"),
    "loops": pointers.over_bodies.__module__.endswith("rows"),
    "threads": atomics.MOST_THREADS == 1,
    "bits": hasattr(bits.leading_zeros, "py_func"),
    "files": not hasattr(kernels, "KeptKernels"),
    "options": not (kernels.uncounted or kernels._forced or kernels._no_wrappers),
}
print(json.dumps([name for name, plain in taken.items() if plain]))
"""
# One step of Euler's method for a turning body, by every decorator, fours and a loop over bodies.
SMALL_KERNEL = """
from minidem.engine.compile.fours import difference, four_at, four_of, numbers_of
from minidem.engine.compile.kernels import fused, in_this_process, inlined, internal
half = inlined(lambda x: 0.5 * x)
change = internal(lambda dt, spin: (half(dt) * spin[0], half(dt) * spin[1], half(dt) * spin[2]))
def step(q, spin, torque, inertia, dt):
    x, y, z = change(dt, spin)
    return (q[0], q[1] + x, q[2] + y, q[3] + z), (spin[0] + dt * torque[0], spin[1], spin[2], spin[3] + 1.0)
move = pointers.rotation_pointer([fused(step)], "step", 4, in_this_process)
def moved(move, q, spin, torque, inertia, numbers):
    move(q, spin, torque, inertia, 1, 11, 0.25)
    return numbers_of(difference(four_at(numbers, np.uint64(1)), four_of(1.0, 2.0, 3.0, 4.0)))
q, spin, torque = np.ones((4, 12)), np.arange(48.0).reshape(4, 12), np.ones((3, 12))
four = in_this_process(moved)(move, q, spin, torque, np.ones((9, 12)), np.arange(6.0))
print(json.dumps([four, q.tolist(), spin.tolist()]))
"""
SMALL_RUN = """
import minidem
result = minidem.run(minidem.load(sys.argv[2], ["time.end=2e-3"]), threads=2)
print(json.dumps({name: values.tolist() for name, values in result.energy.items()}))
"""


def run_without(names: list[str], code: str, folder: Path, *words: str) -> tuple[set[str], object]:
    """The plain ways that a new process takes without these attributes, and what `code` prints there."""
    command = [sys.executable, "-c", HIDE + code, json.dumps(names), *words]
    environment = os.environ | {"MINIDEM_CACHE_DIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    taken, result = done.stdout.splitlines()
    return set(json.loads(taken)), json.loads(result)


@pytest.fixture(scope="module")
def with_everything(tmp_path_factory):
    taken, result = run_without([], SMALL_KERNEL, tmp_path_factory.mktemp("cache"))
    assert taken == set()
    return result


@pytest.mark.parametrize("name", HIDDEN)
def test_kernels_compile_without(name, tmp_path, with_everything):
    """Each attribute alone: only the trick that needs it is missing."""
    taken, result = run_without([name], SMALL_KERNEL, tmp_path)
    assert taken == HIDDEN[name] and result == with_everything


def test_small_kernel_is_right(with_everything):
    four, q, spin = with_everything
    before = np.arange(48.0).reshape(4, 12)
    inside = (np.arange(12) >= 1) & (np.arange(12) < 11)
    assert four == [0.0, 0.0, 0.0, 0.0]
    assert np.array_equal(q[1:], 1.0 + 0.125 * before[:3] * inside)
    assert np.array_equal(spin, before + inside * np.array([[0.25], [0.0], [0.0], [1.0]]))


def test_run_without_any_internals(tmp_path):
    """Contacts, rotation and energies to the last bit, on one thread."""
    scenario = str(PACKAGE.parent / "scenarios" / "rods.toml")
    taken, plain = run_without(list(HIDDEN), SMALL_RUN, tmp_path, scenario)
    assert taken == set().union(*HIDDEN.values())
    result = minidem.run(minidem.load(scenario, ["time.end=2e-3"]), threads=2)
    assert result.summary["steps"] > 50
    assert list(tmp_path.rglob("*.nbi")) and not list(tmp_path.rglob("*.kernel"))  # numba's own cache
    for name, values in result.energy.items():
        assert np.array_equal(values, plain[name]), name
