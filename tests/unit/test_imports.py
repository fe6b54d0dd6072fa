"""Which module may import which, and what a command must not load before it needs it."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import minidem

PACKAGE = Path(minidem.__file__).parent


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node that is executed at some time: all but `if TYPE_CHECKING` blocks."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield child
            yield from statements(child)


def imported(name: str, file: Path, modules: set[str]) -> set[str]:
    """Full names of the modules that the source of module `name` imports, at its top or inside functions."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:  # `from .core import step` names a module, `from .step import advance` does not
                found.add(f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in modules else origin)
    return found


IMPORTS = {name: imported(name, file, set(FILES)) for name, file in FILES.items()}


def reached_from(name: str) -> set[str]:
    """Modules of the package that a module imports, directly or through others."""
    reached, waiting = set(), [name]
    while waiting:
        for other in IMPORTS[waiting.pop()] & set(FILES) - reached:
            reached.add(other)
            waiting.append(other)
    return reached


def is_in(name: str, *rooms: str) -> bool:
    return any(name == f"minidem.{room}" or name.startswith(f"minidem.{room}.") for room in rooms)


def test_imports_are_found(tmp_path):
    """The rules below are worth nothing if imports are overlooked."""
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\nimport json.decoder as d\nfrom . import errors\nfrom .core import step\n"
        "from .core.step import advance\nif TYPE_CHECKING:\n    from .simulation import run\n"
        "def f():\n    with g():\n        import h5py\n    from ..minidem.clump import x\n"
    )
    modules = {"minidem.errors", "minidem.core.step", "minidem.simulation"}
    names = {"typing", "json.decoder", "minidem.errors", "minidem.core.step", "h5py", "minidem.clump"}
    assert imported("minidem.module", source, modules) == names
    assert {"minidem.simulation", "minidem.core.step", "minidem.core.rotation.spiral"} <= set(FILES)
    assert IMPORTS["minidem.core.rotation.spiral"] >= {"minidem.core.compiling", "minidem.core.quaternion"}
    assert {"minidem.scenario", "minidem.simulation", "typer"} <= IMPORTS["minidem.cli"]


@pytest.mark.parametrize("name", [name for name in FILES if is_in(name, "core")])
def test_core_is_alone(name):
    """Arrays and numbers only: nothing of the rest of the package, no files, no text formats, no user interface."""
    assert {other for other in IMPORTS[name] & set(FILES) if not is_in(other, "core")} == set()
    outer = {other.partition(".")[0] for other in IMPORTS[name]}
    assert not outer & {"h5py", "typer", "rich", "pydantic", "tomllib", "json", "csv", "pyvista", "matplotlib"}
    system = outer & {"os", "pathlib", "io", "tempfile", "shutil", "sys"}
    if name != "minidem.core.compiling":  # which has to find a folder for the compiled code
        # The name of the system's call that lets another thread have the core depends on the system.
        assert system == ({"os"} if name == "minidem.core.team" else set())


@pytest.mark.parametrize("name", ["minidem.render", "minidem.export"])
def test_pictures_come_from_files(name):
    seen = {other for other in reached_from(name) if is_in(other, "simulation", "model", "placement", "recorder", "core")}
    assert seen == set()


@pytest.mark.parametrize("name", ["minidem.plots", "minidem.movie", "minidem.report"])
def test_figures_come_from_files(name):
    """They name integrators, and know scenarios, which fit clumps; but they build and run nothing."""
    seen = {other for other in reached_from(name) if is_in(other, "simulation", "model", "placement", "recorder")}
    assert seen == set()
    assert {name for name in IMPORTS["minidem.plots"] if is_in(name, "core")} == {"minidem.core.rotation.registry"}


def test_scenarios_know_nothing_of_what_becomes_of_them():
    later = {name for name in reached_from("minidem.scenario") if is_in(name, "simulation", "model", "recorder", "cli")}
    assert later == set()


@pytest.mark.parametrize("tool", ["typer", "click", "rich"])
def test_only_the_command_line_talks_to_the_terminal(tool):
    users = {name for name, others in IMPORTS.items() if tool in {other.partition(".")[0] for other in others}}
    assert users <= {"minidem.cli"}


@pytest.mark.parametrize("name", [name for name in FILES if is_in(name, "rotor")])
def test_the_bench_needs_no_scenario(name):
    later = ("simulation", "model", "scenario", "recorder", "render", "reproduce")
    assert {other for other in reached_from(name) if is_in(other, *later)} == set()


def test_nothing_imports_the_command_line():
    assert [name for name, others in IMPORTS.items() if "minidem.cli" in others] == []


def test_no_cycles():
    assert [name for name in FILES if name in reached_from(name)] == []


@pytest.mark.parametrize(
    ("module", "later"),
    [
        # `minidem --help` answers at once
        ("minidem.cli", {"numpy", "numba", "scipy", "h5py", "pyvista", "vtkmodules", "matplotlib", "dask"}),
        # what is broken cannot keep it from being told
        ("minidem.doctor", {"numpy", "numba", "scipy", "h5py", "pyvista", "matplotlib", "pydantic", "typer", "rich"}),
        # a bad scenario is refused at once
        ("minidem.scenario", {"numba", "scipy", "h5py", "pyvista", "vtkmodules", "matplotlib", "dask"}),
        # the catalogue is plain data
        ("minidem.core.rotation.registry", {"numpy", "numba", "scipy", "h5py", "pyvista", "matplotlib", "dask"}),
        # files are read without compiling
        ("minidem.render", {"numba", "scipy", "pyvista", "vtkmodules", "matplotlib", "dask"}),
        ("minidem.export", {"numba", "scipy", "pyvista", "vtkmodules", "matplotlib", "dask", "gsd"}),
        ("minidem.plots", {"numba", "scipy", "pyvista", "vtkmodules", "dask"}),
        # single bodies too
        ("minidem.rotor", {"h5py", "pyvista", "vtkmodules", "matplotlib", "pydantic", "typer"}),
        # and a run draws nothing
        ("minidem.simulation", {"pyvista", "vtkmodules", "matplotlib", "dask", "typer"}),
    ],
)
def test_heavy_imports_wait(module, later):
    """In a fresh interpreter, by what was really loaded."""
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert module in loaded
    assert later & set(loaded) == set()
