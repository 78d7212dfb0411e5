"""Local scores that a function of a caller in Python gives: what a family costs, by names.

Nothing is known of such a score, so every parent set up to the limit is asked for, once. Of a child's families those
stay that cost less than all of their subsets: whatever a network has in place of another one is one of them.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.compiling import clock
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, StageAdvanced, StageEnded, StageStarted
from extbnsl.core.figures import in_full
from extbnsl.kernels.varsets import WORD_BITS, pack, unpack, words
from extbnsl.machine.budgets import Deadline
from extbnsl.parents.charged import most_saved
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.problem import Families
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.local import GIVEN, LocalScores, given_cost, in_order, local_scores

STAGE = "scores"
KEPT = 1 << 12  # families of a child that wait until the dominated ones are dropped

ScoreFunction = Callable[[str, tuple[str, ...]], float]  # of a child and its parents, in nats, to be minimised


def scores_by(
    function: ScoreFunction, names: Sequence[str], claim: Claim, deadline: Deadline, observer: Observer
) -> LocalScores:
    """The local scores of the families that a claim admits, as far as they can win, by a function that is called once
    for each. It gets the name of a child and those of its parents, in the order of the variables, and returns the cost
    in nats, infinity for a family that is not allowed. What arcs cost besides is not in them.

    InputError if the claim has no limit of parents, and naming the family, if the function raises, or returns what is
    no number, or another one when it is asked again; BudgetError once the deadline has passed.
    """
    if claim.max_parents is None:
        raise InputError(
            "max_parents: a score that is a function is asked for every parent set; say how many parents a variable "
            "may have at most."
        )
    constraints, saved = constraints_of(claim, names), most_saved(claim, names)
    total = sum(_number_of_sets(x, constraints) for x in range(len(names)))
    observer(StageStarted(STAGE, f"{in_full(total, 'parent set')} by the function", None))
    begun, families, done = clock(), list[Families](), 0
    for x in range(len(names)):
        found: Families = np.zeros((0, words(len(names))), np.uint64), np.zeros(0)
        for part in _parts(_families(x, constraints)):
            costs = [_cost(function, names[x], tuple(names[p] for p in own)) for own in part if not deadline.passed()]
            done += len(costs)
            if len(costs) < len(part):
                of = f"{done:,} of {in_full(total, 'parent set')}"
                raise BudgetError(f"Time was over when the function had costed {of}: give more, or fewer parents.")
            observer(StageAdvanced(STAGE, done, total, "parent sets"))
            found = _joined(found, part, costs, float(saved[x]))
        if found[1].size == 0:
            raise InputError(f"score: the function allows no parent set of {names[x]!r}.")
        families.append(found)
        _check_again(function, names, x, found)
    observer(StageEnded(STAGE, clock() - begun, f"{in_full(done, 'parent set')} costed"))
    return local_scores(names, families, GIVEN)


def _number_of_sets(x: int, constraints: Constraints) -> int:
    """How many parent sets a child may have."""
    may, most = constraints.candidates(x).size, int(constraints.limits[x]) - len(constraints.parents_required(x))
    return sum(math.comb(may, size) for size in range(min(may, most) + 1))


def _families(x: int, constraints: Constraints) -> Iterator[tuple[int, ...]]:
    """The parent sets that a child may have, ascending, by size."""
    must, may = constraints.parents_required(x), constraints.candidates(x).tolist()
    for size in range(min(len(may), int(constraints.limits[x]) - len(must)) + 1):
        for own in itertools.combinations(may, size):
            yield tuple(sorted((*must, *own)))


def _parts(families: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Families in parts of KEPT."""
    while part := list(itertools.islice(families, KEPT)):
        yield part


def _joined(before: Families, part: Sequence[tuple[int, ...]], costs: Sequence[float], slack: float) -> Families:
    """The families that are known and some more, without those that cost more than a subset by more than the slack."""
    n = WORD_BITS * before[0].shape[1]
    varsets, own = np.array([pack(parents, n) for parents in part], np.uint64), np.array(costs)
    allowed = np.isfinite(own)
    varsets, own = in_order(np.concatenate((before[0], varsets[allowed])), np.concatenate((before[1], own[allowed])))
    kept = undominated(varsets, own, with_rounding(slack, float(np.abs(own).max(initial=0.0))))
    return varsets[kept], own[kept]


def _cost(function: ScoreFunction, child: str, parents: tuple[str, ...]) -> float:
    """What the function says that a family costs."""
    try:
        value = function(child, parents)
    except Exception as error:
        raise InputError(
            f"score: the function raised {type(error).__name__} for {_told(child, parents)}: {error}"
        ) from error
    try:
        return given_cost(value)
    except ValueError as error:
        raise InputError(
            f"score: for {_told(child, parents)} the function returned {error}: it is to return nats, or infinity for "
            "a family that is not allowed."
        ) from None


def _check_again(function: ScoreFunction, names: Sequence[str], x: int, found: Families) -> None:
    """Raise InputError if the function says something else of the cheapest family when it is asked again."""
    parents = tuple(names[p] for p in unpack(found[0][0]))
    before, again = float(found[1][0]), _cost(function, names[x], parents)
    if again != before:
        raise InputError(
            f"score: the function returned {before!r} and then {again!r} for {_told(names[x], parents)}; it must "
            "return the same for the same family."
        )


def _told(child: str, parents: tuple[str, ...]) -> str:
    """A family in a sentence."""
    return f"{child!r} with {', '.join(map(repr, parents))}" if parents else f"{child!r} without parents"
