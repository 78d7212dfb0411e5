"""Slow twins: independence, greedy and sequential selection with open lists that hold every set."""

import itertools
import math

import numpy as np

from extbnsl.parents.explored.candidates import ROUNDING
from extbnsl.parents.explored.misfit import misfits, new_splits, single_misfits
from extbnsl.scores.score import penalty_of


class SlowSelection:
    """The parent sets that a selection scores after the single ones, in their order: `scored`, frozensets of variables.

    Sets of up to `whole` parents come first, until so many are scored as `first` says.

    Places, and with them the order of equals, are as the exploration's: ascending arity, descending gain. Pruning is as
    its module says: `ceilings` of closed sets. The misfits are the exploration's own, so that equals are the same.
    """

    def __init__(self, data, child, parameter, max_parents, whole=1, first=math.inf):
        self.data, self.child, self.parameter, self.max_parents = data, child, parameter, max_parents
        self.misfits = {frozenset(): float(data.entropies[child])}
        self.ceilings, self.scored, self.whole, self.first = {}, [], whole, first
        self.close(frozenset(), math.inf)
        self.single = single_misfits(child, np.zeros(0, np.int32), data, None, np.zeros(1, np.uint8)).tolist()
        singles = {v: self.single[v] for v in range(data.variables) if v != child}
        kept = [v for v in singles if self.penalty([v]) < self.cap(v)]
        self.order = sorted(kept, key=lambda v: (data.arities[v], singles[v], v))
        for v in self.order:
            self.close(frozenset([v]), self.cap(v))

    def penalty(self, parents):
        arities = self.data.arities
        return penalty_of(self.parameter, int(arities[self.child]), math.prod(float(arities[p]) for p in parents))

    def measured(self, parents):
        splits = new_splits(self.child, len(parents), self.data)
        return float(misfits(self.child, np.array([sorted(parents)], np.int32), self.data, splits)[0])

    def cap(self, v):
        arity, entropies = int(self.data.arities[v]), self.data.entropies
        explained = min(entropies[v], entropies[self.child]) * (1 + ROUNDING)
        return explained * arity / (arity - 1) if arity > 1 else 0.0

    def cost(self, parents):
        return self.misfits[parents] + self.penalty(parents)

    def below(self, parents):
        """The closed sets with one parent less."""
        return [parents - {v} for v in parents if parents - {v} in self.misfits]

    def close(self, parents, cap):
        if parents:
            self.misfits[parents] = self.measured(parents) if len(parents) > 1 else self.single[min(parents)]
        self.ceilings[parents] = min(
            [cap, self.cost(parents)] + [self.ceilings[other] for other in self.below(parents)]
        )

    def approximate(self, parents, v):
        gain = self.misfits[frozenset()] - self.misfits[frozenset([v])]
        return self.misfits[parents] - gain + self.penalty(parents | {v})

    def goes_first(self, parents):
        """Whether what a closed set generates goes before all else."""
        return len(parents) < self.whole and len(self.scored) < self.first

    def generated(self, parents):
        """What a closed set generates, in the order of places."""
        if len(parents) < self.max_parents:
            for v in self.order:
                penalty = self.penalty([*parents, v])
                if v not in parents and penalty < min(self.ceilings[parents], self.ceilings[frozenset([v])]):
                    yield parents | {v}, v

    def try_next(self, parents):
        """Score a generated set unless its subsets prune it; whether it was scored."""
        singles = [self.ceilings[frozenset([v])] for v in parents]
        if self.penalty(parents) >= min([self.ceilings[other] for other in self.below(parents)] + singles):
            return False
        self.close(parents, min(self.cap(v) for v in parents))
        self.scored.append(parents)
        return True


def slow_independence(slow):
    """Everything that is generated is in the open list, once, by the closed set that generated it first."""
    open_list, number = {}, 0

    def generate(parents):
        nonlocal number
        number += 1
        for own, v in slow.generated(parents):
            if own not in open_list and own not in slow.misfits:
                open_list[own] = (parents, v, number)

    def key(own):
        parents, v, number = open_list[own]
        return (-math.inf if slow.goes_first(parents) else slow.approximate(parents, v)), number, slow.order.index(v)

    pruned = set()
    for v in slow.order:
        generate(frozenset([v]))
    while waiting := [own for own in open_list if own not in pruned and own not in slow.misfits]:
        best = min(waiting, key=key)
        if slow.try_next(best):
            generate(best)
        else:
            pruned.add(best)


def slow_greedy(slow):
    """The cheapest closed set that is not expanded generates all that it can."""
    numbers = {frozenset([v]): k for k, v in enumerate(slow.order)}
    expanded = set()

    def key(own):
        return (-math.inf if slow.goes_first(own) else slow.cost(own)), numbers[own]

    while waiting := numbers.keys() - expanded:
        best = min(waiting, key=key)
        expanded.add(best)
        for own, _ in list(slow.generated(best)):
            if own not in slow.misfits and slow.try_next(own):
                numbers[own] = len(numbers)
                if len(slow.scored) == slow.first:
                    expanded.discard(best)  # others may be cheaper now
                    break


def slow_sequential(slow):
    """All sets by size, then by places: those of which every generator was scored."""
    for size in range(2, slow.max_parents + 1):
        for own in itertools.combinations(slow.order, size):
            generator = frozenset(own[:-1])
            if generator in slow.misfits and (frozenset(own), own[-1]) in list(slow.generated(generator)):
                slow.try_next(frozenset(own))


SLOW = {"independence": slow_independence, "greedy": slow_greedy, "sequential": slow_sequential}
