"""The best multipliers that there are: the LP whose solutions they are, by HiGHS.

    minimise the sum of c(X, P) x(X, P), x >= 0, such that for each child X the x(X, P) sum to 1, and
    for each cluster C those with X in C and P disjoint from C sum to at least 1.

Its optimum is the largest root bound by clusters, and its duals are their multipliers (Jaakkola et al. 2010). Where a
solution violates no cluster any more, it may still violate cuts of three clusters, which close most of the gap that is
left. The LP is kept small: columns are the families that are nearly the cheapest of their child under the multipliers
so far, and rows the cuts that bind or did so lately. What is missing is added, families whose reduced cost turns out to
be negative, and cuts that the solution violates, until there is nothing left or the effort is spent. Any duals are
multipliers, so that what the LP does in floating point need not be trusted: the bound is made from them as from any
others.

The largest bound at the root fixes most families, but others prune more nodes. With share ** (|C| - 1) in place of 1
for each cluster, the optimum is the largest bound in the mean over nodes that lack each variable with probability
`share`, divided by it: such a node lacks all of C with probability share ** |C|. That is for the search.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.clusters import (
    MOST_CUTS,
    UNIT,
    Families,
    Multipliers,
    families_of,
    multipliers_of,
    no_multipliers,
    whole_units,
)
from extbnsl.bounds.cuts import MEMBERS, no_cuts, single_cuts, unions
from extbnsl.bounds.separation import counting_families, find_triples, grow_clusters
from extbnsl.errors import InputError
from extbnsl.varsets import WORD_BITS, words
from extbnsl.workers import Workers

if TYPE_CHECKING:
    from highspy import Highs

EFFORT = 5_000  # simplex iterations, for each of the two LPs, in a round of improvement
ITERATION_NS = 1.5e5  # of one thread, where there are 10,000 families
LACKING = 0.8  # the probability that a node of the search lacks a variable
COLUMNS = 50  # families of a child that are added at a time
SLACK = 3  # times as many cuts as bind before the others are dropped
FEWEST = 100  # cuts that are never dropped for that
ROWS = 100  # cuts that are added at a time
FEW = 3  # clusters that are violated, so that triples are looked for as well
CANDIDATES = 400  # clusters that may be three of a cut
ZERO = 1e-6  # nats: a reduced cost below minus this is negative; and x below this is zero
VIOLATION = 1e-4  # of a cut that is worth adding
WINDOW, STALE = 20, 0.02  # so many turns that gain less than such a share of the gap are the last
ENTRY_BYTES = 64  # of the LP's matrix, with all that HiGHS makes of it


def load_highs() -> None:
    """Load HiGHS; InputError if it is not installed."""
    try:
        import highspy  # noqa: F401 - which is loaded, then
    except ImportError as error:
        raise InputError("--polish needs highspy: pip install 'extbnsl[lp]'.") from error


def load_polish() -> None:
    """Run the kernels on a toy, and HiGHS, which must be installed."""
    parents = np.array([[0], [2]], np.uint64), np.array([[0], [1]], np.uint64)
    families = families_of(parents, [np.array([2.0, 1.0])] * 2)
    with Workers(1) as workers:
        Polish(1 << 20).improved(families, no_multipliers(families), np.inf, 1, workers)


class Polish:
    """Improves the multipliers of a piece round after round; remembers cuts from one to the next.

    room: bytes that the LP may take. If it takes more, the multipliers are as good as they are by then. optimal:
    whether another round cannot make them better.
    """

    round_ns = 2 * EFFORT * ITERATION_NS  # about what a round costs, in nanoseconds of one thread

    def __init__(self, room: int) -> None:
        self._room = room
        self._pool: NDArray[np.uint64] | None = None
        self._optimal = False  # at the root
        self.optimal = False

    def improved(
        self, families: Families, start: Multipliers, limit: float, rounds: int, workers: Workers
    ) -> Multipliers:
        """Multipliers with the largest bound at the root, or on the way to them, from `start`; at least as good.

        Ends early when the bound reaches `limit`, or hardly moves. The families may be fewer from call to call, by
        fixing: that leaves optimal multipliers optimal. Deterministic. Raises Stopped.
        """
        if self._optimal:
            return start
        found, self._optimal = self._best(families, start, limit, 1.0, EFFORT * rounds, workers)
        return found

    def spread(
        self, families: Families, start: Multipliers, limit: float, rounds: int, workers: Workers
    ) -> Multipliers:
        """Multipliers whose bound is the largest in the mean over nodes that lack each variable with probability
        LACKING, from `start`, which is to have the largest at the root. Otherwise as `improved`."""
        found, optimal = self._best(families, start, limit, LACKING, EFFORT * rounds, workers)
        self.optimal = self._optimal and optimal
        return found

    def _best(
        self, families: Families, start: Multipliers, limit: float, share: float, effort: int, workers: Workers
    ) -> tuple[Multipliers, bool]:
        """The best multipliers in the mean over nodes that lack each variable with probability `share`, and whether
        there are none that are better."""
        program = _Program(families, start, self._pool, share, self._room)
        best, value = start, mean_value(start, share)
        optimal, mark, turn = False, value, 0
        while best.root < limit and program.entries * ENTRY_BYTES <= self._room:
            effort = program.solve(effort, workers)
            if effort <= 0:
                break
            found = program.multipliers()
            if mean_value(found, share) > value:
                best, value = found, mean_value(found, share)
            columns, cuts = program.missing_columns(found), program.violated()
            optimal = not columns.size and not len(cuts)
            turn += 1
            if optimal or (turn % WINDOW == 0 and value - mark < STALE * (limit - value)):
                break
            mark = value if turn % WINDOW == 0 else mark
            program.drop_slack()
            program.add_columns(columns)
            program.add_cuts(cuts)
        self._pool = program.cuts
        return best, optimal


def mean_value(multipliers: Multipliers, share: float) -> float:
    """The bound in the mean over nodes that lack each variable with probability `share`, divided by that; of the root
    if it is 1."""
    return float((multipliers.weights * UNIT) @ least_sums(multipliers.cuts, share) + multipliers.least.sum())


def least_sums(cuts: NDArray[np.uint64], share: float) -> NDArray[np.float64]:
    """What the x(X, P) that count for each cut (k, 3, words) are to sum to: what it has left at a node that lacks one
    of its variables, and each of the others with probability `share`, in the mean."""
    varsets, cut, sign = unions(cuts)
    sums = np.zeros(len(cuts))
    np.add.at(sums, cut, sign * share ** (np.bitwise_count(varsets).sum(axis=1, dtype=np.float64) - 1.0))
    return sums


class _Program:
    """The LP with some of the families as columns and some of the cuts as rows, after those of the children.

    A first column stands in for all cuts, at a cost that no sum of multipliers needs to exceed, so that there always
    is a solution.
    """

    def __init__(
        self, families: Families, start: Multipliers, pool: NDArray[np.uint64] | None, share: float, room: int
    ) -> None:
        self._share, self._room = share, room
        self._families = families
        self._n = families.first.size - 1
        self._child = np.repeat(np.arange(self._n), np.diff(families.first))
        self._least = np.minimum.reduceat(families.costs, families.first[:-1])
        most = np.maximum.reduceat(families.costs, families.first[:-1])
        self._highs = _highs()
        self._highs.addRows(self._n, np.ones(self._n), np.ones(self._n), 0, *_no_entries(self._n))
        dear = np.array([1.0 + float((most - self._least).sum())])
        self._highs.addCols(1, dear, np.zeros(1), np.array([np.inf]), 0, *_no_entries(1))
        self._columns = np.zeros(0, np.int64)
        self.cuts = no_cuts(families.parents.shape[0])
        self._x, self._weights = np.zeros(0), np.zeros(0)
        self.add_columns(self._cheapest(start.reduced, np.ones(start.reduced.size, bool)))
        known = start.cuts if pool is None else np.unique(np.concatenate([start.cuts, pool]), axis=0)
        self.add_cuts(np.ascontiguousarray(known))

    @property
    def entries(self) -> int:
        """Of its matrix."""
        return int(self._highs.getNumNz())

    def solve(self, effort: int, workers: Workers) -> int:
        """Solve it within so many simplex iterations; how many are left, 0 if they did not do."""
        from highspy import HighsModelStatus

        self._highs.setOptionValue("simplex_iteration_limit", effort)
        interrupt = self._highs.cbSimplexInterrupt

        def notice(event: Any) -> None:
            event.data_in.user_interrupt = bool(workers.halt[0])

        interrupt.subscribe(notice)
        try:
            workers.map(self._highs.run, [()])
        finally:
            interrupt.clear()
        if self._highs.getModelStatus() != HighsModelStatus.kOptimal:  # or there is numerical trouble
            return 0
        solution = self._highs.getSolution()
        self._x = np.array(solution.col_value)[1:]
        self._weights = np.maximum(0.0, np.array(solution.row_dual)[self._n :])
        return max(1, effort - int(self._highs.getInfo().simplex_iteration_count))

    def multipliers(self) -> Multipliers:
        """The duals of the cuts as multipliers for all families."""
        whole = whole_units(self._weights)
        return multipliers_of(self._families, self.cuts[whole > 0], whole[whole > 0])

    def missing_columns(self, found: Multipliers) -> NDArray[np.int64]:
        """The families, COLUMNS of each child at most, that are cheaper under these multipliers than all columns."""
        least = np.full(self._n, np.inf)
        np.minimum.at(least, self._child[self._columns], found.reduced[self._columns])
        return self._cheapest(found.reduced, found.reduced < least[self._child] - ZERO)

    def violated(self) -> NDArray[np.uint64]:
        """Cuts that the solution violates, the most violated first: clusters, ROWS at most, and if there are few, as
        many of three clusters."""
        support = self._support()
        single = np.column_stack([np.arange(self._n), np.full(self._n, -1)])
        grown, violations = self._grown(support, single)
        found = self._new(single_cuts(grown), violations)
        if len(found) >= self._n / 4:
            return found
        # few are found from single variables: then from the arcs of the solution too
        arcs = _arcs(support)
        from_arcs, more = self._grown(support, arcs)
        grown, violations = np.concatenate([grown, from_arcs]), np.concatenate([violations, more])
        found = self._new(single_cuts(grown), violations)
        if len(found) >= FEW or self._share < 1.0:
            return found
        known = self.cuts[~self.cuts[:, 1].any(axis=1), 0]
        candidates = np.concatenate([_varsets(single, known.shape[1]), _varsets(arcs, known.shape[1]), known, grown])
        return np.concatenate([found, self._new(*_triples(support, np.unique(candidates, axis=0)))])

    def _support(self) -> "Support":
        """The families that the solution has, those with the largest x first."""
        some = np.flatnonzero(self._x > ZERO)
        some = some[np.argsort(-self._x[some], kind="stable")]
        columns = self._columns[some]
        return np.ascontiguousarray(self._families.parents[:, columns]), self._child[columns], self._x[some]

    def _grown(self, support: "Support", starts: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """From each of the starts the cluster that is violated most, and by how much."""
        clusters, violations = np.zeros((len(starts), self.cuts.shape[2]), np.uint64), np.empty(len(starts))
        grow_clusters(*support, self._n, self._share, starts, clusters, violations)
        return clusters, violations

    def _new(self, cuts: NDArray[np.uint64], violations: NDArray[np.float64]) -> NDArray[np.uint64]:
        """The cuts that are violated and not known yet, the most violated first, ROWS at most."""
        cuts = cuts[np.argsort(-violations, kind="stable")[: (violations > VIOLATION).sum()]]
        _, firsts = np.unique(cuts, axis=0, return_index=True)
        cuts = cuts[np.sort(firsts)]
        known = {cut.tobytes() for cut in self.cuts}
        return cuts[np.array([cut.tobytes() not in known for cut in cuts], bool)][:ROWS]

    def drop_slack(self) -> None:
        """Drop the cuts that do not bind, if they are most."""
        binding = self._weights > 0.0
        if binding.size > SLACK * max(FEWEST, int(binding.sum())):
            slack = np.flatnonzero(~binding)
            self._highs.deleteRows(slack.size, (self._n + slack).astype(np.int32))
            self.cuts = self.cuts[binding]

    def add_columns(self, columns: NDArray[np.int64]) -> None:
        """Add families as columns."""
        parents = np.ascontiguousarray(self._families.parents[:, columns])
        begins, found, times = counting_families(parents, self._child[columns], self.cuts)
        rows = np.concatenate([self._child[columns], self._n + np.repeat(np.arange(len(self.cuts)), np.diff(begins))])
        column, values = (
            np.concatenate([np.arange(columns.size), found]),
            np.concatenate([np.ones(columns.size), times]),
        )
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(columns.size)).astype(np.int32)
        costs = self._families.costs[columns] - self._least[self._child[columns]]
        size, none, most = columns.size, np.zeros(columns.size), np.full(columns.size, np.inf)
        self._highs.addCols(size, costs, none, most, order.size, starts, rows[order].astype(np.int32), values[order])
        self._columns = np.concatenate([self._columns, columns])

    def add_cuts(self, cuts: NDArray[np.uint64]) -> None:
        """Add cuts as rows, as many of the first as there is room for."""
        parents = np.ascontiguousarray(self._families.parents[:, self._columns])
        begins, found, times = counting_families(parents, self._child[self._columns], cuts)
        entries = self.entries + begins[1:] + np.arange(1, len(cuts) + 1)
        k = min(MOST_CUTS - len(self.cuts), int((entries * ENTRY_BYTES <= self._room).sum()))
        cuts, begins, found, times = cuts[:k], begins[:k], found[: begins[k]], times[: begins[k]]
        index, values = np.insert(found + 1, begins, 0), np.insert(times, begins, 1.0)  # the first column is in each
        starts = (begins + np.arange(k)).astype(np.int32)
        least, most = least_sums(cuts, self._share), np.full(k, np.inf)
        self._highs.addRows(k, least, most, index.size, starts, index, values)
        self.cuts = np.concatenate([self.cuts, cuts])

    def _cheapest(self, reduced: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The COLUMNS families of each child, among those allowed, that are cheapest by reduced cost."""
        first, found = self._families.first, []
        for lo, hi in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
            own = lo + np.flatnonzero(allowed[lo:hi])
            found.append(own[np.argsort(reduced[own], kind="stable")[:COLUMNS]])
        return np.sort(np.concatenate(found))


def _highs() -> "Highs":
    """An empty LP, to be solved by the simplex method in the thread that asks."""
    from highspy import Highs

    highs = Highs()
    for option, value in (("output_flag", False), ("solver", "simplex"), ("parallel", "off"), ("threads", 1)):
        highs.setOptionValue(option, value)
    return highs


def _no_entries(size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """So many rows or columns of zeros: starts, indices and values."""
    return np.zeros(size, np.int32), np.zeros(0, np.int32), np.zeros(0)


Support = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]]  # parents (words, m), child and x (m,)


def _arcs(support: Support) -> NDArray[np.int64]:
    """The child and parent of each arc in the families of a solution: (a, 2)."""
    parents, child, _ = support
    bits = np.unpackbits(np.ascontiguousarray(parents.T).view(np.uint8), axis=1, bitorder="little")
    family, parent = np.nonzero(bits)
    return np.unique(np.column_stack([child[family], parent]), axis=0)


def _varsets(members: NDArray[np.int64], words: int) -> NDArray[np.uint64]:
    """The varsets (k, words) of these members (k, some), -1 for none."""
    varsets = np.zeros((len(members), words), np.uint64)
    for column in members.T:
        some = np.flatnonzero(column >= 0)
        varsets[some, column[some] >> 6] |= np.uint64(1) << (column[some] & 63).astype(np.uint64)
    return varsets


def _triples(support: Support, clusters: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Cuts of three of the clusters that a solution violates, and by how much: one for each cluster at most."""
    parents, child, x = support
    order = np.argsort(child, kind="stable")
    begins, found, _ = counting_families(np.ascontiguousarray(parents[:, order]), child[order], single_cuts(clusters))
    counts = np.zeros((len(clusters), WORD_BITS * words(x.size)), np.uint8)
    counts[np.repeat(np.arange(len(clusters)), np.diff(begins)), order[found]] = 1
    sums = counts[:, : x.size] @ x
    near = np.argsort(sums, kind="stable")[:CANDIDATES]
    patterns, firsts = np.unique(np.packbits(counts[near], axis=1, bitorder="little"), axis=0, return_index=True)
    near = near[firsts]
    triples, violations = np.zeros((near.size, MEMBERS), np.int64), np.empty(near.size)
    find_triples(patterns.view(np.uint64), sums[near], x, triples, violations)
    some = violations > 0.0
    return clusters[near[triples[some]]], violations[some]
