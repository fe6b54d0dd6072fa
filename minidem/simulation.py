"""Advance a model in time and record it."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import quaternions
from .core.compiling import cache_directory, compiled_for
from .core.neighbours import SMALLEST_SKIN
from .core.ordering import reorder, spatial_order
from .core.rotation.loading import rotation as compiled_rotation
from .core.staggering import half_back, on_step_motion
from .core.state import BLOCK, World
from .core.step import advance
from .core.world import make_room, make_world
from .machine import processors
from .model import Model, build_model, chunks
from .observables import conserved_sums
from .recorder import ENERGIES, Recorder, claimed_directory
from .scenario import Scenario, hertz_contact_time
from .trajectory import Frame, Trajectory

Array = NDArray[np.float64]
SORT_EVERY = 20_000  # steps after which the bodies of large systems are put into spatial order again
ROUND_OFF = 0.01  # of the energy's parts: where these cancel, the total deviates by many times its first value, and is right
PATIENCE = 0.1  # s of wall time in compiled code before signals and progress get their turn


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


class Simulation:
    """The state of a model, advanced step by step.

    `threads` are chosen to suit the size of the system if they are not given; results do not depend on their number. Large
    systems are kept in spatial order, so that the columns of `bodies` are not in the order of the model.

    Between steps the position and orientation are at step n with the forces of step n; velocity and spin are staggered as
    the integrators want them.
    """

    def __init__(self, model: Model, rotation: str, threads: int | None = None):
        self.model = model
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
        self._sort(SMALLEST_SKIN * float(self.bodies.reach.mean()))
        self._pending = True  # the forces of the present step are not known
        self.advance(0)
        given = (self.bodies.velocity, self.bodies.orientation, self.bodies.spin)
        start = self._observables(lambda some: [values[:, some] for values in given])
        self.initial_energy = start["total"]  # J, exact: of the state before it is staggered
        if self._rotation.values > 3:
            kept = np.zeros((self._rotation.values, self.bodies.spin.shape[1]))
            kept[:3] = self.bodies.spin
            self.bodies = self.bodies._replace(spin=kept)
            self._world = self._world._replace(bodies=self.bodies)
        half_back(self._rotation.start, self.bodies, model.gravity, model.dt)

    def _sort(self, skin: float) -> None:
        """Bodies of large systems in spatial order, and room for new lists with about that skin (m)."""
        if len(self._rank) > BLOCK:
            order = spatial_order(self.bodies.position)
            reorder(self.bodies, order)
            self._rank = np.argsort(order)[self._rank]
        model = self.model
        vars(self).pop("_world", None)  # there is memory for one, not for two
        self._world = make_world(self.bodies, model.shapes, model.walls, model.modulus, self.threads, skin)

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
        while self._pending or self.step < end:
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
        arguments: Any = (steps, model.dt, model.gravity, self._rotation.advance, world, self._pending)
        if self._advance is None:
            self._advance = compiled_for(advance, (0, *arguments))
        began = time.perf_counter()
        others = [self._helpers.submit(self._advance, me, *arguments) for me in range(1, size)] if self._helpers else []
        made, pending = self._advance(0, *arguments)
        wait(others)
        self._pace.took(made, time.perf_counter() - began)
        return made, pending

    def _on_step_motion(self, some: Any) -> tuple[Array, Array, Array]:
        """On-step velocity in world axes, orientation and angular velocity in principal axes of some columns of `bodies`."""
        return on_step_motion(some, self._rotation.on_step, self.bodies, self.model.gravity, self.model.dt)

    def observables(self) -> dict[str, Any]:
        """Energies (J), momentum (kg m/s) and angular momentum about the origin (J s) at step n."""
        return self._observables(self._on_step_motion)

    def _observables(self, motion: Callable[[slice], Sequence[Array]]) -> dict[str, Any]:
        sums = conserved_sums(self.bodies, motion, self.model.gravity)
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
            velocity, orientation, omega = self._on_step_motion(columns)
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
    kernels = scenario.integrator.rotation + ("-pack" if packed else "-place" if scenario.place else "")
    return cache_directory() / f"{kernels}.compiled"


def sensible_threads(blocks: int) -> int:
    """As many as there are processors, if each gets at least two blocks of bodies."""
    return max(1, min(processors(), blocks // 2))


def prepared(scenario: Scenario, source: str, threads: int | None = None) -> Simulation:
    """The simulation of a scenario at step 0, with all of its kernels compiled."""
    simulation = Simulation(build_model(scenario, source), scenario.integrator.rotation, threads)
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
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Run a scenario to its end, or until `stop()` is true after some step.

    With `out` the run directory is written; without, everything is kept in memory. `source` names the scenario in messages,
    `text` is the scenario as its author wrote it.
    """
    begun = time.perf_counter()
    directory = None if out is None else claimed_directory(Path(out), overwrite)
    simulation = prepared(scenario, source, threads)
    model = simulation.model
    ready = time.perf_counter()

    total = []  # energy at each row of the log, J
    with Recorder(directory, scenario, model, text, overwrite, simulation.threads) as recorder:
        frame_steps, log_steps = (
            evenly_spaced(count, model.steps) for count in (scenario.output.frames, scenario.output.energies)
        )
        chunk = 1  # steps that take less than PATIENCE
        drift, reason = math.nan, ""  # of the last row
        for milestone in sorted(frame_steps | log_steps):
            while simulation.step < milestone and not stop():
                began, steps = time.perf_counter(), min(chunk, milestone - simulation.step)
                simulation.advance(steps)
                chunk = max(1, min(2 * chunk, int(PATIENCE * steps / (time.perf_counter() - began))))
                on_progress(Progress(simulation.step, model.steps, drift))
                recorder.flush_if_due()
            if simulation.step < milestone:
                break
            if milestone in log_steps:
                observables = simulation.observables()
                recorder.record_observables(simulation.step, simulation.time, observables)
                total.append(observables["total"])
                drift = float(deviation(total[-1], simulation.initial_energy))
                parts = sum(abs(observables[name]) for name in ENERGIES if name != "total")
                off = abs(total[-1] - simulation.initial_energy) > ROUND_OFF * parts
                if not math.isfinite(total[-1]) or (drift > scenario.guard.energy and off):
                    reason = blown_up(simulation.step, total[-1], drift)
                    break
            if milestone in frame_steps:
                recorder.record_frame(simulation.step, simulation.time, simulation.frame())
        wall = time.perf_counter() - ready
        summary = {
            "run_dir": None if directory is None else str(directory),
            "bodies": len(model.species),
            "spheres": model.spheres,
            "steps": simulation.step,
            "dt": model.dt,
            "wall_s": wall,
            "us_per_step": 1e6 * wall / max(simulation.step, 1),
            "compile_s": ready - begun,
            "integrator": scenario.integrator.rotation,
            "energy": drift_summary(np.array(total), simulation.initial_energy),
            "status": "failed" if reason else "ok" if simulation.step == model.steps else "interrupted",
        }
        recorder.finish(summary)
    return Result(summary, recorder.trajectory(), reason)


def initial_state(scenario: Scenario, source: str = "", text: str = "") -> Trajectory:
    """The state that a run of the scenario starts from, as a trajectory of one frame in memory."""
    model = build_model(scenario, source)
    with Recorder(None, scenario, model, text) as recorder:
        recorder.record_frame(0, 0.0, Frame(model.position, model.velocity, model.orientation, model.angular_velocity))
        recorder.finish({})
    return recorder.trajectory()


def evenly_spaced(count: int, steps: int) -> set[int]:
    """`count` steps from the first to the last; one alone is the last."""
    return {steps} if count == 1 else {round(i * steps / (count - 1)) for i in range(count)}


def blown_up(step: int, total: float, drift: float) -> str:
    what = (
        f"deviates by {drift:.3g} times its first value (guard.energy)" if math.isfinite(total) else "is no longer a number"
    )
    return f"time.dt: the energy {what} at step {step}; take a smaller step (see minidem check)"


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
    steps, took = 1, 0.0
    while took < PATIENCE and simulation.step < model.steps:
        began = time.perf_counter()
        simulation.advance(steps)
        took = time.perf_counter() - began
        steps *= 2
    us_per_step = 1e6 * took / max(steps // 2, 1)

    spheres = {clump.name: clump.spheres for clump in model.clumps}
    with np.errstate(over="ignore"):
        turning = np.linalg.norm(model.angular_velocity, axis=1) * simulation.bodies.reach
        speed = float((np.linalg.norm(model.velocity, axis=1) + turning).max())
    # The shortest contact: two of the same clump, on their largest spheres, as stiff as any materials here, head-on.
    contact_time = min(
        hertz_contact_time(clump.mass / 2, float(clump.spheres[:, 3].max()) / 2, float(model.modulus.max()), 2 * speed)
        for clump in model.clumps
    )
    return {
        "bodies": len(model.species),
        "spheres": model.spheres,
        "memory_mb": 200 + 5e-4 * len(model.species) + 1.7e-4 * model.spheres,  # as measured, Python included
        "dt": model.dt,
        "dt_rayleigh": model.dt / scenario.rayleigh_time(spheres),
        "dt_hertz": model.dt / contact_time if 0 < contact_time < math.inf else None,
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
