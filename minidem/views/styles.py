"""The look of each rotational integrator in figures: one colour, marker and line style, the same in every figure.

No two colours are alike, also not for readers who do not see red, green or blue (tests/views/test_styles.py measures it).
Integrators with the same marker have different line styles.
"""

from collections.abc import Sequence
from typing import Any

from ..engine.rotation.registry import SCHEMES
from .colours import COLOURS

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

LOOKS = {  # colour, marker, line style
    "spiral": ("#0072B2", "o", "-"),
    "spiral-sync": ("#8599FF", "P", "-"),
    "omelyan": ("#009E73", "^", "-"),
    "fincham": ("#E69F00", "D", "-"),
    "fincham-yade": ("#D55E00", "v", "-"),
    "svanberg": ("#66290A", "o", "--"),
    "richardson": ("#1F0052", "X", "-"),
    "constraint-force": ("#525252", "<", "-"),
    "newmark-body": ("#000000", "s", "-"),
    "newmark-spatial": ("#D6A3A3", "s", "--"),
    "no-squish": ("#56B4E9", "p", "-"),
    "free-rotor": ("#CC79A7", "*", "-"),
    "pcdm-improved": ("#14148F", "h", "-"),
    "simo-wong": ("#8F6633", "D", "--"),
    "buss": ("#ADB866", ">", "-"),
    "pcdm": ("#8F70FF", "h", "--"),
    "velocity-verlet": ("#8F00FF", "^", "--"),
    "direct-euler": ("#A30085", "v", "--"),
    "johnson": ("#003329", "P", "--"),
    "pfc4": ("#664733", "X", "--"),
    "rk4": ("#471F52", "*", "--"),
    "hulbert": ("#6629CC", ">", "--"),
    "midpoint": ("#3D47AD", "<", "--"),
}


def style_of(integrator: str) -> dict[str, Any]:
    """Colour, marker and line style of an integrator, for matplotlib; those without a row in LOOKS come after the others."""
    if integrator not in LOOKS:
        others = [name for name in SCHEMES if name not in LOOKS]
        return numbered_style(len(LOOKS) + others.index(integrator), integrator)
    colour, marker, line = LOOKS[integrator]
    return {"color": colour, "linestyle": line, "marker": marker, "label": integrator}


def styles_of(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Colour, line style and marker of each label: those of `style_of` if all labels are integrators."""
    if all(label in SCHEMES for label in labels):
        return [style_of(label) for label in labels]
    return [numbered_style(k, label) for k, label in enumerate(labels)]


def numbered_style(k: int, label: str) -> dict[str, Any]:
    """Colour, line style and marker of curve number k, for matplotlib."""
    cycle = k // len(COLOURS)
    look = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[cycle % len(LINES)]}
    return {**look, "marker": MARKERS[(k + cycle) % len(MARKERS)], "label": label}
