"""Errors that the command line reports without a traceback, and their messages."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

LISTED = 20  # faults of one kind that a message lists; the others are counted, or only said to be there
COMPARED, LONGEST_NAME = 1000, 100  # valid names, and characters of a name, that are compared to find the nearest

_with_flags: ContextVar[bool] = ContextVar("with_flags", default=False)


@contextmanager
def flags_in_messages() -> Iterator[None]:
    """Within this, messages name options of the command line instead of arguments of Python functions."""
    before = _with_flags.set(True)
    try:
        yield
    finally:
        _with_flags.reset(before)


def option(argument: str) -> str:
    """An argument of a Python function as messages name it: "overwrite=True", or --overwrite on the command line."""
    return f"--{argument.partition('=')[0]}" if _with_flags.get() else argument


class InputError(Exception):
    """Bad usage or a bad file; exit code 2. The message names the file, the problem and the remedy."""


class NotRecorded(InputError, AttributeError):
    """Numbers that a run did not record, because output.fields left them out."""

    def __init__(self, what: str, field: str):
        super().__init__(f'{what}: {field} is not recorded; add "{field}" to output.fields and run it again')


class WriteError(Exception):
    """Output cannot be written, for example because the disk is full; exit code 1."""


class PhysicsError(Exception):
    """A guard has stopped the simulation. The message says what went wrong at which step, and the remedy; exit code 3."""


class ScenarioError(InputError):
    """All the errors of one scenario. Each entry of `errors` reads ``file: key.path: message``."""

    def __init__(self, errors: list[str]):
        super().__init__("\n".join(errors))
        self.errors = errors


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid name that is most similar to `word`, ignoring case; None if none is similar."""
    by_lower_case = {name.lower(): name for name in islice(valid, COMPARED) if len(name) <= LONGEST_NAME}
    if len(word) > LONGEST_NAME:
        return None
    close = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[close[0]] if close else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """An error that suggests the nearest valid name and lists all of them; `kind` says what is named."""
    names = list(valid)
    meant = nearest(name, names)
    hint = f" did you mean {meant}?" if meant else ""
    return InputError(f'unknown {kind} "{name}";{hint} valid names: {", ".join(names)}')
