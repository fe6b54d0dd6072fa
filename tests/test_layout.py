"""The layout of the package: which room imports which, how long a file may be, what a command may load."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
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
            for alias in node.names:  # `from .engine import step` names a module, `from .step import advance` does not
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


# The rooms, top to bottom. A room imports itself and the rooms above it, and nothing else.
ROOMS = (
    "errors",
    "printable",
    "small_files",
    "machine",
    "notebook",
    "progress",
    "quaternions",
    "engine",
    "shapes",
    "scenario",
    "model",
    "files",
    "running",
    "rotor",
    "study",
    "views",
    "reproduce",
    "doctor",
    "cli",
    "__main__",
)
PUBLIC = ("minidem", "minidem.schemes", "minidem.laws")  # names for users, from any room; no room imports these
LONGEST_FILE = 400  # lines


def room_of(name: str) -> str:
    return name.split(".")[1]


def is_in(name: str, *rooms: str) -> bool:
    return any(name == f"minidem.{room}" or name.startswith(f"minidem.{room}.") for room in rooms)


def called_for_a_command(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] in ("run", "call", "Popen", "which", "check_call", "check_output")


def own_command_lines(file: Path) -> set[str]:
    """Modules of the package that the source starts in another process: `python -m minidem.x`, `minidem`, or code in a
    string."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    started = {text for text in texts if isinstance(text, str) and text in FILES}
    words = [
        getattr(node, "elts", getattr(node, "args", None))
        for node in nodes
        if isinstance(node, ast.List | ast.Tuple | ast.Call)
    ]
    for first, second in (pair for word in words for pair in pairwise(word)):
        if (getattr(first, "value", ""), getattr(second, "value", "")) == ("-m", "minidem"):
            started.add("minidem.__main__")
    commands = [node.elts[0] for node in nodes if isinstance(node, ast.List) and node.elts]
    commands += [node.args[0] for node in nodes if isinstance(node, ast.Call) and node.args and called_for_a_command(node)]
    if any(getattr(command, "value", "") == "minidem" for command in commands):
        started.add("minidem.__main__")
    for text in texts:
        if isinstance(text, str):
            started |= {name for name in re.findall(r"\bfrom (minidem[\w.]*) import\b", text) if name in FILES}
    return started


def needed(name: str) -> set[str]:
    """Modules of the package that a module imports or starts in a process of its own."""
    return (IMPORTS[name] | own_command_lines(FILES[name])) & set(FILES) - {"minidem"}


def test_imports_are_found(tmp_path):
    """The rules below are worth nothing if imports are overlooked."""
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\nimport json.decoder as d\nfrom . import errors\nfrom .engine import step\n"
        "from .engine.step import advance\nif TYPE_CHECKING:\n    from .running.simulation import run\n"
        "def f():\n    with g():\n        import h5py\n    from ..minidem.shapes.clump import x\n"
        "    call([python, '-m', 'minidem.cli', 'view'])\n"
        "    call([python, '-c', 'from minidem.views.plots import y; y()'])\n"
    )
    modules = {"minidem.errors", "minidem.engine.step", "minidem.running.simulation"}
    names = {"typing", "json.decoder", "minidem.errors", "minidem.engine.step", "h5py", "minidem.shapes.clump"}
    assert imported("minidem.module", source, modules) == names
    assert own_command_lines(source) == {"minidem.cli", "minidem.views.plots"}
    for start in (
        "call([python, '-m', 'minidem', 'view'])",
        "call((python, '-m', 'minidem'))",
        "call('-m', 'minidem')",
        "words = ['minidem', 'view']",
        "shutil.which('minidem')",
    ):
        source.write_text(start)
        assert "minidem.__main__" in own_command_lines(source)
    assert {"minidem.running.simulation", "minidem.engine.step", "minidem.engine.rotation.spiral"} <= set(FILES)
    assert "minidem.engine.quaternion" in IMPORTS["minidem.engine.rotation.spiral"]


def test_every_module_is_in_a_room():
    assert {room_of(name) for name in FILES if name not in PUBLIC} == set(ROOMS)


@pytest.mark.parametrize("name", [name for name in FILES if name not in PUBLIC])
def test_imports_point_one_way(name):
    allowed = ROOMS[: ROOMS.index(room_of(name)) + 1]
    assert {other for other in needed(name) if room_of(other) not in allowed} == set()


def test_no_cycles():
    assert [name for name in FILES if name in reached_from(name)] == []


@pytest.mark.parametrize("name", FILES)
def test_files_are_short(name):
    assert len(FILES[name].read_text().splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("name", [name for name in FILES if is_in(name, "engine")])
def test_the_engine_sees_arrays_only(name):
    """No files, no text formats, no user interface."""
    outer = {other.partition(".")[0] for other in IMPORTS[name]}
    assert not outer & {"h5py", "typer", "rich", "pydantic", "tomllib", "json", "csv", "pyvista", "matplotlib"}
    if not is_in(name, "engine.compile"):  # which needs a folder for compiled code
        assert not outer & {"os", "pathlib", "io", "tempfile", "shutil", "sys"}


def calls_in(source: str) -> set[str]:
    """What a source calls, as it is written there."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("name", [name for name in FILES if is_in(name, "engine") and not is_in(name, "engine.compile")])
def test_the_engine_reads_and_writes_nothing(name):
    calls = calls_in(FILES[name].read_text())
    assert not calls & {"open", "print", "input"}
    assert not {call for call in calls if re.match(r"(np|numpy)\.(load|save|fromfile|genfromtxt|memmap|DataSource)", call)}


def test_calls_are_found():
    assert calls_in("def f():\n    np.loadtxt(open(x))") == {"np.loadtxt", "open"}


@pytest.mark.parametrize("name", [name for name in FILES if not is_in(name, "engine.compile")])
def test_one_room_imports_numba(name):
    assert {other for other in IMPORTS[name] if other.partition(".")[0] in ("numba", "llvmlite")} == set()


@pytest.mark.parametrize("name", [name for name in FILES if name not in PUBLIC])
def test_rooms_do_not_use_public_names(name):
    """`import minidem` would reach every room."""
    assert IMPORTS[name] & set(PUBLIC) == set()


@pytest.mark.parametrize("name", [name for name in FILES if is_in(name, "files", "views")])
def test_files_and_views_see_registries_at_most(name):
    """Catalogues, and the list of what a restart keeps; no kernel."""
    registries = {"minidem.engine.rotation.registry", "minidem.engine.contact.registry", "minidem.engine.state"}
    assert {other for other in IMPORTS[name] if is_in(other, "engine")} <= registries
    assert {other for other in reached_from(name) if is_in(other, "running", "cli")} == set()


@pytest.mark.parametrize("tool", ["typer", "click", "rich"])
def test_only_the_command_line_talks_to_the_terminal(tool):
    users = {name for name, others in IMPORTS.items() if tool in {other.partition(".")[0] for other in others}}
    assert {name for name in users if not is_in(name, "cli")} == set()


@pytest.mark.parametrize(
    ("module", "later"),
    [
        # `minidem --help` answers at once
        ("minidem.cli", {"numpy", "numba", "scipy", "h5py", "pyvista", "vtkmodules", "matplotlib", "dask"}),
        # what is broken cannot keep it from being told
        (
            "minidem.doctor.__main__",
            {"numpy", "numba", "scipy", "h5py", "pyvista", "matplotlib", "pydantic", "typer", "rich"},
        ),
        # a bad scenario is refused at once
        ("minidem.scenario.reading", {"numba", "scipy", "h5py", "pyvista", "vtkmodules", "matplotlib", "dask"}),
        # the catalogues are plain data
        ("minidem.engine.rotation.registry", {"numpy", "numba", "scipy", "h5py", "pyvista", "matplotlib", "dask"}),
        # single bodies need no files and no pictures
        ("minidem.rotor.bench", {"h5py", "pyvista", "vtkmodules", "matplotlib", "pydantic", "typer"}),
        # and a run draws nothing
        ("minidem.running.simulation", {"pyvista", "vtkmodules", "matplotlib", "dask", "typer"}),
        *((name, {"numba", "dask"}) for name in FILES if is_in(name, "views")),
    ],
)
def test_heavy_imports_wait(module, later):
    """In a fresh interpreter, by what was really loaded."""
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    if module.endswith("__main__"):
        script = f"import json, sys, {module.removesuffix('.__main__')}.report; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert later & set(loaded) == set()
