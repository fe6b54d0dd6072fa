"""Which listed pairs touched in the step before: carried from old lists to new ones, so that results do not depend on when
lists are made."""

from ..compile.kernels import inlined, internal
from ..geometry import ONE, THREE, TWO, index
from ..state import BLOCK, CHUNK

LARGEST = index(2**64 - 1)
UNKNOWN = -1  # instead of the number of held pairs: all may have begun or ceased to touch
# Bits of a held pair, lowest first: 2 for the steps before, 32 for the candidate, 30 for the subject, counted in its block.
_SUBJECT = index(34)


@inlined
def as_number(p, first_sphere, lists):
    """Listed pair p of a block as a number whose lowest two bits are free; the numbers of a block ascend."""
    return index(lists.subject[p] - first_sphere) << _SUBJECT | index(lists.candidate[p]) << TWO


@internal
def hold_touching(block, first, lists):
    """Copy the pairs of a block that touched in the step before, or began or ceased to, to lists.held, if they are known."""
    if lists.held_count[block] == UNKNOWN:
        return
    base, last, first_sphere = index(lists.room[block]), index(lists.room[block] + lists.wanted[block]), first[block * BLOCK]
    held = base
    for p in range(base, last):
        word, bit = p // index(CHUNK), index(CHUNK - 1) - p % index(CHUNK)
        touched, changed = lists.touched[word] >> bit & ONE, lists.changed[word] >> bit & ONE
        # No unpredictable branch: each pair is written, then kept or overwritten.
        lists.held[held] = as_number(p, first_sphere, lists) | touched << ONE | changed
        held += touched | changed
    lists.held_count[block] = held - base


@internal
def mark_touching(block, first, lists):
    """Mark the listed pairs of a block that are held."""
    base, last, first_sphere = index(lists.room[block]), index(lists.room[block] + lists.wanted[block]), first[block * BLOCK]
    k, end = base, base + index(max(lists.held_count[block], 0))
    held = lists.held
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
        word = base // index(CHUNK)
        lists.touched[word], lists.changed[word] = touched << none, changed << none
        base = until
