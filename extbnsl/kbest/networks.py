"""Networks by their families: lists of them, and how lists are put together.

A list is over the variables of a component; a network in it is a row of its families' numbers there.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import renumber
from extbnsl.parents.components import Component

PAIRS = 1 << 20  # of networks that are put together at a time


@dataclass(frozen=True)
class Networks:
    """m networks over n variables: rows (m, n) int32, of each child the number of its family in its own list; costs
    (m,) float64 in nats, ascending."""

    rows: NDArray[np.int32]
    costs: NDArray[np.float64]

    def check(self) -> None:
        """Assert every invariant."""
        assert self.rows.ndim == 2, "a row for each network"
        assert self.rows.shape[0] == self.costs.size, "each network has a cost"
        assert (np.diff(self.costs) >= 0).all(), "costs ascend"
        assert (self.rows >= 0).all(), "numbers of families"

    def with_numbers(self, numbers: Sequence[NDArray[np.int32]]) -> "Networks":
        """The networks with family i of child v called numbers[v][i]."""
        rows = np.empty_like(self.rows)
        for v, own in enumerate(numbers):
            rows[:, v] = own[self.rows[:, v]]
        return Networks(rows, self.costs)


def arrays_of(lists: Mapping[int, Networks]) -> dict[str, NDArray[Any]]:
    """Lists of networks by number, as arrays with names."""
    return {f"{name}-{number}": getattr(own, name) for number, own in lists.items() for name in ("rows", "costs")}


def lists_of(
    arrays: Mapping[str, NDArray[Any]], families: Callable[[int], Sequence[NDArray[np.float64]]]
) -> dict[int, Networks]:
    """The lists of networks that `arrays_of` has made arrays of; other arrays may be beside them. families: the costs
    of those of each child, of the list with a number.

    Raises AssertionError, or ValueError, IndexError, KeyError, if they are of no such networks.
    """
    numbers = [int(name.removeprefix("costs-")) for name in arrays if name.startswith("costs-")]
    lists = {number: Networks(arrays[f"rows-{number}"], arrays[f"costs-{number}"]) for number in numbers}
    for number, own in lists.items():
        sizes = [costs.size for costs in families(number)]
        assert own.rows.dtype == np.int32, "numbers of families"
        assert own.costs.dtype == np.float64, "costs"
        assert own.rows.shape == (own.costs.size, len(sizes)), "a number for each child"
        assert (own.rows < np.array(sizes)).all(), "numbers of families that there are"
        own.check()
    return lists


def no_networks(variables: int) -> Networks:
    """None."""
    return Networks(np.zeros((0, variables), np.int32), np.zeros(0))


class Cheapest:
    """The networks that were added and cost less than `limit`, nats, or `most` of the cheapest.

    The limit falls to the cost of the last of these when there are so many: others must cost less. Memory: twice that
    of `most` networks and of those that are added at a time. known: those that are among them already. room: bytes
    that they may take; MemoryError if they would take more.
    """

    def __init__(self, known: Networks, limit: float, most: int | None, room: float = math.inf) -> None:
        self.limit = limit
        self._most = most
        self._most_held = room / (4 * known.rows.shape[1] + 8)
        self._parts = [known]
        self._held = known.costs.size

    def add(self, rows: NDArray[np.int32], costs: NDArray[np.float64]) -> None:
        """Add networks, rows (m, n) and costs (m,) in any order."""
        below = costs < self.limit
        self._parts.append(Networks(rows[below], costs[below]))
        self._held += int(below.sum())
        if self._most is not None and self._held >= min(2 * self._most, max(self._most + 1, self._most_held)):
            self._cut()
        if self._held > self._most_held:
            raise MemoryError

    def _cut(self) -> None:
        """Drop what is not among the cheapest; of those that cost the same the ones that were added last."""
        rows, costs = np.concatenate([p.rows for p in self._parts]), np.concatenate([p.costs for p in self._parts])
        order = np.argsort(costs, kind="stable")[: self._most]
        self._parts, self._held = [Networks(rows[order], costs[order])], order.size
        if order.size == self._most:
            self.limit = min(self.limit, float(costs[order[-1]]))

    def networks(self) -> Networks:
        """The networks, ascending."""
        self._cut()
        return self._parts[0]


def joined(
    lists: Sequence[Networks],
    places: Sequence[Sequence[int]],
    limit: float,
    most: int | None,
    room: float = math.inf,
    check: Callable[[], None] = lambda: None,
) -> Networks:
    """The networks that have one of each list, over the variables at these places, and cost less than the limit
    together; `most` of the cheapest, if there are more. room: as of Cheapest. `check` is called before every PAIRS, and
    may raise.

    Of two lists with the cheapest first, number i of one and number j of the other are needed only if (i + 1) (j + 1)
    <= most. So O(most log most) pairs are looked at for each list.
    """
    variables = sum(map(len, places))
    if any(own.costs.size == 0 for own in lists):
        return no_networks(variables)
    found = Networks(np.zeros((1, variables), np.int32), np.zeros(1))
    for number, (own, at) in enumerate(zip(lists, places, strict=True)):
        left = limit - sum(float(other.costs[0]) for other in lists[number + 1 :])
        cheapest = Cheapest(no_networks(found.rows.shape[1]), left, most, room)
        for some, others in pairs(found.costs, own.costs, left, most):
            check()
            rows = found.rows[some]
            rows[:, list(at)] = own.rows[others]
            cheapest.add(rows, found.costs[some] + own.costs[others])
        found = cheapest.networks()
    return found


def pairs(
    first: NDArray[np.float64], second: NDArray[np.float64], limit: float, most: int | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The pairs of numbers that can be among the cheapest, some at a time, of ascending costs that add up to less than
    the limit."""
    counts = np.searchsorted(second, limit - first)
    if most is not None:
        counts = np.minimum(counts, most // np.arange(1, first.size + 1))
    ends = np.cumsum(counts)
    edges = np.searchsorted(ends, np.arange(PAIRS, counts.sum(), PAIRS))
    for lo, hi in itertools.pairwise(np.unique([0, *edges.tolist(), first.size]).tolist()):
        own = counts[lo:hi]
        some = np.repeat(np.arange(lo, hi), own)
        yield some, np.arange(some.size) - np.repeat(np.cumsum(own) - own, own)


def numbers_in(whole: Component, part: Component) -> list[NDArray[np.int32]]:
    """Of each child of a part of a component the numbers that its families have in the whole.

    They are known by their costs and by their parents inside the part. Those that agree in both are as good as each
    other, and keep their order: either all of them are in the part, or none.
    """
    position = np.full(whole.size, -1, np.int64)
    position[list(part.variables)] = np.arange(part.size)
    return [
        _numbers((varsets, costs), (whole.parents[child], whole.costs[child]), position, part.size)
        for child, varsets, costs in zip(part.variables, part.parents, part.costs, strict=True)
    ]


ChildFamilies = tuple[NDArray[np.uint64], NDArray[np.float64]]  # of one child: varsets (m, w), costs (m,)


def _numbers(asked: ChildFamilies, known: ChildFamilies, position: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Where the families that are asked for are among those that are known, whose parents have these positions among
    `size` variables: int32. Most costs there are once; where not, the parents tell. O(m log m)."""
    found = np.searchsorted(known[1], asked[1]).astype(np.int32)
    several = np.searchsorted(known[1], asked[1], side="right") - found > 1
    if several.any():
        others = np.flatnonzero(np.isin(known[1], asked[1][several]))
        tied = renumber(known[0][others], position, size), known[1][others]
        found[several] = others[_among((asked[0][several], asked[1][several]), tied)]
    return found


def _among(asked: ChildFamilies, known: ChildFamilies) -> NDArray[np.int32]:
    """Where the families that are asked for are among those that are known, of which several may cost the same."""
    keys = np.concatenate([np.column_stack((costs.view(np.uint64), varsets)) for varsets, costs in (asked, known)])
    groups = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    own, others = groups[: asked[1].size], groups[asked[1].size :]
    by_group, others_by_group = np.argsort(own, kind="stable"), np.argsort(others, kind="stable")
    own, others = own[by_group], others[others_by_group]
    in_group = np.arange(own.size) - np.searchsorted(own, own)
    found = np.empty(own.size, np.int32)
    found[by_group] = others_by_group[np.searchsorted(others, own) + in_group]
    return found
