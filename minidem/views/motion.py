"""The picture of one bench run: motion, reference, error, energy."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..errors import InputError
from ..rotor.bench import checked, errors_at, integrated, steps_and_dt
from ..rotor.cases import Case
from .figures import COLOURS, LINES, new_figure, saved


def bench_figure(case: Case, integrator: str, dt: float, end: float | None = None) -> Figure:
    motion = integrated(case, integrator, dt, end, samples=201)
    exact = case.reference(motion.time, steps_and_dt(float(motion.time[-1]), dt)[1])
    with np.errstate(over="ignore", invalid="ignore"):  # of an unstable motion
        found = [errors_at(motion, exact, k) for k in range(1, len(motion.time))]
        deviation = case.energy_deviation(motion)
    figure, (spin, error, energy) = new_figure(1, 3)
    for b in range(motion.omega.shape[2]):
        for c, name in enumerate("xyz"):
            label = f"omega {name}" + (f", body {b + 1}" if motion.omega.shape[2] > 1 else "")
            spin.plot(motion.time, motion.omega[:, c, b], LINES[b], color=COLOURS[c], label=label)
            spin.plot(exact.time, exact.omega[:, c, b], color=COLOURS[c], linewidth=4, alpha=0.25)
    spin.set(xlabel="time (s)", ylabel="angular velocity, principal axes (rad/s)", title="broad and pale: reference")
    spin.legend(fontsize=7)
    error.plot(motion.time[1:], [e.q for e in found], color=COLOURS[0], label="q")
    error.plot(motion.time[1:], [e.omega for e in found], "--", color=COLOURS[1], label="omega")
    error.set(xlabel="time (s)", ylabel="relative L1 error", yscale="log", title=f"{integrator}, dt {dt:.4g} s")
    error.legend(fontsize=7)
    if deviation is None:
        energy.text(0.5, 0.5, "energy is not\nconserved here", ha="center", transform=energy.transAxes)
    else:
        energy.plot(motion.time, deviation, color=COLOURS[2])
    energy.set(xlabel="time (s)", ylabel="|E - E0| / |E0|", title=case.name)
    return figure


def draw(name: str, integrator: str, dt: float | None, end: float | None, file: Path, overwrite: bool) -> None:
    suffixes = (".png", ".svg", ".pdf")
    if file.suffix not in suffixes:
        raise InputError(f"--plot: the name must end in {', '.join(suffixes)}, got {file}")
    case, dt, end = checked(name, integrator, dt, end)
    try:
        if file.exists() and not overwrite:
            raise InputError(f"--plot: {file} exists already; choose another name or give --overwrite")
        file.parent.mkdir(parents=True, exist_ok=True)
        saved(bench_figure(case, integrator, dt, end), file.with_suffix(""), (file.suffix[1:],))
    except OSError as error:
        raise InputError(f"--plot: {file} cannot be written: {error.strerror}") from None
