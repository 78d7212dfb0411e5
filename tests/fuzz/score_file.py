"""A score file as a value that is easy to change: what the checks are about, and what is made smaller."""

import math
from dataclasses import dataclass, replace

import naive
import numpy as np

from extbnsl.kernels.varsets import words
from extbnsl.scores.local import LocalScores, local_scores

WORD = (1 << 64) - 1


@dataclass(frozen=True)
class ScoreFile:
    """families[x]: the (varset, cost) pairs of child x, in any order, as Python integers and floats."""

    names: tuple[str, ...]
    families: tuple[tuple[tuple[int, float], ...], ...]

    ending = ".jkl"

    @property
    def variables(self):
        return len(self.names)

    @property
    def size(self):
        """How many families there are."""
        return sum(map(len, self.families))

    def scores(self) -> LocalScores:
        """The same for the solver; raises InputError as it does."""
        width = words(self.variables)
        pairs = []
        for own in self.families:
            rows = [[varset >> 64 * w & WORD for w in range(width)] for varset, _ in own]
            pairs.append((np.array(rows, np.uint64).reshape(-1, width), np.array([cost for _, cost in own], float)))
        return local_scores(self.names, pairs, "file")

    def text(self):
        """The file in the format of GOBNILP, where scores are minus the costs."""
        lines = [str(self.variables)]
        for name, own in zip(self.names, self.families, strict=True):
            lines.append(f"{name} {len(own)}")
            for varset, cost in own:
                parents = [self.names[p] for p in naive.members(varset)]
                lines.append(" ".join([repr(0.0 - cost), str(len(parents)), *parents]))
        return "\n".join(lines) + "\n"

    def table(self):
        """The costs as in tests/naive.py, (n, 2^n)."""
        return naive.cost_table(self.variables, self.families)

    def costs_of(self, parents):
        """What each family of a network costs, given the parents of each child as tuples; infinity if it is not
        there."""
        found = zip(self.families, parents, strict=True)
        return [dict(own).get(sum(1 << p for p in one), math.inf) for own, one in found]

    def cheapest(self):
        """The least cost of each child."""
        return [min(cost for _, cost in own) for own in self.families]

    def feasible(self):
        """Whether some choice of families has no cycle: who can come first, then who can come next, and so on."""
        placed, before = 0, -1
        while placed != before:
            before = placed
            for x, own in enumerate(self.families):
                if any(varset & ~placed == 0 for varset, _ in own):
                    placed |= 1 << x
        return placed == (1 << self.variables) - 1

    def kept(self, keep):
        """The file of the families for which keep(child, varset) is true."""
        return replace(
            self,
            families=tuple(tuple(f for f in own if keep(x, f[0])) for x, own in enumerate(self.families)),
        )

    def without_variable(self, gone):
        """The file without a variable: it is left out of the parent sets too, the cheapest of equal ones stays."""

        def narrowed(varset):
            return varset & (1 << gone) - 1 | varset >> gone + 1 << gone

        families = []
        for x, own in enumerate(self.families):
            if x != gone:
                least = {}
                for varset, cost in own:
                    least[narrowed(varset)] = min(cost, least.get(narrowed(varset), math.inf))
                families.append(tuple(least.items()))
        return ScoreFile(self.names[:gone] + self.names[gone + 1 :], tuple(families))

    def permuted(self, order):
        """The file with its variables in another order, and its families in any."""
        place = {x: at for at, x in enumerate(order)}
        families = tuple(
            tuple((sum(1 << place[p] for p in naive.members(v)), c) for v, c in reversed(self.families[x]))
            for x in order
        )
        return ScoreFile(tuple(self.names[x] for x in order), families)

    def with_costs(self, change):
        """The file with cost change(child, cost) of each family."""
        return replace(
            self,
            families=tuple(tuple((v, change(x, c)) for v, c in own) for x, own in enumerate(self.families)),
        )

    def beside(self, other):
        """Both files as one, which has no arc between them."""
        shift = self.variables
        moved = tuple(tuple((v << shift, c) for v, c in own) for own in other.families)
        names = tuple(f"{name}'" for name in other.names)
        return ScoreFile(self.names + names, self.families + moved)

    def reductions(self):
        """Ways to make it smaller: what could go, and what is left without some of that, None if nothing is."""
        return (
            (lambda file: list(range(file.variables))[::-1], _without_variables),
            (lambda file: [(x, f) for x, own in enumerate(file.families) for f in own], _without_families),
            (lambda file: list(range(file.variables)), _rounded),
        )

    def document(self):
        """The value as JSON; `score_file_from` takes it back."""
        return {"names": list(self.names), "families": [[list(f) for f in own] for own in self.families]}


def score_file_from(document):
    families = tuple(tuple((int(v), float(c)) for v, c in own) for own in document["families"])
    return ScoreFile(tuple(document["names"]), families)


def _without_variables(file, gone):
    """`gone`: numbers, descending."""
    if len(gone) == file.variables:
        return None
    for x in gone:
        file = file.without_variable(x)
    return file


def _without_families(file, gone):
    lost = set(gone)
    families = tuple(tuple(f for f in own if (x, f) not in lost) for x, own in enumerate(file.families))
    return replace(file, families=families) if all(families) else None


def _rounded(file, children):
    """The costs of these children with as few digits as keep them apart; None if nothing changes."""
    families = list(file.families)
    for x in children:
        costs = sorted({c for _, c in families[x]})
        families[x] = tuple((v, float(costs.index(c))) for v, c in families[x])
    return None if tuple(families) == file.families else replace(file, families=tuple(families))
