"""What of this installation works, and how to mend what does not: `minidem doctor`.

Every check is a process of its own with a time limit, for libraries crash and hang where something is missing. This module
itself needs nothing but Python: where not even the command line can be imported, there is `python -m minidem.doctor`.
"""

import contextlib
import importlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from .. import machine

LIMIT = 60.0  # s that a check may take
COMPILING = 300.0  # s, with all kernels to be compiled on a slow machine
LITTLE_DISK = 1e9  # bytes
LITTLE_MEMORY = 0.5e9  # bytes; a small run takes 0.2e9
REQUIREMENT = re.compile(r"([\w.-]+?)\s*>=\s*([\d.]+)(?:\s*;\s*extra == ['\"]([\w.-]+)['\"])?")  # as in pyproject.toml
BALL = """\
schema = 1
name = "ball"
time = {dt = 1e-3, end = 0.1}
domain = {gravity = [0, 0, -10]}
material.steel = {young = 2e11, poisson = 0.3, density = 7800}
clump.ball = {spheres = [[0, 0, 0, 0.1]], material = "steel"}
body = [{clump = "ball", position = [0, 0, 1], velocity = [1, 2, 3], angular_velocity = [0, 0, 10]}]
output = {frames = 2, energies = 2}
"""
FALLEN = [0.1, 0.2, 1.25, 0.8775825618903728, 0.0, 0.0, 0.479425538604203]  # m; cos and sin of half a radian, about z
ROUNDING = 1e-12  # of numbers of order 1 after 100 steps, each with a few roundings of 1e-16
READ = "import h5py; print(h5py.File(sys.argv[1], 'r', swmr=True)['numbers'][:].tolist())"


@dataclass(frozen=True)
class Finding:
    status: str  # ok, warning or failed
    found: str
    remedy: str | None = None


@dataclass(frozen=True)
class Check(Finding):
    name: str = ""


# --- the checks, each in its own process ----------------------------------------------------------------------


def python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    wanted = metadata.metadata("minidem")["Requires-Python"].removeprefix(">=")
    if numbers(platform.python_version()) < numbers(wanted):
        return Finding("failed", f"{found}; {wanted} or newer is needed", "make a virtual environment with a newer Python")
    return Finding("ok", found)


def itself() -> Finding:
    return Finding("ok", f"{metadata.version('minidem')} in {Path(__file__).parent}")


def package(name: str, minimum: str, extra: str | None) -> Finding:
    """A distribution that minidem requires, or that some part of it does."""
    bad = "warning" if extra else "failed"
    install = f"'{name}>={minimum}'"
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if extra:
            return Finding("ok", f"not installed; only needed for what minidem[{extra}] adds")
        return Finding(bad, f"not installed; {minimum} or newer is needed", f"pip install {install}")
    version = distribution.version
    if numbers(version) < numbers(minimum):
        return Finding(bad, f"{version}; {minimum} or newer is needed", f"pip install --upgrade {install}")
    tops = sorted(
        {file.parts[0] for file in distribution.files or () if file.match("*/__init__.py") and len(file.parts) == 2}
    )
    module = name.replace("-", "_")
    if tops and module not in tops:
        module = tops[0]
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        try:
            origin = getattr(util.find_spec(module), "origin", None)
        except (ImportError, ValueError):  # half imported
            origin = None
        place = f" from {origin}" if origin else ""
        return Finding(
            bad, f"{version}, cannot be imported{place}: {said(error)}", f"pip install --force-reinstall {install}"
        )
    return Finding("ok", version)


def threads() -> Finding:
    return Finding("ok", f"{machine.processors()} may be used; {machine.machine()}")


def kernels() -> Finding:
    """A ball that flies, falls and turns: for leapfrog and SPIRAL the closed form is exact."""
    import numpy as np

    from ..running.conduct import run
    from ..scenario.tables import parse

    began = time.perf_counter()
    trajectory = run(parse(BALL)).trajectory
    took = time.perf_counter() - began
    reached = [*trajectory.position[-1, 0], *trajectory.orientation[-1, 0]]
    if not np.abs(np.subtract(reached, FALLEN)).max() < ROUNDING:
        where = ", ".join(f"{value:.15g}" for value in reached)
        return Finding("failed", f"wrong numbers: a falling ball is at ({where}), not at {tuple(FALLEN)}", stale_kernels())
    return Finding("ok", f"compiled or loaded, and right to {ROUNDING:g} for a falling ball, in {took:.1f} s")


def stale_kernels() -> str:
    try:
        from ..engine.compile.cache import cache_directory

        folder = str(cache_directory())
    except Exception:
        folder = "the folder of compiled kernels"
    return f"delete {folder}; if it stays, pip install --force-reinstall numba llvmlite"


def cache() -> Finding:
    from ..engine.compile.cache import cache_directory

    folder = cache_directory()
    if folder.name.startswith("minidem-"):  # a temporary one
        given = os.environ.get("MINIDEM_CACHE_DIR")
        remedy = "set MINIDEM_CACHE_DIR to a directory that can be written to"
        wanted = f"MINIDEM_CACHE_DIR={given}" if given else "$XDG_CACHE_HOME/minidem or ~/.cache/minidem"
        return Finding("warning", f"{wanted} cannot be written to, so every process compiles its kernels anew", remedy)
    kept = sum(file.stat().st_size for file in folder.parent.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    found = f"{folder.parent}, {kept / 1e6:.0f} MB of kernels, {free / 1e9:.1f} GB free"
    if free < LITTLE_DISK:
        return Finding("warning", found, "free some space there, or set MINIDEM_CACHE_DIR to a directory with more")
    return Finding("ok", found + ("" if "MINIDEM_CACHE_DIR" in os.environ else "; MINIDEM_CACHE_DIR would choose another"))


def hdf5(folder: str) -> Finding:
    """Written and read at once by two processes, as a run is that others look at."""
    import h5py

    locking = os.environ.get("HDF5_USE_FILE_LOCKING")
    found = f"{h5py.version.hdf5_version} with h5py {h5py.version.version}"
    found += f", HDF5_USE_FILE_LOCKING={locking}" if locking else ""
    path, place = Path(folder) / "numbers.h5", Path(folder).parent
    try:
        file = h5py.File(path, "w", libver=("v110", "v110"))
        rows = file.create_dataset("numbers", (0,), "f8", maxshape=(None,), chunks=(1024,))
        file.swmr_mode = True
        rows.resize(2, axis=0)
        rows[:] = [1.5, 2.5]
        file.flush()
    except (OSError, RuntimeError) as error:
        if re.search(r"\block", str(error)):
            return Finding("failed", f"{found}: files cannot be locked in {place}: {said(error)}", without_locks())
        elsewhere = "work in another directory, or free some space"
        return Finding("failed", f"{found}: cannot write in {place}: {said(error)}", elsewhere)
    reader = subprocess.run([*with_this_path(READ), str(path)], capture_output=True, text=True)
    if reader.stdout.strip() != "[1.5, 2.5]":
        reason = last_line(reader.stderr) or "other numbers"
        return Finding("failed", f"{found}: not readable while it is written: {reason}", without_locks())
    return Finding("ok", f"{found}, read while it is written")


def without_locks() -> str:
    return "set HDF5_USE_FILE_LOCKING=FALSE, or work in a directory of a local disk"


def rendering() -> Finding:
    """A sphere in the middle of a white picture."""
    import numpy as np

    from ..errors import InputError
    from ..views import scene as render

    try:
        plotter = render.new_plotter((100, 100), off_screen=True)
    except InputError as error:
        return Finding("failed", *str(error).split("; ", 1))
    ball = render.Balls(np.zeros(1, np.int64), np.zeros((1, 3)), np.ones(1))
    ball.place(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), render.rgb(render.COLOURS[0])[None])
    plotter.add_actor(ball.actor)
    plotter.set_background("white")
    low, high = -np.ones(3), np.ones(3)
    render.light(plotter, low, high, shadows=0)
    render.aim(plotter, render.corners(low, high))
    image = np.asarray(plotter.screenshot(return_img=True)).astype(int)
    window = plotter.render_window
    graphics = re.search(r"renderer string:\s*(.+)", window.ReportCapabilities())
    found = f"{window.GetClassName()}, {graphics[1] if graphics else 'graphics unknown'}"
    if not (image[0, 0].min() > 250 and np.ptp(image[50, 50]) > 20):  # white, and orange
        return Finding("failed", f"{found}: the picture of a sphere is blank", drawing_advice())
    screen = not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return Finding("ok", found + ("" if screen else "; no display: pictures and films, but no windows"))


def drawing_advice() -> str:
    chosen = [name for name in ("VTK_DEFAULT_OPENGL_WINDOW", "DISPLAY", "WAYLAND_DISPLAY") if os.environ.get(name)]
    unset = f"unset {' and '.join(chosen)}, or " if chosen else ""
    return f"{unset}install {machine.DRAWING_LIBRARIES}"


def films() -> Finding:
    from ..views.movie import has_ffmpeg

    if not has_ffmpeg():
        return Finding(
            "warning", "no ffmpeg: films are GIF, not MP4", "pip install imageio-ffmpeg, or unset IMAGEIO_FFMPEG_EXE"
        )
    import imageio_ffmpeg

    return Finding("ok", f"ffmpeg {imageio_ffmpeg.get_ffmpeg_version()} at {imageio_ffmpeg.get_ffmpeg_exe()}")


def disk(writable: bool) -> Finding:
    """Of the working directory, where runs go."""
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    found = f"{free / 1e9:.1f} GB free in {here}"
    if not writable:
        return Finding("warning", f"{here} cannot be written to", "work in another directory, or give --out")
    if free < LITTLE_DISK:
        return Finding("warning", found, "free some space, or give --out on another disk")
    return Finding("ok", found)


def memory() -> Finding:
    free = machine.available_memory()
    if free is None:  # not on every system
        return Finding("ok", f"{machine.in_bytes(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))} in all")
    if free < LITTLE_MEMORY:
        return Finding(
            "warning", f"{machine.in_bytes(free)} free", "end other programs; minidem check tells what a scenario needs"
        )
    return Finding("ok", f"{machine.in_bytes(free)} free")


# --- how they are run -----------------------------------------------------------------------------------------


def examined() -> Generator[Check, None, None]:
    """All checks, one after the other; what they write is gone afterwards."""
    with room(None) as scratch, room(".") as here:

        def look(name: str, check: Callable[..., Finding], *arguments: Any, limit: float = LIMIT, remedy: str) -> Check:
            return Check(**asdict(in_a_process(check.__name__, arguments, scratch, limit, remedy)), name=name)

        again = "install minidem again"
        yield look("python", python, remedy=again)
        yield look("minidem", itself, remedy=again)
        try:
            wanted = requirements()
        except Exception as error:
            yield Check("failed", f"what minidem requires is unknown: {said(error)}", again, name="packages")
            wanted = []
        for name, minimum, extra in wanted:
            yield look(name, package, name, minimum, extra, remedy=f"pip install --force-reinstall '{name}>={minimum}'")
        yield look("threads", threads, remedy=again)
        if scratch is None:
            yield Check("failed", "no temporary directory can be written to", "set TMPDIR to one that can", name="temporary")
        yield look("kernels", kernels, limit=COMPILING, remedy="delete the folder of compiled kernels (below)")
        yield look("kernel cache", cache, remedy="set MINIDEM_CACHE_DIR to a directory on a local disk")
        if folder := here or scratch:
            yield look("HDF5", hdf5, folder, remedy=without_locks())
        yield look("rendering", rendering, remedy=drawing_advice())
        yield look("films", films, remedy="pip install --force-reinstall imageio-ffmpeg")
        yield look("disk", disk, here is not None, remedy="work in another directory")
        yield look("memory", memory, remedy=again)


@contextlib.contextmanager
def room(parent: str | None) -> Iterator[str | None]:
    """A folder that is gone afterwards; none where none can be made."""
    try:
        folder = tempfile.mkdtemp(prefix=".minidem-doctor-", dir=parent and os.path.abspath(parent))
    except OSError:
        yield None
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def requirements() -> list[tuple[str, str, str | None]]:
    """Name, lowest version and, of optional ones, the extra that asks for it; without those for tests."""
    found = [(text, REQUIREMENT.fullmatch(text)) for text in metadata.requires("minidem") or ()]
    if unclear := [text for text, match in found if match is None]:
        raise ValueError(f"unclear: {', '.join(unclear)}")
    return [(match[1], match[2], match[3]) for _, match in found if match and match[3] != "test"]


def in_a_process(check: str, arguments: tuple[Any, ...], scratch: str | None, limit: float, remedy: str) -> Finding:
    """What a check finds; the remedy is for when it does not come to an end."""
    call = f"from minidem.doctor.checks import answer; answer({check!r}, {remedy!r}, {arguments!r})"
    environment = os.environ | ({"TMPDIR": scratch} if scratch else {})
    try:
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(with_this_path(call), env=environment, start_new_session=True, **pipes)
    except OSError as error:
        return Finding("failed", f"no process could be started: {said(error)}", "free some memory, or end other programs")
    try:
        reply, noise = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return Finding("failed", f"no answer within {limit:g} s", remedy)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # with those that it started
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in the system
                process.wait(5.0)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    try:
        return Finding(**json.loads(reply))
    except (ValueError, TypeError):
        code_or_signal = (
            f"code {process.returncode}" if process.returncode >= 0 else signal.Signals(-process.returncode).name
        )
        last = last_line(noise.decode(errors="replace"))
        return Finding("failed", f"crashed ({code_or_signal})" + (f": {last}" if last else ""), remedy)


def with_this_path(code: str) -> list[str]:
    """A command that finds the modules that this process finds."""
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]


def answer(check: str, remedy: str, arguments: tuple[Any, ...]) -> None:
    """In the process of a check: its finding on stdout, and nothing else there."""
    reply = os.dup(1)
    os.dup2(2, 1)
    try:
        finding: Finding = globals()[check](*arguments)
    except ImportError as error:
        finding = Finding("failed", said(error), "mend the packages first")
    except (Exception, SystemExit) as error:
        finding = Finding("failed", said(error), stale_kernels() if check == "kernels" else remedy)
    os.write(reply, json.dumps(asdict(finding)).encode())
    os._exit(0)  # without the clean-up at exit, where HDF5 and VTK may crash


def numbers(version: str) -> tuple[int, ...]:
    """Those that a version begins with."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


def said(error: BaseException) -> str:
    return textwrap.shorten(f"{type(error).__name__}: {error}", 300)


def last_line(text: str) -> str:
    """Without colours, and without what VTK puts before a message."""
    lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if line.strip()]
    return textwrap.shorten(lines[-1].rpartition("| ")[2], 300) if lines else ""


# --- what is printed ------------------------------------------------------------------------------------------


def report(as_json: bool) -> int:
    """Prints what was found, line by line; the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of folders may have any letters
    if not as_json and sys.stderr.isatty():
        print("looking; where kernels are still to be compiled, it takes half a minute ...", file=sys.stderr, flush=True)
    checks = []
    with contextlib.closing(examined()) as ongoing:
        for check in ongoing:
            checks.append(check)
            if not as_json:
                mend = f"; to mend it: {check.remedy}" if check.remedy else ""
                print(f"{check.status:<8} {check.name:<15} {' '.join(check.found.split())}{mend}")
    seen = [check.status for check in checks]
    if as_json:
        rows = [{"name": c.name, "status": c.status, "found": c.found, "remedy": c.remedy} for c in checks]
        worst = next(status for status in ("failed", "warning", "ok") if status in seen)
        print(json.dumps({"checks": rows, "status": worst}))
    else:
        print(f"{len(seen)} checks: {seen.count('failed')} failed, {seen.count('warning')} with a warning")
    return 1 if "failed" in seen else 0


def stopped(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)
