"""The catalogue of contact laws: one row each. Plain data, so that listing it compiles nothing."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)  # compared by identity: a name registered again is another law
class Law:
    """A force law for the normal direction of a contact; its functions are in the file named after it (see hertz.py)."""

    name: str
    summary: str
    source: str
    edge_power: float | None  # p of F ~ overlap^p where a contact begins; None if the force begins otherwise
    keys: tuple[str, ...] = ()  # numbers above zero that each material needs besides young, poisson and density
    parts: Mapping[str, Any] | None = None  # the functions of a law that is not in this folder

    @property
    def module(self) -> str:
        """Full name of the module of a built-in law."""
        return "minidem.engine.contact." + self.name.replace("-", "_")


def register_law(
    name: str,
    contact: Callable[..., Any],
    constant: Callable[..., float],
    contact_time: Callable[..., float],
    *,
    edge_power: float | None,
    keys: tuple[str, ...] = (),
    summary: str = "",
    source: str = "",
) -> Law:
    """Add a law of your own for this process and return its row in the catalogue.

    `minidem.laws` describes the three functions. `edge_power` is the p of F ~ overlap^p where a contact begins. None means
    that the force does not begin with a power of the overlap: then edges cannot be corrected, and no account is kept of
    their energy error. `keys` names the numbers above zero that each material needs besides young, poisson and density. A
    registered name may be registered again; that of a built-in law may not.
    """
    if not name or (name in LAWS and LAWS[name].parts is None):
        raise ValueError(f'"{name}" is empty or the name of a built-in law; choose another')
    if not re.fullmatch(r"[\w.-]+", name):  # names of files contain it
        raise ValueError(f'"{name}": the name of a law has only letters, digits, "_", "." and "-"')
    if isinstance(keys, str):
        raise ValueError(f'keys: must be a tuple of names, such as ("{keys}",), got "{keys}"')
    if edge_power is not None and not 0 < edge_power < math.inf:
        raise ValueError(f"edge_power: must be above 0 and finite, or None, got {edge_power}")
    parts = {"contact": contact, "constant": constant, "contact_time": contact_time}
    LAWS[name] = Law(name, summary, source, edge_power, tuple(keys), parts)
    return LAWS[name]


LAWS = {
    law.name: law
    for law in (
        Law(
            "hertz",
            "F = 4/3 E* sqrt(R*) d^(3/2)",
            "Hertz 1881; Johnson, Contact Mechanics, 1985, Sec. 4.2",
            1.5,
        ),
    )
}
