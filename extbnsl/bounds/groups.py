"""Which variables to put together in the groups of a pattern database.

A group keeps acyclicity among its own variables, so variables that want each other as parents belong together. The
grouping starts from pair weights (Kernighan and Lin 1970) and is then improved by swaps, each judged by building the
real tables: the sum of their root entries is the bound h of the empty varset.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.patterns import group_families, pattern_table
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.workers import Workers

WIDEST = 18  # variables in one group: 2.3 million entries to build, 2 MB to keep
BESIDE_CLUSTERS = 16  # variables in a group beside multipliers: its part of a table stays in the cache
SWAPS_PER_ROUND = 16
TOLERANCE = 0.02  # of the gap at the root, by which a swap may lower it
SHARE = 0.2  # of the expected search that swaps may cost without improving the grouping
MOST_PASSES = 100  # over the variables: some are enough
TABLE_NS = 0.5  # per k^2 2^k of a group of k variables


@dataclass(frozen=True)
class Grouping:
    """Groups of variables with the pattern database of each; `root` is the sum of the tables' first entries."""

    groups: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[np.float64], ...]

    @property
    def root(self) -> float:
        return sum(float(t[0]) for t in self.tables)


FamiliesByChild = tuple[Sequence[NDArray[np.uint64]], Sequence[NDArray[np.float64]]]


def find_grouping(
    families: FamiliesByChild,
    widest: int,
    upper_bound: float,
    workers: Workers,
    seed: int,
    expected_ns: Callable[[Grouping], float],
) -> Grouping:
    """A good grouping of the k children of `families` (varsets (m, 1), costs (m,)) into groups of at most `widest`.

    Swaps go on in rounds until those since the last improvement cost SHARE of what the search takes that `expected_ns`
    foresees with the best grouping. Deterministic for a seed.
    """
    parents, costs = families
    k = len(parents)
    count = -(-k // widest)
    if count == 1:
        return build_grouping([range(k)], families)
    grouping = build_grouping(split_by_weight(pair_weights(parents, costs), count), families)
    rng = np.random.default_rng(seed)
    width = -(-k // count)
    round_ns = SWAPS_PER_ROUND * 2 * TABLE_NS * width * width * 2.0**width
    best = grouping
    search_ns = expected_ns(best)
    stale = 0
    while (stale + 1) * round_ns <= SHARE * search_ns:
        tolerance = TOLERANCE * (upper_bound - best.root)
        grouping, reached = _swap_round(grouping, families, rng, tolerance, workers)
        stale += 1
        if reached.root > best.root:
            best, stale = reached, 0
            search_ns = expected_ns(best)
    return best


def build_grouping(groups: Sequence[Sequence[int]], families: FamiliesByChild) -> Grouping:
    """The grouping into these groups; k^2 2^k of each group of k variables.

    Builds one table after the other: each takes milliseconds, and more working memory than all else that a small
    search holds.
    """
    ordered, tables = [], []
    for group in groups:
        ordered.append(tuple(sorted(group)))
        tables.append(_table(families, ordered[-1]))
    return Grouping(tuple(ordered), tuple(tables))


def _table(families: FamiliesByChild, group: Sequence[int]) -> NDArray[np.float64]:
    """The pattern database of a group."""
    return pattern_table(*group_families(*families, group))


def _swap_round(
    grouping: Grouping, families: FamiliesByChild, rng: np.random.Generator, tolerance: float, workers: Workers
) -> tuple[Grouping, Grouping]:
    """SWAPS_PER_ROUND random swaps; a swap that lowers the root a little, about `tolerance`, is kept too, so that the
    search leaves local optima. Returns the last grouping and the best one."""
    best = grouping
    for _ in range(SWAPS_PER_ROUND):
        a, b = rng.choice(len(grouping.groups), size=2, replace=False).tolist()
        one, two = list(grouping.groups[a]), list(grouping.groups[b])
        i, j = int(rng.integers(len(one))), int(rng.integers(len(two)))
        one[i], two[j] = two[j], one[i]
        pair = tuple(sorted(one)), tuple(sorted(two))
        built = workers.map(_table, [(families, group) for group in pair])
        change = float(sum(table[0] for table in built) - grouping.tables[a][0] - grouping.tables[b][0])
        if change >= -tolerance * rng.exponential():
            groups, tables = list(grouping.groups), list(grouping.tables)
            (groups[a], groups[b]), (tables[a], tables[b]) = pair, built
            grouping = Grouping(tuple(groups), tuple(tables))
            if grouping.root > best.root:
                best = grouping
    return grouping, best


def pair_weights(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """How much it costs at least to forbid one of the two arcs between i and j: (k, k) float64, symmetric, nats.

    The loss of i without j is BestScore(i | all but j) - BestScore(i | all); the weight is the smaller loss of the two.
    """
    k = len(parents)
    loss = np.zeros((k, k))
    for i in range(k):
        for j in unpack(parents[i][0]):  # without any other one the best is there
            without = ~(parents[i] & pack((j,), k)).any(axis=1)
            loss[i, j] = costs[i][without][0] - costs[i][0] if without.any() else np.inf
    return np.minimum(loss, loss.T)


def split_by_weight(weights: NDArray[np.float64], count: int) -> list[list[int]]:
    """Cut the variables into `count` groups of nearly equal size with large weights inside (Kernighan-Lin swaps).

    Ties and starts are deterministic: the variables in their order. O(k^3) per pass.
    """
    k = weights.shape[0]
    finite = np.where(np.isfinite(weights), weights, weights[np.isfinite(weights)].max(initial=0.0) * k + 1.0)
    groups = np.repeat(np.arange(count), [len(part) for part in np.array_split(np.arange(k), count)])
    improved, passes = True, 0
    while improved and passes < MOST_PASSES:  # among ties rounding may make a swap seem better, and the next one too
        improved, passes = False, passes + 1
        inside = finite @ (groups[:, None] == np.arange(count)).astype(float)  # weight of i to each group
        for i in range(k):
            gain = (
                inside[i, groups] - inside[i, groups[i]]
                + inside[np.arange(k), groups[i]] - inside[np.arange(k), groups]
                - 2 * finite[i]
            )  # fmt: skip
            gain[groups == groups[i]] = 0.0
            j = int(np.argmax(gain))
            if gain[j] > 1e-9:
                groups[i], groups[j] = groups[j], groups[i]
                inside = finite @ (groups[:, None] == np.arange(count)).astype(float)
                improved = True
    return [np.flatnonzero(groups == g).tolist() for g in range(count)]
