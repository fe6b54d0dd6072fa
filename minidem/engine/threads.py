"""Threads that advance one system together: each runs the same loop over the steps, on its own share of the blocks.

The caller starts the threads. They meet at barriers, which takes far less time than starting parallel loops, and kernels
are compiled once for any number of threads.
"""

from .compile.atomics import fetch_add, give_way
from .compile.kernels import inlined, internal
from .geometry import index
from .state import BLOCK

ARRIVED, TURN = 0, 8  # in Team.sync, a cache line each
_SPINS = 2000  # about 20 us of waiting before other threads may have the core


@internal
def wait_for_all(size, sync):
    """Return when `size` threads have called this."""
    turn = fetch_add(sync, TURN, 0)
    if fetch_add(sync, ARRIVED, 1) == size - 1:
        fetch_add(sync, ARRIVED, -size)
        fetch_add(sync, TURN, 1)
    else:
        spins = 0
        while fetch_add(sync, TURN, 0) == turn:
            spins += 1
            if spins > _SPINS:
                give_way()


@inlined
def barrier(team):
    """Wait until all threads are here."""
    if team.size > 1:
        wait_for_all(team.size, team.sync)


@inlined
def any_says(team, me, word):
    """Whether any thread passes a true `word`. All threads must call this, and meet a barrier before they call it again."""
    if team.size == 1:
        return word
    team.flag[me, 0] = word
    barrier(team)
    said = False
    for t in range(team.size):
        said |= team.flag[t, 0] != 0
    return said


@inlined
def share(me, team, blocks):
    """First and last + 1 of the blocks of thread `me`."""
    return blocks * me // team.size, blocks * (me + 1) // team.size


@inlined
def bodies_of(first, last, n):
    """First and last + 1 of the bodies of blocks `first` to `last`, of n bodies."""
    return index(first * BLOCK), index(min(last * BLOCK, n))
