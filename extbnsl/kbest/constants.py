"""Variables of one state in the data, as parents and as children.

A solve leaves them alone: as parents they tell nothing, as children they need nothing. But a network with an arc from
or to such a variable is another network. It costs the same, or more by the penalty alone where states are declared that
do not occur. So these networks stand beside each other in a ranking.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from extbnsl.core.errors import BudgetError
from extbnsl.data import Dataset
from extbnsl.kbest.networks import ChildFamilies
from extbnsl.kernels.varsets import WORD_BITS, pack, sizes
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.scores.charges import Charges, charges_of
from extbnsl.scores.known import Known, score_of
from extbnsl.scores.local import LocalScores, in_order
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore, penalty_of

MOST_FAMILIES = 1 << 22  # of a child
LOOKED_AT = 1 << 10  # parent sets between two looks at the stop signal


def constants(dataset: Dataset, score: Known = MDL) -> tuple[int, ...]:
    """The variables that no search of parent sets looks at, whatever the families of others: they have one state."""
    looked_at = set(varying(dataset, score).tolist())
    return tuple(x for x in range(dataset.variables) if x not in looked_at)


def with_constants(
    scores: LocalScores, dataset: Dataset, slack: float, k: int | None, check: Callable[[], None] = lambda: None
) -> LocalScores:
    """The families within a slack of their best subsets, when `scores` has those of the variables that vary; or enough
    of them for the k best networks.

    A variable X with one state costs nothing with any parents. At the end of an optimal network it can have any of
    them, so if there are k such sets, the k best networks cost as much as the optimum, and those with k sets of X are
    among them; nothing else is needed. Raises BudgetError, naming the variable, if a child has too many families.
    `check` is called again and again, and may raise.
    """
    score = score_of(scores.claim)
    still = constants(dataset, score)
    if not still:
        return scores
    constraints = constraints_of(scores.claim, dataset.names)
    charges = charges_of(scores.claim, dataset.names)
    free = [x for x in still if dataset.arities[x] == 1 and not constraints.required[x].any() and not charges]
    if k is not None and free:
        few = [pack(own, dataset.variables) for own in itertools.islice(_subsets(free[0], constraints), k)]
        if len(few) == k:
            return _replaced(scores, {free[0]: (np.array(few), np.zeros(k))})
    parameter = score.parameter(dataset.total) if isinstance(score, ParameterScore) else 0.0  # of one state: all free
    given = _Given(dataset, constraints, parameter, charges, slack, check)
    families = {}
    for x in range(dataset.variables):
        known = scores.parents[x], scores.costs[x]
        families[x] = _of_constant(x, given) if x in still else _with_parents(known, x, still, given)
    return _replaced(scores, families)


@dataclass(frozen=True)
class _Given:
    """What the families of all children follow from."""

    dataset: Dataset
    constraints: Constraints
    parameter: float
    charges: Charges
    slack: float
    check: Callable[[], None]


def _replaced(scores: LocalScores, families: dict[int, ChildFamilies]) -> LocalScores:
    """The scores with other families of some children, in any order."""
    parents, costs = list(scores.parents), list(scores.costs)
    for x, (varsets, own) in families.items():
        parents[x], costs[x] = in_order(varsets, own)
    return LocalScores(scores.names, tuple(parents), tuple(costs), scores.claim)


def _subsets(x: int, constraints: Constraints) -> Iterator[tuple[int, ...]]:
    """The parent sets that x may have, by size, each after its subsets."""
    must, others = constraints.parents_required(x), constraints.candidates(x).tolist()
    for size in range(min(len(others), int(constraints.limits[x]) - len(must)) + 1):
        for own in itertools.combinations(others, size):
            yield tuple(sorted((*must, *own)))


def _of_constant(x: int, given: _Given) -> ChildFamilies:
    """Those of a constant child: its parents cost their penalty."""
    dataset = given.dataset
    n, states = dataset.variables, dataset.arities.astype(float)
    arity = 1 if x in dataset.given else int(dataset.arities[x])
    least = math.inf
    kept: list[tuple[tuple[int, ...], float]] = []
    for number, own in enumerate(_subsets(x, given.constraints)):  # the first is part of all
        if number % LOOKED_AT == 0:
            given.check()
        if kept and len(own) > len(kept[-1][0]) + 1:  # a set costs no less than its subsets
            break
        counted = dataset.counted(x, own)
        if counted is not None and not counted.any():
            continue
        cost = penalty_of(given.parameter, arity, math.prod(states[list(own)].tolist())) + given.charges.cost(x, own)
        least = min(least, cost)
        if cost <= least + given.slack:
            kept.append((own, cost))
            _check(len(kept), dataset.names[x])
    return np.array([pack(own, n) for own, _ in kept]), np.array([cost for _, cost in kept])


def _with_parents(families: ChildFamilies, x: int, still: Sequence[int], given: _Given) -> ChildFamilies:
    """Those of a child that varies, with any of the constants as further parents."""
    (varsets, costs), dataset, constraints = families, given.dataset, given.constraints
    candidates = set(constraints.candidates(x).tolist())
    still = [v for v in still if v in candidates]
    penalties = np.full(costs.size, penalty_of(given.parameter, int(dataset.arities[x]), 1.0))
    for v, arity in enumerate(dataset.arities.tolist()):
        has = (varsets[:, v // WORD_BITS] >> np.uint64(v % WORD_BITS)) & np.uint64(1) != 0
        penalties[has] *= arity
    found = [(varsets, costs)]
    for size in range(1, len(still) + 1):
        for own in itertools.combinations(still, size):
            given.check()
            more = penalties * (math.prod(dataset.arities[list(own)].tolist()) - 1.0) + given.charges.cost(x, own)
            kept = (more <= given.slack) & (sizes(varsets) + size <= constraints.limits[x])
            found.append((varsets[kept] | pack(own, dataset.variables), costs[kept] + more[kept]))
            _check(sum(len(costs) for _, costs in found), dataset.names[x])
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def _check(families: int, name: str) -> None:
    """Raise BudgetError if a child has too many families."""
    if families > MOST_FAMILIES:
        raise BudgetError(
            f"{name!r} has more than {MOST_FAMILIES:,} parent sets that cost the same, since some columns never vary; "
            "leave these columns out."
        )
