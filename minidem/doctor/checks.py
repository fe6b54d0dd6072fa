"""The checks of `minidem doctor`. Each imports what it needs itself, as any package may be broken."""

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from importlib import metadata, util
from pathlib import Path

from .. import machine
from .findings import Finding, last_line, numbers, said
from .processes import with_this_path

LITTLE_DISK = 1e9  # bytes
LITTLE_MEMORY = 0.5e9  # bytes; a small run takes 0.2e9
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
WITHOUT_LOCKS = "set HDF5_USE_FILE_LOCKING=FALSE, or work in a directory of a local disk"


def python() -> Finding:
    """Version of Python."""
    found = f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    wanted = metadata.metadata("minidem")["Requires-Python"].removeprefix(">=")
    if numbers(platform.python_version()) < numbers(wanted):
        return Finding("failed", f"{found}; {wanted} or newer is needed", "make a virtual environment with a newer Python")
    return Finding("ok", found)


def itself() -> Finding:
    """Version and place of minidem."""
    return Finding("ok", f"{metadata.version('minidem')} in {Path(__file__).parents[1]}")


def package(name: str, minimum: str, extra: str | None) -> Finding:
    """A package that minidem requires, or that one of its extras does."""
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
        except (ImportError, ValueError):  # imported in part
            origin = None
        place = f" from {origin}" if origin else ""
        return Finding(
            bad, f"{version}, cannot be imported{place}: {said(error)}", f"pip install --force-reinstall {install}"
        )
    return Finding("ok", version)


def threads() -> Finding:
    """Number of processors."""
    return Finding("ok", f"{machine.processors()} available; {machine.machine()}")


def kernels() -> Finding:
    """Run a ball that flies, falls and turns; leapfrog and SPIRAL reproduce the closed form exactly."""
    import numpy as np

    from ..running.conduct import run
    from ..scenario.reading import parse

    began = time.perf_counter()
    trajectory = run(parse(BALL)).trajectory
    took = time.perf_counter() - began
    reached = [*trajectory.position[-1, 0], *trajectory.orientation[-1, 0]]
    if not np.abs(np.subtract(reached, FALLEN)).max() < ROUNDING:
        where = ", ".join(f"{value:.15g}" for value in reached)
        return Finding("failed", f"wrong numbers: a falling ball is at ({where}), not at {tuple(FALLEN)}", stale_kernels())
    return Finding("ok", f"compiled or loaded in {took:.1f} s, correct to {ROUNDING:g} for a falling ball")


def stale_kernels() -> str:
    """Remedy for compiled kernels that do not work."""
    install = "pip install --force-reinstall numba llvmlite"
    try:
        from ..engine.compile.cache import cache_directory

        folder = str(cache_directory() or "")
    except Exception:
        folder = "the folder of compiled kernels"
    return f"delete {folder}; if that does not help, {install}" if folder else install


def cache() -> Finding:
    """Folder of compiled kernels."""
    from ..engine.compile.cache import cache_directory
    from ..engine.compile.sealed import told

    folder = cache_directory()
    if folder is None:
        return Finding("warning", *told["folder"].rsplit("; ", 1))
    if not os.access(folder, os.W_OK):
        found = f"{folder} cannot be written to, so every process compiles what is not in it"
        return Finding("warning", found, f"chmod u+w {folder}, or set MINIDEM_CACHE_DIR to a folder of your own")
    kept = sum(file.stat().st_size for file in folder.parent.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    found = f"{folder.parent}, {kept / 1e6:.0f} MB of kernels, {free / 1e9:.1f} GB free"
    if free < LITTLE_DISK:
        return Finding("warning", found, "free some space there, or set MINIDEM_CACHE_DIR to a directory with more")
    return Finding("ok", found + ("" if "MINIDEM_CACHE_DIR" in os.environ else "; set MINIDEM_CACHE_DIR to use another"))


def hdf5(folder: str) -> Finding:
    """Write a file in `folder` while another process reads it, as with a run that is viewed before its end."""
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
            return Finding("failed", f"{found}: files cannot be locked in {place}: {said(error)}", WITHOUT_LOCKS)
        elsewhere = "work in another directory, or free some space"
        return Finding("failed", f"{found}: cannot write in {place}: {said(error)}", elsewhere)
    reader = subprocess.run([*with_this_path(READ), str(path)], capture_output=True, text=True)
    if reader.stdout.strip() != "[1.5, 2.5]":
        reason = last_line(reader.stderr) or "wrong numbers"
        return Finding("failed", f"{found}: not readable while it is written: {reason}", WITHOUT_LOCKS)
    return Finding("ok", f"{found}, read while it is written")


def rendering() -> Finding:
    """Draw a sphere in the middle of a white picture."""
    import numpy as np

    from ..errors import InputError
    from ..views import colours
    from ..views.camera import aim, light
    from ..views.plotter import has_display, new_plotter
    from ..views.scene import Balls
    from ..views.space import Space

    try:
        plotter = new_plotter((100, 100), off_screen=True)
    except InputError as error:
        return Finding("failed", *str(error).split("; ", 1))
    ball = Balls(np.zeros(1, np.int64), np.zeros((1, 3)), np.ones(1))
    ball.place(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), colours.rgb(colours.ORANGE)[None])
    plotter.add_actor(ball.actor)
    plotter.set_background("white")
    space = Space(-np.ones(3), np.ones(3))
    light(plotter, space.size, shadows=0)
    aim(plotter, space.corners)
    image = np.asarray(plotter.screenshot(return_img=True)).astype(int)
    window = plotter.render_window
    graphics = re.search(r"renderer string:\s*(.+)", window.ReportCapabilities())
    found = f"{window.GetClassName()}, {graphics[1] if graphics else 'graphics unknown'}"
    if not (image[0, 0].min() > 250 and np.ptp(image[50, 50]) > 20):  # white, and orange
        return Finding("failed", f"{found}: the picture of a sphere is blank", drawing_advice())
    return Finding("ok", found + ("" if has_display() else "; no display: pictures and films, but no windows"))


def drawing_advice() -> str:
    """Remedy for graphics that do not work."""
    chosen = [name for name in ("VTK_DEFAULT_OPENGL_WINDOW", "DISPLAY", "WAYLAND_DISPLAY") if os.environ.get(name)]
    unset = f"unset {' and '.join(chosen)}, or " if chosen else ""
    return f"{unset}install {machine.DRAWING_LIBRARIES}"


def films() -> Finding:
    """Whether ffmpeg is there."""
    from ..views.movie import has_ffmpeg

    if not has_ffmpeg():
        return Finding(
            "warning", "no ffmpeg: films are GIF, not MP4", "pip install imageio-ffmpeg, or unset IMAGEIO_FFMPEG_EXE"
        )
    import imageio_ffmpeg

    return Finding("ok", f"ffmpeg {imageio_ffmpeg.get_ffmpeg_version()} at {imageio_ffmpeg.get_ffmpeg_exe()}")


def disk(writable: bool) -> Finding:
    """Free space in the working directory, where runs are written; `writable` says whether a file could be made there."""
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    found = f"{free / 1e9:.1f} GB free in {here}"
    if not writable:
        return Finding("warning", f"{here} cannot be written to", "work in another directory, or give --out")
    if free < LITTLE_DISK:
        return Finding("warning", found, "free some space, or give --out on another disk")
    return Finding("ok", found)


def memory() -> Finding:
    """Memory that is free."""
    free = machine.available_memory()
    if free is None:  # not on every system
        return Finding("ok", f"{machine.in_bytes(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))} in all")
    if free < LITTLE_MEMORY:
        return Finding(
            "warning",
            f"{machine.in_bytes(free)} free",
            "close other programs; minidem check estimates the memory of a scenario",
        )
    return Finding("ok", f"{machine.in_bytes(free)} free")
