"""Ctrl-C while a program records a run: the run ends at its present step, with a checkpoint, and then KeyboardInterrupt is
raised. The first one is held back for that; a second one is raised at once, and a third one is ignored until the files are
closed. Only Python's own handler is replaced, and put back at the end; it stays in threads, which cannot replace it."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

USUAL = signal.default_int_handler  # raises KeyboardInterrupt


class Interrupts:
    """Holds back KeyboardInterrupt while a run is written to a directory, and raises it at the end with a message that says
    how to continue. Without a directory there is nothing to save, and nothing is held back."""

    def __init__(self, directory: Path | None):
        self.received = False
        self.message = ""
        self._held = False
        if directory is not None:
            self.message = f"{directory}: interrupted; continue with minidem.resume({str(directory)!r})"

    def __enter__(self) -> "Interrupts":
        if self.message and signal.getsignal(signal.SIGINT) is USUAL:
            with contextlib.suppress(ValueError):  # in a thread
                signal.signal(signal.SIGINT, self._note)
                self._held = True
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._held:
            signal.signal(signal.SIGINT, USUAL)
        if kind is KeyboardInterrupt or (kind is None and self.received):
            raise KeyboardInterrupt(*filter(None, [self.message])).with_traceback(trace) from None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise KeyboardInterrupt
        self.received = True

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Runs code of the user, in which Ctrl-C raises KeyboardInterrupt as usual."""
        if self._held:
            signal.signal(signal.SIGINT, USUAL)
        try:
            yield
        finally:
            if self._held:
                signal.signal(signal.SIGINT, self._note)
