"""Advance a model in time and record it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import quaternions
from .core.compiling import cache_directory
from .core.contact import contact_forces
from .core.neighbours import SMALLEST_SKIN, candidates
from .core.observables import conserved_sums, on_step_motion
from .core.rotation.loading import rotation as compiled_rotation
from .core.step import advance, half_back
from .model import Model, build_model
from .recorder import Recorder, claimed_directory
from .scenario import Scenario, hertz_contact_time
from .trajectory import Frame, Trajectory

Array = NDArray[np.float64]
PATIENCE = 0.1  # s of wall time in compiled code before signals and progress get their turn


class Simulation:
    """The state of a model, advanced step by step.

    Between steps the position and orientation are at step n with the forces of step n; velocity and spin are staggered as
    the integrators want them.
    """

    def __init__(self, model: Model, rotation: str):
        self.model = model
        self.step = 0
        self._rotation = compiled_rotation(rotation)
        self.bodies = model.bodies()
        skin = SMALLEST_SKIN * float(self.bodies.reach.mean())
        self._near = candidates(self.bodies, model.shapes, model.walls, model.modulus, skin)
        self.elastic = contact_forces(self.bodies, model.walls, self._near)  # J
        start = self._observables(self.bodies.velocity, self.bodies.orientation, self.bodies.spin)
        self.initial_energy = start["total"]  # J, exact: of the state before it is staggered
        kept = np.zeros((self._rotation.values, self.bodies.spin.shape[1]))
        kept[:3] = self.bodies.spin
        self.bodies = self.bodies._replace(spin=kept)
        half_back(self._rotation.start, self.bodies, model.gravity, model.dt)

    @property
    def time(self) -> float:
        """s"""
        return self.step * self.model.dt

    def advance(self, steps: int) -> None:
        model = self.model
        self._near, self.elastic = advance(
            steps,
            model.dt,
            model.gravity,
            self._rotation.advance,
            self.bodies,
            model.shapes,
            model.walls,
            model.modulus,
            self._near,
            self.elastic,
        )
        self.step += steps

    def _on_step_motion(self) -> tuple[Array, Array, Array]:
        """Velocity (3, n) in world axes, orientation (4, n) and angular velocity (3, n) in principal axes, at step n."""
        return on_step_motion(self._rotation.on_step, self.bodies, self.model.gravity, self.model.dt)

    def observables(self) -> dict[str, Any]:
        """Energies (J), momentum (kg m/s) and angular momentum about the origin (J s) at step n."""
        return self._observables(*self._on_step_motion())

    def _observables(self, velocity: Array, orientation: Array, omega: Array) -> dict[str, Any]:
        sums = conserved_sums(self.bodies, velocity, orientation, omega, self.model.gravity)
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
        velocity, orientation, omega = self._on_step_motion()
        n = len(self.model.species)
        orientation, omega = orientation[:, :n], omega[:, :n]
        axes = np.array([clump.principal_axes for clump in self.model.clumps])[self.model.species]
        return Frame(
            position=self.bodies.position.T.copy(),
            velocity=velocity.T.copy(),
            orientation=quaternions.product(orientation.T, quaternions.conjugate(axes)),
            angular_velocity=quaternions.rotated(orientation.T, omega.T),
        )


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

    @property
    def energy(self) -> dict[str, Array]:
        """The energy log by name: step, time (s), the energies (J), momentum and angular_momentum."""
        return self.trajectory.observables


def compiled_mark(scenario: Scenario) -> Path:
    """A file that exists when the kernels that the scenario needs are in the disk cache."""
    packed = any(group.packing_fraction is not None for group in scenario.place)
    kernels = scenario.integrator.rotation + ("-pack" if packed else "-place" if scenario.place else "")
    return cache_directory() / f"{kernels}.compiled"


def prepared(scenario: Scenario, source: str) -> Simulation:
    """The simulation of a scenario at step 0, with all of its kernels compiled."""
    simulation = Simulation(build_model(scenario, source), scenario.integrator.rotation)
    simulation.advance(0)
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
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Run a scenario to its end, or until `stop()` is true after some step.

    With `out` the run directory is written; without, everything is kept in memory. `source` names the scenario in messages,
    `text` is the scenario as its author wrote it.
    """
    begun = time.perf_counter()
    directory = None if out is None else claimed_directory(Path(out), overwrite)
    simulation = prepared(scenario, source)
    model = simulation.model
    ready = time.perf_counter()

    total = []  # energy at each row of the log, J
    with Recorder(directory, scenario, model, text, overwrite) as recorder:
        frame_steps, log_steps = (
            evenly_spaced(count, model.steps) for count in (scenario.output.frames, scenario.output.energies)
        )
        chunk = 1  # steps that take less than PATIENCE
        drift = math.nan  # of the last row
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
                if not math.isfinite(total[-1]):
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
            "status": status_of(simulation, total),
        }
        recorder.finish(summary)
    return Result(summary, recorder.trajectory())


def evenly_spaced(count: int, steps: int) -> set[int]:
    """`count` steps from the first to the last; one alone is the last."""
    return {steps} if count == 1 else {round(i * steps / (count - 1)) for i in range(count)}


def status_of(simulation: Simulation, total: list[float]) -> str:
    if total and not math.isfinite(total[-1]):
        return "failed"
    return "ok" if simulation.step == simulation.model.steps else "interrupted"


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


def outlook(scenario: Scenario, source: str = "") -> dict[str, Any]:
    """What a run of the scenario would be like: sizes, masses, time scales, and the wall time from a short trial."""
    simulation = prepared(scenario, source)
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
        "memory_mb": (400 * len(model.species) + 200 * model.spheres) / 1e6,
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
