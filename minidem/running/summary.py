"""The summary of a run: what `minidem run --json` prints."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..scenario.reading import Scenario
from .edge_summary import edge_summary
from .modified_energy import bounded_error
from .recorder import Recorder
from .wall_clock import Clock

if TYPE_CHECKING:
    from .simulation import Simulation

Array = NDArray[np.float64]


def deviation(total: Array | float, initial: Array | float) -> Any:
    """Relative energy deviation |E - E0| / |E0|; NaN where E0 is zero."""
    with np.errstate(all="ignore"):  # the run may have blown up
        return np.abs(np.subtract(total, initial)) / np.abs(initial)


def drift_summary(total: Array, initials: Array, initial: float) -> dict[str, float | None]:
    """Energies (J) and relative deviations over the energy log `total` (rows,); None for what is not finite. `initials`
    (rows,) are the initial energies at the rows, `initial` the present one."""
    drift = deviation(total, initials) if total.size else np.array([math.nan])
    values = {
        "initial": initial,
        "final": total[-1] if total.size else initial,
        "drift_mean": drift.mean(),
        "drift_last": drift[-1],
        "drift_max": drift.max(),
    }
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


def result_facts(summary: dict[str, Any], planned: int) -> dict[str, str]:
    """What matters most of a summary, by name; `planned` is the number of steps of the whole run."""
    drift = summary["energy"]["drift_max"]
    return {
        "status": summary["status"],
        "steps": f"{summary['steps']:,} of {planned:,} steps",
        "bodies": f"{summary['bodies']:,} bodies of {summary['spheres']:,} spheres",
        "integrator": f"{summary['integrator']}, dt {summary['dt']:.4g} s",
        "wall time": f"{summary['wall_s']:.2f} s",
        "energy drift": "no energy drift" if drift is None else f"energy drift at most {drift:.3g}",
        "written to": summary["run_dir"] or "in memory",
    }


def run_summary(
    simulation: "Simulation", scenario: Scenario, clock: Clock, recorder: Recorder, status: str
) -> dict[str, Any]:
    """What `minidem run --json` prints about a run that has ended."""
    model, wall = simulation.model, clock.wall_s
    totals, initials = np.array(recorder.totals), np.array(recorder.initials)
    elastic, error = np.array(recorder.elastics), np.array(recorder.edge_errors)
    bounded = None  # known of the present step only
    if elastic.size and elastic.all() and totals[-1] == simulation.observables()["total"]:
        bounded = bounded_error(simulation) - simulation.initial_bounded
    edges, entered = scenario.contact.edges, simulation.contacts_entered
    return {
        "run_dir": None if recorder.directory is None else str(recorder.directory),
        "bodies": len(model.species),
        "spheres": model.spheres,
        "steps": simulation.step,
        "dt": model.dt,
        "wall_s": wall,
        "us_per_step": 1e6 * wall / max(simulation.step, 1),
        "compile_s": clock.set_up,
        "integrator": scenario.integrator.rotation,
        "energy": drift_summary(totals, initials, simulation.initial_energy),
        "edges": edge_summary(edges, entered, totals, initials, elastic, error, bounded)._asdict(),
        "status": status,
    }
