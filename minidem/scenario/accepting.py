"""The JSON Schema of what each check of a value accepts, for editors and for the reference; see schema.py."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Check = TypeVar("Check", bound=Callable[..., Any])
JSON: dict[Any, Callable[[], dict[str, Any]]] = {}  # by check; made late, as plugins add names


def accepts(**schema: Any) -> Callable[[Check], Check]:
    """Note the JSON Schema of what a check accepts."""

    def note(check: Check) -> Check:
        JSON[check] = lambda: dict(schema)
        return check

    return note


def accepts_names(names: Callable[[], Iterable[str]]) -> Callable[[Check], Check]:
    """The same for a name in a catalogue; another name may be that of a plugin."""

    def note(check: Check) -> Check:
        JSON[check] = lambda: {"type": "string", "anyOf": [{"enum": list(names())}, {"type": "string"}]}
        return check

    return note
