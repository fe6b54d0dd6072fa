"""Progress of preparations that may take long, for whoever shows it. What prepares knows nothing of terminals."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[str, float], None]
_watcher: ContextVar[Watcher] = ContextVar("watcher", default=lambda what, part: None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """What is prepared in this block calls ``watcher(what, part)`` now and then, with the part that is done, from 0 to 1."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(what: str, part: float) -> None:
    """Say to who watches how much of something is done, from 0 to 1."""
    _watcher.get()(what, part)
