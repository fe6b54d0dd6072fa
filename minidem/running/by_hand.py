"""Record a simulation that a program advances itself."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PhysicsError
from ..files.names import claimed_directory
from .guards import bad_frame, bad_observables
from .recorder import Recorder
from .room import check_room
from .summary import run_summary
from .wall_clock import Clock

if TYPE_CHECKING:
    from .simulation import Simulation


@contextmanager
def recorded_by_hand(simulation: "Simulation", out: Path, text: str, overwrite: bool) -> Iterator[Callable[[], None]]:
    """The function `record` of ``Simulation.recording``; `text` is the scenario as its author wrote it."""
    scenario = simulation.scenario
    if scenario is None:
        raise ValueError("only a simulation of a scenario can be recorded")
    clock, recorded = Clock(math.inf, math.inf), -1
    clock.ready()
    directory = claimed_directory(out, overwrite)
    check_room(directory, scenario, simulation.model, copied=False)
    threads = simulation.threads
    with Recorder(directory, scenario, simulation.model, text, overwrite, threads, resumable=False) as recorder:

        def record() -> None:
            nonlocal recorded
            if simulation.step > recorded:
                recorded, observables = simulation.step, simulation.observables()
                recorder.record_observables(simulation.step, simulation.time, observables, simulation.initial_energy)
                reason = bad_observables(simulation, scenario, observables["total"], recorder.largest_parts)
                frame = simulation.frame()
                if reason := reason or bad_frame(frame):
                    raise PhysicsError(reason)
                recorder.record_frame(frame)

        record()
        yield record
        recorder.finish(run_summary(simulation, scenario, clock, recorder, "ok"))
