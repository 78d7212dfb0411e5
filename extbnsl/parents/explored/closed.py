"""The parent sets of a child that have been scored, found by their members: the closed list."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.kernels.hashing import first_slot, hashed, next_slot
from extbnsl.scores.penalty import grown

MISSING = np.int64(-1)
NOBODY = np.int64(-1)  # no member is left out


class Closed(NamedTuple):
    """Scored parent sets of one child by number: 0 is the empty one, 1 + p that of the candidate at place p alone.

    Room for `most` sets of at most d members. members (most, d) int32: ascending places of candidates; sizes (most,)
    int32; hashes (most,) uint64: the sum of the members'; costs, misfits (most,) float64 in nats; configurations
    (most,) float64; least (most,) float64: the least cost of the set and of its subsets that were closed before it;
    ceilings (most,) float64: a set that contains this one, and whose penalty is at least so much, is dominated, see
    explore. slots (2 most,) int32: a table of them, see `extbnsl.kernels.hashing`; count (1,)
    int64: how many there are.
    """

    members: NDArray[np.int32]
    sizes: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    costs: NDArray[np.float64]
    misfits: NDArray[np.float64]
    configurations: NDArray[np.float64]
    least: NDArray[np.float64]
    ceilings: NDArray[np.float64]
    slots: NDArray[np.int32]
    used: NDArray[np.int64]


def new_closed(most: int, parents: int) -> Closed:
    """An empty list with room for so many sets of so many parents; the system takes the memory when it is used."""
    return Closed(
        members=np.empty((most, parents), np.int32),
        sizes=np.empty(most, np.int32),
        hashes=np.empty(most, np.uint64),
        costs=np.empty(most),
        misfits=np.empty(most),
        configurations=np.empty(most),
        least=np.empty(most),
        ceilings=np.empty(most),
        slots=np.zeros(2 * most, np.int32),
        used=np.zeros(1, np.int64),
    )


def closed_bytes(parents: int) -> int:
    """Memory of each set in a list of sets of so many parents, at most."""
    return 4 * parents + 4 + 8 * 6 + 16


@inlined
def place_hash(place):
    """A 64-bit hash of a candidate's place."""
    return hashed(u64(place))


@inlined
def joined(configurations, place, candidates):
    """The configurations of a set with the candidate at a place in addition."""
    return grown(configurations, candidates.arities[place]) + candidates.step


@inlined
def join(base, size, place, more):
    """more = the first `size` places of `base`, ascending, and another; returns whether it was another."""
    k = size
    while k and base[k - 1] > place:
        more[k] = base[k - 1]
        k -= 1
    more[k] = place
    for i in range(k):
        more[i] = base[i]
    return k == 0 or base[k - 1] != place


@inlined
def _is_without(number, members, size, left_out, closed):
    """Whether the set of this number is members[:size] without the one at left_out."""
    same = closed.sizes[number] == (size if left_out == NOBODY else size - 1)
    k = 0
    while same and k < closed.sizes[number]:
        same = closed.members[number, k] == members[k + (left_out != NOBODY and k >= left_out)]
        k += 1
    return same


@inlined
def find(hash_, members, size, left_out, closed):
    """The number of the set of this hash, members[:size] without the one at left_out; MISSING if it is not closed."""
    at = first_slot(hash_, closed.slots)
    while closed.slots[at]:
        number = np.int64(closed.slots[at] - 1)
        if closed.hashes[number] == hash_ and _is_without(number, members, size, left_out, closed):
            return number
        at = next_slot(at, closed.slots)
    return MISSING


@inner
def insert(hash_, members, size, misfit, penalty, configurations, closed):
    """Close members[:size], for which there is room and which is not there; returns its number. What follows from its
    subsets, `least` and `ceilings`, is its cost."""
    number = closed.used[0]
    closed.used[0] += 1
    for k in range(size):
        closed.members[number, k] = members[k]
    closed.sizes[number] = size
    closed.hashes[number] = hash_
    closed.misfits[number] = misfit
    closed.configurations[number] = configurations
    closed.costs[number] = closed.least[number] = closed.ceilings[number] = misfit + penalty
    at = first_slot(hash_, closed.slots)
    while closed.slots[at]:
        at = next_slot(at, closed.slots)
    closed.slots[at] = number + 1
    return number


@inlined
def _has_better_subset(number, closed):
    """Whether a proper subset of the set that is closed costs no more. The walk over all subsets is that of a Gray
    code: each step adds or drops one member."""
    size, members = np.int64(closed.sizes[number]), closed.members[number]
    subset = np.empty(size, np.int32)
    inside, hash_ = (1 << size) - 1, closed.hashes[number]
    for step in range(1, 1 << size):
        changed = np.int64(lowest(u64(step)))
        inside ^= 1 << changed
        own = place_hash(members[changed])
        hash_ += own if (inside >> changed) & 1 else u64(0) - own
        m = np.int64(0)
        for k in range(size):
            if (inside >> k) & 1:
                subset[m] = members[k]
                m += 1
        found = find(hash_, subset, m, NOBODY, closed)
        if found != MISSING and closed.costs[found] <= closed.costs[number]:
            return True
    return False


@njit
def undominated(closed, halt):
    """The numbers of the sets that cost less than each of their closed subsets: int64, ascending.

    O(2^size) look-ups for each set that costs less than those with one member less. Once halt[0] is set these are the
    only subsets that are looked at, as they are known.
    """
    closed, halt = borrowed((closed, halt))
    found = np.empty(closed.used[0], np.int64)
    kept = 0
    for number in range(closed.used[0]):
        least = closed.least[number] == closed.costs[number]
        if least and (halt[0] or not _has_better_subset(number, closed)):
            found[kept] = number
            kept += 1
    return found[:kept]
