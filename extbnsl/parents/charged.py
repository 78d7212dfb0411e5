"""Families whose arcs are charged for (scores/charges.py), from a source that does not know of it.

A search of parent sets goes by no more than what every arc costs at least. A rule drops a parent set, or all that
contain it, for the sake of a subset, if the set costs more by a slack or more, by the score and that. So arcs that cost
more make no difference to it; and those that cost less save a set, together, what they cost less: so much more slack.
What is left is charged, and the dominated families are dropped then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.data import Numbers
from extbnsl.machine.workers import Workers
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.problem import CountingProblem, Families, LatticeSource, Source
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.charges import Charges, charges_of
from extbnsl.scores.local import in_order


def free_arcs(constraints: Constraints) -> NDArray[np.bool_]:
    """The arcs [parent, child] that may be and need not be, (n, n)."""
    return constraints.allowed & ~constraints.required


def most_saved(claim: Claim, names: Sequence[str]) -> NDArray[np.float64]:
    """What the arcs of a family of each child save at most by a claim, those that must be among them: (n,), in nats."""
    charges = charges_of(claim, names)
    return charges.saved(constraints_of(claim, names).allowed) if charges else np.zeros(len(names))


@dataclass(frozen=True)
class _Charged(Source):
    """Data as a source of families whose arcs are charged for.

    of: what they cost by the score. step: what its enumeration takes for each arc beside. saved (n,) float64: what free
    arcs cost less than that, see `Charges.saved`; arcs that must be make no difference between families.
    """

    of: Source
    charges: Charges
    step: float
    saved: NDArray[np.float64]

    @property
    def charged(self) -> bool:
        return True

    def widened(self, slack: float) -> float:
        return self.of.widened(slack + float(self.saved.max()))

    def check(self) -> None:
        """Raise InputError too if an arc is cheaper than none one of whose variables the source does not look at: a
        constant, which is no parent and has none."""
        self.of.check()
        parents, children, names = self.charges.parents, self.charges.children, self.data.names
        for k in np.flatnonzero(self.charges.nats < 0.0).tolist():
            for v in (int(parents[k]), int(children[k])):
                if v not in self.order:
                    raise InputError(
                        f"costs: {names[v]!r} is the same in every record, which tells of no arc; leave out what the "
                        f"arc from {names[parents[k]]!r} to {names[children[k]]!r} saves.",
                        names=[names[v]],
                    )

    def warnings(self) -> tuple[str, ...]:
        return self.of.warnings()

    def without_arcs(self) -> float:
        return self.of.without_arcs()

    def least_costs(self, workers: Workers) -> list[float]:
        saved = self.charges.saved(self.constraints.allowed).tolist()
        return [own - less for own, less in zip(self.of.least_costs(workers), saved, strict=True)]

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.of.cost(child, parents) + self.charges.cost(child, parents)

    def shifted(self, child: int, least: float) -> float:
        return self.of.shifted(child, least) - float(self._most_saved[child])

    @cached_property
    def _most_saved(self) -> NDArray[np.float64]:
        """What the arcs of a family of each child, those too that must be, cost less at most than the enumeration takes
        for them, (n,), in nats."""
        return self.charges.saved(self.constraints.allowed, self.step)

    def again(self, child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
        varsets, costs = self.of.again(child, found, slack + float(self.saved[child]), halt)
        varsets, costs = in_order(varsets, costs + self.charges.costs(child, varsets))
        kept = undominated(varsets, costs, with_rounding(slack, float(np.abs(costs).max(initial=0.0))), halt=halt)
        return varsets[kept], costs[kept]


@dataclass(frozen=True)
class ChargedLattice(_Charged, LatticeSource):
    """Of children that share what is counted."""

    of: LatticeSource

    def problem(self, slack: float) -> CountingProblem:
        found = self.of.problem(slack)
        return replace(found, step=found.step + self.step)

    def limit(self, problem: CountingProblem, x: int) -> int:
        return self.of.limit(problem, x)

    def shares(self, x: int, problem: CountingProblem) -> bool:
        return self.of.shares(x, problem)

    def with_given(self, problem: CountingProblem, parents: Sequence[int]) -> CountingProblem:
        return self.of.with_given(problem, parents)

    def over_records(self, problem: CountingProblem, child: int) -> CountingProblem:
        return self.of.over_records(problem, child)

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        return self.of.at_least(child, parents, floor)


@dataclass(frozen=True)
class ChargedChildren(_Charged, ChildSource):
    """Of children that are judged one by one."""

    of: ChildSource

    def least(self, child: int) -> float:
        """Without charges, as those that it is compared with; `shifted` is the bound."""
        return self.of.least(child)

    def parts(self, child: int) -> int:
        return self.of.parts(child)

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        return self.of.families_of(child, part, slack, halt)


def charged(source: Source) -> Source:
    """The source with the charges of its claim, if there are any."""
    charges = charges_of(source.claim, source.data.names)
    if not charges:
        return source
    given = source.data, source.claim, source.constraints, source.order
    free = free_arcs(source.constraints)
    if isinstance(source, ChildSource):
        own = replace(source, arc=charges.least)
        return ChargedChildren(*given, own, charges, charges.least, charges.saved(free, charges.least))
    assert isinstance(source, LatticeSource), "there are no others"
    step = charges.least if isinstance(source.data, Numbers) else 0.0
    return ChargedLattice(*given, source, charges, step, charges.saved(free, step))
