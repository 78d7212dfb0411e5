"""Sums over all networks, each counted once: their weight, and the probability of every family.

The weight of a network is exp(-cost). What is summed is in inclusion.py. It takes 3^n steps for n variables that can
lie on cycles together: no cycle leaves a strongly connected component of the relation 'may be a parent of', so the
components are summed one by one, with the families of a child that have the same members inside as one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import Misfit, Whole
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import StageAdvanced
from extbnsl.core.figures import format_size
from extbnsl.files.shelf import Shelf
from extbnsl.kernels.varsets import renumber, unpack
from extbnsl.machine.workers import Workers, chunks
from extbnsl.parents.components import strongly_connected
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.families import add_outside, weigh_inside
from extbnsl.posteriors.inclusion import FEW, MOST_RANGE, Block, complete, gather, pass_on
from extbnsl.posteriors.lanes import LANES, LOW
from extbnsl.posteriors.wide import LOWEST, Wide, log_of, wide_of_logs
from extbnsl.scores.local import LocalScores

STAGE = "sums"
MOST_VARIABLES = 26  # of a component
LARGE = 17  # variables of a block, but for the largest components
MOST_TOPS = 6  # variables that tell blocks apart
MOST_KEYS = 3  # variables whose choice tells tasks apart that pass on to different varsets
NANOSECONDS, BLOCK_NANOSECONDS = 30.0, 30.0  # of a pair of rows; of a varset and child
ROWS = 1 << 20  # about so many rows that a task goes over
TOGETHER = 512  # rows of a block that pass on what they have together
ROUND_OFF = 2.0**-53
MOST_ERROR = 1e-3  # of the weight, relative
MOST_SECONDS = 2.0


@dataclass(frozen=True)
class Part:
    """A component, with company that never has a parent, nor is one, for lanes that no variable of it can be.

    variables: of the whole, in the order in which they are looked at; -1 for company. For each of them the parent sets
    inside the component, uint64 over positions in `variables`, in the order of its families; their weights over one
    that is the same for all, and the logarithm of that: the heaviest, or of lanes one in the middle. repeats: how often
    a child has the same set at most.
    """

    variables: tuple[int, ...]
    varsets: tuple[NDArray[np.uint64], ...]
    weights: tuple[Wide, ...]
    logs: tuple[float, ...]
    repeats: int

    @property
    def size(self) -> int:
        return len(self.variables)

    @property
    def children(self) -> list[tuple[int, int]]:
        """The place of each variable that is no company, and which it is of the whole."""
        return [(place, x) for place, x in enumerate(self.variables) if x >= 0]


@dataclass(frozen=True)
class NetworkSums:
    """How far the sums over all networks are; immutable.

    done: how many components are. blocks: how many blocks of the next one have been gone over, first each to know the
    weights of completions, then each in turn to pass probabilities on. logs: of each component done, the logarithm of
    the weight of its networks. errors: what rounding can have changed them by at most, relative, to first order; the
    last is of the component that is on. completions: of each component that is begun, the weights of completions, of
    those of the last from the blocks on that are known. masses: q of the blocks still to be passed on. families: of
    each child, in the order of the scores, what is known of the probability of each family.
    """

    engine: ClassVar[str] = "networks"
    ignored: ClassVar[float] = 0.0

    done: Whole
    blocks: Whole
    logs: tuple[float, ...]
    errors: tuple[float, ...]
    completions: tuple[Wide, ...]
    masses: NDArray[np.float64]
    families: tuple[NDArray[np.float64], ...]

    def check(self, scores: LocalScores, parts: "Sequence[Part]") -> None:
        """Raise Misfit unless it is of these scores and components: kernels take the arrays as they are."""
        begun = self.done + (self.blocks > 0)
        sizes = [1 << part.size for part in parts[:begun]]
        fits = (
            begun <= len(parts) and len(self.logs) == self.done and len(self.errors) == len(self.completions) == begun
        )
        fits = fits and [[own.size for own in table] for table in self.completions] == [[s, s // LANES] for s in sizes]
        fits = fits and [own.size for own in self.families] == [costs.size for costs in scores.costs]
        left = 0
        if fits and self.blocks:
            blocks = 1 << _tops(parts[self.done].size)
            fits = self.blocks < 2 * blocks
            left = (2 * blocks - self.blocks) * sizes[-1] // blocks if self.blocks > blocks else 0
        if not fits or self.masses.size != left:
            raise Misfit("sums")

    @property
    def answers(self) -> bool:
        """Whether all components are done: no child of others has a probability yet."""
        return self.blocks == 0 and all(own.any() for own in self.families)

    @property
    def log_weight(self) -> float:
        """ln of the weight of all networks, of the components that are done."""
        return math.fsum(self.logs)

    @property
    def error(self) -> float:
        """How much of the weight, relative, rounding can have changed at most, to first order."""
        return math.fsum(self.errors)


def parts_of(scores: LocalScores) -> tuple[Part, ...]:
    """The components of the families, each after all from which it may have parents."""
    candidates = [unpack(np.bitwise_or.reduce(p, axis=0)) for p in scores.parents]
    return tuple(_part(own, scores) for own in strongly_connected(candidates))


def _part(members: tuple[int, ...], scores: LocalScores) -> Part:
    ranges = {x: _range(scores.parents[x], scores.costs[x]) for x in members}
    order = sorted(members, key=lambda x: (ranges[x], x))
    lanes = [x for k, x in enumerate(order[:LOW]) if math.fsum(ranges[y] for y in order[: k + 1]) <= MOST_RANGE]
    variables = (*lanes, *[-1] * (LOW - len(lanes)), *(x for x in members if x not in lanes))
    position = np.full(scores.variables, -1, np.int64)
    for place, x in enumerate(variables):
        if x >= 0:
            position[x] = place
    alone = np.zeros(1, np.uint64), (np.ones(1), np.zeros(1, np.int32)), 0.0
    own = [alone if x < 0 else _families(scores, x, position, ranges[x] if x in lanes else 0.0) for x in variables]
    varsets, weights, logs = zip(*own, strict=True)
    whole = len(members) == scores.variables  # then nothing has been cut off
    repeats = 1 if whole else max(int(np.unique(v, return_counts=True)[1].max()) for v in varsets)
    return Part(variables, varsets, weights, logs, repeats)


def _range(parents: NDArray[np.uint64], costs: NDArray[np.float64]) -> float:
    """How much all families weigh over those without parents, its logarithm; infinite if there is none."""
    empty = _empty(parents)
    return math.inf if empty is None else float(costs[empty] + np.logaddexp.reduce(-costs))


def _empty(parents: NDArray[np.uint64]) -> int | None:
    """The row of the empty set, if it is there."""
    found = np.flatnonzero(~parents.any(axis=1))
    return int(found[0]) if found.size else None


def _families(
    scores: LocalScores, x: int, position: NDArray[np.int64], whole: float
) -> tuple[NDArray[np.uint64], Wide, float]:
    """Those of a child as a part has them: what lies outside it has no position. whole: the range of a lane."""
    inside, costs = position[position >= 0], scores.costs[x]
    varsets = renumber(scores.parents[x], position, int(inside.max(initial=0)) + 1)[:, 0]
    unit = float(costs[_empty(scores.parents[x])] - 0.5 * whole) if whole else float(costs[0])
    return varsets, wide_of_logs(unit - costs), -unit


def sum_over_networks(scores: LocalScores, means: Means, begun: NetworkSums | None = None) -> Iterator[NetworkSums]:
    """The weight of all networks and the probability of each family; states, the last of which has all of it.

    The error of the weight: what rounding changes of H(U), relative, changes the whole by q(U) of it, the probability
    that no arc leads into U from outside; and it is at most the sum of the absolute terms of H(U) times what one term
    can be off. So the sum of q(U) sum |p(S)|, times that, is a bound, to first order.

    Goes on from `begun`, with the same result to the last bit. The observer hears of STAGE. Raises Stopped as the
    workers do; InputError if a component has too many variables, BudgetError if there is too little room, and Misfit if
    `begun` is not of these scores.
    """
    parts = parts_of(scores)
    for part in parts:
        _check(part, means.shelf)
    if begun is not None:
        begun.check(scores, parts)
    total, gone = sum(_steps(part.size) for part in parts), 0
    known = begun or NetworkSums(0, 0, (), (), (), np.zeros(0), tuple(np.zeros(own.size) for own in scores.costs))
    for number, part in enumerate(parts):
        if number >= known.done:
            sums = _Sums(part, means)
            for state in _sum_over_part(sums, known):
                known = state
                steps = gone + (sums.steps(known.blocks) if known.done == number else _steps(part.size))
                means.observer(StageAdvanced(STAGE, steps, total, ""))
                yield known
        gone += _steps(part.size)


def can_be_summed(scores: LocalScores) -> bool:
    """Whether no component has too many variables."""
    return all(part.size <= MOST_VARIABLES for part in parts_of(scores))


def most_bytes(scores: LocalScores) -> int:
    """The most memory that a component takes."""
    return max(bytes_needed(part.size) for part in parts_of(scores))


def _check(part: Part, shelf: Shelf) -> None:
    """Raise InputError for a component that is too large, and BudgetError if there is no room for it."""
    size = len(part.children)
    if part.size > MOST_VARIABLES:
        raise InputError(
            f"{size} variables may lie on cycles together; sums over all networks, each counted once, are for at most "
            f"{MOST_VARIABLES}."
        )
    if not shelf.fits(bytes_needed(part.size)):
        raise BudgetError(
            f"Sums over all networks of {size} variables take {format_size(bytes_needed(part.size))}: give more memory."
        )


def _steps(size: int) -> int:
    """The steps for a component, of which passing on takes three where completions take one."""
    return 4 * 3 ** (size - LOW)


def bytes_needed(size: int) -> int:
    """The most memory for a component of so many variables, company included."""
    rows = size - LOW - _tops(size)
    block = 2 * 12 * size * (LANES << rows)
    return (25 << size) + block + (min(TOGETHER, 1 << rows) * (size + 2) << MOST_KEYS) * 8 * LANES


def seconds_needed(size: int) -> float:
    """About how long one thread takes for a component of so many variables."""
    return NANOSECONDS * 1e-9 * 3 ** (size - LOW) + BLOCK_NANOSECONDS * 1e-9 * size * (1 << size)


def _tops(size: int) -> int:
    """How many variables tell blocks apart."""
    return min(MOST_TOPS, max(0, size - LARGE))


def log_weight(scores: LocalScores, means: Means) -> tuple[float, float] | None:
    """Between which values the logarithm of the sum of exp(-cost) over all networks with these families lies; None if
    it takes more than some MOST_SECONDS, or as `log_between`. Raises as `sum_over_networks` does."""
    if sum(seconds_needed(part.size) for part in parts_of(scores)) > MOST_SECONDS:
        return None
    *_, last = sum_over_networks(scores, means)
    return log_between(last)


def log_between(sums: NetworkSums) -> tuple[float, float] | None:
    """Between which values the logarithm of the weight lies, of sums that are done; None if rounding may leave too
    little of it, more than MOST_ERROR of it being in doubt."""
    if sums.error > MOST_ERROR:
        return None
    return sums.log_weight + math.log1p(-sums.error), sums.log_weight + math.log1p(sums.error)


class _Sums:
    """The sums of one component."""

    def __init__(self, part: Part, means: Means) -> None:
        self.part, self.means = part, means
        self.families = [*zip(part.varsets, part.weights, strict=True)]
        self.n = len(self.families)
        self.tops = _tops(self.n)
        self.rows = self.n - LOW - self.tops
        self.blocks = 1 << self.tops
        middles = np.arange(1 << self.rows)
        order = np.argsort(np.bitwise_count(middles), kind="stable")
        cuts = np.cumsum([math.comb(self.rows, size) for size in range(self.rows)])
        self.layers = np.split(middles[order], cuts)

    @property
    def workers(self) -> Workers:
        return self.means.workers

    @property
    def block_size(self) -> int:
        return LANES << self.rows

    def steps(self, blocks: int) -> int:
        """Those gone over with so many blocks."""
        free = [1 << self.tops - top.bit_count() for top in range(self.blocks)]
        passed = max(0, blocks - self.blocks)
        return 3**self.rows * (sum(free[self.blocks - min(blocks, self.blocks) :]) + 3 * sum(free[:passed]))

    def block(self, top: int) -> Block:
        """A block with what its families weigh."""
        weights, scales = np.empty((self.n, self.block_size)), np.empty((self.n, self.block_size), np.int32)
        self.workers.map(
            weigh_inside,
            (
                (varsets, own, np.uint64(top * self.block_size), (weights[x], scales[x]))
                for x, (varsets, own) in enumerate(self.families)
            ),
        )
        return Block(top, self.rows, self.n - LOW, weights, scales)

    def complete(self, top: int, whole: Wide) -> Wide:
        """The weights of completions of a block, when those of larger ones are known."""
        block = self.block(top)
        own = np.zeros(self.block_size), np.full(self.block_size // LANES, LOWEST, np.int32)
        free = self.tops - top.bit_count()
        for layer in reversed(self.layers):
            size = int(layer[0]).bit_count()
            many = max(1, ROWS >> (free + self.rows - size))
            tasks = ((block, layer[lo:hi], own, whole, self.workers.halt) for lo, hi in chunks(layer.size, many))
            self.workers.map(complete, tasks)
        self.workers.check()
        return own

    def pass_on(self, top: int, whole: Wide, masses: NDArray[np.float64]) -> tuple[Wide, float]:
        """Pass on the masses of a block. What `gather` makes of it."""
        block, error = self.block(top), 0.0
        found = np.empty((self.n, self.block_size)), np.empty((self.n, self.block_size), np.int32)
        keys = 1 << min(MOST_KEYS, max(0, self.tops - top.bit_count() - 1))
        for layer in self.layers:
            for lo, hi in chunks(layer.size, TOGETHER):
                flows = np.zeros((keys, hi - lo, self.n + 2, LANES))
                self.workers.map(
                    pass_on,
                    (
                        (block, layer[lo:hi], key, keys, whole, masses, flows[key], self.workers.halt)
                        for key in range(keys)
                    ),
                )
                error += gather(block, layer[lo:hi], flows, found)
        self.workers.check()
        return found, error

    def add_families(self, top: int, found: Wide, totals: Sequence[NDArray[np.float64]]) -> None:
        """Add to the probability of each family that of the varsets of a block that it lies inside of."""
        self.workers.map(
            add_outside,
            (
                (varsets, own, np.uint64(top * self.block_size), (found[0][x], found[1][x]), totals[x])
                for x, (varsets, own) in enumerate(self.families)
            ),
        )

    @property
    def rounding(self) -> float:
        """How much of a term of H(U) rounding can change at most, to first order, relative.

        alpha goes through an addition for each family that falls in the same place, and one for each variable that all
        places of a block do not share. A term has up to n of them as factors, with a multiplication each, and a few
        more; it is added to 2^FEW others, and with these pair by pair to the others. Weights are as exact as given.
        """
        additions = self.part.repeats * self.blocks + self.rows + LOW
        return ROUND_OFF * (self.n * (additions + 1) + (1 << FEW) + self.n + 2 * LANES)


def _sum_over_part(sums: _Sums, state: NetworkSums) -> Iterator[NetworkSums]:
    """The states of a component."""
    shelf, size = sums.means.shelf, sums.blocks * sums.block_size
    if state.blocks == 0:
        state = replace(state, errors=(*state.errors, 0.0))
    if state.blocks < sums.blocks:
        columns = shelf.column((size,), np.float64), shelf.column((size // LANES,), np.int32)
        known = state.blocks * sums.block_size
        for before in state.completions[state.done :]:
            columns[0].fill(size - known, before[0][before[0].size - known :])
            columns[1].fill((size - known) // LANES, before[1][before[1].size - known // LANES :])
        table: Wide = columns[0].array(), columns[1].array()
        finished = state.completions[: state.done]
        for top in range(sums.blocks - 1 - state.blocks, -1, -1):
            own = sums.complete(top, table)
            columns[0].fill(top * sums.block_size, own[0])
            columns[1].fill(top * sums.block_size // LANES, own[1])
            state = replace(state, blocks=state.blocks + 1, completions=(*finished, table))
            yield state
    table = state.completions[-1]
    if state.blocks == sums.blocks:
        masses = np.zeros(size)
        masses[0] = 1.0
        state = replace(state, masses=masses)
    for top in range(state.blocks - sums.blocks, sums.blocks):
        masses = state.masses.copy()
        found, error = sums.pass_on(top, table, masses)
        families = list(state.families)
        for _, x in sums.part.children:
            families[x] = families[x].copy()
        sums.add_families(top, found, [families[x] if x >= 0 else np.zeros(1) for x in sums.part.variables])
        errors = (*state.errors[:-1], state.errors[-1] + error * sums.rounding)
        state = replace(
            state, blocks=state.blocks + 1, masses=masses[sums.block_size :], families=tuple(families), errors=errors
        )
        if top < sums.blocks - 1:
            yield state
    log = log_of(float(table[0][0]), int(table[1][0])) + math.fsum(sums.part.logs)
    families = [np.maximum(own, 0.0) for own in state.families]  # what is impossible may be less, by rounding
    state = replace(state, families=tuple(families))
    yield replace(state, done=state.done + 1, blocks=0, logs=(*state.logs, log), masses=np.zeros(0))
