"""How many parents a variable has at most in the k best networks, by the best networks under each order.

Chen, Darwiche and Choi 2018, Algorithms 1 and 2, with the condition (*) of limits.py; and Section 4, Table 1: the
smallest limit that is proved for each child, by which theorem, and what lists of scores then take.

**Under one order.** Of all networks that keep to an order and have the family X U, let G* be the first: each other
variable Z has its best parents V among its predecessors, the cheapest, and of these the fewest. Then k subgraphs of G*
that come before G* come before all these networks. Of Z and V we know what the family loses if parents are taken from
it: N H(Z | V') <= N H(Z), and K(Z | V') <= K(Z | V) / r for the least arity r of V, so at most

    loss(Z, V) = N H(Z) + c K(Z | V) / r - cost(Z | V)

where the paper has H_max(Z). We may choose the variables that are to lose parents: `least` has the least loss of any of
them that have 0, 1, 2, ... parents together or more, and (*) is asked with each number. So variables without parents
cost nothing, and a longer suffix of the order is never worse. In the paper each variable of the suffix counts.

**Under all orders.** A node of the permutation tree is a suffix; its successors place one more variable before it. What
follows depends on the set that is left and on `least`, and is monotone in `least`: so nodes that leave the same set are
merged into one that is as bad as each of them in every number. A node is closed where (*) holds, or where X has, or
would have, too few predecessors. If all nodes get closed, no network needs so many parents. We ask that of one size
after the other. An order that closes nowhere refutes a size: we look for such a one first.

The paper's Algorithm 2 returns d(Y) for the largest Y at which k is still too large. Nothing proves that; it would have
to be the one at which k is small enough, and there is none if an order ends before.

Rounding may take other parents V, which cost hardly more. (*) has room for that: SLACK of N H(Z) is in each loss.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import WORD_BITS, pack, sizes, unpacked
from extbnsl.lab.parent_limits.limits import (
    SLACK,
    Candidates,
    LimitProblem,
    candidates,
    corollary_1,
    limit_below,
    theorem_5,
    thresholds,
)
from extbnsl.machine.workers import unhalted
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables, first_inside_each
from extbnsl.scores.local import LocalScores

NODES = 20_000  # of the permutation tree, for each child and size, unless the caller says otherwise
NO_THEOREM = "none"  # the child may have all others, or as many as the claim lets it have
COROLLARY_1 = "corollary 1"
THEOREM_5 = "theorem 5"
ALGORITHM_2 = "algorithm 2"
SCORE_BYTES = 16  # of a family in a list: 64 bits for the parents and 64 for the score
PORTION = 2048  # nodes that are expanded together


@dataclass(frozen=True)
class Choices:
    """The best parents of each variable among given ones, by byte tables. In the order of `tables.costs`: how many
    parents they are, sizes (m,) int64, and what the family loses at most without some of them, losses (m,) float64."""

    tables: ByteTables
    sizes: NDArray[np.int64]
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class TreeLimit:
    """What Algorithm 2 found of a child. nodes: of the tree that were expanded; complete: whether none of the smaller
    limits was given up because their trees had too many."""

    limit: int
    nodes: int
    complete: bool


class _Target(NamedTuple):
    """The question whether a child needs `size` or more parents that vary. thresholds (e + 1,): `limits.thresholds`;
    varying (w,): the variables that vary, without the child."""

    child: int
    size: int
    thresholds: NDArray[np.float64]
    varying: NDArray[np.uint64]


class _Nodes(NamedTuple):
    """Nodes of the permutation tree: the variables that each leaves, (m, w), and the least losses (m, e + 1) of those
    that it has placed, by how many parents these have together."""

    left: NDArray[np.uint64]
    least: NDArray[np.float64]


def choices(problem: LimitProblem, scores: LocalScores) -> Choices:
    """What the algorithms need of the families that can win: all of them, by the score of the problem and under its
    claim, undominated and in score order, as `surviving_families` has them."""
    parents = np.concatenate(scores.parents)
    costs = np.concatenate(scores.costs)
    counts, members = unpacked(parents)
    child = np.repeat(np.arange(problem.variables), [own.size for own in scores.costs])
    some = np.flatnonzero(counts)
    begin = (np.cumsum(counts) - counts)[some]
    arities = problem.arities[members].astype(np.float64)
    smaller = np.ones(costs.size)  # K(Z | V) / r, without the factor of Z
    if some.size:
        smaller[some] = np.multiply.reduceat(arities, begin) / np.minimum.reduceat(arities, begin)
    penalty = problem.parameter * (problem.arities[child] - 1) * smaller
    entropies = problem.entropies[child]
    losses = np.maximum(entropies + penalty - costs, 0.0) + SLACK * entropies
    losses[counts == 0] = 0.0
    return Choices(byte_tables(scores.parents, scores.costs), counts, losses)


def limit_under_all_orders(
    problem: LimitProblem,
    best: Choices,
    child: int,
    k: int,
    nodes: int = NODES,
    check: Callable[[], None] = lambda: None,
) -> TreeLimit:
    """A limit for the child in the k best networks: Algorithm 2, breadth first, of at most so many nodes for each size.

    A size whose tree has more is taken for one that is needed. Time: n queries of BestScore for each node; memory:
    8 (w + log2 k) bytes for each node of two layers, and n times that for PORTION nodes. `check` is called before each
    PORTION, and may raise.
    """
    among = candidates(problem, child, k)
    used, complete = 0, True
    for size in range(1, among.varying + 1):
        target = _target(problem, child, among, size, k)
        if not (target.thresholds >= 0.0).any() or _refuted(problem, target, best, check):
            continue
        proved, expanded = _all_closed(problem, target, best, nodes, check)
        used += expanded
        if proved:
            return TreeLimit(limit_below(problem, among, size), used, complete)
        complete = complete and expanded <= nodes
    return TreeLimit(limit_below(problem, among, among.varying + 1), used, complete)


def _target(problem: LimitProblem, child: int, among: Candidates, size: int, k: int) -> _Target:
    """With 2^e >= k subgraphs by the other families alone, more parents of these make no difference."""
    varying = np.flatnonzero(problem.entropies > 0.0)
    within = thresholds(problem, child, among, size, (k - 1).bit_length(), k)
    return _Target(child, size, within, pack(varying[varying != child].tolist(), problem.variables))


def _root(problem: LimitProblem, target: _Target) -> _Nodes:
    """The empty suffix."""
    least = np.full((1, target.thresholds.size), np.inf)
    least[0, 0] = 0.0
    return _Nodes(pack(range(problem.variables), problem.variables)[None, :], least)


def _refuted(problem: LimitProblem, target: _Target, best: Choices, check: Callable[[], None]) -> bool:
    """Whether a greedy walk down the tree, each time to the node that is farthest from closed, meets no closed one."""
    node = _root(problem, target)
    node = _open(node, target)
    while node.left.size and node.left.any():
        check()
        after = _merged(list(_successors(node, target, best)))
        distance = (after.least - target.thresholds).min(axis=1, initial=np.inf)
        farthest = np.argsort(-distance, kind="stable")[:1]
        node = _Nodes(after.left[farthest], after.least[farthest])
    return bool(node.left.size)


def _all_closed(
    problem: LimitProblem, target: _Target, best: Choices, most: int, check: Callable[[], None]
) -> tuple[bool, int]:
    """Whether all nodes of the tree get closed, and how many were expanded; more than `most`: it is not known."""
    layer, expanded = _open(_root(problem, target), target), 0
    while layer.left.size:
        expanded += layer.left.shape[0]
        if expanded > most or not layer.left.any():
            return False, expanded
        after: list[_Nodes] = []
        for begin in range(0, layer.left.shape[0], PORTION):
            check()
            portion = _Nodes(layer.left[begin : begin + PORTION], layer.least[begin : begin + PORTION])
            after = [_merged([*after, *_successors(portion, target, best)])]
            if expanded + after[0].left.shape[0] > most:
                return False, most + 1
        layer = after[0]
    return True, expanded


def _successors(nodes: _Nodes, target: _Target, best: Choices) -> Iterator[_Nodes]:
    """The open successors of nodes, for each variable that some of them leave; and no nodes."""
    yield _Nodes(nodes.left[:0], nodes.least[:0])
    for z in np.flatnonzero(np.unpackbits(as_bytes(np.bitwise_or.reduce(nodes.left)), bitorder="little")).tolist():
        has = _contains(nodes.left, z)
        after = _placed(_Nodes(nodes.left[has], nodes.least[has]), z, target, best)
        enough = sizes(after.left & target.varying) >= target.size  # predecessors of the child
        yield _open(_select(after, enough | (z != target.child) & ~_contains(after.left, target.child)), target)


def _placed(nodes: _Nodes, z: int, target: _Target, best: Choices) -> _Nodes:
    """The nodes after a variable that all of them leave has been placed."""
    left = nodes.left.copy()
    left[:, z // WORD_BITS] &= ~np.uint64(1 << z % WORD_BITS)
    if z == target.child:
        return _Nodes(left, nodes.least)
    begin = np.zeros(left.shape[0], np.int64)
    chosen = best.tables.first[z] + first_inside_each(z, as_bytes(left), begin, best.tables, unhalted())
    before = np.maximum(np.arange(target.thresholds.size) - best.sizes[chosen][:, None], 0)
    losing = np.take_along_axis(nodes.least, before, axis=1) + best.losses[chosen][:, None]
    return _Nodes(left, np.minimum(nodes.least, losing))


def _closed(nodes: _Nodes, target: _Target) -> NDArray[np.bool_]:
    """Where (*) of limits.py holds."""
    return np.logical_or.reduce(nodes.least <= target.thresholds, axis=1)


def _open(nodes: _Nodes, target: _Target) -> _Nodes:
    return _select(nodes, ~_closed(nodes, target))


def _select(nodes: _Nodes, which: NDArray[np.bool_]) -> _Nodes:
    return _Nodes(nodes.left[which], nodes.least[which])


def _contains(varsets: NDArray[np.uint64], v: int) -> NDArray[np.bool_]:
    return (varsets[:, v // WORD_BITS] & np.uint64(1 << v % WORD_BITS)).astype(np.bool_)


def _merged(several: Sequence[_Nodes]) -> _Nodes:
    """The nodes of all, those that leave the same set as one with the largest of their losses."""
    left = np.concatenate([nodes.left for nodes in several])
    least = np.concatenate([nodes.least for nodes in several])
    order = np.lexsort(tuple(left.T))
    left, least = left[order], least[order]
    first = np.flatnonzero(np.append(True, (left[1:] != left[:-1]).any(axis=1))[: left.shape[0]])
    return _Nodes(left[first], np.maximum.reduceat(least, first, axis=0) if first.size else least)


@dataclass(frozen=True)
class ParentLimits:
    """Limits on the numbers of parents in the k best networks.

    limits (n,) int64. by: for each child the first of NO_THEOREM, COROLLARY_1, THEOREM_5, ALGORITHM_2 that gives its
    limit. nodes: of permutation trees that were expanded. complete: whether no tree was given up for having too many.
    """

    k: int
    limits: NDArray[np.int64]
    by: tuple[str, ...]
    nodes: int
    complete: bool

    @property
    def most(self) -> int:
        """The largest limit, p of Table 1."""
        return int(self.limits.max())


def parent_limits(
    problem: LimitProblem,
    best: Choices | None,
    k: int,
    nodes: int = NODES,
    check: Callable[[], None] = lambda: None,
) -> ParentLimits:
    """The tightest limits for the k best networks, k >= 1, by Corollary 1, Theorem 5 and Algorithm 2.

    Without the best families, `best`, there is no Algorithm 2. nodes, check: as in `limit_under_all_orders`.
    """
    local = theorem_5(problem, k)
    found = [TreeLimit(limit, 0, True) for limit in local.tolist()]
    if best is not None:
        found = [limit_under_all_orders(problem, best, child, k, nodes, check) for child in range(problem.variables)]
    limits = np.minimum(local, [tree.limit for tree in found])
    proofs = zip(
        np.full(problem.variables, problem.most).tolist(),
        corollary_1(problem, k).tolist(),
        local.tolist(),
        limits.tolist(),
        strict=True,
    )
    names = (NO_THEOREM, COROLLARY_1, THEOREM_5, ALGORITHM_2)
    by = tuple(names[proved.index(min(proved))] for proved in proofs)
    return ParentLimits(k, limits, by, sum(tree.nodes for tree in found), all(tree.complete for tree in found))


def score_list_bytes(variables: int, most: int | None = None) -> int:
    """What a list of the scores of all families takes, or of those of at most `most` parents: footnote 9, in bytes.

    The gigabytes of Table 1 are of 2^30 bytes.
    """
    largest = variables - 1 if most is None else min(most, variables - 1)
    return SCORE_BYTES * variables * sum(math.comb(variables - 1, size) for size in range(largest + 1))
