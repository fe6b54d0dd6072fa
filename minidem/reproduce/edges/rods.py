"""Energy of 30 rods with plain and with corrected edges, against the time step."""

from ..outcome import Outcome
from ..studies import Studies
from .boxes import Box, reproduced

TITLE = "Edges of contacts: energy of the rods, plain and corrected"
BOX = Box(
    study="edge-rods",
    quick_dt=(19e-6, 38e-6, 76e-6),
    quick_seeds=3,
    quick_schemes=("spiral", "fincham-yade", "no-squish", "free-rotor"),
    fitted=(9.5e-6, 76e-6),
    at=38e-6,
    watched=(2e-5, 2.0),
    shown=("fincham-yade", "spiral", "no-squish"),
    notes=(
        "with corrected edges, curves are steep at long steps, where the edges still dominate, and bend towards the order "
        "of the rotational scheme at short ones; the share of contacts shorter than 5 steps is given for every step",
        "round-off was not measured apart: curves near 1e-11 may be limited by it",
    ),
)


def reproduce(quick: bool, studies: Studies) -> Outcome:
    """The outcome of this target; `quick`: three steps, three seeds and four schemes."""
    return reproduced(BOX, quick, studies)
