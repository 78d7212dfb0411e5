"""How many parents a variable has at most in the k best networks, from records, arities and entropies alone.

Chen, Darwiche and Choi 2018, Section 3; their Theorem 2 is that for k = 1. Costs are N H(X | U) + c K(X | U) in nats,
with K(X | U) = (r_X - 1) times the product of the arities of U, and c the price of a free parameter.

**What a limit promises.** Put all networks in order: by cost, those of equal cost by the number of their arcs, those
that are still equal in any fixed way. A limit drops a network G only where k others come before it. So G is not among
the first k, and these keep all limits at once, of every child and of every theorem; they cost what the k best cost.
With ties there may be others of the same costs that do not keep the limits. Where the claim has a limit of its own all
of this is said of the networks that keep it: with a network it holds every subgraph.

**Lemma 1, for any arities.** Let q_i be the product of the i smallest arities of the other variables that vary. Let U
have at least b of these as members, and let U' lack at least j of them. Then K(X | U') <= K(X | U) / q_j and
K(X | U) >= (r_X - 1) q_b, so K(X | U) - K(X | U') >= (1 - 1 / q_j) (r_X - 1) q_b. The paper has j = 1 and q_1 >= 2.
There are sum over i <= b - j of C(b, i) such U' or more: the larger j, the fewer subsets, and the more is saved. As
many subsets as are needed will do.

**Theorems 5 and 6, for any arities.** No parents lower the misfit of X by more than its `gain`: N H(X) less
N H(X | all others), since N H(X | V) is at most the first and at least the second, whatever V. The paper has
H_max(X) = N ln r_X, which is not less. Let h be what the families of some other variables can lose together if parents
are taken from them; at most the sum of their gains, as their K does not grow. If

    gain(X) + h <= (1 - 1 / q_j) c (r_X - 1) q_b                                                             (*)

then all subgraphs of G that lack at least j of the parents of X that vary, b or more, and any of those that the other
families have, cost at most what G does. With e parents in the other families there are 2^e times as many as there are
U'. A child of one state has K = 0 and gain 0: (*) then holds for h = 0 alone.

**Idle parents.** A variable that never varies tells nothing as a parent, and if it has one state only it does not
double K, which Lemma 1 needs. A family with a of them costs at least what its 2^a - 1 subsets cost that lack idle
parents alone. So none of the first k networks has more than floor(log2 k) in a family. (*) need only be asked for
families with as many idle parents as there may be, i: with b others there are 2^i times the subsets, and 2^i - 1. With
one idle parent less and one other more there are at least as many, as b + 1 variables have at least 2 s + 1 subsets
that lack j of them if b have s.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.data import Dataset
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.source import lattice_of
from extbnsl.scores.cells import cells_of
from extbnsl.scores.known import score_of
from extbnsl.scores.score import ParameterScore, penalty_of

SLACK = 1e-9  # relative: what holds only within this counts as not holding, so that rounding never decides


@dataclass(frozen=True)
class LimitProblem:
    """What the theorems need to know of n variables and N records.

    arities (n,) int64, as declared. entropies (n,) float64: N H(X). gains (n,) float64: by how much, at most, any
    parents lower N H(X), and SLACK of N H(X) more. parameter: the price of a free parameter. All in nats.
    most: the most parents that a variable may have, n - 1 or the claim's limit.
    """

    records: float
    arities: NDArray[np.int64]
    entropies: NDArray[np.float64]
    gains: NDArray[np.float64]
    parameter: float
    most: int

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return int(self.arities.size)

    def check(self) -> None:
        """Raise AssertionError if this cannot be."""
        n = self.variables
        assert self.entropies.shape == self.gains.shape == (n,), "an entropy and a gain for each variable"
        assert self.records >= 1, "there are records"
        assert (self.arities >= 1).all(), "every variable has a state"
        assert (self.gains >= 0.0).all(), "parents explain nothing or something"
        assert (self.gains <= (1.0 + 2.0 * SLACK) * self.entropies).all(), "and no more than there is"
        assert 0 <= self.most <= max(0, n - 1), "limits are sizes"
        assert self.parameter >= 0.0, "penalties do not fall"


@dataclass(frozen=True)
class Candidates:
    """The possible parents of a child. products (m + 1,) float64: the products of the 0, 1, ..., m smallest arities of
    those that vary (q in this module); idle: how many of the others a family of the k best may have."""

    products: NDArray[np.float64]
    idle: int

    @property
    def varying(self) -> int:
        """How many vary."""
        return int(self.products.size) - 1


def limit_problem(dataset: Dataset, claim: Claim, workers: Workers) -> LimitProblem:
    """The problem of a data set. O(n N) hash operations; InputError if there is no such score, Stopped if the workers
    are stopped."""
    score = check_limited(claim)
    n = dataset.variables
    entropies, gains = np.zeros(n), np.zeros(n)
    source = lattice_of(dataset, claim)
    order = source.order
    if order.size:
        counted = source.with_floors(source.problem(0.0), workers)
        entropies[order] = [cells_of(dataset, variable).misfit for variable in order.tolist()]
        gains[order] = np.minimum(entropies[order] - counted.floors, entropies[order]) + SLACK * entropies[order]
    most = n - 1 if claim.max_parents is None else min(claim.max_parents, n - 1)
    return LimitProblem(dataset.total, dataset.arities, entropies, gains, score.parameter(dataset.total), most)


def check_limited(claim: Claim) -> ParameterScore:
    """The score of a claim, for which there are limits; InputError if there are none."""
    score = score_of(claim)
    if not isinstance(score, ParameterScore):
        raise InputError(
            f"score: parent limits of the k best networks need a price of each parameter, and {score.name!r} has none."
        )
    if claim.charges:
        raise InputError("parent_cost: the parent limits of the k best networks are by the score alone; leave it out.")
    if claim.knowledge:
        raise InputError("knowledge: the parent limits of the k best networks are for all networks; leave it out.")
    return score


def corollary_1(problem: LimitProblem, k: int) -> NDArray[np.int64]:
    """Limits for the k best networks from the number of records alone, (n,) int64: Corollary 1.

    d = floor(log2(2 N / c)), with c in bits, where k <= 2^(d + 1) - 1, and else the least d for which that holds.
    """
    return np.array([corollary_2(problem, child, (), 0, k) for child in range(problem.variables)], np.int64)


def corollary_2(problem: LimitProblem, child: int, others: Sequence[int], exponent: int, k: int) -> int:
    """A limit for the child X, where `others` have `exponent` parents together in the network: Corollary 2.

    d = floor(log2(2 N alpha (m + 1) / c)), with c in bits and m others, where k <= (2^(d + 1) - 1) 2^exponent, and else
    the least d for which that holds. alpha is the largest of 1 and log2 r_Y / (r_X - 1) over the others Y: the proof
    takes it for at least 1, which the paper's own formula for it is not if the child has many states. With r_X = 1
    there is no such number, unless the others have one state too: Theorem 6 has 0 on its right, and gives no limit.
    """
    arity = int(problem.arities[child])
    bits = [math.log2(int(problem.arities[other])) for other in others]
    if problem.parameter == 0.0 or (arity == 1 and any(bits)):
        return problem.most
    alpha = 1.0 if arity == 1 else max([1.0, *(own / (arity - 1) for own in bits)])
    ratio = 2.0 * problem.records * math.log(2.0) / problem.parameter * alpha * (len(bits) + 1)
    among = candidates(problem, child, k)
    size = 1 + max(0, math.floor(math.log2(ratio) + SLACK))
    while size <= among.varying and not most_lacking(size, exponent, among.idle, k):
        size += 1
    return limit_below(problem, among, size)


def theorem_5(problem: LimitProblem, k: int) -> NDArray[np.int64]:
    """Limits for the k best networks, (n,) int64, from each child's own entropy and the arities of the others: (*) of
    this module with h = 0, never more than those of Corollary 1. For k = 1 it is what `most_parents` of scores/score.py
    says."""
    found = np.zeros(problem.variables, np.int64)
    for child in range(problem.variables):
        among = candidates(problem, child, k)
        size = 1
        while size <= among.varying and not (thresholds(problem, child, among, size, 0, k) >= 0.0).any():
            size += 1
        found[child] = limit_below(problem, among, size)
    return found


def candidates(problem: LimitProblem, child: int, k: int, among: Sequence[int] | None = None) -> Candidates:
    """The possible parents of a child in the k best networks: all others, or those `among` them. O(n log n)."""
    others = np.delete(np.arange(problem.variables), child) if among is None else np.array(among, np.int64)
    vary = problem.entropies[others] > 0.0
    with np.errstate(over="ignore"):
        products = np.cumprod(np.append(1.0, np.sort(problem.arities[others[vary]])), dtype=np.float64)
    return Candidates(products, min(int((~vary).sum()), k.bit_length() - 1))


def limit_below(problem: LimitProblem, among: Candidates, size: int) -> int:
    """The limit that follows if no network needs `size` or more parents that vary."""
    return min(problem.most, among.idle + min(size - 1, among.varying))


def thresholds(
    problem: LimitProblem, child: int, among: Candidates, size: int, exponent: int, k: int
) -> NDArray[np.float64]:
    """What the families of other variables may lose, so that k subgraphs are as good as a network whose child has
    `size` or more parents that vary: (exponent + 1,) float64 nats, by the number of parents that these families have
    together. It is h of (*) in this module; -inf where there are not enough subgraphs."""
    found = np.full(exponent + 1, -math.inf)
    penalty = penalty_of(problem.parameter, int(problem.arities[child]), float(among.products[size]))
    for others in range(exponent + 1):
        lacking = most_lacking(size, others, among.idle, k)
        if lacking:
            found[others] = (1.0 - 1.0 / among.products[lacking]) * penalty - problem.gains[child]
    return found


def most_lacking(size: int, exponent: int, idle: int, k: int) -> int:
    """The largest j for which k subgraphs lack at least j of `size` parents that vary, 0 if too few lack any.

    Each goes with any of the `idle` parents and any of the `exponent` parents of other families; and 2^idle - 1
    subgraphs lack idle parents alone. O(size).
    """
    subsets = 0
    for lacking in range(size, 0, -1):
        subsets += math.comb(size, lacking)
        if (subsets << (idle + exponent)) + (1 << idle) - 1 >= k:
            return lacking
    return 0
