"""The best cluster multipliers that there are: the LP whose solutions they are, by HiGHS.

    minimise the sum of c(X, P) x(X, P), x >= 0, such that for each child X the x(X, P) sum to 1, and
    for each cluster C those with X in C and P disjoint from C sum to at least 1.

Its optimum is the largest root bound, and its duals are the multipliers of the clusters (Jaakkola et al. 2010). It is
kept small: columns are the families that are nearly the cheapest of their child under the multipliers so far, and rows
the clusters that bind or did so lately. What is missing is added, families whose reduced cost turns out to be negative,
and clusters that the solution violates, until there is nothing left or the effort is spent. Any duals are multipliers,
so that what the LP does in floating point need not be trusted: the bound is made from them as from any others.

The largest bound at the root fixes most families, but others prune more nodes. With share ** (|C| - 1) in place of 1
for each cluster, the optimum is the largest bound in the mean over nodes that lack each variable with probability
`share`, divided by it: such a node lacks all of C with probability share ** |C|. That is for the search.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.clusters import MOST_CLUSTERS, UNIT, Families, Multipliers, families_of, multipliers_of, whole_units
from extbnsl.bounds.separation import counting_families, grow_clusters
from extbnsl.errors import InputError
from extbnsl.workers import Workers

if TYPE_CHECKING:
    from highspy import Highs

EFFORT = 5_000  # simplex iterations, for each of the two LPs, in a round of improvement
ITERATION_NS = 1.5e5  # of one thread, where there are 10,000 families
LACKING = 0.8  # the probability that a node of the search lacks a variable
COLUMNS = 50  # families of a child that are added at a time
SLACK = 3  # times as many clusters as bind before the others are dropped
FEWEST = 100  # clusters that are never dropped for that
ROWS = 100  # clusters that are added at a time
ZERO = 1e-6  # nats: a reduced cost below minus this is negative; and x below this is zero
VIOLATION = 1e-4  # of a cluster that is worth adding
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
    none = multipliers_of(families, np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    with Workers(1) as workers:
        Polish(1 << 20).improved(families, none, np.inf, 1, workers)


class Polish:
    """Improves the multipliers of a piece round after round; remembers clusters from one to the next.

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
            columns, clusters = program.missing_columns(found), program.violated()
            optimal = not columns.size and not len(clusters)
            turn += 1
            if optimal or (turn % WINDOW == 0 and value - mark < STALE * (limit - value)):
                break
            mark = value if turn % WINDOW == 0 else mark
            program.drop_slack()
            program.add_columns(columns)
            program.add_clusters(clusters)
        self._pool = program.clusters
        return best, optimal


def mean_value(multipliers: Multipliers, share: float) -> float:
    """The bound in the mean over nodes that lack each variable with probability `share`, divided by that; of the root
    if it is 1."""
    return float((multipliers.weights * UNIT) @ least_sums(multipliers.clusters, share) + multipliers.least.sum())


def least_sums(clusters: NDArray[np.uint64], share: float) -> NDArray[np.float64]:
    """What the x(X, P) that count for each cluster are to sum to: the probability that a node that lacks one of its
    variables lacks the others too."""
    return share ** (np.bitwise_count(clusters).sum(axis=1, dtype=np.float64) - 1.0)


class _Program:
    """The LP with some of the families as columns and some of the clusters as rows, after those of the children.

    A first column stands in for all clusters, at a cost that no sum of multipliers needs to exceed, so that there
    always is a solution.
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
        self.clusters = np.zeros((0, families.parents.shape[0]), np.uint64)
        self._x, self._weights = np.zeros(0), np.zeros(0)
        self.add_columns(self._cheapest(start.reduced, np.ones(start.reduced.size, bool)))
        known = start.clusters if pool is None else np.unique(np.concatenate([start.clusters, pool]), axis=0)
        self.add_clusters(np.ascontiguousarray(known))

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
        """The duals of the clusters as multipliers for all families."""
        whole = whole_units(self._weights)
        return multipliers_of(self._families, self.clusters[whole > 0], whole[whole > 0])

    def missing_columns(self, found: Multipliers) -> NDArray[np.int64]:
        """The families, COLUMNS of each child at most, that are cheaper under these multipliers than all columns."""
        least = np.full(self._n, np.inf)
        np.minimum.at(least, self._child[self._columns], found.reduced[self._columns])
        return self._cheapest(found.reduced, found.reduced < least[self._child] - ZERO)

    def violated(self) -> NDArray[np.uint64]:
        """Clusters that the solution violates, the most violated first, ROWS at most."""
        some = self._x > ZERO
        x, columns = self._x[some], self._columns[some]
        parents, child = np.ascontiguousarray(self._families.parents[:, columns]), self._child[columns]
        single = np.column_stack([np.arange(self._n), np.full(self._n, -1)])
        found = self._new_violated(parents, child, x, single)
        if len(found) >= self._n / 4:
            return found
        # few are found from single variables: then from the arcs of the solution too
        bits = np.unpackbits(np.ascontiguousarray(parents.T).view(np.uint8), axis=1, bitorder="little")
        family, parent = np.nonzero(bits)
        arcs = np.unique(np.column_stack([child[family], parent]), axis=0)
        return self._new_violated(parents, child, x, np.concatenate([single, arcs]))

    def _new_violated(
        self, parents: NDArray[np.uint64], child: NDArray[np.int64], x: NDArray[np.float64], starts: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        clusters, violations = np.zeros((len(starts), parents.shape[0]), np.uint64), np.empty(len(starts))
        grow_clusters(parents, child, x, self._n, self._share, starts, clusters, violations)
        order = np.argsort(-violations, kind="stable")[: (violations > VIOLATION).sum()]
        clusters = clusters[order]
        _, firsts = np.unique(clusters, axis=0, return_index=True)
        clusters = clusters[np.sort(firsts)]
        known = {cluster.tobytes() for cluster in self.clusters}
        new = np.array([cluster.tobytes() not in known for cluster in clusters], bool)
        return clusters[new][:ROWS]

    def drop_slack(self) -> None:
        """Drop the clusters that do not bind, if they are most."""
        binding = self._weights > 0.0
        if binding.size > SLACK * max(FEWEST, int(binding.sum())):
            slack = np.flatnonzero(~binding)
            self._highs.deleteRows(slack.size, (self._n + slack).astype(np.int32))
            self.clusters = self.clusters[binding]

    def add_columns(self, columns: NDArray[np.int64]) -> None:
        """Add families as columns."""
        parents = np.ascontiguousarray(self._families.parents[:, columns])
        begins, found = counting_families(parents, self._child[columns], self.clusters)
        rows = np.concatenate(
            [self._child[columns], self._n + np.repeat(np.arange(len(self.clusters)), np.diff(begins))]
        )
        column = np.concatenate([np.arange(columns.size), found])
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(columns.size)).astype(np.int32)
        costs = self._families.costs[columns] - self._least[self._child[columns]]
        size, none, most = columns.size, np.zeros(columns.size), np.full(columns.size, np.inf)
        index = rows[order].astype(np.int32)
        self._highs.addCols(size, costs, none, most, index.size, starts, index, np.ones(index.size))
        self._columns = np.concatenate([self._columns, columns])

    def add_clusters(self, clusters: NDArray[np.uint64]) -> None:
        """Add clusters as rows, as many of the first as there is room for."""
        parents = np.ascontiguousarray(self._families.parents[:, self._columns])
        begins, found = counting_families(parents, self._child[self._columns], clusters)
        entries = self.entries + begins[1:] + np.arange(1, len(clusters) + 1)
        k = min(MOST_CLUSTERS - len(self.clusters), int((entries * ENTRY_BYTES <= self._room).sum()))
        clusters, begins, found = clusters[:k], begins[:k], found[: begins[k]]
        index = np.insert(found + 1, begins, 0)  # the first column is in each
        starts = (begins + np.arange(k)).astype(np.int32)
        least, most = least_sums(clusters, self._share), np.full(k, np.inf)
        self._highs.addRows(k, least, most, index.size, starts, index, np.ones(index.size))
        self.clusters = np.concatenate([self.clusters, clusters])

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
