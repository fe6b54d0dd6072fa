"""A scenario in a few words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reading import Scenario


def bodies_of(scenario: "Scenario") -> str:
    """The bodies, as "12 bodies and a packing of 0.6"."""
    count = len(scenario.body) + sum(place.count or 0 for place in scenario.place)
    packed = sum(place.packing_fraction or 0.0 for place in scenario.place)
    parts = [f"{count:,} {'body' if count == 1 else 'bodies'}"] if count else []
    return " and ".join(parts + ([f"a packing of {packed:g}"] if packed else []))


def time_step_of(scenario: "Scenario") -> str:
    """The time step, as "3.8e-05 s" or "0.1 rayleigh"."""
    dt = scenario.time.dt
    return dt if isinstance(dt, str) else f"{dt:g} s"


def facts(scenario: "Scenario") -> dict[str, str]:
    """What matters most, by name."""
    domain, output = scenario.domain, scenario.output
    rows = {
        "bodies": bodies_of(scenario),
        "clumps": ", ".join(scenario.used_clumps),
        "box": " x ".join(f"{edge:g}" for edge in domain.box) + " m" if domain.box else "open space",
        "gravity": f"({', '.join(f'{g:g}' for g in domain.gravity)}) m/s2" if any(domain.gravity) else "none",
        "contacts": f"{scenario.contact.law}, {scenario.contact.edges} edges",
        "integrator": scenario.integrator.rotation,
        "time step": time_step_of(scenario),
        "end": f"{scenario.time.end:g} s",
        "seed": str(scenario.seed),
        "output": f"{output.frames:,} frames, {output.energies:,} rows of energies",
    }
    return rows


def one_line(scenario: "Scenario") -> str:
    """The line that Python shows."""
    what = f"{bodies_of(scenario)}, {scenario.integrator.rotation}, dt {time_step_of(scenario)}, end {scenario.time.end:g} s"
    return f'<Scenario "{scenario.name}": {what}>'
