"""Shared by the figures of Seelen et al.: the two methods and a panel of angular velocities."""

from typing import Any

from ...rotor.motion import Motion
from ...views.colours import COLOURS
from ...views.styles import LINES, style_of

METHODS = ("pcdm", "pcdm-improved")
PUBLISHED_NAMES = {"pcdm": "PCDM", "pcdm-improved": "This work"}


def curve(integrator: str, **changes: Any) -> dict[str, Any]:
    """Keyword arguments of `plot` for a method: no markers, and dashes for the second since the two may coincide."""
    dashes = LINES[METHODS.index(integrator)]
    return {**style_of(integrator), "marker": "none", "linestyle": dashes, "linewidth": 1.4, **changes}


def omega_panel(axis: Any, motion: Motion) -> None:
    """Plot the components of the body-frame angular velocity of the first body."""
    for c, name in enumerate("xyz"):
        axis.plot(motion.time, motion.omega[:, c, 0], LINES[c], color=COLOURS[c], label=f"$\\omega_{name}$")
    axis.set(xlabel="time (s)", ylabel="angular velocity (rad/s)")
    axis.legend(fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.17))
