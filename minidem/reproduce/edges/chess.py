"""Energy of the chess box with plain and with corrected edges, against the time step."""

from ..outcome import Outcome
from ..studies import Studies
from .boxes import Box, reproduced

TITLE = "Edges of contacts: energy of the chess box, plain and corrected"
BOX = Box(
    study="edge-chess",
    quick_dt=(1.61e-6, 2.80e-6, 4.85e-6),
    quick_seeds=3,
    quick_schemes=("spiral", "fincham-yade", "no-squish", "free-rotor"),
    fitted=(9.31e-7, 4.85e-6),
    at=2.80e-6,
    watched=(2e-6, 1.0),
    shown=("fincham-yade", "spiral", "no-squish"),
    notes=(
        "with corrected edges, curves are steep at long steps, where the edges still dominate, and bend towards the order "
        "of the rotational scheme at short ones; the share of contacts shorter than 5 steps is given for every step",
    ),
)


def reproduce(quick: bool, studies: Studies) -> Outcome:
    """The outcome of this target; `quick`: three steps, three seeds and four schemes."""
    return reproduced(BOX, quick, studies)
