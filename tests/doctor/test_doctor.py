"""`minidem doctor` in broken installations."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from command import PATIENCE, in_a_shell

from minidem.doctor import checks
from minidem.doctor.examination import COMPILING, REQUIREMENT, requirements
from minidem.doctor.findings import Finding, numbers
from minidem.doctor.processes import in_a_process
from minidem.engine.compile.cache import cache_directory
from minidem.views import colours, plotter

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
NO_LIBRARY = 'raise ImportError("libno.so.7: cannot open shared object file")\n'


@pytest.fixture
def scratch(tmp_path):
    """Folder for temporary files: nothing may be left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert os.listdir(folder) == []


def stub(folder, module, text):
    """A module that is found before the real one."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(text)
    return folder


def found_by(check, *arguments, limit=PATIENCE):
    return in_a_process(check, arguments, None, limit, "a remedy")


# --- the command ----------------------------------------------------------------------------------------------


def test_all_is_well_even_without_a_home(directory, scratch):
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "HOME"}
    kept = {"MINIDEM_CACHE_DIR": str(cache_directory().parent), "TMPDIR": str(scratch)}
    outcome = in_a_shell(directory, "doctor", "--json", env=environment | kept, timeout=2 * COMPILING)
    assert (outcome.code, outcome.stderr) == (0, "")
    report = outcome.json
    assert set(report) == {"checks", "status"} and report["status"] in ("ok", "warning")
    found = {check["name"]: check for check in report["checks"]}
    assert all(set(check) == {"name", "status", "found", "remedy"} for check in report["checks"])
    own = ["python", "minidem", "threads", "kernels", "kernel cache", "HDF5", "rendering", "films", "disk", "memory"]
    assert set(own) | {"numpy", "numba", "h5py", "pyvista", "typer"} <= set(found) and "pytest" not in found
    worked = [found[name]["status"] for name in own if name not in ("kernel cache", "disk", "memory")]
    assert worked == ["ok"] * 7  # the others are about this machine
    assert all((check["remedy"] is None) == (check["status"] == "ok") for check in report["checks"])
    assert str(cache_directory().parent) in found["kernel cache"]["found"]
    assert sorted(os.listdir(directory)) == ["box.toml", "scratch"]


def test_much_is_broken(tmp_path, scratch):
    """No numba, a missing library for VTK, no ffmpeg, and a directory that is not writable."""
    broken = {
        "PYTHONPATH": os.pathsep.join(
            [str(stub(tmp_path / "stubs", "numba", NO_LIBRARY)), os.environ.get("PYTHONPATH", "")]
        ),
        "VTK_DEFAULT_OPENGL_WINDOW": "vtkOSOpenGLRenderWindow",
        "IMAGEIO_FFMPEG_EXE": "/nowhere/ffmpeg",
        "TMPDIR": str(scratch),
    }
    outcome = in_a_shell("/proc", "doctor", env=ENVIRONMENT | broken)
    assert outcome.code == 1 and outcome.stderr == "" and "Traceback" not in outcome.stdout
    *rows, last = outcome.stdout.splitlines()
    lines = {line[9:24].strip(): line for line in rows}
    assert len(lines) == len(rows) and {line.split()[0] for line in rows} == {"ok", "warning", "failed"}
    for line in rows:
        assert line.startswith("ok ") or "; to fix it: " in line
    for name in ("numba", "kernels", "kernel cache"):
        assert lines[name].startswith("failed ") and "libno.so.7" in lines[name]
    assert "stubs/numba.py" in lines["numba"] and "pip install --force-reinstall 'numba>=" in lines["numba"]
    crashed = (
        lines["rendering"].startswith("failed ") and "unset VTK_DEFAULT_OPENGL_WINDOW, or install" in lines["rendering"]
    )
    assert crashed or "vtkOSOpenGLRenderWindow" in lines["rendering"]  # OSMesa is installed
    assert lines["films"].startswith("warning ") and "GIF" in lines["films"]
    assert lines["disk"].startswith("warning ") and "/proc cannot be written to" in lines["disk"]
    assert lines["HDF5"].startswith("ok ")  # in the temporary directory
    failed, warned = (sum(line.startswith(word) for line in rows) for word in ("failed", "warning"))
    assert last == f"{len(rows)} checks: {failed} failed, {warned} with a warning"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_nothing(tmp_path, scratch, number):
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "minidem.cli", "doctor"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=work, env=ENVIRONMENT | {"TMPDIR": str(scratch)}, **pipes)
    until = time.monotonic() + PATIENCE
    while not os.listdir(work) and time.monotonic() < until:
        time.sleep(0.02)
    assert os.listdir(work)
    time.sleep(0.1)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (128 + number, b"")
    assert os.listdir(work) == []


# --- single checks --------------------------------------------------------------------------------------------


def test_packages(monkeypatch, tmp_path):
    assert found_by("package", "pillow", "10", None).status == "ok"  # its module has another name
    old = found_by("package", "numpy", "99.1", None)
    assert old.status == "failed" and "99.1 or newer" in old.found and old.remedy == "pip install --upgrade 'numpy>=99.1'"
    missing = found_by("package", "no-such-thing", "1.0", None)
    assert missing.status == "failed" and missing.remedy == "pip install 'no-such-thing>=1.0'"
    optional = found_by("package", "no-such-thing", "1.0", "export")
    assert optional.status == "ok" and "minidem[export]" in optional.found and optional.remedy is None
    monkeypatch.syspath_prepend(stub(tmp_path / "stubs", "h5py", NO_LIBRARY))
    broken = found_by("package", "h5py", "3.11", None)
    assert broken.status == "failed" and "libno.so.7" in broken.found and "stubs/h5py.py" in broken.found
    assert found_by("package", "h5py", "3.11", "export").status == "warning"
    for check, arguments in (("kernels", ()), ("hdf5", (str(tmp_path),)), ("rendering", ()), ("films", ())):
        follows = found_by(check, *arguments)
        assert (follows.status, follows.remedy) == ("failed", "fix the packages first") and "libno.so.7" in follows.found


def test_versions_are_compared_as_numbers():
    assert numbers("3.9") < numbers("3.11") < numbers("3.11.0rc1") < numbers("2024.8+local7")


def test_every_requirement_is_understood():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = [f"{text}; extra == '{extra}'" for extra, texts in project["optional-dependencies"].items() for text in texts]
    understood = [REQUIREMENT.fullmatch(text) for text in [*project["dependencies"], *extras]]
    assert all(understood)
    assert REQUIREMENT.fullmatch("numba<0.69,>=0.61").groups() == ("numba", "0.61", None)
    assert [match[3] for match in understood if match[1] == "gsd"] == ["test", "export"]
    assert {name for name, _, _ in requirements()} >= {"numpy", "numba", "h5py"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import sys, os\nprint('no such instruction', file=sys.stderr, flush=True)\nos.abort()\n", "SIGABRT"),
        ("import os\nos._exit(7)\n", "crashed (code 7)"),
        ("raise SystemExit('leave me')\n", "SystemExit: leave me"),
        ("print('{}')\nversion = None\n", "AttributeError"),
    ],
)
def test_libraries_that_crash(monkeypatch, tmp_path, text, says):
    monkeypatch.syspath_prepend(stub(tmp_path / "stubs", "h5py", text))
    finding = found_by("hdf5", str(tmp_path))
    assert finding.status == "failed" and says in finding.found and finding.remedy == "a remedy"
    assert ("no such instruction" in finding.found) == ("abort" in text)


def test_library_that_hangs(monkeypatch, tmp_path):
    """It is killed with the processes that it started; otherwise it would give another answer."""
    sleeper = "import subprocess, sys\nsleeper = subprocess.Popen(['sleep', '20'])\n"
    wait = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(sleeper.pid))\nsleeper.wait()\n"
    monkeypatch.syspath_prepend(stub(tmp_path / "stubs", "h5py", sleeper + wait))
    finding = found_by("hdf5", str(tmp_path), limit=2.0)
    assert finding == Finding("failed", "no answer within 2 s", "a remedy")
    stat = Path("/proc") / (tmp_path / "pid").read_text() / "stat"
    begun = time.monotonic()
    while stat.exists() and stat.read_text().split()[2] != "Z":  # a zombie is dead
        assert time.monotonic() - begun < 15, "it is still there"
        time.sleep(0.05)


def test_cache_that_cannot_be_written(monkeypatch, tmp_path, scratch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path / "file"))
    finding = in_a_process("cache", (), str(scratch), PATIENCE, "")
    assert finding.status == "warning" and f"MINIDEM_CACHE_DIR={tmp_path}/file cannot be written to" in finding.found
    assert finding.remedy is not None and "MINIDEM_CACHE_DIR" in finding.remedy
    for left in scratch.iterdir():  # the command removes the whole folder
        shutil.rmtree(left)
    monkeypatch.delenv("MINIDEM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    finding = found_by("cache")
    assert finding.status != "failed" and f"{tmp_path}/caches/minidem, 0 MB of kernels" in finding.found


def test_damaged_kernels_are_compiled_anew(monkeypatch, tmp_path):
    assert found_by("kernels", limit=COMPILING).status == "ok"
    copy = tmp_path / cache_directory().name
    shutil.copytree(cache_directory(), copy)
    damaged = list(copy.glob("*rotation.spiral.*.kernel"))  # other tests leave kernels that the doctor does not need
    for file in damaged:
        os.truncate(file, 100)
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path))
    assert found_by("kernels", limit=COMPILING).status == "ok"
    assert damaged and min(file.stat().st_size for file in damaged) > 100


def test_wrong_numbers_are_noticed(monkeypatch):
    assert checks.kernels().status == "ok"
    monkeypatch.setattr(checks, "BALL", checks.BALL.replace("dt = 1e-3", "dt = 1e-4").replace("-10]", "-10.000000001]"))
    finding = checks.kernels()
    assert finding.status == "failed" and "wrong numbers" in finding.found and "1.2499999999" in finding.found
    assert finding.remedy is not None and finding.remedy.startswith(f"delete {cache_directory()};")
    monkeypatch.setattr("minidem.engine.compile.cache.cache_directory", lambda: None)  # there is nothing to delete
    assert checks.stale_kernels() == "pip install --force-reinstall numba llvmlite"


def test_cache_that_is_not_for_this_user_alone(monkeypatch, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path / "open"))
    finding = found_by("cache")
    assert finding.status == "warning" and f"{tmp_path}/open can be written to by other users" in finding.found
    assert f"chmod go-w {tmp_path}/open" in finding.found and finding.remedy.startswith("set MINIDEM_CACHE_DIR to ")


def test_hdf5_without_locks(tmp_path, monkeypatch):
    """Another process has locked the file: HDF5 reports the same for a file system without locks."""
    with open(tmp_path / "numbers.h5", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        finding = found_by("hdf5", str(tmp_path))
        assert finding.status == "failed" and "unable to lock" in finding.found
        assert finding.remedy is not None and "HDF5_USE_FILE_LOCKING=FALSE" in finding.remedy
        monkeypatch.setenv("HDF5_USE_FILE_LOCKING", "FALSE")  # the remedy helps
        finding = found_by("hdf5", str(tmp_path))
        assert finding.status == "ok" and "HDF5_USE_FILE_LOCKING=FALSE" in finding.found


def test_hdf5_on_a_full_disk(tmp_path):
    call = f"in_a_process('hdf5', ({str(tmp_path)!r},), None, {PATIENCE}, '')"
    script = f"from minidem.doctor.processes import in_a_process; print({call})"

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit_file_size)
    assert done.returncode == 0 and done.stderr == ""
    assert "status='failed'" in done.stdout and f"cannot write in {tmp_path.parent}" in done.stdout
    assert "free some space" in done.stdout


def test_no_library_to_draw_with(monkeypatch):
    """The libraries are only hidden from the search."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(plotter.ctypes.util, "find_library", lambda name: None)
    finding = checks.rendering()
    assert finding.status == "failed" and "EGL or the OSMesa library" in finding.found
    assert (
        finding.remedy is not None
        and finding.remedy.startswith("install libegl1")
        and finding.remedy in checks.drawing_advice()
    )


def test_blank_picture(monkeypatch):
    monkeypatch.setattr(colours, "ORANGE", "#000000")  # a black sphere looks like no sphere
    finding = checks.rendering()
    assert finding.status == "failed" and "blank" in finding.found and finding.remedy == checks.drawing_advice()


def test_little_disk(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert found_by("disk", False).status == "warning"
    monkeypatch.setattr(checks, "LITTLE_DISK", 2.0 * shutil.disk_usage(tmp_path).total)
    finding = checks.disk(True)
    assert finding.status == "warning" and "GB free" in finding.found and "--out" in (finding.remedy or "")
    assert checks.cache().status == "warning"
