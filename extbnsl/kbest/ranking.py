"""What ranked networks say together: ranks, ties, shares, classes, arcs.

The weight of a network is exp(-cost): its probability given the data is proportional to that where the cost is minus
the logarithm of its score, as BIC approximates it, with all networks as likely before. So a factor K between two
networks is a difference of ln K nats. A share is one of the weight of the networks that were found; what these have of
the weight of all networks there are is another matter: see posterior/networks.py.

How far above the optimum the k best networks lie is guessed, and guessed again from those that were found. All networks
within a slack are found for certain. So the k best are known as soon as there are k of them; until then the next guess
follows from how their number grows.

Two networks are equivalent if they have the same skeleton and the same v-structures: parents of a child that are not
adjacent (Verma and Pearl 1990). Under knowledge too: all networks here keep to it, and a class has the members that do.
Where variables were set from outside they also agree on each arc of which one end was set without the other (Hauser and
Bühlmann 2012). All are sets, so a sum of hashes of their members tells them apart: two sums of 64 bits. That two of a
million classes have the same sums by chance has a probability of 1e-27.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import tolerance
from extbnsl.kbest.networks import Networks
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.kernels.hashing import hashed
from extbnsl.machine.workers import unhalted


def ranks(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The ranks (m,) of networks with ascending costs: one more than there are cheaper ones. Those that cost the same,
    within the tolerance of a proof of the first of them, have the same rank."""
    found, first = np.empty(costs.size, np.int64), 0
    near = tolerance(float(costs[-1])) if costs.size else 0.0
    while first < costs.size:
        last = int(np.searchsorted(costs, costs[first] + near, side="right"))
        found[first:last] = first + 1
        first = last
    return found


def shares(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares (m,) of networks with these costs, which add up to one: as if there were no others."""
    weights = np.exp(costs.min(initial=np.inf) - costs)
    return weights / weights.sum()


def family_shares(
    networks: Networks, families: Sequence[int], weights: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Of each child the sum of the weights (m,) of the networks that have each of its so many families."""
    return [
        np.bincount(networks.rows[:, x], weights=weights, minlength=count).astype(np.float64, copy=False)
        for x, count in enumerate(families)
    ]


def arc_shares(parents: Sequence[NDArray[np.uint64]], families: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The share (n, n) of each arc, parent by child, from those of each child's families with parents[x] (m,
    words), or from their weights. It is one if no other family has a weight, and else less, however little that is."""
    n = len(parents)
    found = np.zeros((n, n))
    for x, (varsets, own) in enumerate(zip(parents, families, strict=True)):
        likely = np.flatnonzero(own)
        bits = np.unpackbits(varsets[likely].astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
        have, lack = own[likely] @ bits, own[likely] @ (1 - bits)
        found[:, x] = np.where(lack > 0.0, np.minimum(have / (have + lack), math.nextafter(1.0, 0.0)), 1.0)
    return found


FIRST = 0.5  # nats
MARGIN = 1.2  # of what is missing
LEAST_STEP, MOST_STEP = 1.1, 2.0  # by which a guess grows
FEWEST = 8  # networks from which a growth can be read


def next_slack(slack: float, above: NDArray[np.float64], wanted: int) -> float:
    """The next guess, when the networks within `slack` cost so much more than the optimum, nats in ascending order, and
    so many more than these are wanted.

    Their number grows about exponentially: by as much from here on as it did from half the slack to all of it.
    """
    half = int(np.searchsorted(above, slack / 2.0, side="right"))
    if above.size < FEWEST or half == 0 or above.size <= half:
        return MOST_STEP * slack
    growth = math.log(above.size / half) / (slack / 2.0)
    guess = slack + MARGIN * math.log(wanted / above.size) / growth
    return min(MOST_STEP * slack, max(LEAST_STEP * slack, guess))


def class_keys(
    parents: NDArray[np.uint64], halt: NDArray[np.uint8] | None = None, apart: NDArray[np.bool_] | None = None
) -> NDArray[np.uint64]:
    """A key (m, 2) uint64 of the class of each of m networks, given the parents of each child (m, n, words). halt: when
    it is set this ends early, with an answer that is good for nothing. apart (n, n): see `Targets.apart`. Time: some ns
    per pair of variables, and of parents of a child."""
    keys, n = np.zeros((parents.shape[0], 2), np.uint64), parents.shape[1]
    told = np.zeros((n, n), np.bool_) if apart is None else apart
    _fill_keys(np.ascontiguousarray(parents), told, keys, unhalted() if halt is None else halt)
    return keys


def numbered(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers (m,) from 0 on in the order in which the keys (m, 2) come first. O(m log m)."""
    order = np.lexsort(keys.T)  # is stable: of each key the first one comes first
    begins = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))[: order.size]
    first = order[begins]
    place = np.empty(first.size, np.int64)
    place[np.argsort(first)] = np.arange(first.size)
    number = np.empty(order.size, np.int64)
    number[order] = place[np.cumsum(begins) - 1]
    return number


@inlined
def _add(code, keys, i):
    """Add what tells a member of the sets to key i."""
    one = hashed(code)
    keys[i, 0] += one
    keys[i, 1] += hashed(one)


@inlined
def _has(parents, i, child, v):
    """Whether v is a parent of the child in network i."""
    return (parents[i, child, v >> 6] >> u64(v & 63)) & u64(1) != u64(0)


@njit
def _fill_keys(parents, apart, keys, halt):
    n = u64(parents.shape[1])
    own = np.empty(parents.shape[1], np.int64)
    for i in range(parents.shape[0]):
        if halt[0]:
            break
        for child in range(parents.shape[1]):
            count = 0
            for v in range(parents.shape[1]):
                if _has(parents, i, child, v):
                    own[count] = v
                    count += 1
                    _add(n * u64(min(v, child)) + u64(max(v, child)), keys, i)
                    if apart[v, child]:
                        _add(n * (n * (n + u64(1)) + u64(v)) + u64(child), keys, i)
            for a in range(count):
                for b in range(a + 1, count):
                    if not _has(parents, i, own[a], own[b]) and not _has(parents, i, own[b], own[a]):
                        _add(n * (n * (u64(child) + u64(1)) + u64(own[a])) + u64(own[b]), keys, i)
