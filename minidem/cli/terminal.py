"""Signals, messages and progress bars."""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..printable import printable
from ..progress import watched

if TYPE_CHECKING:
    from ..running.progress import Progress
    from ..study.conduct import Progress as StudyProgress


PATIENCE = 2.0  # s of a preparation before its progress is shown


def print_message(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that the current step is finished and files are closed. A second signal ends the
    program at once."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore SIGINT for background jobs
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    previous: dict[int, Any] = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def is_hidden(quiet: bool) -> bool:
    """Whether progress is not shown: on request, or because stderr is not a terminal."""
    return quiet or not sys.stderr.isatty()


@contextlib.contextmanager
def preparations_shown(quiet: bool) -> Iterator[None]:
    """Show on stderr, in one line that is erased afterwards, how far preparations are that take longer than PATIENCE."""
    if is_hidden(quiet):
        yield
        return
    began, shown = time.monotonic(), ""

    def show(what: str, part: float) -> None:
        nonlocal shown
        if time.monotonic() - began > PATIENCE and shown != (line := f"{what}: {part:.0%}"):
            print(f"\r{line:<{len(shown)}}", end="", file=sys.stderr, flush=True)
            shown = line

    try:
        with watched(show):
            yield
    finally:
        if shown:
            print(f"\r{'':<{len(shown)}}\r", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress_bar(name: str, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """A progress bar on stderr with the remaining time and the energy drift; yields the function that updates it."""
    if is_hidden(quiet):
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    name = escape(printable(name))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("energy drift {task.fields[drift]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, drift="")

        def prepare(what: str, part: float) -> None:
            bar.update(task, description=f"{name}: {what}", completed=part, total=1.0)

        def show(progress: "Progress") -> None:
            drift = f"{progress.drift:.1e}"
            bar.update(task, description=name, completed=progress.step, total=progress.steps, drift=drift)

        with watched(prepare):
            yield show


@contextlib.contextmanager
def film_bar(name: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr with the remaining time; yields the function that updates it with (done, total)."""
    if is_hidden(quiet):
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(printable(name)), total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@contextlib.contextmanager
def study_table(name: str, quiet: bool) -> Iterator[Callable[["StudyProgress"], None]]:
    """A live table on stderr: finished, running and failed runs, remaining time; yields the function that updates it."""
    if is_hidden(quiet):
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:

        def show(progress: "StudyProgress") -> None:
            table = Table("study", "done", "running", "failed", "time left")
            left = "" if progress.left_s is None else f"{progress.left_s / 60:.0f} min {progress.left_s % 60:.0f} s"
            done = f"{progress.done} of {progress.cells}"
            table.add_row(name, done, str(progress.running), str(progress.failed), left)
            live.update(table)

        yield show
