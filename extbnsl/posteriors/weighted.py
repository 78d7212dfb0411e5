"""All networks, each counted once, where they are too many variables to be summed: networks drawn by orders, weighted.

Sums over orders have pairs of an order and a network that keeps to it; they draw a pair as often as its network weighs,
so a network comes as often as it has orders. Give each pair the share q(order | network), q any distribution over the
orders of a network. The shares of a network come to 1, so the sum of w(network) q over all pairs is the weight of all
networks, each counted once: the mean of q over draws estimates, without bias, the ratio of both sums; and draws that
count by q estimate what part of the networks has anything (Ellis and Wong 2008). Where q differs much, few draws have
most of the weight. So each is led to the other distribution in SWEEPS steps, and counts by what it meets on its way
(`annealed`).

Nothing is proved: few draws may have most of the weight, and the heaviest may not have come. What orders that are not
drawn would bring is at most their weight, as q is at most 1; beside the mean of q that is too much to tell anything. On
the way draws come to such orders too; but where one is not enough for that, these have less than they should.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import Lowest, Misfit
from extbnsl.core.events import StageAdvanced
from extbnsl.kernels.hashing import mixed
from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import chunks
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.annealed import Choices, Walks, anneal
from extbnsl.posteriors.inside import Families, inside_tables
from extbnsl.posteriors.layers import LayeredSum
from extbnsl.posteriors.orders import OrderSums
from extbnsl.scores.local import LocalScores

STAGE = "sums"
LEAST_DRAWS = 1 << 14
BETWEEN_PASSES = 1 << 12  # draws, for whoever cannot wait for the next pass
SWEEPS = 16
TOGETHER = 1 << 10  # draws of a state
TASK = 16  # of a task: a tenth of a second
CUT = 2.0**-45  # of a sum over families: so much may be left out

Pairs = Callable[[Any, int, range], tuple[NDArray[np.int32], NDArray[np.int32]]]


@dataclass(frozen=True)
class OrderedNetworks:
    """What draws pairs of an order and a network.

    scores: the families. states: of the sums over orders, given one to go on from. pairs: given such a state that is
    `drawable`, a seed and numbers, some of a sequence of independent draws: orders (k, n), and rows (k, n) of the
    families in `scores`.
    """

    scores: LocalScores
    states: Callable[[Any], Iterator[OrderSums | LayeredSum]]
    pairs: Pairs


@dataclass(frozen=True)
class WeightedDraws:
    """How far weighted draws are; immutable.

    sums: how far the sums over orders are. Of the draws: log_orders, the weight of the orders of which they were drawn,
    and log_ignored, of those that could not be drawn, at most; rows (s, n) int32, of each child the number of its
    family in the scores; logs (s,), of each draw that of what it counts.
    """

    engine: ClassVar[str] = "draws"
    ignored: ClassVar[float] = math.inf  # what no draw has may weigh any amount
    error: ClassVar[float] = 0.0

    children: tuple[int, ...]  # how many families each has
    sums: OrderSums | LayeredSum | None = None
    log_orders: Lowest = -math.inf
    log_ignored: Lowest = -math.inf
    rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    logs: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def answers(self) -> bool:
        """Whether there are draws."""
        return self.logs.size > 0

    @cached_property
    def log_weight(self) -> float:
        """An estimate of the logarithm of the weight of all networks."""
        top = float(self.logs.max())
        return self.log_orders + top + math.log(float(np.exp(self.logs - top).mean()))

    @property
    def ignored_orders(self) -> float:
        """What share of the weight of all orders could not be drawn, at most."""
        more = self.log_ignored - self.log_orders
        return math.exp(min(more, 0.0)) / (1.0 + math.exp(-abs(more)))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """What each draw counts, of 1."""
        weights = np.exp(self.logs - self.logs.max())
        return np.asarray(weights / weights.sum())

    @property
    def families(self) -> tuple[NDArray[np.float64], ...]:
        """An estimate of the probability of each family."""
        return self._added(self.shares)

    @property
    def squares(self) -> tuple[NDArray[np.float64], ...]:
        """Of each family, the squares of what its draws count: for standard errors."""
        return self._added(self.shares**2)

    def _added(self, own: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        pairs = zip(self.rows.T, self.children, strict=True)
        return tuple(np.bincount(rows, own, families).astype(np.float64) for rows, families in pairs)

    def check(self, scores: LocalScores) -> None:
        """Raise Misfit unless it is of these scores."""
        fits = self.children == tuple(costs.size for costs in scores.costs)
        if fits and self.answers:
            fits = self.rows.shape == (self.logs.size, scores.variables) and bool((self.rows >= 0).all())
            fits = fits and bool((self.rows < np.array(self.children)).all() and (self.logs <= 0.0).all())
        if not fits:
            raise Misfit("draws")


class Annealing:
    """What leads pairs of an order and a network to where each network counts once."""

    def __init__(self, scores: LocalScores, means: Means) -> None:
        self._workers = means.workers
        families = Families([own[:, 0] for own in scores.parents], scores.costs)
        tables, self._places = inside_tables(families, CUT)
        self._rows, varsets = np.zeros(tables.weights.size, np.int32), np.zeros(tables.weights.size, np.uint64)
        for own, places in zip(families.parents, self._places, strict=True):
            self._rows[places], varsets[places] = np.arange(places.size), own
        self._choices = Choices(tables, varsets)

    def led(
        self,
        orders: NDArray[np.int32],
        rows: NDArray[np.int32],
        words: NDArray[np.uint64],
        powers: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Rows of networks to which pairs are led by random words (s,), and the logarithms of what they count; orders
        are those to which they are led. powers: evenly from 0 to 1 if not given. Raises Stopped."""
        places = np.stack([own[rows[:, x]] for x, own in enumerate(self._places)], axis=1)
        walks = Walks(orders, places, np.maximum(words, np.uint64(1)), np.zeros(len(orders)))
        powers, halt = np.linspace(0.0, 1.0, SWEEPS + 1) if powers is None else powers, self._workers.halt
        tasks = [
            (Walks._make(own[lo:hi] for own in walks), self._choices, powers, halt)
            for lo, hi in chunks(len(orders), TASK)
        ]
        self._workers.map(anneal, tasks)
        self._workers.check()
        return self._rows[places], walks.logs


def weigh_draws(
    drawn: OrderedNetworks, means: Means, seed: int, count: int, begun: WeightedDraws | None = None
) -> Iterator[WeightedDraws]:
    """Sum over orders, and draw so many networks; by layers, some after each pass. Yields states, the last of which has
    all.

    Goes on from `begun`, with the same result to the last bit. Draw number i depends on the sums, the seed and i alone.
    Raises as the sums do, and Misfit if `begun` is not of these scores. O(n^3) at worst for a draw beside drawing it.
    """
    scores, annealing = drawn.scores, Annealing(drawn.scores, means)
    state = begun or WeightedDraws(tuple(costs.size for costs in scores.costs))
    state.check(scores)
    states = drawn.states(state.sums)
    while True:
        wanted = _wanted(state, count)
        for numbers in chunks(wanted, TOGETHER, _drawn(state)):
            state = _more(drawn, annealing, seed, range(*numbers), state)
            means.observer(StageAdvanced(STAGE, _drawn(state), wanted, "networks", detail="draws"))
            yield state
        sums = next(states, None)
        if sums is None:
            return
        state = replace(state, sums=sums)
        yield state


def resampled(state: WeightedDraws, seed: int, numbers: range) -> NDArray[np.int32]:
    """Networks among the draws, as often as they count: (k, n). Number i depends on the seed and on i alone."""
    words = random_words(~seed, numbers.stop)[numbers.start :]
    ends = np.cumsum(state.shares)
    places = np.searchsorted(ends, (words >> np.uint64(11)) * 2.0**-53 * ends[-1], "right")
    return state.rows[np.minimum(places, ends.size - 1)]


def _wanted(state: WeightedDraws, count: int) -> int:
    """How many are to be drawn by the sums that there are now."""
    if state.sums is None or not state.sums.drawable:
        return 0
    return count if state.sums.done else min(count, BETWEEN_PASSES)


def _drawn(state: WeightedDraws) -> int:
    """How many were drawn by the sums that there are now."""
    return state.logs.size if state.sums is not None and state.log_orders == state.sums.log_weight else 0


def _more(
    drawn: OrderedNetworks, annealing: Annealing, seed: int, numbers: range, state: WeightedDraws
) -> WeightedDraws:
    """With draws of these numbers after those before them; others go."""
    assert state.sums is not None
    words = random_words(seed, numbers.stop)[numbers.start :]
    rows, logs = annealing.led(*drawn.pairs(state.sums, seed, numbers), mixed.py_func(words))
    if numbers.start:
        rows, logs = np.concatenate([state.rows, rows]), np.concatenate([state.logs, logs])
    log_ignored = state.sums.log_ignored if isinstance(state.sums, LayeredSum) else -math.inf
    return replace(state, log_orders=state.sums.log_weight, log_ignored=log_ignored, rows=rows, logs=logs)
