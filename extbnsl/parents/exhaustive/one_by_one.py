"""The surviving families of children that share nothing: each child's are found by a search of its own.

Some scores cost the families of different children over different records, or by a function that nobody looks into. A
source of that kind says how the families of one child are found, and what they cost at least; all else is here. A
child's search may be cut into parts. Each is a pure function of the source, the child, and the number of the part, so
that what is found is the same whoever does them, on however many threads. What is known after some of them is a value
to go on from; families of a part that others dominate go when they are joined.

The children whose cheapest family may be cheapest below what they cost now come first: where time is over before all
are judged, those that are left add least to the gap.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import as_varsets, unpack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.by_child import children_judged, parts_judged
from extbnsl.parents.exhaustive.by_level import AHEAD
from extbnsl.parents.exhaustive.children import ANY_NUMBER, Child, Found
from extbnsl.parents.exhaustive.problem import Source
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.pruning import with_rounding
from extbnsl.scores.local import in_order


@dataclass(frozen=True)
class ChildSource(Source):
    """Data of which the families of each child are found by themselves; the order has all variables, as they are.

    Families are allowed by `constraints` alone or by the source too, but those of the parents that a child must have
    always are.

    arc: what every arc costs beside the score at least, in nats, by which a search may go. What it finds is without.

    tried: after how many sets the search of a part may be given up, since the families can be found by price.
    """

    arc: float = field(default=0.0, kw_only=True)
    tried: int = field(default=ANY_NUMBER, kw_only=True)

    @abstractmethod
    def least(self, child: int) -> float:
        """What a family of a child costs at least, in nats, for whatever families were not judged; -infinity if nobody
        knows. Fast: it is asked at each stop, of each child."""

    def without_arcs(self) -> float:
        """See `Source`: by what the families of the required parents cost."""
        return math.fsum(abs(self.cost(x, self.constraints.parents_required(x))) for x in range(self.data.variables))

    def least_costs(self, workers: Workers) -> list[float]:
        """See `Source`: `least` of each."""
        return list(map(self.least, range(self.data.variables)))

    def parts(self, child: int) -> int:
        """How many parts the search of a child has, one at least. Each should last for seconds at most, since what is
        known is committed after some of them, and for hundredths of a second at least."""
        return 1

    def costs(self, child: int, varsets: NDArray[np.uint64], halt: NDArray[np.uint8]) -> NDArray[np.float64]:
        """What families (f, words) of a child cost, (f,) in nats; infinity where they are not allowed, and once
        halt[0] is set."""
        found = np.full(len(varsets), math.inf)
        for i, varset in enumerate(varsets):
            if halt[0]:
                break
            found[i] = self.cost(child, unpack(varset))
        return found

    def named(
        self,
        child: int,
        own: Sequence[int],
        masks: NDArray[np.uint64],
        counted: int,
        halt: NDArray[np.uint8],
        beside: Sequence[int] = (),
    ) -> Found:
        """The families of a child whose parents are those that must be, those beside, and members of its own
        candidates, of which bit i of masks (f, words) is the i-th; with their costs, but for those that are not
        allowed."""
        rows, bits = np.zeros((len(masks), self.data.variables), np.bool_), np.ascontiguousarray(masks, "<u8")
        if len(own):
            rows[:, own] = np.unpackbits(bits.view(np.uint8), axis=-1, count=len(own), bitorder="little")
        rows[:, [*self.constraints.parents_required(child), *beside]] = True
        varsets = as_varsets(rows)
        costs = self.costs(child, varsets, halt)
        allowed = np.isfinite(costs)
        return Found(*in_order(varsets[allowed], costs[allowed]), counted)

    @abstractmethod
    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        """The families of a part of a child's search, in any order, each in one part alone: varsets (f, words) of the
        data's variables, the required parents among them.

        A family may be left out if a subset that is allowed costs no more, its arcs included; with a slack, in nats, if
        it costs more by the slack or more. All parts together must have the rest, and the family of the required
        parents. Looks at `halt` all the time, and ends when halt[0] is set: whatever comes then is good for nothing.
        """


def judge_one_by_one(source: ChildSource, slack: float, found: Enumeration, means: Means) -> Iterator[Enumeration]:
    """`found` with ever more parts of the children judged, until all are, or the search of one is given up. Raises
    Stopped; BudgetError of the shelf."""
    workers, n = means.workers, source.order.size
    must = [source.constraints.parents_required(x) for x in range(n)]
    alone = np.array(workers.map(source.cost, enumerate(must)))
    if not found.children:
        above = [source.least(x) - alone[x] for x in range(n)]
        nothing = np.zeros(0, np.int64), np.zeros((0, 0), np.uint8)
        children = tuple(Child(x, *nothing) for x in np.argsort(above, kind="stable").tolist())
        found = replace(found, complete_to=0, children=children, paired=True)
    wide = with_rounding(slack, float(np.abs(alone).max()))
    results = workers.spread(source.families_of, _arguments(source, slack, found, means), AHEAD * workers.threads)
    while found.children:
        judged, parts = n - len(found.children), source.parts(found.children[0].index)
        for known in parts_judged(found, results, parts, wide, means):
            if known.varsets - found.varsets > source.tried:
                return
            found = known
            means.observer(children_judged(judged + found.parts / parts, n, f"child {judged + 1} of {n}"))
            yield found
        found = replace(found, children=found.children[1:], parts=0, pairs=None)
        if found.children:
            yield found
    yield replace(found, complete_to=int(source.constraints.limits.max()), paired=False, done=True)


def _arguments(
    source: ChildSource, slack: float, found: Enumeration, means: Means
) -> Iterator[tuple[int, int, float, NDArray[np.uint8]]]:
    """Of each part that is not over what `families_of` takes."""
    done = found.parts
    for child in found.children:
        for part in range(done, source.parts(child.index)):
            yield child.index, part, slack, means.workers.halt
        done = 0


def least_unjudged(source: ChildSource, found: Enumeration) -> NDArray[np.float64]:
    """What the families of each child that were not judged cost at least, (n,) float64 in nats; infinity where all
    were."""
    least = np.full(source.order.size, math.inf)
    if not found.done:
        begun = [child.index for child in found.children if found.prices is None]
        for x in begun or range(least.size):
            least[x] = source.least(x)
    return least
