"""The k best networks by A* over the BN graph: the method of Chen, Choi and Darwiche 2015 that Chen, Darwiche and Choi
2018 measure in Table 2.

A node of the BN graph is a network over some of the variables; an edge adds a variable as a leaf, with parents among
those that are there. A path from the empty network to one over all variables is an order of that network, so a node is
reached by as many paths as it has orders. All cost the same. A node is expanded in the order of f = g + h*: g is what
it costs, h* what its best completion does, by a black box (completions.py). Networks over all variables are expanded
best first, and k of them are what is asked for.

What the paper of 2018 does not say is done as follows.

- *Duplicates* are recognised by a set of all networks that were generated, as A* does in a graph.
- The black box is asked late. Table 2 shows that not every successor is asked for: imports with 22 variables and k = 10
  has 111 calls, and next to a single path lie 231 varsets. A successor stands in the open list with what an answer of
  the black box for its predecessor tells of it, its f or a lower bound. When it comes to the front with a bound, the
  black box is asked, unless it has another predecessor that was not expanded: f does not fall along an edge, so that
  comes first, and has this successor too. At equal f those whose f is known come first, and of these what is deeper.
- The successors of a node by the same variable have the same h*. So only the cheapest stands in the open list, and the
  next when that is taken out.

f counts in units of the tolerance, so that rounding decides no ties; the k best are right within it.
"""

import heapq
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.core.compiling import clock
from extbnsl.core.errors import InputError
from extbnsl.core.events import ignore
from extbnsl.data import Data, Dataset
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.networks import Networks
from extbnsl.kernels.varsets import WORD_BITS, members
from extbnsl.lab.baselines.completions import Completions
from extbnsl.lab.parent_limits.needed import needed_scores
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.scores.local import LocalScores

MOST_NODES = 4_000_000  # some hundred bytes each
MEMORY = 1 << 30  # bytes that the families of a data set may take
PORTION = 1024  # families that are looked at together
ABSENT = -1  # the number of the family of a variable that is not there


@dataclass(frozen=True)
class Limits:
    """Where a search ends before it is complete. seconds: None for no limit; nodes: of the networks that were generated
    and the open list together."""

    seconds: float | None = None
    nodes: int = MOST_NODES


@dataclass(frozen=True)
class Effort:
    """What a search took.

    calls: E_h, how often the black box was asked. answered: how often h* was known already. oracle_seconds: T_h, in the
    black box. search_seconds: T_A*, all others. generated: networks that were made, `duplicates` of them not the first
    time. expanded: networks whose successors came into the open list. Seconds are wall seconds of one thread, without
    those of compiling kernels.
    """

    calls: int
    answered: int
    oracle_seconds: float
    search_seconds: float
    generated: int
    duplicates: int
    expanded: int


@dataclass(frozen=True)
class BnGraphResult:
    """The cheapest networks, best first: `networks` has rows of the families of `scores`. status: OPTIMAL if they are
    all that were asked for, or all there are; or the reason why the search stopped, and then they are the first of
    these."""

    scores: LocalScores
    networks: Networks
    status: str
    effort: Effort


class _Node(NamedTuple):
    """A network over some variables: f in units, g in nats; the variables, and those of them that are parents; by
    variable the number of its family."""

    f: int
    g: float
    varset: int
    parents: int
    rows: tuple[int, ...]


class _Entry(NamedTuple):
    """The successors of a node by variable x, with family `row` or one that fits later in the list.

    Entries are taken out by their first four fields: f of the first of them, or a lower bound; whether it is that;
    minus the number of the node's variables; minus the number of the entry. h: h* of the successors, or a bound, nats.
    """

    f: int
    bounded: bool
    depth: int
    number: int
    node: _Node
    x: int
    row: int
    h: float


def needed_families_within(
    data: Data, k: int, slack: float, claim: Claim = Claim(), stop: StopSignal = never
) -> LocalScores:
    """The families that the search is to have for the k best networks of a data set, if the last of these costs at most
    `slack` nats more than the first.

    They are those that cost at most so much more than the best of their subsets, without what Theorem 3 drops. The
    paper has all families with as many parents as its theorems leave, which are many more; A* never takes those out
    that this list lacks. Raises Stopped.
    """
    wide = slack + 3.0 * tolerance(source_of(data, claim).without_arcs())
    with Workers(1, stop) as workers:
        found = surviving_families(data, claim, Means(workers, Shelf(MEMORY, Store(Path(), 0)), ignore), slack=wide)
        if found.stopped is not None:
            raise Stopped(found.stopped)
        scores = found.scores
        if isinstance(data, Dataset):
            scores = with_constants(scores, data, wide, k, workers.check)
        return workers.run(needed_scores, scores, k, workers.halt)


def best_by_bn_graph(
    scores: LocalScores, k: int, limits: Limits = Limits(), *, stop: StopSignal = never
) -> BnGraphResult:
    """The k best networks of local scores over at most 64 variables, or all, if there are fewer; k >= 1.

    `stop` is polled. Raises InputError if there are more variables. Time and memory grow with the number of networks
    that can begin one of the k best, and of those that cost as much as these.
    """
    check_variables(scores.variables)
    began = clock()

    def reason() -> str | None:
        late = limits.seconds is not None and clock() - began >= limits.seconds
        return stop() or (TIME_LIMIT if late else None)

    try:
        with Workers(1, reason) as workers:
            needed = workers.run(needed_scores, scores, k, workers.halt)
            pruned = workers.run(prune, needed, 0.0, workers.halt)
    except Stopped as stopped:
        none = Networks(np.zeros((0, scores.variables), np.int32), np.zeros(0))
        return BnGraphResult(scores, none, stopped.reason, Effort(0, 0, 0.0, clock() - began, 0, 0, 0))
    search = _Search(needed, pruned, reason)
    status = search.run(k, limits.nodes)
    return search.result(status, clock() - began)


def check_variables(variables: int) -> None:
    """Raise InputError if these are more variables than the BN graph is for."""
    if variables > WORD_BITS:
        raise InputError(f"The BN graph is for {WORD_BITS} variables at most, not {variables}.")


class _Search:
    """The search of one set of local scores: the open list, the networks that were generated, and those found. pruned:
    the same scores without dominated families."""

    def __init__(self, scores: LocalScores, pruned: LocalScores, stop: StopSignal) -> None:
        self._scores = scores
        self._stop = stop
        self._completions = Completions(pruned, stop)
        self._parents = [own[:, 0] for own in scores.parents]
        self._costs = [own.tolist() for own in scores.costs]
        self._whole = (1 << scores.variables) - 1
        self._open: list[_Entry] = []
        self._numbers = itertools.count()
        self._seen: set[tuple[int, ...]] = set()
        self._found: list[_Node] = []
        self._unit = 1.0  # nats, of f
        self._generated = 0
        self._expanded = 0

    def run(self, k: int, most_nodes: int) -> str:
        """Find k networks; the status."""
        try:
            self._begin()
            while self._open and len(self._found) < k:
                reason = self._stop()
                if reason is None and len(self._open) + len(self._seen) > most_nodes:
                    reason = MEMORY_LIMIT
                if reason is not None:
                    return reason
                self._take(heapq.heappop(self._open))
        except Stopped as stop:
            return stop.reason
        return OPTIMAL

    def result(self, status: str, seconds: float) -> BnGraphResult:
        """What was found, in so many seconds."""
        found = sorted(self._found, key=lambda node: node.g)  # f is the same of those that cost nearly the same
        rows = np.array([node.rows for node in found], np.int32).reshape(len(found), self._scores.variables)
        oracle = self._completions
        effort = Effort(
            calls=oracle.calls,
            answered=oracle.answered,
            oracle_seconds=oracle.seconds,
            search_seconds=seconds - oracle.seconds,
            generated=self._generated,
            duplicates=self._generated - (len(self._seen) - 1),
            expanded=self._expanded,
        )
        return BnGraphResult(self._scores, Networks(rows, np.array([node.g for node in found])), status, effort)

    def _begin(self) -> None:
        """Expand the network over no variables."""
        least = self._completions.cost(0)
        self._unit = tolerance(least)
        root = _Node(self._units(least), 0.0, 0, 0, (ABSENT,) * self._scores.variables)
        self._seen.add(root.rows)
        self._expand(root)

    def _units(self, cost: float) -> int:
        return round(cost / self._unit)

    def _expand(self, node: _Node) -> None:
        """Put the successors of a node into the open list, the first by each variable."""
        self._expanded += 1
        for x in range(self._scores.variables):
            row = None if node.varset >> x & 1 else self._next_row(node.varset, x, 0)
            if row is not None:
                self._put(node, x, row, *self._completions.after(node.varset, x))

    def _next_row(self, varset: int, x: int, row: int) -> int | None:
        """The first family of x from `row` on with parents in the varset."""
        outside = np.uint64(self._whole & ~varset)
        for begin in range(row, len(self._costs[x]), PORTION):
            fits = self._parents[x][begin : begin + PORTION] & outside == 0
            first = int(fits.argmax())
            if fits[first]:
                return begin + first
        return None

    def _put(self, node: _Node, x: int, row: int, h: float, exact: bool = True) -> None:
        """Put the successors by x from `row` on into the open list, with h* or a bound of it."""
        f = max(node.f, self._units(node.g + self._costs[x][row] + h))
        entry = _Entry(f, not exact, -node.varset.bit_count(), -next(self._numbers), node, x, row, h)
        heapq.heappush(self._open, entry)

    def _take(self, entry: _Entry) -> None:
        """Generate the first of an entry's successors, or find out its f if all its predecessors are there."""
        node, x, row = entry.node, entry.x, entry.row
        if entry.bounded and self._may_be_next(node, x, row):
            self._put(node, x, row, self._completions.cost(node.varset | 1 << x))
            return
        following = self._next_row(node.varset, x, row + 1)
        if following is not None:
            self._put(node, x, following, entry.h, not entry.bounded)
        if not entry.bounded:
            self._generate(entry)

    def _may_be_next(self, node: _Node, x: int, row: int) -> bool:
        """Whether all predecessors of a successor have been expanded: those that lack another of its leaves. If one has
        not, it comes first, and then has this successor too."""
        rows = list(node.rows)
        rows[x] = row
        for y in members(node.varset & ~(node.parents | int(self._parents[x][row]))):
            rows[y] = ABSENT
            if tuple(rows) not in self._seen:
                return False
            rows[y] = node.rows[y]
        return True

    def _generate(self, entry: _Entry) -> None:
        """Make the first of an entry's successors, and expand it if it is new."""
        node, x, row = entry.node, entry.x, entry.row
        self._generated += 1
        rows = (*node.rows[:x], row, *node.rows[x + 1 :])
        if rows in self._seen:
            return
        self._seen.add(rows)
        parents = node.parents | int(self._parents[x][row])
        child = _Node(entry.f, node.g + self._costs[x][row], node.varset | 1 << x, parents, rows)
        if child.varset == self._whole:
            self._found.append(child)
        else:
            self._expand(child)
