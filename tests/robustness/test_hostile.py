"""Files that mean harm: sizes beyond all memory, links and pipes, data kept elsewhere."""

import ast
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command import BOX, in_a_shell

import minidem
from minidem import machine
from minidem.errors import InputError
from minidem.files.hdf5 import HEAP
from minidem.files.manifest import manifest_of, writer_of
from minidem.files.trajectory import Trajectory
from minidem.model.building import build_model
from minidem.running.recorder import Recorder
from minidem.scenario.reading import load, parse
from minidem.shapes import MAX_SPHERES
from minidem.shapes.mesh_files import read_mesh
from minidem.shapes.sphere_files import read_spheres

PACKAGE = Path(minidem.__file__).parent


# --- sizes ---------------------------------------------------------------------------------------------------


def test_available_memory_is_below_that_of_the_machine():
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < machine.available_memory() <= total


def test_available_memory_obeys_the_limit_of_the_process():
    limit = 2**31
    code = "from minidem.machine import available_memory; print(available_memory())"
    options = {"capture_output": True, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))}
    free = int(subprocess.run([sys.executable, "-c", code], **options).stdout)
    assert 0 < free < limit


@pytest.mark.parametrize(
    "cgroup, files, free",
    [
        ("0::/a/b\n", {"a/memory.max": "1000", "a/memory.current": "900", "a/memory.stat": "inactive_file 50\n"}, 150),
        ("0::/a\n", {"a/memory.max": "max", "a/memory.current": "900", "a/memory.stat": ""}, None),
        ("0::/a\n", {"a/memory.max": "100", "a/memory.current": "900", "a/memory.stat": ""}, -800),
    ],
)
def test_limits_of_a_group_of_processes(tmp_path, cgroup, files, free):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    names = ("memory.max", "memory.current", "inactive_file")
    assert list(machine._cgroup_bounds(tmp_path, cgroup.strip()[3:], *names)) == ([] if free is None else [free])


def test_sizes_for_people():
    assert [machine.in_bytes(count) for count in (1e3, 2.5e6, 6.702e11, 1e13)] == ["1 kB", "2.5 MB", "670 GB", "10 TB"]


@pytest.mark.parametrize(
    "change, start",
    [
        (
            "count = 1000000000",
            "box.toml: place[0].count: 1000000001 bodies with 3e+09 spheres need about 1.01 TB of memory, ",
        ),
        ("packing_fraction = 0.5", "box.toml: place[0].packing_fraction: "),
    ],
)
def test_bodies_beyond_the_memory(minidem_command, directory, change, start):
    """In a process that could not take the memory, if it tried to."""
    text = BOX.replace("count = 4", change)
    if "fraction" in change:
        text = text.replace("[0.5, 0.4, 0.3]", "[20.0, 10.0, 10.0]").replace("[0.25, 0.2, 0.15]", "[5, 5, 5]")
    (directory / "box.toml").write_text(text)
    limit = 3 * 2**30
    outcome = in_a_shell(
        directory, "run", "box.toml", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    assert outcome.code == 2
    assert outcome.stderr.splitlines()[-1].startswith(start) and outcome.stderr.endswith("are free; place fewer\n")
    assert not (directory / "output").exists()


def test_frames_beyond_the_disk(minidem_command, directory):
    """10^7 frames of 2000 balls are 2 TB."""
    large = BOX.replace("count = 4", "count = 2000").replace("[0.5, 0.4, 0.3]", "[50, 40, 30]")
    (directory / "box.toml").write_text(large.replace("frames = 5", "frames = 10000000").replace("dt = 4e-5", "dt = 4e-12"))
    outcome = minidem_command("run", "box.toml")
    assert outcome.code == 2
    message = outcome.stderr.splitlines()[-1]
    assert message.startswith("some-rods: output.frames: 10000000 of them need 2.08 TB on the disk of output/some-rods, ")
    assert message.endswith(" are free; record fewer")
    assert not (directory / "output").exists()


def test_clumps_of_too_many_spheres(minidem_command, directory):
    (directory / "many.csv").write_text("0 0 0 1\n" * (MAX_SPHERES + 1))
    (directory / "box.toml").write_text(
        BOX.replace("spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]", 'file = "many.csv"')
    )
    outcome = minidem_command("check", "box.toml")
    assert outcome.code == 2
    assert "many.csv: line 10001: more than the 10000 spheres that a clump may have; take fewer" in outcome.stderr


def test_files_that_are_too_large(tmp_path):
    """They take no room on the disk."""
    for name, read in (("a.csv", read_spheres), ("a.stl", read_mesh), ("a.toml", load)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(2**40)
        with pytest.raises(InputError, match=rf"{name}: (is )?larger than \d+ MB"):
            read(tmp_path / name)


# --- links and pipes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".", "..", "../x", "/tmp/x", "a/b", "", "a\\u0000b", "-/../x", ".hidden", "a" * 65])
def test_names_stay_below_the_output(minidem_command, directory, name):
    (directory / "box.toml").write_text(BOX.replace("some-rods", name))
    outcome = minidem_command("run", "box.toml")
    assert outcome.code == 2 and outcome.stderr.startswith("box.toml: name: must be 1 to 64 letters")
    assert [path.name for path in directory.iterdir()] == ["box.toml"]


def test_output_that_is_a_link(minidem_command, directory):
    """To follow it is for the user to say."""
    (directory / "elsewhere").mkdir()
    (directory / "output").mkdir()
    (directory / "output/some-rods").symlink_to(directory / "elsewhere")
    outcome = minidem_command("run", "box.toml")
    assert outcome.code == 2
    assert outcome.stderr == "output/some-rods: is a symbolic link; remove it, or give the directory with --out\n"
    assert list((directory / "elsewhere").iterdir()) == []
    assert minidem_command("run", "box.toml", "--out", "output/some-rods", "--quiet").code == 0
    assert (directory / "elsewhere/trajectory.h5").is_file()


FILES = ["scenario.toml", "resolved.toml", "manifest.json", ".manifest.new.json", "trajectory.h5", "energy.csv"]


@pytest.mark.parametrize("target", ["there", "missing"])
def test_links_in_a_run_directory_are_not_followed(minidem_command, directory, target):
    run, victim = directory / "output/some-rods", directory / "there"
    run.mkdir(parents=True)
    victim.write_text("precious")
    for name in FILES:
        (run / name).symlink_to(directory / target)
    outcome = minidem_command("run", "box.toml", "--overwrite", "--quiet")
    assert outcome.code == 0, outcome.stderr
    assert victim.read_text() == "precious" and not (directory / "missing").exists()
    assert not any(path.is_symlink() for path in run.iterdir())
    assert json.loads((run / "manifest.json").read_text())["status"] == "ok"


def test_links_that_come_later_are_not_followed(directory):
    """Between the look at the directory and the writing: replaced, or refused."""
    scenario = load(directory / "box.toml")
    for name in (
        "trajectory.h5",
        ".trajectory.new.h5",
        "energy.csv",
        ".energy.new.csv",
        ".manifest.new.json",
        "scenario.toml",
    ):
        shutil.rmtree(directory / "run", ignore_errors=True)
        (directory / "run").mkdir()
        (directory / "run" / name).symlink_to(directory / "missing")
        with contextlib.suppress(InputError), Recorder(directory / "run", scenario, build_model(scenario), BOX) as recorder:
            recorder.finish({"status": "ok"})
            assert not (directory / "run" / name).is_symlink(), name
        assert not (directory / "missing").exists(), name


def test_pipes_and_devices_are_not_waited_for(directory):
    """Nobody ever writes to the pipe: whoever opens it would hang."""
    os.mkfifo(directory / "pipe.csv")
    for name in ("pipe.csv", "/dev/zero"):
        text = BOX.replace("spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]]", f'file = "{name}"')
        (directory / "box.toml").write_text(text)
        (directory / "study.toml").write_text(f'scenario = "{name}"\n[axes]\nseed = [1]\n')
        for command, file in (("check", "box.toml"), ("study", "study.toml")):
            outcome = in_a_shell(directory, command, file)
            assert outcome.code == 2 and f"{file}: " in outcome.stderr, outcome.stderr
            assert "file" in outcome.stderr
    for name in ("pipe.stl", "trajectory.h5", "manifest.json"):
        os.mkfifo(directory / name)
    with pytest.raises(InputError):
        read_mesh(directory / "pipe.stl")
    with pytest.raises(InputError):
        Trajectory(directory)
    with pytest.raises(InputError):
        manifest_of(directory)
    assert writer_of(directory) is None


@pytest.mark.parametrize("pid", [-1, 0, True, 2**40, 10**30, "1", None, 1.0])
def test_manifests_of_no_process(tmp_path, pid):
    import platform

    (tmp_path / "manifest.json").write_text(json.dumps({"status": "running", "host": platform.node(), "pid": pid}))
    assert writer_of(tmp_path) is None
    (tmp_path / "manifest.json").write_text(json.dumps({"status": "running", "host": platform.node(), "pid": os.getpid()}))
    assert writer_of(tmp_path) == os.getpid()


# --- HDF5 ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A good run."""
    directory = tmp_path_factory.mktemp("whole")
    minidem.run(parse(BOX), directory / "run").trajectory.close()
    return directory / "run/trajectory.h5"


def read_all(path):
    with Trajectory(path) as trajectory:
        return trajectory.position, trajectory.observables, trajectory.spheres(-1)


VALUE = "particles/bodies/position/value"


def as_external_link(file, other):
    file[VALUE] = h5py.ExternalLink(other, "/secret")


def as_soft_link(file, other):
    file["out"] = h5py.ExternalLink(other, "/")
    file[VALUE] = h5py.SoftLink("/out/secret")


def as_external_data(file, other):
    file.create_dataset(VALUE, (5, 5, 3), "f8", external=[(other, 0, 600)])


def as_virtual_data(file, other):
    layout = h5py.VirtualLayout((5, 5, 3), "f8")
    layout[...] = h5py.VirtualSource(other, "secret", (5, 5, 3))
    file.create_virtual_dataset(VALUE, layout)


@pytest.mark.parametrize("hide", [as_external_link, as_soft_link, as_external_data, as_virtual_data])
def test_data_of_other_files_are_not_read(whole, tmp_path, hide):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.ones((5, 5, 3))
    shutil.copy(whole, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file[VALUE]
        hide(file, str(tmp_path / "other.h5"))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file[VALUE].shape == (5, 5, 3)  # h5py alone would follow
    with pytest.raises(InputError, match=r"run\.h5: is damaged"):
        read_all(tmp_path / "run.h5")


@pytest.mark.parametrize("frames", [10**8, 10**12])
def test_declared_sizes_are_compared_with_the_file(whole, tmp_path, frames):
    """Without memory for them: an attempt to take it would be told otherwise."""
    shutil.copy(whole, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        for name in ("step", "time"):
            file[f"particles/bodies/position/{name}"].resize(frames, axis=0)
        for name in ("position", "velocity", "orientation", "angular_velocity"):
            file[f"particles/bodies/{name}/value"].resize(frames, axis=0)
    with Trajectory(tmp_path / "run.h5") as trajectory, pytest.raises(InputError, match=r"declares \S+ .B and holds \S+ .B"):
        trajectory.position  # noqa: B018


def test_spheres_beyond_the_memory(whole, tmp_path):
    """A file of 4 MB with 10^5 bodies of 10^5 spheres each."""
    shutil.copy(whole, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        bodies, clump = file["particles/bodies"], file["parameters/minidem/clumps/0"]
        for name, (shape, value) in {"mass": ((10**5,), 1.0), "species": ((10**5,), 0)}.items():
            del bodies[name]
            bodies[name] = np.full(shape, value)
        del clump["spheres"]
        clump["spheres"] = np.ones((10**5, 4))
        for name, size in (("position", 3), ("velocity", 3), ("orientation", 4), ("angular_velocity", 3)):
            del bodies[f"{name}/value"]
            bodies[f"{name}/value"] = np.ones((1, 10**5, size))
    with (
        Trajectory(tmp_path / "run.h5") as trajectory,
        pytest.raises(InputError, match=r"its spheres need about 1.6 TB of mem"),
    ):
        trajectory.spheres(0)


def test_damaged_heaps(whole, tmp_path):
    """Texts of variable length are read as ever; in a heap whose objects have no size libhdf5 would go round forever."""
    shutil.copy(whole, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["parameters/minidem/scenario"]
        file["parameters/minidem/scenario"] = BOX
    with Trajectory(tmp_path / "run.h5") as trajectory:
        assert trajectory.scenario == BOX
    data = bytearray((tmp_path / "run.h5").read_bytes())
    heap = data.index(HEAP)
    data[heap + 16 : heap + 32] = bytes(16)
    (tmp_path / "run.h5").write_bytes(data)
    with pytest.raises(InputError, match=r"run\.h5: not a minidem trajectory"):
        Trajectory(tmp_path / "run.h5")


@pytest.mark.parametrize("where", ["dataset", "attribute"])
def test_objects_are_no_code(whole, tmp_path, where):
    """What would be a program for pickle is text for h5py, or nothing at all."""
    bomb = b"cos\nsystem\n(S'touch exploded'\ntR."
    shutil.copy(whole, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        if where == "dataset":
            del file["parameters/minidem/scenario"], file[VALUE]
            file["parameters/minidem/scenario"] = np.array(bomb, dtype=h5py.string_dtype())
            values = file.create_dataset(VALUE, (5, 5, 3), h5py.vlen_dtype(np.uint8))
            values[0, 0, 0] = np.frombuffer(bomb, np.uint8)
        else:
            file["parameters/minidem/clumps/0"].attrs["name"] = np.array([bomb] * 2, dtype=h5py.string_dtype())
    with pytest.raises(InputError):
        read_all(tmp_path / "run.h5")
    if where == "dataset":
        with Trajectory(tmp_path / "run.h5") as trajectory:
            assert trajectory.scenario.encode() == bomb
    assert not Path("exploded").exists()


def test_no_module_can_run_what_it_reads():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                names += [called] if called in ("eval", "exec", "compile", "__import__", "os.system") else []
                names += [keyword.arg for keyword in node.keywords if keyword.arg in ("allow_pickle", "shell")]
            bad = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "eval", "exec", "__import__", "os.system"}
            found |= {
                (path.name, name) for name in names if name.split(".")[0] in bad or name in bad | {"allow_pickle", "shell"}
            }
    meant = {
        ("kept.py", "pickle"),  # compiled kernels with a checksum, in a folder that only this user can write to
        ("plugins.py", "exec"),  # the file that the user names with --plugin
    }
    assert found == meant
