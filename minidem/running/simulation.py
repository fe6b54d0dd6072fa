"""A model advanced in time, step by step."""

import math
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.compile.atomics import MOST_THREADS
from ..engine.compile.kernels import compiled_for
from ..engine.contact.zeta import mean_square
from ..engine.places import known_places, reordered_places, restore_places
from ..engine.rotation.loading import rotation as compiled_rotation
from ..engine.search.lists import SMALLEST_SKIN
from ..engine.search.ordering import reorder, spatial_order
from ..engine.staggering import on_step_motion, stagger_spin, stagger_velocity
from ..engine.state import BLOCK, World, aligned, kept_arrays
from ..engine.step import advance
from ..engine.world import make_world
from ..errors import PhysicsError
from ..files.checkpoint import State
from ..files.series import ENERGIES
from ..files.trajectory import Frame, Spheres
from ..model.building import Model, build_model, chunks
from ..model.memory import enough_memory, make_checked_room
from ..model.overlaps import check_overlaps
from ..model.times import fastest
from ..scenario.reading import Scenario
from .by_hand import recorded_by_hand
from .changing import assign, frame_of, read_only
from .contacts import Contacts, contacts_of, sphere_centres, sphere_numbers
from .faults import Alarm, alarm_in, limits
from .given import given, mark_compiled
from .guards import bad_motion, check_time_step, warn
from .modified_energy import bounded_error
from .observables import conserved_sums
from .restart import FIELDS, OWN, PLACES
from .wall_clock import Pace, sensible_threads

Array = NDArray[np.float64]
SORT_EVERY = 20_000  # steps after which the bodies of large systems are sorted in space again


class Simulation:
    """A scenario that you advance yourself::

        sim = minidem.Simulation("scenarios/rods.toml")
        sim.advance(100)
        sim.positions, sim.velocities, sim.energies

    The scenario is a ``Scenario`` or the path of a scenario file; guards, overlap check and integrator are those of a run.
    The number of `threads` is chosen to suit the system if it is None; results do not depend on it. `source` names the
    scenario in messages, `on_note` gets warnings about the time step.

    `positions`, `orientations`, `velocities` and `angular_velocities` are at the present step, in world axes and in the
    order of the scenario. They are read-only arrays: ``sim.positions[0] = ...`` raises ValueError instead of losing the
    change. To change the state, assign a whole array::

        velocities = sim.velocities.copy()
        velocities[0] = 0.0, 0.0, 1.0
        sim.velocities = velocities

    The other values stay what they were at this step, and forces and neighbour lists are renewed. The energy that the change
    adds is added to `initial_energy`, so that drifts stay meaningful.
    """

    # Internally, positions and orientations are at step n, with the forces of step n. Velocities and spins are staggered as
    # the integrators want them. Large systems are sorted in space: the columns of `bodies` are not in the scenario's order.

    initial_energy: float  # exact energy of the initial state, J
    initial_bounded: float  # what of it is not modified energy, J; see modified_energy.py
    initial_speed: float  # speed of the fastest point of any body at the start, m/s
    rank: NDArray[np.int64]  # (n,) the column in `bodies` of each body of the scenario
    earlier_account: Array  # (3,) sums of the account of edges before the bodies were last sorted
    exact: bool  # whether the forces of a restored state came out the same, bit for bit

    def __init__(
        self,
        scenario: Scenario | str | PathLike[str],
        *,
        threads: int | None = None,
        source: str = "",
        on_note: Callable[[str], None] = warn,
    ):
        scenario, source, self._text = given(self.from_model, scenario, source)
        with enough_memory(source or scenario.name):
            self._set_up(model := build_model(scenario, source), scenario.integrator.rotation, threads, scenario)
            self._begin()
        check_overlaps(scenario, self._world, self._numbers, source or scenario.name)
        for note in check_time_step(self.from_model, scenario, model, source or scenario.name):
            on_note(note)
        self.observables()  # compiles what is left
        mark_compiled(scenario)

    @classmethod
    def from_model(
        cls,
        model: Model,
        rotation: str,
        threads: int | None = None,
        state: State | None = None,
        scenario: Scenario | None = None,
    ) -> "Simulation":
        """The simulation of a model, at step 0 or at a `state`. Overlaps are not checked; guards are those of the scenario,
        if there is one."""
        self = cls.__new__(cls)
        self._text = ""
        self._set_up(model, rotation, threads, scenario)
        if state is None:
            self._begin()
        else:
            self._restore(state)
        return self

    def _set_up(self, model: Model, rotation: str, threads: int | None, scenario: Scenario | None) -> None:
        self.model, self.scenario = model, scenario
        self.step = 0
        self.changed = False  # whether a user has assigned to the state
        self._rotation = compiled_rotation(rotation)
        self._advance: Any = None  # step.advance, compiled
        self._law: Any = None  # its function pointers
        n = len(model.species)
        self.bodies = model.bodies()
        spin = aligned(self._rotation.values, self.bodies.spin.shape[1])
        spin[:3], spin[3:] = self.bodies.spin, 0.0
        self.bodies = self.bodies._replace(spin=spin)
        self.earlier_account = np.zeros(3)
        blocks = -(-n // BLOCK)
        self.threads = min(sensible_threads(threads, blocks), MOST_THREADS)  # the most that take part
        self._pace = Pace(self.threads if threads is None else None)
        self._helpers = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        self.rank = np.arange(n)
        self._world: World
        self._pending = True  # the forces of the present step are not known yet

    def _begin(self) -> None:
        """From the on-step motion of the model to step 0."""
        self._sort(SMALLEST_SKIN * float(self.bodies.bounding_radius.mean()))
        self._find_forces()
        given = (self.bodies.velocity, self.bodies.orientation, self.bodies.spin[:3])
        start = self._observables(lambda some: [values[:, some] for values in given])
        self.initial_energy = start["total"]  # exact: of the state before it is staggered
        self.initial_bounded = bounded_error(self, given)
        self.initial_speed = fastest(self.model)
        for some in chunks(self.bodies.orientation.shape[1]):
            stagger_velocity(some, self.bodies, self.model.gravity, self.model.dt)
            stagger_spin(some, self._rotation.start, self.bodies, self.model.dt)

    def _restore(self, state: State) -> None:
        """From a state that `state` returned. The forces are found again: if they come out the same, this is the same
        program on a processor that computes in the same way, and `exact` is true."""
        for name in OWN:
            setattr(self, name, state[name].copy() if FIELDS[name].shape else state[name].item())
        reorder(self.bodies, np.argsort(self.rank))
        self._make_world(0.0)
        for name, values in kept_arrays(self._world).items():
            values[...] = state[name]
        restore_places(self._world, self.step, *(state[name] for name in PLACES))
        self._find_forces()
        again = ((self.bodies.force, state["bodies/force"]), (self.bodies.torque, state["bodies/torque"]))
        self.exact = all(np.array_equal(new, old, equal_nan=True) for new, old in again)

    @property
    def state(self) -> State:
        """What the next step starts from, by name (see engine/state.py); the arrays are those of the simulation."""
        arrays: State = kept_arrays(self._world)
        places = zip(PLACES, known_places(self._world, self.step), strict=True)
        return {name: np.asarray(getattr(self, name)) for name in OWN} | arrays | dict(places)

    # --- steps -----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time of the present step, s."""
        return self.step * self.model.dt

    def advance(self, steps: int) -> None:
        """Advance by a number of steps, 0 or more.

        Raises PhysicsError at the step where a guard of the scenario finds that the motion can no longer be right: bodies
        that overlap too much, move too far in a step, are behind a wall or have positions that are not numbers. The
        simulation stays at that step and can be looked at. The guards on the energy and on the angle per step need the
        energy log: ``run`` and ``recording`` check them.
        """
        steps = operator.index(steps)  # 2.5 steps would never be reached
        if steps < 0:
            raise ValueError(f"steps: must be 0 or more, got {steps}")
        self._advance_to(self.step + steps)
        if self.alarm is not None and self.scenario is not None:
            raise PhysicsError(bad_motion(self, self.scenario))

    def _advance_to(self, end: int) -> None:
        """Make steps up to `end`, or to one with an alarm; the forces of the last are known."""
        while self._pending or (self.step < end and self.alarm is None):
            if self.step % SORT_EVERY == 0 and self.step > 0 and len(self.rank) > BLOCK and not self._pending:
                self._sort(float(self._world.lists.skin[0]))
            before_sorting = min(end - self.step, SORT_EVERY - self.step % SORT_EVERY)
            made, self._pending = self._advance_together(0 if self._pending else before_sorting)
            self.step += made
            if self._pending:
                make_checked_room(self._world)
            self._pending |= self.alarm is not None and bool(self._world.scratch.edge_count.any())  # completes the account

    def _find_forces(self) -> None:
        """Find the forces of the present step, which may be found already; no contact begins or ends with this."""
        account = [values.copy() for values in self._world.account]
        self._pending = True
        self._advance_to(self.step)
        for values, before in zip(self._world.account, account, strict=True):
            values[...] = before

    def _advance_together(self, steps: int) -> tuple[int, bool]:
        """Make steps on all threads, until they are made or the lists need more room. Returns the number of steps made and
        whether the forces of the last are still to be found."""
        model, size = self.model, self._pace.threads or self.threads
        world = self._world._replace(team=self._world.team._replace(size=size))
        world.team.step[:] = self.step, model.steps
        if self._law is None:
            self._law = model.law.pointers(world)
        arguments: Any = (steps, model.dt, model.gravity, self._rotation.advance, *self._law, world, self._pending)
        if self._advance is None:
            self._advance = compiled_for(advance, (0, *arguments))
        began = time.perf_counter()
        others = [self._helpers.submit(self._advance, me, *arguments) for me in range(1, size)] if self._helpers else []
        made, pending = self._advance(0, *arguments)
        wait(others)
        if not pending:  # the same threads find the forces that are pending
            self._pace.took(made, time.perf_counter() - began)
        return made, pending

    def _sort(self, skin: float) -> None:
        """Sort the bodies of large systems in space; new lists with about that skin (m) are to be made."""
        known, age = None, 0
        if len(self.rank) > BLOCK:
            order = spatial_order(self.bodies.position)
            reorder(self.bodies, order)
            self.rank = np.argsort(order)[self.rank]
            if hasattr(self, "_world"):
                known, age = reordered_places(self._world, self.step, order), self._world.lists.age[0]
        self._make_world(skin)
        self._world.lists.age[0] = age
        if known:
            restore_places(self._world, self.step, *known)

    def _make_world(self, skin: float) -> None:
        if hasattr(self, "_world"):
            self.earlier_account = self._account
        vars(self).pop("_world", None)  # there is memory for one, not for two
        watched = limits(self.scenario.guard if self.scenario else None, self.model)
        fixed = (self.model.templates, self.model.walls, self.model.constants)
        self._world = make_world(self.bodies, *fixed, self.threads, skin, watched, self.model.edges)

    @property
    def _account(self) -> Array:
        """(3,) sums of the account of edges since the start; see engine.state.Account."""
        now: Array = np.array([values.sum() for values in self._world.account], float)
        return self.earlier_account + now

    @property
    def edge_error(self) -> float:
        """Energy error that the edges of contacts have made so far, J; if they are corrected, what that took out."""
        return float(self._account[0])

    @property
    def edge_deviation(self) -> float:
        """Standard deviation expected of the energy error of plain edges so far, J: each edge adds a random number of mean
        0. It grows as dt^(p+1), with the edge power p of the law: 5/2 for Hertz."""
        return math.sqrt(self._account[1] * mean_square(self.model.edges.power))

    @property
    def contacts_entered(self) -> int:
        """The number of contacts that began so far."""
        return int(self._account[2])

    @property
    def alarm(self) -> Alarm | None:
        """What a guard in the kernels found; no further steps are made then."""
        return alarm_in(self._world, self._numbers)

    @property
    def _numbers(self) -> NDArray[np.int64]:
        """(n,) the number in the scenario of the body in each column of `bodies`."""
        return np.argsort(self.rank)

    # --- the present step ------------------------------------------------------------------------------------

    def _motion(self, some: Any) -> tuple[Array, Array, Array]:
        """On-step velocity in world axes, orientation and angular velocity in principal axes of some columns of `bodies`."""
        motion: tuple[Array, Array, Array] = on_step_motion(
            some, self._rotation.on_step, self.bodies, self.model.gravity, self.model.dt
        )
        return motion

    def observables(self) -> dict[str, Any]:
        """At the present step: energies and edge_error (J), momentum (3,) (kg m/s), angular momentum (3,) about the origin
        (J s)."""
        return self._observables(self._motion)

    def _observables(self, motion: Callable[[slice], Sequence[Array]]) -> dict[str, Any]:
        sums = conserved_sums(self.bodies, motion, self.model.gravity)
        self._fastest = (sums.fastest_spin, sums.fastest_column)
        elastic = float(self._world.touching.elastic.sum())
        return {
            "kinetic_translational": sums.kinetic_translational,
            "kinetic_rotational": sums.kinetic_rotational,
            "elastic": elastic,
            "gravity": sums.gravity,
            "total": sums.kinetic_translational + sums.kinetic_rotational + elastic + sums.gravity,
            "edge_error": self.edge_error,
            "momentum": sums.momentum,
            "angular_momentum": sums.angular_momentum,
        }

    @property
    def fastest_spin(self) -> tuple[float, int]:
        """The largest angular speed (rad/s) of any body when `observables` was last called, and the number of that body."""
        speed, column = self._fastest
        return speed, int(self._numbers[column])

    @property
    def energies(self) -> dict[str, float]:
        """Energies at the present step, J: kinetic_translational, kinetic_rotational, elastic, gravity and their total."""
        observables = self.observables()
        return {name: observables[name] for name in ENERGIES}

    def frame(self) -> Frame:
        """All bodies at the present step."""
        return frame_of(self)

    @property
    def spheres(self) -> Spheres:
        """Centres (s, 3) in m, radii (s,) in m and the body (s,) of every sphere, in the order of the scenario."""
        radii, owner = self._world.spheres.radius, self._world.spheres.owner
        order = np.argsort(sphere_numbers(self._world.spheres, self.rank))
        return Spheres(sphere_centres(self._world, order), radii[order], self._numbers[owner[order]])

    @property
    def contacts(self) -> Contacts:
        """What touches at the present step: bodies, spheres, overlaps, normals and forces; see Contacts."""
        return contacts_of(self._world, self.model.law, self._numbers, sphere_numbers(self._world.spheres, self.rank))

    @property
    def positions(self) -> Array:
        """(n, 3) positions of the centres of mass, m; read-only, assign to change."""
        return read_only(self.bodies.position.T[self.rank])

    @positions.setter
    def positions(self, values: ArrayLike) -> None:
        assign(self, position=values)

    @property
    def orientations(self) -> Array:
        """(n, 4) unit quaternions w, x, y, z, clump as given -> world; read-only, assign to change (normalised)."""
        return read_only(self.frame().orientation)

    @orientations.setter
    def orientations(self, values: ArrayLike) -> None:
        assign(self, orientation=values)

    @property
    def velocities(self) -> Array:
        """(n, 3) velocities of the centres of mass, m/s; read-only, assign to change."""
        return read_only(self.frame().velocity)

    @velocities.setter
    def velocities(self, values: ArrayLike) -> None:
        assign(self, velocity=values)

    @property
    def angular_velocities(self) -> Array:
        """(n, 3) angular velocities in world axes, rad/s; read-only, assign to change."""
        return read_only(self.frame().angular_velocity)

    @angular_velocities.setter
    def angular_velocities(self, values: ArrayLike) -> None:
        assign(self, angular_velocity=values)

    # --- a run directory -------------------------------------------------------------------------------------

    @contextmanager
    def recording(self, out: str | PathLike[str], *, overwrite: bool = False) -> Iterator[Callable[[], None]]:
        """Write a run directory while you advance the simulation::

            with sim.recording("output/mine") as record:
                while sim.step < 1000:
                    sim.advance(100)
                    record()

        ``record()`` adds a frame and a row of the energy log, once per step; the first is added at the beginning. It raises
        PhysicsError, without the frame, if the energy or an angle per step exceeds its guard. Such a run cannot be resumed.
        """
        with recorded_by_hand(self, Path(out), self._text, overwrite) as record:
            yield record
