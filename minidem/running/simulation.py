"""Advance a model in time and record it."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import quaternions
from ..engine.compile.cache import cache_directory
from ..engine.compile.kernels import compiled_for
from ..engine.rotation.loading import rotation as compiled_rotation
from ..engine.search.lists import SMALLEST_SKIN
from ..engine.search.ordering import reorder, spatial_order
from ..engine.staggering import half_back, on_step_motion
from ..engine.state import BLOCK, World
from ..engine.step import advance
from ..engine.watching import FIRST, HOW_MUCH, NOTHING, SECOND, TOO_DEEP, WHAT
from ..engine.world import make_room, make_world
from ..errors import InputError
from ..files.checkpoint import VERSIONS, State, check_checkpoint, differences, last_checkpoint, origin_of, resolves_to
from ..files.trajectory import Frame, Trajectory, is_summary
from ..machine import processors
from ..model.building import Model, build_model, chunks, model_at_rest
from ..model.memory import run_memory
from ..model.overlaps import check_overlaps
from ..model.times import contact_time, fastest, good_step, smallest_rayleigh_time
from ..scenario.reading import Scenario
from ..scenario.tables import Guard
from .guards import bad_motion, bad_observables, check_time_step, limits
from .observables import conserved_sums
from .recorder import Recorder, begun_run, claimed_directory

Array = NDArray[np.float64]
SORT_EVERY = 20_000  # steps after which the bodies of large systems are put into spatial order again
CHECKPOINT_EVERY = 60.0  # s of wall time
PATIENCE = 0.1  # s of wall time in compiled code before signals and progress get their turn


def warn(note: str) -> None:
    warnings.warn(note, stacklevel=3)


class Pace:
    """Whether several threads or one make the steps faster: where others want the processors, threads wait for each other.
    Results do not depend on the choice. With `most` None there is none to make."""

    TRIAL = 0.02  # s that tell something
    LEAST_WAIT, WAIT = 2.0, 20.0  # s, and times what the last trial took, until the other choice is tried again

    def __init__(self, most: int | None):
        self._choices = [most, 1] if most and most > 1 else []
        self._rate: dict[int, float] = {}  # steps a second
        self._since, self._wait = 0.0, self.LEAST_WAIT  # s since both were tried, and until they are again
        self.threads = self._choices[0] if self._choices else None

    def took(self, steps: int, seconds: float) -> None:
        self._since += seconds
        if self.threads is None or steps == 0 or seconds < self.TRIAL:
            return
        self._rate[self.threads] = steps / seconds
        best = max(self._choices, key=lambda number: self._rate.get(number, math.inf))
        if self.threads != best:
            self._wait = max(self.LEAST_WAIT, self.WAIT * seconds)
        if len(self._rate) > 1 and self._since > self._wait:
            self._since = 0.0
            best = next(number for number in self._choices if number != best)
        self.threads = best


@dataclass(frozen=True)
class Alarm:
    """A body that can no longer be right; see core/watching.py."""

    what: int
    how_much: float
    body: int
    other: int | None  # that it overlaps, None for a wall
    wall: int


class Simulation:
    """The state of a model, advanced step by step.

    `threads` are chosen to suit the size of the system if they are not given; results do not depend on their number. Large
    systems are kept in spatial order, so that the columns of `bodies` are not in the order of the model. With a
    `guard` it does not go beyond a step where that has something to say: see `alarm`.

    Between steps the position and orientation are at step n with the forces of step n; velocity and spin are staggered as
    the integrators want them.
    """

    def __init__(
        self,
        model: Model,
        rotation: str,
        threads: int | None = None,
        state: State | None = None,
        guard: Guard | None = None,
    ):
        self.model = model
        self._limits = limits(guard, model)
        self.step = 0
        self._rotation = compiled_rotation(rotation)
        self._advance: Any = None  # step.advance, compiled
        self.bodies = model.bodies()
        n = len(model.species)
        blocks = -(-n // BLOCK)
        self.threads = min(threads or sensible_threads(blocks), blocks)  # that take part at most
        self._pace = Pace(self.threads if threads is None else None)
        self._helpers = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        self._rank = np.arange(n)  # where the bodies of the model are in `bodies`
        self._world: World
        self._pending = True  # the forces of the present step are not known
        if state is None:
            self._begin()
        else:
            self._go_on(state)

    def _begin(self) -> None:
        """From the motion of the model to step 0."""
        self._sort(SMALLEST_SKIN * float(self.bodies.reach.mean()))
        self.advance(0)
        given = (self.bodies.velocity, self.bodies.orientation, self.bodies.spin)
        start = self._observables(lambda some: [values[:, some] for values in given])
        self.initial_energy = start["total"]  # J, exact: of the state before it is staggered
        self.initial_speed = fastest(self.model)  # m/s
        if self._rotation.values > 3:
            kept = np.zeros((self._rotation.values, self.bodies.spin.shape[1]))
            kept[:3] = self.bodies.spin
            self.bodies = self.bodies._replace(spin=kept)
            self._world = self._world._replace(bodies=self.bodies)
        half_back(self._rotation.start, self.bodies, self.model.gravity, self.model.dt)

    def _go_on(self, state: State) -> None:
        """From a state that `state` returned. Its forces are found again, which tells whether this is the same program on
        a processor that computes in the same way: `exact`."""
        self.step, self._rank = state.step, state.rank
        self.initial_energy, self.initial_speed = state.initial_energy, state.initial_speed
        reorder(self.bodies, np.argsort(state.rank))
        moving = {name: getattr(state, name) for name in ("position", "velocity", "orientation", "spin")}
        self.bodies = self.bodies._replace(**moving)
        self._make_world(0.0)
        for lists, skin, age in zip((self._world.lists, self._world.close), state.skin, state.age, strict=True):
            lists.skin[0], lists.age[0] = skin, age
        self.advance(0)
        again = ((self.bodies.force, state.force), (self.bodies.torque, state.torque))
        self.exact = all(np.array_equal(new, old, equal_nan=True) for new, old in again)

    @property
    def state(self) -> State:
        """What the next step starts from; the arrays are those of the simulation."""
        bodies, lists = self.bodies, (self._world.lists, self._world.close)
        return State(
            step=self.step,
            initial_energy=self.initial_energy,
            initial_speed=self.initial_speed,
            rank=self._rank,
            position=bodies.position,
            velocity=bodies.velocity,
            orientation=bodies.orientation,
            spin=bodies.spin,
            force=bodies.force,
            torque=bodies.torque,
            skin=np.array([one.skin[0] for one in lists]),
            age=np.array([one.age[0] for one in lists]),
        )

    def _sort(self, skin: float) -> None:
        """Bodies of large systems in spatial order; new lists with about that skin (m) are to be made."""
        if len(self._rank) > BLOCK:
            order = spatial_order(self.bodies.position)
            reorder(self.bodies, order)
            self._rank = np.argsort(order)[self._rank]
        self._make_world(skin)

    def _make_world(self, skin: float) -> None:
        model = self.model
        vars(self).pop("_world", None)  # there is memory for one, not for two
        fixed = (model.shapes, model.walls, model.constants)
        self._world = make_world(self.bodies, *fixed, self.threads, skin, self._limits)

    @property
    def time(self) -> float:
        """s"""
        return self.step * self.model.dt

    @property
    def elastic(self) -> float:
        """Energy of the contacts, J."""
        return float(self._world.lists.elastic.sum())

    def advance(self, steps: int) -> None:
        end = self.step + steps
        while self._pending or (self.step < end and self.alarm is None):
            if self.step % SORT_EVERY == 0 and self.step > 0 and len(self._rank) > BLOCK and not self._pending:
                self._sort(float(self._world.lists.skin[0]))
            before_sorting = min(end - self.step, SORT_EVERY - self.step % SORT_EVERY)
            made, self._pending = self._advance_together(0 if self._pending else before_sorting)
            self.step += made
            if self._pending:
                make_room(self._world)

    def _advance_together(self, steps: int) -> tuple[int, bool]:
        """All threads, until the steps are made or the lists need more room."""
        model, world = self.model, self._world
        size = self._pace.threads or self.threads
        world = world._replace(team=world.team._replace(size=size))
        world.team.step[:] = self.step, model.steps
        arguments: Any = (
            steps,
            model.dt,
            model.gravity,
            self._rotation.advance,
            self.model.law.forces,
            world,
            self._pending,
        )
        if self._advance is None:
            self._advance = compiled_for(advance, (0, *arguments))
        began = time.perf_counter()
        others = [self._helpers.submit(self._advance, me, *arguments) for me in range(1, size)] if self._helpers else []
        made, pending = self._advance(0, *arguments)
        wait(others)
        self._pace.took(made, time.perf_counter() - began)
        return made, pending

    @property
    def alarm(self) -> Alarm | None:
        """What makes it go no further."""
        raised = [row for row in self._world.team.alarm if row[WHAT] != NOTHING]
        if not raised:
            return None
        what, first, second = (int(raised[0][k]) for k in (WHAT, FIRST, SECOND))
        columns, wall = [first], 0
        if what == TOO_DEEP:
            owner = self._world.spheres.owner
            wall = second - owner.size
            columns = [int(owner[sphere]) for sphere in (first, second) if sphere < owner.size]
        bodies = [self.body_in(column) for column in columns]
        return Alarm(what, float(raised[0][HOW_MUCH]), bodies[0], bodies[1] if len(bodies) > 1 else None, wall)

    @property
    def fastest_spin(self) -> tuple[float, int]:
        """How fast (rad/s) which body turned when the observables were last asked for: none turned faster."""
        speed, column = self._fastest
        return speed, self.body_in(column)

    def body_in(self, column: int) -> int:
        """The body of the model that is in a column of `bodies`."""
        return int(np.flatnonzero(self._rank == column)[0])

    def motion(self, some: Any) -> tuple[Array, Array, Array]:
        """On-step velocity in world axes, orientation and angular velocity in principal axes of some columns of `bodies`."""
        return on_step_motion(some, self._rotation.on_step, self.bodies, self.model.gravity, self.model.dt)

    def observables(self) -> dict[str, Any]:
        """Energies (J), momentum (kg m/s) and angular momentum about the origin (J s) at step n."""
        return self._observables(self.motion)

    def _observables(self, motion: Callable[[slice], Sequence[Array]]) -> dict[str, Any]:
        sums, speed, column = conserved_sums(self.bodies, motion, self.model.gravity)
        self._fastest = (speed, column)
        translational, rotational, gravity = (float(energy) for energy in sums[:3])
        return {
            "kinetic_translational": translational,
            "kinetic_rotational": rotational,
            "elastic": self.elastic,
            "gravity": gravity,
            "total": translational + rotational + self.elastic + gravity,
            "momentum": sums[3:6],
            "angular_momentum": sums[6:],
        }

    def frame(self) -> Frame:
        """On step, whatever is staggered."""
        n = len(self._rank)
        axes = np.array([clump.principal_axes for clump in self.model.clumps])
        frame = Frame(np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 3)))
        for some in chunks(n):
            columns = self._rank[some]
            velocity, orientation, omega = self.motion(columns)
            clump_axes = quaternions.conjugate(axes[self.model.species[some]])
            frame.position[some], frame.velocity[some] = self.bodies.position.T[columns], velocity.T
            frame.orientation[some] = quaternions.product(orientation.T, clump_axes)
            frame.angular_velocity[some] = quaternions.rotated(orientation.T, omega.T)
        return frame


@dataclass(frozen=True)
class Progress:
    """What a run tells while it goes on."""

    step: int
    steps: int
    drift: float  # |E - E0| / |E0| of the last row of the energy log


@dataclass(frozen=True)
class Result:
    summary: dict[str, Any]  # as printed by `minidem run --json`
    trajectory: Trajectory
    reason: str = ""  # why it failed

    @property
    def energy(self) -> dict[str, Array]:
        """The energy log by name: step, time (s), the energies (J), momentum and angular_momentum."""
        return self.trajectory.observables


def compiled_mark(scenario: Scenario) -> Path:
    """A file that exists when the kernels that the scenario needs are in the disk cache."""
    packed = any(group.packing_fraction is not None for group in scenario.place)
    kernels = f"{scenario.contact.law}-{scenario.integrator.rotation}" + (
        "-pack" if packed else "-place" if scenario.place else ""
    )
    return cache_directory() / f"{kernels}.compiled"


def sensible_threads(blocks: int) -> int:
    """As many as there are processors, if each gets at least two blocks of bodies."""
    return max(1, min(processors(), blocks // 2))


def prepared(scenario: Scenario, source: str, threads: int | None = None) -> Simulation:
    """The simulation of a scenario at step 0, with all of its kernels compiled."""
    model = build_model(scenario, source)
    simulation = Simulation(model, scenario.integrator.rotation, threads, guard=scenario.guard)
    check_overlaps(scenario, simulation._world, np.argsort(simulation._rank), source or scenario.name)
    simulation.observables()
    compiled_mark(scenario).touch()
    return simulation


def run(
    scenario: Scenario,
    out: str | PathLike[str] | None = None,
    *,
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
    """Run a scenario to its end, or until `stop()` is true after some step, or for `max_wall` seconds.

    With `out` the run directory is written, with a checkpoint after every `checkpoint_every` seconds and at the end;
    without, everything is kept in memory. `source` names the scenario in messages, `text` is the scenario as its author
    wrote it. `on_note` gets warnings.
    """
    clock = Clock(checkpoint_every, max_wall)
    directory = None if out is None else claimed_directory(Path(out), overwrite)
    simulation = prepared(scenario, source, threads)
    for note in check_time_step(scenario, simulation.model, source or scenario.name):
        on_note(note)
    clock.ready()
    with Recorder(directory, scenario, simulation.model, text, overwrite, simulation.threads) as recorder:
        return recorded(simulation, recorder, scenario, clock, on_progress, stop)


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
    """Go on with a run that was stopped or killed, from its last checkpoint: as if it had never stopped, to the last bit.

    A run without a checkpoint starts again. With `force` it goes on although the program or the processor is another one.
    `on_note` is told what was found damaged.
    """
    clock = Clock(checkpoint_every, max_wall)
    directory = Path(run_dir)
    scenario, text, summary = begun_run(directory)
    if summary is not None and is_summary(summary):
        on_note(f"{directory}: the run is done")
        return Result(summary, Trajectory(directory))
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
    if changed:
        raise InputError("\n  ".join([f"{directory}: the run cannot go on from step {last.state.step}:", *changed, UNDO]))
    check_checkpoint(last, scenario, model, compiled_rotation(scenario.integrator.rotation).values, directory)
    simulation = Simulation(model, scenario.integrator.rotation, threads, last.state, scenario.guard)
    if not simulation.exact and not force:
        differ = f"the forces of step {last.state.step} differ from those that the checkpoint holds"
        raise InputError(f"{directory}: {differ}; go on where it ran before, or with --force, but not to the last bit")
    compiled_mark(scenario).touch()
    clock.ready(last.wall_s)
    with Recorder(directory, scenario, model, text, threads=simulation.threads, after=last) as recorder:
        for note in notes + recorder.notes:
            on_note(note)
        return recorded(simulation, recorder, scenario, clock, on_progress, stop)


UNDO = "undo this, or start a new run (--force goes on with other versions all the same, but not to the last bit)"


class Clock:
    """Wall time of a run: of this part of it, and of all parts."""

    def __init__(self, checkpoint_every: float, max_wall: float):
        self.begun = self._saved = time.perf_counter()
        self._every, self._end = checkpoint_every, self.begun + max_wall
        self._saving = 0.0  # s that the last checkpoint took

    def ready(self, before: float = 0.0) -> None:
        """Steps are made from now on, after those of `before` seconds."""
        self.set_up = time.perf_counter() - self.begun
        self._start = time.perf_counter() - before

    @property
    def wall_s(self) -> float:
        """Of all steps."""
        return time.perf_counter() - self._start

    def due(self) -> bool:
        """Is it time for a checkpoint?"""
        return time.perf_counter() - self._saved >= self._every

    def over(self) -> bool:
        """Is there just time left for a last step and a checkpoint?"""
        return time.perf_counter() + 2 * PATIENCE + 2 * self._saving >= self._end

    def save(self, simulation: Simulation, recorder: Recorder) -> None:
        began = time.perf_counter()
        recorder.save(simulation.state, self.wall_s)
        self._saved = time.perf_counter()
        self._saving = self._saved - began


def recorded(
    simulation: Simulation,
    recorder: Recorder,
    scenario: Scenario,
    clock: Clock,
    on_progress: Callable[[Progress], None],
    stop: Callable[[], bool],
) -> Result:
    """From the present step to the end."""
    model, reason = simulation.model, ""
    frame_steps, log_steps = (
        evenly_spaced(count, model.steps) for count in (scenario.output.frames, scenario.output.energies)
    )
    chunk = 1  # steps that take less than PATIENCE
    drift = math.nan  # of the last row
    # What belongs to the step of a checkpoint was recorded before.
    milestones = [step for step in sorted(frame_steps | log_steps) if step > simulation.step or not recorder.resumed]
    for milestone in milestones:
        while simulation.step < milestone and not reason and not stop() and not clock.over():
            began, steps = time.perf_counter(), min(chunk, milestone - simulation.step)
            simulation.advance(steps)
            chunk = max(1, min(2 * chunk, int(PATIENCE * steps / (time.perf_counter() - began))))
            reason = bad_motion(simulation, scenario)
            on_progress(Progress(simulation.step, model.steps, drift))
            recorder.flush_if_due()
            if clock.due() and simulation.step < milestone and not reason:
                clock.save(simulation, recorder)
        if simulation.step < milestone or reason:
            break
        if milestone in log_steps:
            observables = simulation.observables()
            recorder.record_observables(simulation.step, simulation.time, observables)
            drift = float(deviation(observables["total"], simulation.initial_energy))
            if reason := bad_observables(simulation, scenario, observables["total"], recorder.largest_parts):
                break
        if milestone in frame_steps:
            frame = simulation.frame()
            if not frame.finite:
                reason = f"bodies are no longer at places that are numbers at step {simulation.step}"
                break
            recorder.record_frame(simulation.step, simulation.time, frame)
        if clock.due() and simulation.step < model.steps:
            clock.save(simulation, recorder)
    if not reason:
        clock.save(simulation, recorder)
    wall = clock.wall_s
    summary = {
        "run_dir": None if recorder.directory is None else str(recorder.directory),
        "bodies": len(model.species),
        "spheres": model.spheres,
        "steps": simulation.step,
        "dt": model.dt,
        "wall_s": wall,
        "us_per_step": 1e6 * wall / max(simulation.step, 1),
        "compile_s": clock.set_up,
        "integrator": scenario.integrator.rotation,
        "energy": drift_summary(np.array(recorder.totals), simulation.initial_energy),
        "status": "failed" if reason else "ok" if simulation.step == model.steps else "interrupted",
    }
    recorder.finish(summary, reason)
    return Result(summary, recorder.trajectory(), reason)


def initial_state(scenario: Scenario, source: str = "", text: str = "") -> Trajectory:
    """The state that a run of the scenario starts from, as a trajectory of one frame in memory."""
    model = prepared(scenario, source).model
    with Recorder(None, scenario, model, text) as recorder:
        recorder.record_frame(0, 0.0, Frame(model.position, model.velocity, model.orientation, model.angular_velocity))
        recorder.finish({})
    return recorder.trajectory()


def evenly_spaced(count: int, steps: int) -> set[int]:
    """`count` steps from the first to the last; one alone is the last."""
    return {steps} if count == 1 else {round(i * steps / (count - 1)) for i in range(count)}


def deviation(total: Array | float, initial: float) -> Any:
    """|E - E0| / |E0|; NaN where E0 is zero."""
    with np.errstate(all="ignore"):  # of a run that blew up
        return np.abs(np.subtract(total, initial)) / np.abs(initial)


def drift_summary(total: Array, initial: float) -> dict[str, float | None]:
    """The deviations over the energy log; null for what is no finite number."""
    drift = deviation(total, initial) if total.size else np.array([math.nan])
    values = {
        "initial": initial,
        "final": total[-1] if total.size else initial,
        "drift_mean": drift.mean(),
        "drift_last": drift[-1],
        "drift_max": drift.max(),
    }
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


def outlook(scenario: Scenario, source: str = "", threads: int | None = None) -> dict[str, Any]:
    """What a run of the scenario would be like: sizes, masses, time scales, and the wall time from a short trial."""
    simulation = prepared(scenario, source, threads)
    model = simulation.model
    notes = check_time_step(scenario, model, source or scenario.name)
    steps, made, took = 1, 0, 0.0
    while took < PATIENCE and simulation.step < model.steps and simulation.alarm is None:
        began, before = time.perf_counter(), simulation.step
        simulation.advance(steps)
        made, took = simulation.step - before, time.perf_counter() - began
        steps *= 2
    us_per_step = 1e6 * took / max(made, 1)

    notes += [trouble] if (trouble := bad_motion(simulation, scenario)) else []
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
