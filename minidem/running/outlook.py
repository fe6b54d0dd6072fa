"""What a run of a scenario would be like: what `minidem check` reports."""

import math
import time
from typing import Any

from ..errors import PhysicsError
from ..model.memory import run_memory
from ..model.times import contact_time, fastest, good_step, smallest_rayleigh_time
from ..scenario.reading import Scenario
from .simulation import Simulation

TRIAL = 0.1  # s of steps that are timed


def outlook(scenario: Scenario, source: str = "", threads: int | None = None) -> dict[str, Any]:
    """Sizes, masses and time scales of a run, and its wall time (s) from a short trial."""
    notes: list[str] = []
    simulation = Simulation(scenario, threads=threads, source=source, on_note=notes.append)
    model = simulation.model
    steps, made, took = 1, 0, 0.0
    try:
        while took < TRIAL and simulation.step < model.steps:
            began, before = time.perf_counter(), simulation.step
            try:
                simulation.advance(steps)
            finally:
                made, took = simulation.step - before, time.perf_counter() - began
            steps *= 2
    except PhysicsError as error:
        notes.append(str(error))
    us_per_step = 1e6 * took / max(made, 1)

    shortest = contact_time(model, fastest(model))
    return {
        "bodies": len(model.species),
        "spheres": model.spheres,
        "memory_mb": 1e-6 * run_memory(len(model.species), model.spheres),
        "dt": model.dt,
        "dt_rayleigh": model.dt / smallest_rayleigh_time(scenario, model.spheres_by_clump),
        "dt_hertz": model.dt / shortest if 0 < shortest < math.inf else None,
        "dt_good": good_step(scenario, model, fastest(model)),
        "notes": notes,
        "steps": model.steps,
        "us_per_step": us_per_step,
        "estimated_s": 1e-6 * us_per_step * model.steps,
        "clumps": {
            clump.name: {
                "spheres": len(clump.spheres),
                "mass": clump.mass,
                "volume": clump.volume,
                "center": clump.center.tolist(),
                "inertia": clump.inertia.tolist(),
                "principal_inertia": clump.principal_inertia.tolist(),
            }
            for clump in model.clumps
        },
    }
