"""The figure of one run of the rotor bench: motion, reference, error, energy."""

from pathlib import Path

from matplotlib.figure import Figure

from ..errors import InputError
from ..files.whole import check_free
from ..rotor.motion import BenchRun
from .colours import COLOURS
from .figures import new_figure, saved
from .styles import LINES

SUFFIXES = (".png", ".svg", ".pdf")


def bench_figure(run: BenchRun) -> Figure:
    """Angular velocity (rad/s), relative errors and energy deviation over time."""
    time, omega = run.motion.time, run.motion.omega
    figure, (spin, error, energy) = new_figure(1, 3)
    for b in range(omega.shape[2]):
        for c, name in enumerate("xyz"):
            label = f"omega {name}" + (f", body {b + 1}" if omega.shape[2] > 1 else "")
            spin.plot(time, omega[:, c, b], LINES[b], color=COLOURS[c], label=label)
            spin.plot(run.reference.time, run.reference.omega[:, c, b], color=COLOURS[c], linewidth=4, alpha=0.25)
    spin.plot([], [], color="0.5", linewidth=4, alpha=0.25, label="reference")
    spin.set(xlabel="time (s)", ylabel="angular velocity, principal axes (rad/s)")
    spin.legend(fontsize=7)
    error.plot(time[1:], run.error_q, color=COLOURS[0], label="q")
    error.plot(time[1:], run.error_omega, "--", color=COLOURS[1], label="omega")
    error.set(xlabel="time (s)", ylabel="relative L1 error", yscale="log", title=f"{run.integrator}, dt {run.dt:.4g} s")
    error.legend(fontsize=7)
    if run.energy_deviation is None:
        energy.text(0.5, 0.5, "energy is not\nconserved here", ha="center", transform=energy.transAxes)
    else:
        energy.plot(time, run.energy_deviation, color=COLOURS[2])
    energy.set(xlabel="time (s)", ylabel="|E - E0| / |E0|", title=run.case)
    return figure


def check_file(file: Path, overwrite: bool) -> None:
    """Raise InputError unless the figure can be written to that file."""
    if file.suffix not in SUFFIXES:
        raise InputError(f"--plot: the name must end in {', '.join(SUFFIXES)}, got {file}")
    try:
        check_free(file, overwrite=overwrite, option="--plot")
    except OSError as error:
        raise InputError(f"--plot: {file} cannot be written: {error.strerror}") from None


def draw(run: BenchRun, file: Path) -> None:
    """Write the figure of a bench run."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        saved(bench_figure(run), file.with_suffix(""), (file.suffix[1:],))
    except OSError as error:
        raise InputError(f"--plot: {file} cannot be written: {error.strerror}") from None
