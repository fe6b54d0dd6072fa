"""Wall time: how many threads make the fastest steps, and when a run writes checkpoints, reports and ends."""

import math
import operator
import time

from ..machine import processors

CHECKPOINT_EVERY = 60.0  # s
PATIENCE = 0.1  # s in compiled code before signals and progress get their turn


def sensible_threads(wanted: int | None, blocks: int) -> int:
    """The number of threads for a number of `blocks` of bodies: as many as wanted, but no more than blocks. If none is
    given, one per processor, if each gets at least two blocks."""
    if wanted is None:
        return max(1, min(processors(), blocks // 2))
    if (threads := operator.index(wanted)) < 1:
        raise ValueError(f"threads: must be 1 or more, or None for an automatic choice, got {threads}")
    return min(threads, blocks)


class Pace:
    """Chooses between `most` threads and one by measuring which makes the faster steps: on a busy machine, threads wait for
    each other. Results do not depend on the choice. With `most` None the number is fixed: `threads` is None."""

    TRIAL = 0.02  # s: shorter measurements do not count
    LEAST_WAIT, WAIT = 2.0, 20.0  # s, and in durations of the last trial, until the other choice is tried again

    def __init__(self, most: int | None):
        self._choices = [most, 1] if most and most > 1 else []
        self._rate: dict[int, float] = {}  # steps per second
        self._since, self._wait = 0.0, self.LEAST_WAIT  # s since both were tried, and until they are tried again
        self.threads = self._choices[0] if self._choices else None

    def took(self, steps: int, seconds: float) -> None:
        """Note how long steps took with the present number of threads, and choose the next number."""
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


class Clock:
    """Wall time of a run: of this process, and of all processes that worked on it."""

    def __init__(self, checkpoint_every: float, max_wall: float):
        self._begun = self._saved = time.perf_counter()
        self._every, self._end = checkpoint_every, self._begun + max_wall
        self._saving = 0.0  # s that the last checkpoint took
        self._chunk = 1  # steps that take less than PATIENCE

    def ready(self, before: float = 0.0) -> None:
        """The set-up is done and steps begin, after `before` seconds of steps in earlier processes."""
        self.set_up = time.perf_counter() - self._begun
        self._start = time.perf_counter() - before

    @property
    def wall_s(self) -> float:
        """Wall time of all steps, s."""
        return time.perf_counter() - self._start

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.perf_counter() - self._saved >= self._every

    @property
    def over(self) -> bool:
        """Whether the time left is just enough for a last step and a checkpoint."""
        return time.perf_counter() + 2 * PATIENCE + 2 * self._saving >= self._end

    def steps(self, most: int) -> int:
        """How many steps to make before the next look at signals, checkpoints and progress; at most `most`."""
        return min(self._chunk, most)

    def took(self, steps: int, seconds: float) -> None:
        """Note how long steps took, to choose the next number of steps."""
        self._chunk = max(1, min(2 * self._chunk, int(PATIENCE * steps / seconds)))

    def saved(self, seconds: float) -> None:
        """Note that a checkpoint was written just now, which took `seconds`."""
        self._saved, self._saving = time.perf_counter(), seconds
