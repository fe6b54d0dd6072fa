"""Errors that the command line reports without a traceback, and their messages."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad usage or a bad file; exit code 2. The message names the file, the problem and the remedy."""


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
    by_lower_case = {name.lower(): name for name in valid}
    close = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[close[0]] if close else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """An error that suggests the nearest valid name and lists all of them; `kind` says what is named."""
    names = list(valid)
    meant = nearest(name, names)
    hint = f" did you mean {meant}?" if meant else ""
    return InputError(f'unknown {kind} "{name}";{hint} valid names: {", ".join(names)}')
