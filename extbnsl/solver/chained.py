"""What every network costs at least while not all families are known: by the chain rule of entropies.

In a network every variable comes after its parents, so what these leave of it is at least what all before it leave.
By the chain rule that adds up, over all variables V, to N H(V): no network has less misfit, whatever its parents are.
With penalty(X, P) at most the rest of a family's cost, and any share t in [0, 1], every network costs at least

    t N H(V) + sum over the children X of the least (1 - t) cost(X, P) + t penalty(X, P) of any P.

For t = 0 a child costs what its cheapest family does, of which nothing is known while large parent sets are open; for t
= 1 it costs its least penalty, and all of the misfit is shared. Between them is the best of both: large parent sets
have large penalties. The bound is concave in t. Multipliers of clusters may be added to the sum, which is that of a
problem of its own. Of a score without penalties (scores/dirichlet.py, scores/qnml.py) the cost is at least the misfit.

Families that are not known are taken for one without parents that costs as much as they do at least: whatever their
parents are, it fulfils every cut that they do.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import ascended, multipliers_bytes
from extbnsl.bounds.multipliers import families_of
from extbnsl.data import Dataset, distinct_rows
from extbnsl.parents.explored.explore import Exploration, Explored
from extbnsl.parents.explored.families import FamilyList, varsets_of

ROUNDING = 1e-9  # of sums of m ln m, per nat
STEPS = 40  # of a golden section search
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
WIDEST = 400  # variables: an ascent takes 4 s for 800 of them


def joint_misfit(dataset: Dataset) -> float:
    """N H(all variables), given those that are given, in nats, less what rounding may add: no network has less misfit.
    O(n N log N)."""
    most = dataset.records * math.log(dataset.records)
    own = _entropy(dataset.codes, most) - _entropy(dataset.codes[:, dataset.given], most)
    return dataset.each * max(0.0, own - ROUNDING * most)


def _entropy(codes: NDArray[np.uint16], most: float) -> float:
    """N H of columns (N, n) together; most: N ln N."""
    if codes.shape[1] == 0:
        return 0.0
    _, weights = distinct_rows(codes)
    return most - float((weights * np.log(weights)).sum())


@dataclass(frozen=True, eq=False)
class Choices:
    """The families of a child, (m,), and one in the place of all that are not known: what each costs, and the penalty
    in that, at least, in nats."""

    families: FamilyList
    costs: NDArray[np.float64]
    penalties: NDArray[np.float64]

    def shared(self, share: float) -> NDArray[np.float64]:
        """What they cost when this share of the misfit is counted for all variables together: (m,), in nats."""
        return (1.0 - share) * self.costs + share * self.penalties


def choices_of(own: Explored, floor: float, least: float, problem: Exploration) -> Choices:
    """The choices of a child of which an exploration or counting knows so much. floor: what all others leave of it, and
    the penalty of no parents, less what arcs may save; least: what any family of it costs, both at least."""
    families, price = own.families, problem.of_no_parents(own.child)
    configurations = np.ones(families.families)
    some = np.flatnonzero(np.diff(families.starts))
    if some.size:
        factors = problem.data.arities[families.parents].astype(np.float64)
        configurations[some] = np.multiply.reduceat(factors, families.starts[some])
    penalty, saved = max(price, own.left.penalty), float(problem.saved[own.child])
    others = [(max(0.0, floor + saved - price) + penalty - saved, penalty), (max(least, own.left.cost), price)]
    others = [one for one in others if one[0] < math.inf]
    return Choices(
        families,
        np.concatenate([families.costs, [cost for cost, _ in others]]),
        np.concatenate([price * configurations, [penalty for _, penalty in others]]) - saved,
    )


def shared_bound(choices: Sequence[Choices], joint: float, memory: int, seed: int, seconds: float) -> float:
    """A lower bound of all networks, in nats; joint: N H(all variables) at most. Multipliers raise it in about so many
    seconds, where the variables are few enough and that takes no more than the memory."""

    def without_cuts(share: float) -> float:
        return share * joint + math.fsum(float(own.shared(share).min()) for own in choices)

    best = max((0.0, 1.0, _highest(without_cuts)), key=without_cuts)
    bounds = [without_cuts(best)]
    if (
        seconds > 0.0
        and len(choices) <= WIDEST
        and multipliers_bytes([own.costs for own in choices], len(choices), 1) <= memory
    ):
        for share in sorted({0.0, best}):
            families = families_of(*zip(*(_in_order(own, share, len(choices)) for own in choices), strict=True))
            bounds.append(share * joint + ascended(families, seed, seconds / 2).root)
    return max(bounds)


def _in_order(own: Choices, share: float, n: int) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The parent sets of the choices, (m, words), and what they cost at this share, the cheapest first."""
    known = varsets_of(own.families, n)
    others = np.zeros((own.costs.size - own.families.families, known.shape[1]), np.uint64)
    costs = own.shared(share)
    order = np.argsort(costs, kind="stable")
    return np.concatenate([known, others])[order], costs[order]


def _highest(bound: Callable[[float], float]) -> float:
    """Where a concave function on [0, 1] is about highest: by a golden section."""
    low, high = 0.0, 1.0
    a, b = high - GOLDEN, low + GOLDEN
    at_a, at_b = bound(a), bound(b)
    for _ in range(STEPS):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = bound(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = bound(a)
    return (low + high) / 2.0
