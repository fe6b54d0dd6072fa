"""Krysl and Endres, Fig. 12: Hamiltonians of the free body and of the slow Lagrangian top."""

import numpy as np
from numpy.typing import NDArray

from ...rotor.bench import integrated
from ...rotor.cases import CASES, Case
from ...views.figures import new_figure
from ..measures import shift
from ..outcome import Comparison, Outcome, stacked
from .common import look

TITLE = "Krysl and Endres, Fig. 12: Hamiltonians of a free body and a slow top"
SCHEMES = ("simo-wong", "newmark-body", "hulbert")
RUNS = {"free-body": (1.0, 100.0), "slow-top": (0.05, 40.0)}  # step and time span (s): ours


def hamiltonian(
    case: Case, integrator: str, dt: float, end: float, samples: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (s) and energies (J) of a run, each of shape (samples,)."""
    motion = integrated(case, integrator, dt, end, samples)
    energy = case.energy(motion)
    assert energy is not None
    return motion.time, energy


def reproduce(quick: bool) -> Outcome:
    """The outcome of this target; `quick`: fewer samples, and 10,000 s instead of 100,000 s for the drift."""
    figure, axes = new_figure(1, 2, width=10, height=4)
    samples, longer = (201, 10_000.0) if quick else (2001, 100_000.0)
    parts, comparisons, drifts = [], [], []
    for axis, (case_name, (dt, end)) in zip(axes, RUNS.items(), strict=True):
        case = CASES[case_name]
        for name in SCHEMES:
            time, energy = hamiltonian(case, name, dt, end, samples)
            every = max(1, len(time) // 25)
            axis.plot(time, energy, **look(name), markevery=every)
            parts.append({"case": case_name, "integrator": name, "dt_s": dt, "time_s": time, "hamiltonian_J": energy})
            said = "blows up" if (case_name, name) == ("slow-top", "hulbert") else None
            what = f"{case_name}, {name}, dt {dt:g} s: largest |H - H0| / H0 until {end:g} s"
            comparisons.append(Comparison(what, said, float(np.abs(energy / energy[0] - 1).max())))
        _, energy = hamiltonian(case, "simo-wong", dt, longer, 100_001)
        error = energy / energy[0] - 1
        what = f"{case_name}, simo-wong, dt {dt:g} s: shift of the mean in {longer:g} s / largest error"
        drifts.append(Comparison(what, "drifts", shift(error) / float(np.abs(error).max())))
        axis.set(xlabel="time (s)", ylabel="Hamiltonian (J)", title=f"{case_name}, dt {dt:g} s")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    exact = float(parts[-1]["hamiltonian_J"][0])  # type: ignore[index]
    axes[1].set_ylim(0.9 * exact, 1.15 * exact)
    notes = (
        "the text does not give the steps and time spans (ours); the curve of hulbert leaves the second panel",
        "for the free body, the curve of hulbert is much like that of newmark-body with the opposite sign, as published",
        "the paper says that the energy of simo-wong drifts for all time steps; in these two cases the long runs show no "
        "drift, but in the book toss with a large step there is one (newmark-fig6)",
    )
    return Outcome(stacked(parts), figure, [*comparisons, *drifts], notes)
