"""What the knowledge of a claim demands of networks, read by plain code of this room alone.

It shares nothing with the constraints that the solver makes of the same knowledge.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Data
from extbnsl.scores.local import LocalScores
from extbnsl.verify.rescoring import first_of_past


@dataclass(frozen=True)
class Demands:
    """Of n variables: the parents that each may have, and those that it must have, as sets; the most of each."""

    may: tuple[frozenset[int], ...]
    must: tuple[frozenset[int], ...]
    most: tuple[int, ...]

    def fault(self, names: Sequence[str], child: int, parents: Sequence[int]) -> str | None:
        """What is wrong with the parents of a child, as a clause behind 'the'; None if they are as demanded."""
        own, name = set(parents), names[child]
        if len(own) > self.most[child]:
            return f"variable {name!r} has {len(own)} parents, but the limit is {self.most[child]}"
        for parent in sorted(self.must[child] - own):
            return f"arc from {names[parent]!r} to {name!r} is required, but the network does not have it"
        for parent in sorted(own - self.may[child]):
            return f"network has the arc from {names[parent]!r} to {name!r}, which is ruled out"
        return None

    def admitted(self, child: int, parents: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of these rows (m, n), of parents, the child may have."""
        n = len(self.may)
        may = np.array([v in self.may[child] for v in range(n)])
        must = np.array([v in self.must[child] for v in range(n)])
        few = parents.sum(axis=1) <= self.most[child]
        return few & ~(parents & ~may).any(axis=1) & ~(~parents & must).any(axis=1)

    def under(self, order: Sequence[int]) -> "Demands":
        """The demands of networks in which each variable has its parents before it in this order of all."""
        place = {v: at for at, v in enumerate(order)}
        before = (frozenset(p for p in own if place[p] < place[child]) for child, own in enumerate(self.may))
        return replace(self, may=tuple(before))


def demands_on(problem: Data | LocalScores, max_parents: int | None, knowledge: Knowledge) -> Demands:
    """The demands of a claim about a problem: in a time series the past has no parents, and the present has parents in
    the past alone where its data say so. Raises InputError as `demands_of`, and if it requires other arcs."""
    demands, first, n = demands_of(problem.names, max_parents, knowledge), first_of_past(problem), len(problem.names)
    if first == n:
        return demands
    alone = not isinstance(problem, LocalScores) and problem.slices is not None and not problem.slices.instant
    past = frozenset(range(first, n))
    present = (own & past if alone else own for own in demands.may[:first])
    may = (*present, *[frozenset[int]()] * len(past))
    for name, must, own in zip(problem.names, demands.must, may, strict=True):
        if not must <= own:
            raise InputError(f"The knowledge of the result demands a parent of {name!r} that it cannot have in time.")
    return replace(demands, may=may)


def demands_of(names: Sequence[str], max_parents: int | None, knowledge: Knowledge) -> Demands:
    """The demands of a claim; InputError if it names a variable that there is not, or demands what cannot be."""
    several = (*knowledge.required, *knowledge.forbidden, *knowledge.allowed, *knowledge.tiers, *knowledge.apart)
    costed = (arc[:2] for arc in knowledge.costs)
    named = (*itertools.chain(*several, *costed), *knowledge.roots, *knowledge.leaves, *dict(knowledge.max_parents))
    at = {name: number for number, name in enumerate(names)}
    for name in named:
        if name not in at:
            raise InputError(f"The knowledge of the result is about {name!r}, which is not a variable.")
    tier = {name: number for number, own in enumerate(knowledge.tiers) for name in own}
    joined, forbidden = {frozenset(pair) for pair in knowledge.allowed}, set(knowledge.forbidden)
    roots, leaves, groups = set(knowledge.roots), set(knowledge.leaves), [set(group) for group in knowledge.apart]
    may, must, most = [], [], []
    for child in names:
        required = {p for p, c in knowledge.required if c == child}
        apart = set[str]().union(*(group for group in groups if child in group))
        own = {
            parent
            for parent in names
            if parent != child
            and (parent, child) not in forbidden
            and (not joined or frozenset((parent, child)) in joined)
            and child not in roots
            and parent not in leaves
            and parent not in apart
            and not (parent in tier and child in tier and tier[parent] > tier[child])
        }
        limits = [limit for name, limit in knowledge.max_parents if name == child]
        limit = min([len(names) - 1, *limits, *([] if max_parents is None else [max_parents])])
        if not required <= own or len(required) > limit:
            raise InputError(f"The knowledge of the result demands what cannot be of {child!r}.")
        may.append(frozenset(at[name] for name in own))
        must.append(frozenset(at[name] for name in required))
        most.append(limit)
    return Demands(tuple(may), tuple(must), tuple(most))
