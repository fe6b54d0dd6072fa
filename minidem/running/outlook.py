"""What a run of a scenario would be like: what `minidem check` and `minidem advise` report."""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import PhysicsError
from ..machine import in_bytes
from ..model.memory import run_memory
from ..model.times import contact_time, fastest, smallest_rayleigh_time
from ..scenario.reading import Scenario
from .advice import advice_for, suggestion
from .given import given
from .room import free_disk, run_bytes
from .simulation import Simulation

WARM_UP, TRIAL = 0.1, 0.3  # s of steps before those that are timed, and of those
RECORDS = 10  # rows and frames that are timed
WRITING = 5e-5  # s to write a row or a frame, besides computing it


def outlook(scenario: Scenario, source: str = "", threads: int | None = None) -> dict[str, Any]:
    """Sizes, masses and time scales of a run, its drift from pilot runs and its wall time (s) from a short trial."""
    notes: list[str] = []
    scenario, source, _ = given(Simulation.from_model, scenario, source)
    simulation = Simulation(scenario, threads=threads, source=source, on_note=notes.append)
    model, output = simulation.model, scenario.output
    suggested = suggestion(Simulation.from_model, scenario, model, threads)
    step_s = trial(simulation, notes)
    records_s = output.energies * seconds(simulation.observables) + output.frames * seconds(simulation.frame)
    shortest = contact_time(model, fastest(model))
    needed, run_dir = run_bytes(scenario, model, simulation.state), Path("output", scenario.name)
    if needed > (free := free_disk(run_dir)):
        remedy = "lower output.frames, record fewer output.fields, or write to another disk"
        notes.append(f"the run needs about {in_bytes(needed)}, {in_bytes(free)} are free on the disk of {run_dir}; {remedy}")
    return {
        "bodies": len(model.species),
        "spheres": model.spheres,
        "memory_mb": 1e-6 * run_memory(len(model.species), model.spheres),
        "disk_mb": 1e-6 * needed,
        "dt": model.dt,
        "dt_rayleigh": model.dt / smallest_rayleigh_time(scenario, model.spheres_by_clump),
        "dt_hertz": model.dt / shortest if 0 < shortest < math.inf else None,
        "dt_good": suggested.dt,
        "dt_good_reason": suggested.reason,
        "drift": None if suggested.drift is None else dict(zip(("low", "expected", "high"), suggested.drift, strict=True)),
        "notes": notes,
        "steps": model.steps,
        "us_per_step": 1e6 * step_s,
        "estimated_s": step_s * model.steps + records_s,
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


def advise(
    scenario: Scenario, wish: float, integrators: Sequence[str] = (), source: str = "", threads: int | None = None
) -> dict[str, Any]:
    """What `minidem advise` reports: the longest time steps for a drift; see advice.advice_for."""
    return advice_for(Simulation.from_model, scenario, wish, integrators, source, threads)


def trial(simulation: Simulation, notes: list[str]) -> float:
    """Wall time of a step, s, from a simulation that is advanced for TRIAL after a warm-up; a guard that stops it adds to
    the notes. The steps come in portions as long as those of a run, which pauses to record."""
    model, portion = simulation.model, 1
    assert simulation.scenario is not None
    longest = max(1, model.steps // max(simulation.scenario.output.energies, 1))
    made, took, warm = 0, 0.0, 0.0
    while simulation.step < model.steps and took < TRIAL:
        began, before = time.perf_counter(), simulation.step
        try:
            simulation.advance(min(portion, model.steps - before))
        except PhysicsError as error:
            notes.append(str(error))
            break
        finally:
            passed = time.perf_counter() - began
            settled = warm >= WARM_UP or before >= model.steps // 4
            made, took = (made + simulation.step - before, took + passed) if settled else (made, took)
            warm += passed
        portion = min(2 * portion, longest)
    return took / made if made else warm / max(simulation.step, 1)


def seconds(call: Callable[[], Any]) -> float:
    """Wall time of a call, s, and of writing what it returns."""
    call()  # the first takes longer
    began = time.perf_counter()
    for _ in range(RECORDS):
        call()
    return (time.perf_counter() - began) / RECORDS + WRITING
