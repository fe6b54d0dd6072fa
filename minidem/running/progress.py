"""How far a run is, and a bar that shows it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..notebook import Bar, in_notebook

QUICK = 0.5  # s; shorter runs in a notebook show no bar


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    step: int
    steps: int  # of the whole run
    drift: float  # |E - E0| / |E0| of the last row of the energy log


def watched(show: bool | None, name: str, on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """A function that calls `on_progress` and moves a bar. With `show` None there is a bar in notebooks only, and only for
    runs that take longer than QUICK."""
    if show is False or (show is None and not in_notebook()):
        return on_progress
    bar, begun = Bar(name), time.monotonic()

    def both(progress: Progress) -> None:
        on_progress(progress)
        if show or time.monotonic() - begun > QUICK:
            bar.update(progress.step, progress.steps, f", energy drift {progress.drift:.1e}")

    return both
