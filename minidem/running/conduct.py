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

from ..engine.rotation.loading import rotation as compiled_rotation
from ..errors import InputError, PhysicsError, option
from ..files.checkpoint import differences, last_checkpoint, resolves_to
from ..files.manifest import manifest_of, never_begun
from ..files.names import CHECKPOINT, PREVIOUS, claimed_directory, locked
from ..files.tables import EnergyLog
from ..files.trajectory import Frame, Trajectory
from ..model.building import model_at_rest
from ..notebook import card
from ..scenario.reading import Scenario, read_text
from ..scenario.values import drift_wish
from .ended import check_nothing_recorded, has_ended
from .faults import without_time_step_guards
from .given import given, mark_compiled
from .guards import bad_frame, bad_observables, warn
from .interrupts import Interrupts
from .pilots import NOMINAL, with_step
from .plugged import resolved_scenario
from .progress import Progress, watched
from .recorder import Recorder
from .restart import VERSIONS, check_checkpoint, origin_of
from .room import check_room
from .simulation import Simulation
from .summary import deviation, result_facts, run_summary
from .wall_clock import CHECKPOINT_EVERY, Clock

Call = Callable[[Simulation], Any]
UNDO = "undo this, or start a new run ({force} resumes with other versions or plugins, but not bit for bit)"


@dataclass(frozen=True, repr=False)
class Result:
    """What a run returns."""

    summary: dict[str, Any]  # as printed by `minidem run --json`
    trajectory: Trajectory
    steps_planned: int  # of the whole run, of which summary["steps"] are made
    reason: str = ""  # why it failed

    @property
    def energy(self) -> EnergyLog:
        """The energy log by name: step, time (s), the energies (J), momentum (kg m/s) and angular_momentum (J s).
        ``energy.to_dataframe()`` is a pandas.DataFrame."""
        return self.trajectory.observables

    def __repr__(self) -> str:
        return f"<Result {', '.join(result_facts(self.summary, self.steps_planned).values())}>"

    def _repr_html_(self) -> str:
        reason = {"reason": self.reason} if self.reason else {}
        return card("Result of a run", result_facts(self.summary, self.steps_planned) | reason)


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
    progress: bool | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_note: Callable[[str], None] = warn,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Run a scenario, or the scenario file at a path, to its end.

    With `out` the run directory is written, with a checkpoint at the start, every `checkpoint_every` seconds and at the end;
    without it, everything is kept in memory. An earlier run in that directory is replaced only with `overwrite`.

    ``call(simulation)`` is called at step 0 and at every step that is a multiple of `every`, after the step was recorded.
    Looking at the simulation does not change the result. If the function returns True the run stops with a checkpoint and
    the status "interrupted"; an exception stops the run, with a checkpoint, and is passed on. A run whose state the function
    has changed cannot be resumed.

    Ctrl-C ends a run with `out` at its present step, with a checkpoint and the status "interrupted", and then raises
    KeyboardInterrupt with a message that says how to continue; a second Ctrl-C does not wait for the checkpoint.

    The run also stops, with a checkpoint, when `stop()` is true after some step, and in time to end within `max_wall`
    seconds. A guard of the scenario stops it with the status "failed"; ``Result.reason`` says why. `source` names the
    scenario in messages, `text` is the scenario as its author wrote it, `on_note` gets warnings.

    `progress` shows a bar; None: in notebooks only.
    """
    if (call is None) != (every == 0) or every < 0:
        raise ValueError("give both `every`, above 0, and `call`, or neither")
    clock = Clock(checkpoint_every, max_wall)
    scenario, source, text = given(Simulation.from_model, scenario, source, text)
    on_progress = watched(progress, scenario.name, on_progress)
    directory = None if out is None else claimed_directory(Path(out), overwrite)
    notes: list[str] = []
    simulation = Simulation(scenario, threads=threads, source=source, on_note=notes.append)
    model = simulation.model
    for note in notes:
        on_note(note)
    clock.ready()
    check_room(directory, scenario, model, copied=False)
    with (
        Interrupts(directory) as interrupts,
        Recorder(directory, scenario, model, text, overwrite, simulation.threads) as recorder,
    ):
        return recorded(simulation, recorder, scenario, clock, on_progress, stop, interrupts, every, call)


def resume(
    run_dir: str | PathLike[str],
    *,
    threads: int | None = None,
    force: bool = False,
    checkpoint_every: float = CHECKPOINT_EVERY,
    max_wall: float = math.inf,
    progress: bool | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_note: Callable[[str], None] = warn,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Continue an interrupted run from its last checkpoint; the result is the same, bit for bit, as without interruption.

    A run that was killed before it recorded anything starts again. One that is done, or that a guard stopped, does not: its
    result is returned. With `force` the program, the processor or a plugin may have changed since; then results may differ.
    Load the plugins of the run before (`load_plugin`). The code of a law or scheme that your own program registers is not
    compared: register the same one. `on_note` gets notes about damaged files, and about what was recorded after the
    checkpoint and is dropped. The other options, and Ctrl-C, are as in `run`.
    """
    clock = Clock(checkpoint_every, max_wall)
    directory = Path(run_dir)
    scenario, text, manifest = begun_run(directory)
    source = str(directory / "resolved.toml")
    model = model_at_rest(scenario, source)
    if has_ended(directory, manifest, model.steps):
        summary, reason = manifest["summary"], manifest.get("reason", "")
        remedy = "change the scenario and start a new run"
        how = f"a guard stopped the run at step {summary['steps']}; {remedy}" if reason else "the run is done"
        on_note(f"{directory}: {how}")
        return Result(summary, Trajectory(directory), model.steps, reason)
    if manifest.get("resumable") is False:
        raise InputError(f"{directory}: a program made or changed this run step by step; run that program again")
    last, notes = last_checkpoint(directory)
    if last is None:
        check_nothing_recorded(directory)
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
            progress=progress,
            on_progress=on_progress,
            on_note=on_note,
            stop=stop,
        )
    but = (*(VERSIONS if force else ()), *(["resolved.toml"] if resolves_to(last.origin, scenario) else []))
    changed = differences(last.origin, origin_of(scenario, text, model), but)
    step = last.state.get("step")
    if changed:
        raise InputError(
            "\n  ".join(
                [
                    f"{directory}: the run cannot be resumed from step {step}:",
                    *changed,
                    UNDO.format(force=option("force=True")),
                ]
            )
        )
    rotation = scenario.integrator.rotation
    check_checkpoint(last, scenario, model, compiled_rotation(rotation).values, directory)
    simulation = Simulation.from_model(model, rotation, threads, last.state, scenario)
    if not simulation.exact and not force:
        differ = f"the forces of step {step} differ from those in the checkpoint"
        raise InputError(
            f"{directory}: {differ}; resume where it ran before, or with {option('force=True')}, but not bit for bit"
        )
    on_progress = watched(progress, scenario.name, on_progress)
    mark_compiled(scenario)
    clock.ready(last.wall_s)
    check_room(directory, scenario, model, copied=True)
    with (
        Interrupts(directory) as interrupts,
        Recorder(directory, scenario, model, text, threads=simulation.threads, after=last) as recorder,
    ):
        for note in notes + recorder.notes:
            on_note(note)
        if notes and (directory / CHECKPOINT).is_file():  # else the next checkpoint would keep the damaged one
            os.replace(directory / PREVIOUS, directory / CHECKPOINT)
        return recorded(simulation, recorder, scenario, clock, on_progress, stop, interrupts)


def begun_run(directory: Path) -> tuple[Scenario, str, dict[str, Any]]:
    """The scenario of a run that no process is writing, its text as its author wrote it, and its manifest."""
    texts = [directory / name for name in ("scenario.toml", "resolved.toml")]
    if not manifest_of(directory) and not all(path.exists() for path in texts):
        if never_begun(directory):
            raise InputError(f"{directory}: the run was killed before it began; start it again with minidem run")
        raise InputError(f"{directory}: not a run directory; give that of a run")
    text, resolved = (read_text(path, True, "start a new run") for path in texts)
    os.close(locked(directory))
    return resolved_scenario(resolved, directory), text, manifest_of(directory)


def recorded(
    simulation: Simulation,
    recorder: Recorder,
    scenario: Scenario,
    clock: Clock,
    on_progress: Callable[[Progress], None],
    stop: Callable[[], bool],
    interrupts: Interrupts,
    every: int = 0,
    call: Call | None = None,
) -> Result:
    """Advance and record a simulation from its present step to the end of the run; `call` as in `run`."""
    steps, reason = simulation.model.steps, ""
    frame_steps, log_steps = (evenly_spaced(count, steps) for count in (scenario.output.frames, scenario.output.energies))
    drift = math.nan  # of the last row

    def save(last: bool = False) -> None:
        began = time.perf_counter()
        recorder.save(simulation.state, clock.wall_s, last)
        clock.saved(time.perf_counter() - began)

    save()  # before the first frame; for a resumed run, it says where the rows are in the new file
    for milestone in milestones(frame_steps | log_steps, every, steps):
        if milestone <= recorder.recorded_to:
            continue
        while simulation.step < milestone and not (reason or stop() or clock.over or interrupts.received):
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
        if call is not None and milestone % every == 0 and called(call, simulation, recorder, interrupts, save):
            break
        if clock.due and simulation.step < steps:
            save()
    if not reason:
        save(last=True)
    status = "failed" if reason else "ok" if simulation.step == steps else "interrupted"
    summary = run_summary(simulation, scenario, clock, recorder, status)
    recorder.finish(summary, reason)
    if status != "interrupted" or simulation.changed:  # there is nothing to continue
        interrupts.message = interrupts.message and f"{recorder.directory}: ended at step {simulation.step} ({status})"
    return Result(summary, recorder.trajectory(), steps, reason)


def called(call: Call, simulation: Simulation, recorder: Recorder, interrupts: Interrupts, save: Callable[[], None]) -> bool:
    """Whether the run stops after `call`: it returned True, or Ctrl-C came. Its own exceptions are passed on when a
    checkpoint was saved."""
    done, error = False, None
    try:
        with interrupts.lifted():
            done = call(simulation) is True
    except BaseException as raised:
        error = raised
    if simulation.changed:
        recorder.not_resumable()
    if isinstance(error, KeyboardInterrupt):
        done = interrupts.received = True
    elif error is not None:
        save()
        raise error
    return done


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
