"""Count the networks of a piece that cost less than a limit, without finding each of them.

The walk that lists networks (`walk.py`) goes through states: what is left of the varset, and what of that is bound.
What comes after a state does not depend on what has gone before, and many beginnings of walks lead to the same state.
So beginnings and endings are listed apart and meet: an ending fits the cheapest beginnings of its state, up to the one
with which it costs as much as the limit.

Every network has a weight, exp(base - cost). The same steps add up the weights by family: an ending has that of all
beginnings that fit it, and the other way round.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kbest.ledger import Arrays, as_kept
from extbnsl.kbest.walk import Rest, Walk, WalkFamilies, have_children, new_walk, next_child, rest_cost, walk_from
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.machine.workers import Stopped, Workers

MOST_MEETINGS = 1 << 19  # of beginnings, each with what is outside
BLOCKS = 64  # of states, whose endings are found side by side
FAR_STEPS = 1 << 25  # of each block that hands go on with
STEPS = 1 << 22  # of each block between two looks at the stop signal: some tenths of a second


class Beginnings(NamedTuple):
    """Beginnings of walks that have come equally far: left, bound (m,) uint64, gone (m,) float64: the cost of what has
    gone; before (m,) int32: the one, a step shorter, that each goes on from; row (m,) int32: the family that has gone
    last."""

    left: NDArray[np.uint64]
    bound: NDArray[np.uint64]
    gone: NDArray[np.float64]
    before: NDArray[np.int32]
    row: NDArray[np.int32]


class Meetings(NamedTuple):
    """Beginnings with what is outside, by state: left, bound (s,) uint64; rest (s,) float64: what the best ending
    costs; those of state i are first[i]:first[i + 1] of costs (m,) float64, ascending; beginning, outside (m,) int64:
    which they are; weights (m,) float64: as if the best ending came after it, added up from the first one of the state.
    """

    left: NDArray[np.uint64]
    bound: NDArray[np.uint64]
    rest: NDArray[np.float64]
    first: NDArray[np.int64]
    costs: NDArray[np.float64]
    beginning: NDArray[np.int64]
    outside: NDArray[np.int64]
    weights: NDArray[np.float64]


class Endings(NamedTuple):
    """How far the endings of a block of states have come: states (2,) int64: the one that is next or under way, and the
    end; sums (n + 1,) float64: by depth the weights found there; networks (1,) int64; families (f,) float64: weights of
    the families that have gone last; meetings (m,) float64: of all blocks, those of the own states: while a state is
    under way, the weights of the endings that fit this one as the last; then the weight of each."""

    states: NDArray[np.int64]
    sums: NDArray[np.float64]
    networks: NDArray[np.int64]
    families: NDArray[np.float64]
    meetings: NDArray[np.float64]


class Sums(NamedTuple):
    """What networks add up to: how many; families (f,) and outside (o,) float64: the weights of those that have it."""

    networks: int
    families: NDArray[np.float64]
    outside: NDArray[np.float64]


class HalvedPiece(NamedTuple):
    """The networks of which piece: its families and what a search has left; outside (o,) float64 ascending: what all
    that is outside of it costs, in each of o ways; limit: what a network costs less than, with what is outside; base:
    of the weights."""

    families: WalkFamilies
    rest: Rest
    outside: NDArray[np.float64]
    limit: float
    base: float


Keep = Callable[[Callable[[], Arrays], int], None]  # what is known so far, as arrays, and how many networks they are


def sums_below(asked: HalvedPiece, workers: Workers, begun: Arrays, keep: Keep) -> Sums:
    """What the networks of a piece add up to. begun: what was given to `keep` last, in this process or before; empty at
    first. Memory: some 100 bytes for each of MOST_MEETINGS, or of the ways outside, if these are more; and 8 for each
    step to a beginning.

    Raises Stopped, and RunDirectoryError if nothing like it has been given to `keep`.
    """
    last, steps = workers.run(_beginnings, asked, workers.halt)
    met = _meetings(last, asked)
    state = _nothing_found(met, asked)
    if begun:
        with as_kept():
            _check_state(begun, state, met, asked)
            state = {name: begun[name].copy() for name in state}

    def so_far() -> Arrays:
        return state

    def end_on(walk: Walk, own: Endings) -> None:
        _end_on(walk, own, met, asked, STEPS, workers.halt)

    workers.keep((*met, *asked.families, *asked.rest))
    while ((state["depth"][:, 0] >= 0) | (state["all-states"][:, 0] < state["all-states"][:, 1])).any():
        trial = {name: array.copy() for name, array in state.items()}
        blocks = [_block(trial, i) for i in range(len(trial["depth"]))]
        try:
            if workers.hands is None:
                workers.map(end_on, blocks)
            else:
                _end_on_by_hands(blocks, met, asked, workers)
        except Stopped as stop:
            state = state if stop.deaf else trial  # a kernel may still be at work on its trial
            raise
        state = trial
        keep(so_far, int(state["all-networks"].sum()))
        workers.check()
    families, weights = state["all-families"].sum(axis=0), state["all-meetings"]
    outside = by_number(met.outside, weights, asked.outside.size)
    weights = by_number(met.beginning, weights, last.gone.size)
    for before, row in reversed(steps):
        families += by_number(row, weights, families.size)
        weights = by_number(before, weights, int(before.max(initial=0)) + 1)
    return Sums(int(state["all-networks"].sum()), families, outside)


def _end_on_by_hands(blocks: list[tuple[Walk, Endings]], met: Meetings, asked: HalvedPiece, workers: Workers) -> None:
    """Let hands go on with blocks, as far as it comes before a stop, in steps that last some seconds."""
    own = [(walk, ends, met.first[ends.states]) for walk, ends in blocks]
    tasks = [
        (i, walk, ends._replace(meetings=ends.meetings[lo:hi]), lo, met, asked, workers.halt)
        for i, (walk, ends, (lo, hi)) in enumerate(own)
        if walk.depth[0] >= 0 or ends.states[0] < ends.states[1]
    ]
    for i, walk, ends in workers.spread(ended_on, tasks, len(tasks), ordered=False):
        before, (lo, hi) = blocks[i], own[i][2]
        kept = *before[0], *before[1][:-1], before[1].meetings[lo:hi]
        array: Any
        for array, found in zip(kept, (*walk, *ends), strict=True):
            array[...] = found


def ended_on(
    i: int, walk: Walk, own: Endings, lo: int, met: Meetings, asked: HalvedPiece, halt: NDArray[np.uint8]
) -> tuple[int, Walk, Endings]:
    """Block i when it has gone on; of the meetings it has, and returns, those from `lo` on that its states have."""
    walk, own = Walk._make(array.copy() for array in walk), Endings._make(array.copy() for array in own)
    meetings = np.zeros(met.costs.size)
    some = slice(lo, lo + own.meetings.size)
    meetings[some] = own.meetings
    _end_on(walk, own._replace(meetings=meetings), met, asked, FAR_STEPS, halt)
    return i, walk, own._replace(meetings=meetings[some])


def by_number(numbers: NDArray[Any], weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The sums of the weights (m,) that go with each of so many numbers (m,)."""
    return np.bincount(numbers, weights, minlength=count).astype(np.float64, copy=False)


def _beginnings(
    asked: HalvedPiece, halt: NDArray[np.uint8]
) -> tuple[Beginnings, list[tuple[NDArray[np.int32], NDArray[np.int32]]]]:
    """The beginnings of walks that have come as far as there are not too many of them, and at least one variable is
    left; and the steps to them: `before` and `row` of each. Of no use once halt[0] is set."""
    n, limit = asked.families.first.size - 1, asked.limit - asked.outside[0]
    most, steps = max(1, MOST_MEETINGS // asked.outside.size), list[tuple[NDArray[np.int32], NDArray[np.int32]]]()
    room = Beginnings(
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
    )
    level = Beginnings._make(np.zeros(1, column.dtype) for column in room)
    level.left[0] = 2**n - 1
    while len(steps) + 1 < n:
        written = _further(level, asked.families, asked.rest, limit, room, halt)
        if written > most or halt[0]:
            break
        level = Beginnings._make(column[:written].copy() for column in room)
        steps.append((level.before, level.row))
    return level, steps


@njit
def _further(level, families, rest, limit, found, halt):
    """The beginnings with one more variable gone; how many there are, or one more than fit. Ends early when halt[0] is
    set."""
    families, rest, found, halt = borrowed((families, rest, found, halt))
    written = 0
    for i in range(level.left.size):
        free = level.left[i] & ~level.bound[i]
        for x in range(families.first.size - 1):
            if not (free >> u64(x)) & u64(1):
                continue
            if halt[0]:
                return written
            left = level.left[i] ^ (u64(1) << u64(x))
            others = level.gone[i] + rest_cost(left, rest)
            larger = left & ~((u64(2) << u64(x)) - u64(1))
            for row in range(families.first[x], families.first[x + 1]):
                if others + families.costs[row] >= limit:
                    break
                parents = families.parents[row]
                bound = (level.bound[i] | larger) & ~parents
                if parents & ~left or bound == left or not have_children(bound, left, families.children):
                    continue
                if written == found.left.size:
                    return written + 1
                found.left[written], found.bound[written] = left, bound
                found.gone[written] = level.gone[i] + families.costs[row]
                found.before[written], found.row[written] = i, row
                written += 1
    return written


def _meetings(level: Beginnings, asked: HalvedPiece) -> Meetings:
    """The beginnings with all that is outside and leaves them room below the limit, by state."""
    rest = _rest_costs(level.left, asked.rest)
    fit = np.searchsorted(asked.outside, asked.limit - rest - level.gone)
    beginning = np.repeat(np.arange(fit.size), fit)
    outside = np.arange(beginning.size) - np.repeat(np.cumsum(fit) - fit, fit)
    costs = level.gone[beginning] + asked.outside[outside]
    order = np.lexsort((costs, level.bound[beginning], level.left[beginning]))
    beginning, outside, costs = beginning[order], outside[order], costs[order]
    left, bound = level.left[beginning], level.bound[beginning]
    new = np.flatnonzero((np.diff(left, prepend=~left[:1]) != 0) | (np.diff(bound, prepend=bound[:1]) != 0))
    first = np.append(new, costs.size)
    rest = rest[beginning[new]]
    weights = _added_up(costs, first, asked.base - rest)
    return Meetings(left[new], bound[new], rest, first, costs, beginning, outside, weights)


@njit
def _rest_costs(varsets, rest):
    varsets, rest = borrowed((varsets, rest))
    costs = np.empty(varsets.size)
    for i in range(varsets.size):
        costs[i] = rest_cost(varsets[i], rest)
    return costs


@njit
def _added_up(costs, first, bases):
    """The sums of exp(base - cost) from the first of each state on."""
    sums = np.empty(costs.size)
    for state in range(first.size - 1):
        total = 0.0
        for i in range(first[state], first[state + 1]):
            total += np.exp(bases[state] - costs[i])
            sums[i] = total
    return sums


def _nothing_found(met: Meetings, asked: HalvedPiece) -> dict[str, NDArray[Any]]:
    """Where blocks of states with about as many beginnings each stand of which nothing is known: the arrays of walks
    and endings, with a row for each block, and the weights of meetings, which all share."""
    states, n = met.left.size, asked.families.first.size - 1
    ends = np.searchsorted(met.first, np.linspace(0, met.costs.size, min(BLOCKS, states) + 1)[1:-1])
    edges = np.array([0, *ends, states])
    blocks = edges.size - 1
    state = {name: np.repeat(array[None], blocks, axis=0) for name, array in new_walk(n)._asdict().items()}
    state["depth"][:] = -1
    return state | {
        "all-states": np.column_stack((edges[:-1], edges[1:])),
        "all-sums": np.zeros((blocks, n + 1)),
        "all-networks": np.zeros((blocks, 1), np.int64),
        "all-families": np.zeros((blocks, asked.families.costs.size)),
        "all-meetings": np.zeros(met.costs.size),
    }


def _block(state: Arrays, i: int) -> tuple[Walk, Endings]:
    """A block; what is written to its arrays is in the state."""
    own = [state[f"all-{name}"][i] for name in Endings._fields[:-1]]
    return Walk._make(state[name][i] for name in Walk._fields), Endings._make([*own, state["all-meetings"]])


def _check_state(begun: Arrays, new: Arrays, met: Meetings, asked: HalvedPiece) -> None:
    """Assert that kernels can go on from a state, where `new` is one of which nothing is known; KeyError if arrays are
    missing."""
    for name, array in new.items():
        assert begun[name].dtype == array.dtype, "arrays of walks and endings"
        assert begun[name].shape == array.shape, "arrays of so many blocks"
        assert name in Walk._fields or (begun[name] >= 0).all(), "weights and numbers"
    for i, (first, last) in enumerate(new["all-states"].tolist()):
        at, end = begun["all-states"][i].tolist()
        assert first <= at <= end == last, "states of the block"
        under_way = begun["depth"][i, 0] >= 0
        assert at < end or not under_way, "a state is under way"
        own = {name: begun[name][i] for name in Walk._fields}
        walk_from(own, asked.families, met.left[at] if under_way else None)


@njit
def _end_on(walk, own, met, asked, steps, halt):
    """Find the next endings of a block, until it is over, so many steps have been made or halt[0] is set."""
    walk, own, met, asked, halt = borrowed((walk, own, met, asked, halt))
    end = walk.steps[0] + steps
    while walk.steps[0] < end and not halt[0]:
        state = own.states[0]
        if walk.depth[0] < 0:
            if state == own.states[1]:
                return
            _begin(walk, own, met, state)
        _walk_on(walk, own, met, asked, state, end, halt)
        if walk.depth[0] < 0:
            _weigh(own.meetings, met, state, asked.base)
            own.states[0] += 1


@inner
def _begin(walk, own, met, state):
    """Let the walk begin at a state."""
    walk.depth[0], walk.left[0], walk.bound[0], walk.gone[0] = 0, met.left[state], met.bound[state], 0.0
    walk.child[0], walk.row[0], walk.others[0] = walk.rows.size, 0, np.inf
    own.sums[0] = 0.0


@inner
def _walk_on(walk, own, met, asked, state, end, halt):
    """Find the endings of a state, until the walk is over, it has come to its `end` in steps or halt[0] is set."""
    families, n = asked.families, walk.rows.size
    first, last = met.first[state], met.first[state + 1]
    limit = asked.limit - met.costs[first]
    depth = walk.depth[0]
    while depth >= 0 and walk.steps[0] < end and not halt[0]:
        walk.steps[0] += 1
        x = walk.child[depth]
        row = walk.row[depth]
        if x == n or row == families.first[x + 1] or walk.others[depth] + families.costs[row] >= limit:
            if not next_child(depth, limit, families, asked.rest, walk):
                depth -= 1
                if depth >= 0:
                    own.families[walk.row[depth] - 1] += own.sums[depth + 1]
                    own.sums[depth] += own.sums[depth + 1]
            continue
        walk.row[depth] += 1
        left = walk.left[depth] ^ (u64(1) << u64(x))
        parents = families.parents[row]
        if parents & ~left:
            continue
        gone = walk.gone[depth] + families.costs[row]
        larger = left & ~((u64(2) << u64(x)) - u64(1))
        bound = (walk.bound[depth] | larger) & ~parents
        if left == u64(0):
            fitting = max(first, first + np.searchsorted(met.costs[first:last], asked.limit - gone) - 1)
            weight = np.exp(met.rest[state] - gone)
            own.networks[0] += fitting + 1 - first
            own.meetings[fitting] += weight
            own.families[row] += weight * met.weights[fitting]
            own.sums[depth] += weight * met.weights[fitting]
        elif bound != left and have_children(bound, left, families.children):
            depth += 1
            walk.left[depth], walk.bound[depth], walk.gone[depth] = left, bound, gone
            walk.child[depth], walk.row[depth], walk.others[depth] = n, 0, np.inf
            own.sums[depth] = 0.0
    walk.depth[0] = depth


@inner
def _weigh(weights, met, state, base):
    """From the weights of endings that fit up to some beginning, the weight of each of the beginnings."""
    total = 0.0
    for i in range(met.first[state + 1] - 1, met.first[state] - 1, -1):
        total += weights[i]
        weights[i] = total * np.exp(base - met.rest[state] - met.costs[i])
