"""How the search of one child is cut into tasks: by the first candidates of its parent sets.

The candidates stand in an order, and a parent set is made of ever later ones. So those that begin with the first
candidate are most of all, and of these again those that go on with the next one. A task has a range of places for one
candidate, below a path of those before it; what is too much for a task is cut again, one place deeper. The cut follows
from the child and the problem alone, whoever does the tasks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARES = 32  # of a child's work; a task is of one at most, where it can be cut


@dataclass(frozen=True)
class Part:
    """The parent sets that begin with the candidates at the places `path`, of which the next one is at a place lo <=
    place < hi; each place is counted from 0 among those that may still be added.

    first: whether the set of the path alone is among them. nodes: about how many sets there are.
    """

    path: tuple[int, ...]
    lo: int
    hi: int
    first: bool
    nodes: float

    def ranges(self, levels: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first place and the end of the places of each of so many candidates, at most `most`: (levels,) int64."""
        lows, highs = np.zeros(levels, np.int64), np.full(levels, most, np.int64)
        given = [(place, place + 1) for place in self.path] + [(self.lo, self.hi)]
        for level, (lo, hi) in enumerate(given[:levels]):
            lows[level], highs[level] = lo, hi
        return lows, highs


Nodes = Callable[[int, int], float]  # about how many sets a number of candidates has, of at most so many of them


def cut(following: Sequence[int], levels: int, nodes: Nodes, least: float) -> list[Part]:
    """The parts of a child's search, largest first: none is more than a share of all, nor cut further if it is of
    `least` sets.

    following: how many candidates may be added after each. levels: how many candidates can be chosen by place. The
    parts are about twice SHARES at most. O(parts variables).
    """
    whole = _sum(following, levels, nodes)
    parts = _cut((), following, levels, nodes, whole, max(whole / SHARES, least))
    return sorted(parts, key=lambda part: -part.nodes)


def _sum(following: Sequence[int], levels: int, nodes: Nodes) -> float:
    return sum(nodes(after, levels - 1) for after in following) if levels else 0.0


def _cut(
    path: tuple[int, ...], following: Sequence[int], levels: int, nodes: Nodes, here: float, most: float
) -> Iterator[Part]:
    """The parts below a path that has about so many sets, last places first, each of at most so many."""
    hi, taken, scale = len(following), 0.0, here / (_sum(following, levels, nodes) or 1.0)
    for place in range(len(following) - 1, -1, -1) if levels else ():
        after = following[place]
        own = scale * nodes(after, levels - 1)
        deeper = own > most and levels > 1 and after > 1
        if hi > place + 1 and (deeper or taken + own > most):
            yield Part(path, place + 1, hi, hi == len(following), taken)
            hi, taken = place + 1, 0.0
        if deeper:
            yield from _cut((*path, place), range(after - 1, -1, -1), levels - 1, nodes, own, most)
            hi = place
        else:
            taken += own
    if hi or not following:
        yield Part(path, 0, hi, hi == len(following), taken)


def share_of(parts: Sequence[Part], over: int) -> float:
    """About which share of the work is done when the first `over` parts are."""
    whole = sum(part.nodes for part in parts)
    return sum(part.nodes for part in parts[:over]) / whole if whole else 0.0
