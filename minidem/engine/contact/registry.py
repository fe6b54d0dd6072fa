"""The contact laws: one row each. Plain data, so that listing them compiles nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Law:
    """A contact law, implemented in the file of the same name in this folder."""

    name: str
    summary: str
    source: str
    edge_power: float  # the force grows as overlap ** edge_power where contact begins
    keys: tuple[str, ...] = ()  # material keys it needs besides young, poisson and density


LAWS = {
    law.name: law
    for law in (
        Law("hertz", "F = 4/3 E* sqrt(R*) d^(3/2)", "Hertz 1881; Johnson, Contact Mechanics, 1985, Sec. 4.2", 1.5),
    )
}
