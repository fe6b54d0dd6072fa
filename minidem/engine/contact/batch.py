"""A batch of contacts: up to CONTACTS touching pairs whose forces are found together, in vector lanes.

`batch` and `pair` (see state.Team) have rows of CONTACTS numbers, side by side in one array: one base pointer; rows cannot
alias. The first four rows of `batch` hold four numbers for each contact: the vector from the other centre (m), and minus
the reach (m), which is the distance below which the two touch; for two spheres it is the sum of the radii.
"""

from ..geometry import index
from ..state import CONTACTS

RADII = index(4 * CONTACTS)  # effective radius R* times reach, m^2: R1 R2 for two spheres
CONSTANT = index(5 * CONTACTS)  # of the law, for the two materials
FORCE = CONSTANT  # over the distance, N/m, in place of the constant
ENERGY = index(6 * CONTACTS)  # J
ROWS = 7

FIRST, SECOND = index(0), index(CONTACTS)  # in `pair`: the two spheres; the second may be a wall
SLOT = index(2 * CONTACTS)  # where in the block's forces the second sphere is
PAIR_ROWS = 3
