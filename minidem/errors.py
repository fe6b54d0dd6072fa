"""What the user got wrong; the command line prints these without a traceback and exits with code 2."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad usage or a bad file. The message names the file, what is wrong and the remedy."""


class WriteError(Exception):
    """A run directory that can no longer be written to, say on a full disk; exit code 1."""


class PhysicsError(Exception):
    """A guard has stopped the simulation. The message says what went wrong at which step, and the remedy; exit code 3."""


class ScenarioError(InputError):
    """Everything that is wrong with one scenario, each entry as ``file: key.path: message``."""

    def __init__(self, errors: list[str]):
        super().__init__("\n".join(errors))
        self.errors = errors


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid name that `word` was probably meant to be."""
    by_lower_case = {name.lower(): name for name in valid}
    close = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[close[0]] if close else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    names = list(valid)
    meant = nearest(name, names)
    hint = f" did you mean {meant}?" if meant else ""
    return InputError(f'unknown {kind} "{name}";{hint} valid names: {", ".join(names)}')
