"""Which listed pairs touched in the step before: carried from old lists to new ones, so that results do not depend on when
lists are made."""

from ..compile.kernels import inlined, internal
from ..geometry import FOUR, ONE, THREE, TWO, index
from ..state import BLOCK, CHUNK, HELD

LARGEST = index(2**64 - 1)
UNKNOWN = -1  # instead of the number of held pairs: all may have begun or ceased to touch
# Bits of a held pair, lowest first: 2 for the steps before, 32 for the candidate, 30 for the subject, counted in its block.
_SUBJECT = index(34)


@inlined
def as_number(p, first_sphere, lists):
    """Listed pair p of a block as a number whose lowest two bits are free; the numbers of a block ascend."""
    return index(lists.subject[p] - first_sphere) << _SUBJECT | index(lists.candidate[p]) << TWO


@internal
def hold_touching(block, first, lists, touching):
    """Copy the pairs of a block that touched in the step before, or began or ceased to, to `held`, if they are known."""
    if touching.count[block, HELD] == UNKNOWN:
        return
    base, last, first_sphere = index(lists.room[block]), index(lists.room[block] + lists.wanted[block]), first[block * BLOCK]
    held = base
    for p in range(base, last):
        word, bit = p // index(CHUNK), index(CHUNK - 1) - p % index(CHUNK)
        touched, changed = touching.word[FOUR * word] >> bit & ONE, touching.word[FOUR * word + ONE] >> bit & ONE
        # No unpredictable branch: each pair is written, then kept or overwritten.
        touching.held[held] = as_number(p, first_sphere, lists) | touched << ONE | changed
        held += touched | changed
    touching.count[block, HELD] = held - base


@internal
def mark_touching(block, first, lists, touching):
    """Mark the listed pairs of a block that are held."""
    base, last, first_sphere = index(lists.room[block]), index(lists.room[block] + lists.wanted[block]), first[block * BLOCK]
    k, end = base, base + index(max(touching.count[block, HELD], 0))
    held = touching.held
    held[end] = LARGEST  # there is room for it
    while base < last:
        until = min(base + index(CHUNK), last)
        touched = changed = index(0)
        for p in range(base, until):
            number = as_number(p, first_sphere, lists)
            while held[k] < number:  # that pair has moved so far away that it is not listed
                k += ONE
            # No unpredictable branch: most bits are zero.
            same = index(held[k] - number <= THREE)
            touched, changed = touched << ONE | same & held[k] >> ONE, changed << ONE | same & held[k]
            k += same
        none = base + index(CHUNK) - until
        word = FOUR * (base // index(CHUNK))
        touching.word[word], touching.word[word + ONE] = touched << none, changed << none
        base = until
