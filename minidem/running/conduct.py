"""Run a scenario from its start, or resume a run from its checkpoint, and record it."""

import heapq
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.rotation.loading import rotation as compiled_rotation
from ..errors import InputError, PhysicsError
from ..files.checkpoint import differences, last_checkpoint, resolves_to
from ..files.manifest import is_summary, manifest_of, never_begun
from ..files.names import claimed_directory, locked
from ..files.trajectory import Frame, Trajectory
from ..model.building import model_at_rest
from ..scenario.reading import Scenario, parse, read_text
from ..scenario.values import drift_wish
from .faults import without_time_step_guards
from .given import compiled_mark, given
from .guards import bad_frame, bad_observables, warn
from .pilots import NOMINAL, with_step
from .recorder import Recorder, check_room
from .restart import VERSIONS, check_checkpoint, origin_of
from .simulation import Simulation
from .summary import deviation, run_summary
from .wall_clock import CHECKPOINT_EVERY, Clock

Array = NDArray[np.float64]
Call = Callable[[Simulation], Any]
UNDO = "undo this, or start a new run (--force resumes with other versions, but not bit for bit)"


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    step: int
    steps: int  # of the whole run
    drift: float  # |E - E0| / |E0| of the last row of the energy log


@dataclass(frozen=True)
class Result:
    """What a run returns."""

    summary: dict[str, Any]  # as printed by `minidem run --json`
    trajectory: Trajectory
    steps_planned: int  # of the whole run, of which summary["steps"] are made
    reason: str = ""  # why it failed

    @property
    def energy(self) -> dict[str, Array]:
        """The energy log by name: step, time (s), the energies (J), momentum (kg m/s) and angular_momentum (J s)."""
        return self.trajectory.observables


def run(
    scenario: Scenario | str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    every: int = 0,
    call: Call | None = None,
    overwrite: bool = False,
    source: str = "",
    text: str = "",
    threads: int | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
    max_wall: float = math.inf,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_note: Callable[[str], None] = warn,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Run a scenario, or the scenario file at a path, to its end.

    With `out` the run directory is written, with a checkpoint after every `checkpoint_every` seconds and at the end; without
    it, everything is kept in memory. An earlier run in that directory is replaced only with `overwrite`.

    ``call(simulation)`` is called at step 0 and at every step that is a multiple of `every`, after the step was recorded.
    Looking at the simulation does not change the result. If the function returns True the run stops with a checkpoint and
    the status "interrupted"; an exception stops the run and is passed on. A run whose state the function has changed cannot
    be resumed.

    The run also stops, with a checkpoint, when `stop()` is true after some step, and in time to end within `max_wall`
    seconds. A guard of the scenario stops it with the status "failed"; ``Result.reason`` says why. `source` names the
    scenario in messages, `text` is the scenario as its author wrote it, `on_note` gets warnings.
    """
    if (call is None) != (every == 0) or every < 0:
        raise ValueError("give both `every`, above 0, and `call`, or neither")
    clock = Clock(checkpoint_every, max_wall)
    scenario, source, text = given(Simulation.from_model, scenario, source, text)
    directory = None if out is None else claimed_directory(Path(out), overwrite)
    notes: list[str] = []
    simulation = Simulation(scenario, threads=threads, source=source, on_note=notes.append)
    model = simulation.model
    for note in notes:
        on_note(note)
    clock.ready()
    check_room(directory, scenario, model, copied=False)
    with Recorder(directory, scenario, model, text, overwrite, simulation.threads) as recorder:
        return recorded(simulation, recorder, scenario, clock, on_progress, stop, every, call)


def resume(
    run_dir: str | PathLike[str],
    *,
    threads: int | None = None,
    force: bool = False,
    checkpoint_every: float = CHECKPOINT_EVERY,
    max_wall: float = math.inf,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_note: Callable[[str], None] = warn,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Continue an interrupted run from its last checkpoint; the result is the same, bit for bit, as without interruption.

    A run without a checkpoint starts again. With `force` the program or the processor may have changed since; then the last
    digits may differ. The code of your own law or scheme is not compared: register the same one before you resume.
    `on_note` gets notes about damaged files. The other options are those of `run`.
    """
    clock = Clock(checkpoint_every, max_wall)
    directory = Path(run_dir)
    scenario, text, summary = begun_run(directory)
    if summary is not None and is_summary(summary):
        on_note(f"{directory}: the run is done")
        return Result(summary, Trajectory(directory), int(summary["steps"]))
    last, notes = last_checkpoint(directory)
    source = str(directory / "resolved.toml")
    if last is None:
        on_note(f"{directory}: there is no checkpoint yet; starting again")
        return run(
            scenario,
            directory,
            overwrite=True,
            source=source,
            text=text,
            threads=threads,
            checkpoint_every=checkpoint_every,
            max_wall=max_wall,
            on_progress=on_progress,
            on_note=on_note,
            stop=stop,
        )
    model = model_at_rest(scenario, source)
    but = (*(VERSIONS if force else ()), *(["resolved.toml"] if resolves_to(last.origin, scenario) else []))
    changed = differences(last.origin, origin_of(scenario, text, model), but)
    step = last.state.get("step")
    if changed:
        raise InputError("\n  ".join([f"{directory}: the run cannot be resumed from step {step}:", *changed, UNDO]))
    rotation = scenario.integrator.rotation
    check_checkpoint(last, scenario, model, compiled_rotation(rotation).values, directory)
    simulation = Simulation.from_model(model, rotation, threads, last.state, scenario)
    if not simulation.exact and not force:
        differ = f"the forces of step {step} differ from those in the checkpoint"
        raise InputError(f"{directory}: {differ}; resume where it ran before, or with --force, but not bit for bit")
    compiled_mark(scenario).touch()
    clock.ready(last.wall_s)
    check_room(directory, scenario, model, copied=True)
    with Recorder(directory, scenario, model, text, threads=simulation.threads, after=last) as recorder:
        for note in notes + recorder.notes:
            on_note(note)
        return recorded(simulation, recorder, scenario, clock, on_progress, stop)


def begun_run(directory: Path) -> tuple[Scenario, str, dict[str, Any] | None]:
    """The scenario of a run that no process is writing, its text as its author wrote it, and its summary if it is done."""
    if not manifest_of(directory) and not (directory / "resolved.toml").exists():
        if never_begun(directory):
            raise InputError(f"{directory}: the run was killed before it began; start it again with minidem run")
        raise InputError(f"{directory}: not a run directory; give that of a run")
    text, resolved = (read_text(directory / name, regular=True) for name in ("scenario.toml", "resolved.toml"))
    manifest = manifest_of(directory)
    done = manifest.get("summary") if manifest.get("status") == "ok" else None
    os.close(locked(directory))
    if done is None and manifest.get("resumable") is False:
        raise InputError(f"{directory}: a program made or changed this run step by step; run that program again")
    return parse(resolved, str(directory / "resolved.toml"), directory), text, done


def recorded(
    simulation: Simulation,
    recorder: Recorder,
    scenario: Scenario,
    clock: Clock,
    on_progress: Callable[[Progress], None],
    stop: Callable[[], bool],
    every: int = 0,
    call: Call | None = None,
) -> Result:
    """Advance and record a simulation from its present step to the end of the run; `call` as in `run`."""
    steps, reason = simulation.model.steps, ""
    frame_steps, log_steps = (evenly_spaced(count, steps) for count in (scenario.output.frames, scenario.output.energies))
    drift = math.nan  # of the last row

    def save() -> None:
        began = time.perf_counter()
        recorder.save(simulation.state, clock.wall_s)
        clock.saved(time.perf_counter() - began)

    for milestone in milestones(frame_steps | log_steps, every, steps):
        if milestone <= simulation.step and recorder.resumed:
            continue  # recorded before the checkpoint was written
        while simulation.step < milestone and not reason and not stop() and not clock.over:
            began, wanted = time.perf_counter(), clock.steps(milestone - simulation.step)
            try:
                simulation.advance(wanted)
            except PhysicsError as error:
                reason = str(error)
            clock.took(wanted, time.perf_counter() - began)
            on_progress(Progress(simulation.step, steps, drift))
            recorder.flush_if_due()
            if clock.due and simulation.step < milestone and not reason:
                save()
        if simulation.step < milestone or reason:
            break
        if milestone in log_steps:
            observables = simulation.observables()
            recorder.record_observables(simulation.step, simulation.time, observables, simulation.initial_energy)
            drift = float(deviation(observables["total"], simulation.initial_energy))
            if reason := bad_observables(simulation, scenario, observables["total"], recorder.largest_parts):
                break
        if milestone in frame_steps:
            frame = simulation.frame()
            if reason := bad_frame(frame):
                break
            recorder.record_frame(frame)
        if call is not None and milestone % every == 0:
            done = call(simulation) is True
            if simulation.changed:
                recorder.not_resumable()
            if done:
                break
        if clock.due and simulation.step < steps:
            save()
    if not reason:
        save()
    status = "failed" if reason else "ok" if simulation.step == steps else "interrupted"
    summary = run_summary(simulation, scenario, clock, recorder, status)
    recorder.finish(summary, reason)
    return Result(summary, recorder.trajectory(), steps, reason)


def milestones(recorded_steps: set[int], every: int, steps: int) -> Iterator[int]:
    """Ascending steps at which something is recorded or, with `every` above 0, called."""
    called = range(0, steps + 1, every) if every else ()
    return (step for step, _ in groupby(heapq.merge(sorted(recorded_steps), called)))


def evenly_spaced(count: int, steps: int) -> set[int]:
    """`count` steps from 0 to `steps`; for a count of 1, the last."""
    return {steps} if count == 1 else {round(i * steps / (count - 1)) for i in range(count)}


def initial_state(scenario: Scenario, source: str = "", text: str = "") -> Trajectory:
    """The state that a run of the scenario starts from, as a trajectory of one frame in memory."""
    if drift_wish(scenario.time.dt) is not None:  # the state does not depend on it
        scenario = with_step(scenario, NOMINAL)
    model = Simulation(without_time_step_guards(scenario), source=source).model
    with Recorder(None, scenario, model, text) as recorder:
        recorder.record_frame(Frame(model.position, model.velocity, model.orientation, model.angular_velocity))
        recorder.finish({})
    return recorder.trajectory()
