"""How much of the counting by level is done, for whoever waits: the last sizes take nearly all of its time."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.compiling import cpu_clock

STEPS = (5, 40, 15, 10, 30)  # the shares of the time of a size that its steps take, about: measured on wdbc and spectf
LAST_STEPS = 2  # those that the last size has
GROWTH = 1.2  # of the time of a varset from one size to the next, before it is known
MOST_GROWTH = 1.6
LEAST_SECONDS = 0.05  # of a size whose varsets tell what those of the next one take


class Pace:
    """The share of the counting that is done.

    A size that is over weighs the CPU seconds that it took. One that is not weighs its varsets, each by what those of
    the last size took, which grows. How many varsets are needed is known when they are marked; before that it is as
    large a share as at the size before of those in which there is a child that may have so many parents.
    """

    def __init__(self, limits: NDArray[np.int64], largest: int, clock: Callable[[], float] = cpu_clock) -> None:
        self._clock, self._since, self._possible = clock, clock(), list[int]()
        for size in range(largest + 1):
            free = int((limits < size).sum())
            self._possible.append(math.comb(limits.size, size + 1) - math.comb(free, size + 1))
        self._needed: dict[int, int] = {}
        self._spent: dict[int, float] = {}
        self._told = 0.0

    def needs(self, size: int, varsets: int) -> None:
        """The parent sets of a size need so many varsets, which are marked now."""
        self._needed[size] = varsets

    def ended(self, size: int) -> None:
        """All parent sets of a size are judged."""
        now = self._clock()
        self._spent[size], self._since = now - self._since, now

    def share(self, size: int, step: int, part: float) -> float:
        """What share of all is done at this share of a step of a size, or behind its last step; it never falls."""
        last = len(self._possible) - 1
        steps = (*(STEPS[:LAST_STEPS] if size == last else STEPS), 0)
        step = min(step, len(steps) - 1)
        within = (sum(steps[:step]) + part * steps[step]) / sum(steps)
        weights = self._weights()
        done, whole = float(weights[:size].sum() + within * weights[size]), float(weights.sum())
        self._told = max(self._told, min(1.0, done / whole) if whole else 0.0)
        return self._told

    def _weights(self) -> NDArray[np.float64]:
        """What each size takes, in CPU seconds once any is known."""
        counts, at, each, growth = self._counts(), -1, 1.0, GROWTH
        for size, spent in self._spent.items():
            if spent >= LEAST_SECONDS and counts[size]:
                before, each = each, spent / counts[size]
                growth = GROWTH if at < 0 else min(MOST_GROWTH, max(1.0, each / before))
                at = size
        weights = counts * each * growth ** (np.arange(counts.size) - max(0, at))
        weights[-1] *= sum(STEPS[:LAST_STEPS]) / sum(STEPS)
        if at >= 0:
            weights[list(self._spent)] = list(self._spent.values())
        return weights

    def _counts(self) -> NDArray[np.float64]:
        """How many varsets each size needs."""
        found, share, trend = [], 1.0, 1.0
        for size, possible in enumerate(self._possible):
            if size in self._needed:
                before, share = share, self._needed[size] / max(1, possible)
                trend = min(1.0, share / before) if before else 1.0
            else:
                share *= trend
            found.append(share * possible)
        return np.array(found)
