"""The LP over families and cuts, by HiGHS: some of the families as columns and some of the cuts as rows.

    minimise the sum of c(X, P) x(X, P), x >= 0, such that for each child X the x(X, P) sum to 1, and
    for each cut the families that count for it sum to at least what it needs.

Its duals are multipliers of the cuts (Jaakkola et al. 2010). It is kept small: what is missing is added, families whose
reduced cost turns out to be negative, and cuts that the solution violates; cuts that do not bind are dropped. Any duals
are multipliers, so that what the LP does in floating point need not be trusted: the bound is made from them as from any
others.

Clusters alone leave a gap that cuts of three clusters close for the most part: both are looked for at once. Small ones
are better, violated by as much: fewer families count for them, so that they ask for more and make the LP less dense.

With share ** (|C| - 1) in place of 1 for each cluster, the optimum is the largest bound in the mean over nodes that
lack each variable with probability `share`, divided by it: such a node lacks all of C with probability share ** |C|.
"""

import copy
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import MOST_CUTS
from extbnsl.bounds.lp.separation import (
    Solution,
    arcs_of,
    counting_families,
    grow_clusters,
    joined_threes,
    shrink_clusters,
    solution_of,
)
from extbnsl.bounds.lp.triples import grow_triples, ordered, violated_triples
from extbnsl.bounds.multipliers import (
    MEMBERS,
    FamilyArrays,
    Multipliers,
    Support,
    no_cuts,
    rounded_multipliers,
    single_cuts,
    unions,
)
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Alone, Workers

if TYPE_CHECKING:
    from highspy import Highs, HighsBasis

COLUMNS = 25  # families of a child that are added at a time
SLACK = 3  # times as many cuts as bind before the others are dropped
FEWEST = 100  # cuts that are never dropped for that
ROWS = 100  # clusters that are added at a time
TRIPLES = 200  # cuts of three clusters that are added at a time
SHRUNK = 100  # clusters that are made smaller at a time
BEGINNINGS = 3  # of three clusters for each variable at a time, at most
LOOKS = 50_000  # at families, in looking for three clusters, that take as long as a simplex iteration
FEW = 3  # cuts that are found so, and three clusters are looked for among the known ones too
STEPS = 4000  # of that which take as long as a simplex iteration
MOST_STEPS = 10_000_000  # of that at a time
NEAR_TURNS = 20  # whose clusters are known for that
STREAMS = 4  # in which cuts are looked for side by side
ZERO = 1e-6  # nats: a reduced cost below minus this is negative; and x below this is zero
VIOLATION = 1e-4  # of a cut that is worth adding
AT_LOWER, BASIC = 0, 1  # what HiGHS says in a basis of a column without a part in it, and of a row that does not bind
ENTRY_BYTES = 64  # of the matrix, with all that HiGHS makes of it


def least_sums(cuts: NDArray[np.uint64], share: float) -> NDArray[np.float64]:
    """What the x(X, P) that count for each cut (k, 3, words) are to sum to: what it has left at a node that lacks one
    of its variables, and each of the others with probability `share`, in the mean."""
    varsets, cut, sign = unions(cuts)
    sums = np.zeros(len(cuts))
    np.add.at(sums, cut, sign * share ** (np.bitwise_count(varsets).sum(axis=1, dtype=np.float64) - 1.0))
    return sums


class Snapshot(NamedTuple):
    """What a program is made of, as values: the families that are columns (c,) int64, ascending, its cuts
    (k, 3, words), and the last multipliers, without reduced costs. column_basis (1 + c,) and row_basis (n + k,), int8:
    where its last solution has ended, as HiGHS says it; nothing before there is one. turn: how often cuts were looked
    for."""

    columns: NDArray[np.int64]
    cuts: NDArray[np.uint64]
    last: Multipliers
    column_basis: NDArray[np.int8]
    row_basis: NDArray[np.int8]
    turn: int = 0

    def with_more(self, columns: NDArray[np.int64], cuts: NDArray[np.uint64]) -> "Snapshot":
        """The same with other families too, and with these cuts, which it has not yet: the solution is where it was."""
        several = np.concatenate([self.columns, np.setdiff1d(columns, self.columns)])
        order = np.argsort(several, kind="stable")
        column_basis, row_basis = self.column_basis, self.row_basis
        if column_basis.size:
            statuses = np.append(column_basis[1:], np.full(several.size - self.columns.size, AT_LOWER, np.int8))
            column_basis = np.append(column_basis[:1], statuses[order])
            row_basis = np.append(row_basis, np.full(len(cuts), BASIC, np.int8))
        return self._replace(
            columns=several[order],
            cuts=np.concatenate([self.cuts, cuts]),
            column_basis=column_basis,
            row_basis=row_basis,
        )


def beginning(families: FamilyArrays, start: Multipliers, pool: NDArray[np.uint64] | None = None) -> Snapshot:
    """Of a program that has no solution yet: the families that are cheapest by some multipliers, with the cuts of these
    and of a pool."""
    columns = _cheapest(families, start.reduced, np.ones(start.reduced.size, bool))
    known = start.cuts if pool is None else np.unique(np.concatenate([start.cuts, pool]), axis=0)
    nothing = np.zeros(0, np.int8)
    return Snapshot(columns, np.ascontiguousarray(known), start.without_costs, nothing, nothing)


class Program:
    """The LP; the rows of the cuts come after those of the children.

    A first column stands in for all cuts, at a cost that no sum of multipliers needs to exceed, so that there always
    is a solution.
    """

    def __init__(self, families: FamilyArrays, snapshot: Snapshot, share: float, room: int) -> None:
        self._share, self._room = share, room
        self.families = families
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
        self._turn = snapshot.turn
        self._near: deque[NDArray[np.uint64]] = deque(maxlen=NEAR_TURNS)  # clusters that were violated, or nearly
        self._x, self._weights = np.zeros(0), np.zeros(0)
        self._found: Multipliers | None = None
        self._before = snapshot.last
        self.add_columns(snapshot.columns)
        self.add_cuts(snapshot.cuts)
        if snapshot.column_basis.size:
            self._highs.setBasis(_basis(snapshot.column_basis, snapshot.row_basis[: self._n + len(self.cuts)]))

    @property
    def bytes(self) -> int:
        """About the memory that it takes."""
        return ENTRY_BYTES * int(self._highs.getNumNz())

    def solve(self, effort: int, workers: Workers | Alone) -> int:
        """Solve it within so many simplex iterations; how many are left, 0 if they did not do. Raises Stopped."""
        return workers.run(self.run, effort, workers.halt)

    def run(self, effort: int, halt: NDArray[np.uint8]) -> int:
        """`solve` within a task; ends early, as if the iterations did not do, when halt[0] is set."""
        from highspy import HighsModelStatus

        self._highs.setOptionValue("simplex_iteration_limit", effort)
        interrupt = self._highs.cbSimplexInterrupt

        def notice(event: Any) -> None:
            event.data_in.user_interrupt = bool(halt[0])

        interrupt.subscribe(notice)
        try:
            self._highs.run()
        finally:
            interrupt.clear()
        if self._highs.getModelStatus() != HighsModelStatus.kOptimal:  # or there is numerical trouble
            return 0
        solution = self._highs.getSolution()
        self._x = np.array(solution.col_value)[1:]
        self._weights = np.maximum(0.0, np.array(solution.row_dual)[self._n :])
        self._found = rounded_multipliers(self.families, self.cuts, self._weights, halt)
        return max(1, effort - int(self._highs.getInfo().simplex_iteration_count))

    def copies(self, number: int) -> list["Program"]:
        """So many more of it, each to be solved on its own, from where this one is."""
        copies = [copy.copy(self) for _ in range(number)]
        for other in copies:
            other._highs = _highs()
            other._highs.passModel(self._highs.getLp())
            other._highs.setBasis(self.basis)
        return copies

    @property
    def snapshot(self) -> Snapshot:
        """What it is made of by now, and where its last solution has ended."""
        order, basis = np.argsort(self._columns, kind="stable"), self.basis
        statuses = np.array([int(status) for status in basis.col_status], np.int8)
        return Snapshot(
            self._columns[order],
            self.cuts,
            (self._found or self._before).without_costs,
            np.append(statuses[:1], statuses[1:][order]),
            np.array([int(status) for status in basis.row_status], np.int8),
            self._turn,
        )

    @property
    def basis(self) -> Any:
        """Where the last solution has ended, and the next one begins."""
        return self._highs.getBasis()

    def run_without(self, families: NDArray[np.int64], basis: Any, effort: int, halt: NDArray[np.uint8]) -> int:
        """`run` from a basis without these families, which are allowed again after that."""
        self._highs.setBasis(basis)
        self.allow(families, False)
        left = self.run(effort, halt)
        self.allow(families, True)
        return left

    def allow(self, families: NDArray[np.int64], allowed: bool) -> None:
        """Whether the solution may have these families; those that are no columns it does not have anyway."""
        columns = np.flatnonzero(np.isin(self._columns, families)).astype(np.int32) + np.int32(1)
        most = np.full(columns.size, np.inf if allowed else 0.0)
        self._highs.changeColsBounds(columns.size, columns, np.zeros(columns.size), most)

    @property
    def value(self) -> float:
        """What the objective has come to, in nats above the cheapest families; a part of it if that has ended early."""
        return float(self._highs.getInfo().objective_function_value)

    def values(self) -> NDArray[np.float64]:
        """The solution: the x of each family."""
        values = np.zeros(self._child.size)
        values[self._columns] = self._x
        return values

    def multipliers(self) -> Multipliers:
        """The duals of the cuts as multipliers for all families that there were, when it was solved."""
        assert self._found is not None, "it has been solved"
        return self._found

    def missing_columns(self, found: Multipliers) -> NDArray[np.int64]:
        """The families, COLUMNS of each child at most, that are cheaper under these multipliers than all columns."""
        least = np.full(self._n, np.inf)
        np.minimum.at(least, self._child[self._columns], found.reduced[self._columns])
        return _cheapest(self.families, found.reduced, found.reduced < least[self._child] - ZERO)

    def violated(self, effort: int, workers: Workers | Alone) -> tuple[NDArray[np.uint64], int]:
        """Cuts that the solution violates: clusters, ROWS at most, and TRIPLES of three clusters at most. These take
        effort, counted in simplex iterations; how much is left of it. Raises Stopped."""
        self._turn += 1
        solution, arcs = solution_of(self.support(), self._n), arcs_of(self.support())
        clusters, violations = self._clusters(solution, arcs, workers)
        found = self._new(single_cuts(clusters), violations, ROWS)
        if self._share < 1.0:
            return found, effort
        self._near.append(clusters)
        grown, by, looks = self._triples(solution, arcs, workers)
        effort = max(1, effort - looks // LOOKS)
        triples = self._new(grown, by, TRIPLES)
        if len(found) + len(triples) >= FEW:
            return np.concatenate([found, triples]), effort
        others, violations, effort = self._among_known(arcs, grown, effort, workers)
        some = self._new(np.concatenate([grown, others]), np.concatenate([by, violations]), TRIPLES)
        return np.concatenate([found, some]), effort

    def _among_known(
        self, arcs: NDArray[np.int64], grown: NDArray[np.uint64], effort: int, workers: Workers | Alone
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], int]:
        """Violated cuts of three clusters that are known, of the cuts and of the last turns, or small, and by how much;
        and the effort that is left."""
        single = np.eye(self._n, dtype=bool)
        small = as_varsets(single), as_varsets(single[arcs[:, 0]] | single[arcs[:, 1]])
        of_cuts = [cuts[cuts.any(axis=2)] for cuts in (self.cuts, grown)]
        steps = min(MOST_STEPS, effort * STEPS)
        known = np.concatenate([*small, *of_cuts, *self._near])
        found, violations, left = workers.run(violated_triples, self.support(), known, steps, workers.halt)
        return ordered(found), violations, max(1, effort - (steps - left) // STEPS)

    def _clusters(
        self, solution: Solution, arcs: NDArray[np.int64], workers: Workers | Alone
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Clusters and how much the solution violates them, or less than nothing: those that nobody counts for, those
        grown from single variables, and if few of them are violated, those grown from the arcs."""
        shrunk = np.zeros((SHRUNK, self.cuts.shape[2]), np.uint64)
        if self._share < 1.0 or not workers.run(shrink_clusters, solution, self._turn, shrunk, workers.halt):
            shrunk = shrunk[:0]
        single = np.arange(self._n)
        found = [self._grown(solution, np.column_stack([single, np.full(self._n, -1)]), workers)]
        if (found[0][1] > VIOLATION).sum() < self._n / 4:
            found.append(self._grown(solution, arcs, workers))
        found.append((shrunk, np.ones(len(shrunk))))
        return np.concatenate([clusters for clusters, _ in found]), np.concatenate([by for _, by in found])

    def _grown(
        self, solution: Solution, starts: NDArray[np.int64], workers: Workers | Alone
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """From each of the starts the cluster that is violated most, and by how much."""
        clusters, violations = np.zeros((len(starts), self.cuts.shape[2]), np.uint64), np.full(len(starts), -np.inf)
        given = solution, self._share, starts
        workers.map(grow_clusters, [(*given, (i, STREAMS), clusters, violations, workers.halt) for i in range(STREAMS)])
        return clusters, violations

    def _triples(
        self, solution: Solution, arcs: NDArray[np.int64], workers: Workers | Alone
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], int]:
        """Cuts of three clusters, how much the solution violates them, or less than nothing, and the families looked
        at."""
        threes = joined_threes(arcs, self._n)
        threes = threes[np.random.default_rng(self._turn).permutation(len(threes))[: BEGINNINGS * self._n]]
        cuts = np.zeros((len(threes), MEMBERS, self.cuts.shape[2]), np.uint64)
        violations = np.full(len(threes), -np.inf)  # those that are cut short find none
        tasks = [(solution, threes, (i, STREAMS), cuts, violations, workers.halt) for i in range(STREAMS)]
        looks = workers.map(grow_triples, tasks)
        return ordered(cuts), violations, sum(looks)

    def support(self) -> Support:
        """The families that the solution has, those with the largest x first."""
        some = np.flatnonzero(self._x > ZERO)
        some = some[np.argsort(-self._x[some], kind="stable")]
        columns = self._columns[some]
        return np.ascontiguousarray(self.families.parents[:, columns]), self._child[columns], self._x[some]

    def _new(self, cuts: NDArray[np.uint64], violations: NDArray[np.float64], most: int) -> NDArray[np.uint64]:
        """The cuts that are violated and not known yet, `most` at most: first those that are violated most for their
        size."""
        some = violations > VIOLATION
        cuts, violations = cuts[some], violations[some]
        size = np.bitwise_count(cuts).sum(axis=(1, 2), dtype=np.int64)
        cuts = cuts[np.argsort(-violations / size, kind="stable")]
        _, firsts = np.unique(cuts, axis=0, return_index=True)
        cuts = cuts[np.sort(firsts)]
        known = {cut.tobytes() for cut in self.cuts}
        return cuts[np.array([cut.tobytes() not in known for cut in cuts], bool)][:most]

    def drop_slack(self) -> None:
        """Drop the cuts that do not bind, if they are most."""
        binding = self._weights > 0.0
        if binding.size > SLACK * max(FEWEST, int(binding.sum())):
            slack = np.flatnonzero(~binding)
            self._highs.deleteRows(slack.size, (self._n + slack).astype(np.int32))
            self.cuts = self.cuts[binding]

    def add_columns(self, columns: NDArray[np.int64]) -> None:
        """Add families as columns, those that are none yet."""
        columns = np.setdiff1d(columns, self._columns)
        parents = np.ascontiguousarray(self.families.parents[:, columns])
        begins, found, times = counting_families(parents, self._child[columns], self.cuts)
        rows = np.concatenate([self._child[columns], self._n + np.repeat(np.arange(len(self.cuts)), np.diff(begins))])
        column = np.concatenate([np.arange(columns.size), found])
        values = np.concatenate([np.ones(columns.size), times])
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(columns.size)).astype(np.int32)
        costs = self.families.costs[columns] - self._least[self._child[columns]]
        size, none, most = columns.size, np.zeros(columns.size), np.full(columns.size, np.inf)
        self._highs.addCols(size, costs, none, most, order.size, starts, rows[order].astype(np.int32), values[order])
        self._columns = np.concatenate([self._columns, columns])

    def add_cuts(self, cuts: NDArray[np.uint64]) -> None:
        """Add cuts as rows, as many of the first as there is room for."""
        parents = np.ascontiguousarray(self.families.parents[:, self._columns])
        begins, found, times = counting_families(parents, self._child[self._columns], cuts)
        needed = self.bytes + ENTRY_BYTES * (begins[1:] + np.arange(1, len(cuts) + 1))
        k = min(MOST_CUTS - len(self.cuts), int((needed <= self._room).sum()))
        cuts, begins, found, times = cuts[:k], begins[:k], found[: begins[k]], times[: begins[k]]
        index, values = np.insert(found + 1, begins, 0), np.insert(times, begins, 1.0)  # the first column is in each
        starts = (begins + np.arange(k)).astype(np.int32)
        least, most = least_sums(cuts, self._share), np.full(k, np.inf)
        self._highs.addRows(k, least, most, index.size, starts, index, values)
        self.cuts = np.concatenate([self.cuts, cuts])


def _cheapest(families: FamilyArrays, reduced: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The COLUMNS families of each child, among those allowed, that are cheapest by reduced cost."""
    first, found = families.first, []
    for lo, hi in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        own = lo + np.flatnonzero(allowed[lo:hi])
        found.append(own[np.argsort(reduced[own], kind="stable")[:COLUMNS]])
    return np.concatenate(found)


def _basis(columns: NDArray[np.int8], rows: NDArray[np.int8]) -> "HighsBasis":
    """A basis as HiGHS takes it."""
    from highspy import HighsBasis, HighsBasisStatus

    basis = HighsBasis()
    basis.valid, basis.alien = True, False
    basis.col_status = [HighsBasisStatus(status) for status in columns.tolist()]
    basis.row_status = [HighsBasisStatus(status) for status in rows.tolist()]
    return basis


def _highs() -> "Highs":
    """An empty LP, to be solved by the simplex method in the thread that asks."""
    from highspy import Highs

    class Silent(Highs):
        """Some versions print their name as they are made, when they get their callbacks."""

        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    highs = Silent()
    for option, value in (("output_flag", False), ("solver", "simplex"), ("parallel", "off"), ("threads", 1)):
        highs.setOptionValue(option, value)
    return highs


def _no_entries(size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """So many rows or columns of zeros: starts, indices and values."""
    return np.zeros(size, np.int32), np.zeros(0, np.int32), np.zeros(0)
