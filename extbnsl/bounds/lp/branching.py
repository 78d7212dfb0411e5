"""Branch and bound by the LP: for pieces that have too many variables for a search.

A node of the tree is some choices (see `probing`): child X has a parent Y, or has not. Its two children make one choice
more, once with either answer, so that every network is below one of the open nodes. A node is bounded by the LP over
the families that its choices leave, whose duals are multipliers as any: what the LP does in floating point need not be
trusted. Cuts hold for every network, so those found at a node are kept for all others.

The tree keeps of each node the multipliers that bound it, or that drop families for all nodes below it. So who has the
families can prove again what the tree has shown, without any linear program.

The choice is one of which the solution makes a part only, and whose LPs rise most, by a few iterations of each (strong
branching) or as they have risen elsewhere (pseudo-costs; Achterberg, Koch and Martin 2005).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedList

from extbnsl.bounds.lp.probing import STREAMS
from extbnsl.bounds.lp.program import Program
from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.bounds.lp.tree import Closed, Duals, Node, Tree
from extbnsl.bounds.multipliers import MEMBERS, FamilyArrays, Multipliers, Support, multipliers_of, no_multipliers
from extbnsl.kernels.varsets import unpacked
from extbnsl.machine.workers import Workers

EFFORT = 5_000  # simplex iterations of an LP, at most
CUT_EFFORT = 100  # of looking for cuts once, see `Program.violated`
TURNS = 20  # in which a node looks for cuts, at most
RISE = 0.05  # share of the gap that the bound must rise by in a turn for another one
PART = 1e-6  # a choice of which the solution makes less, or all but less, is made or not
CANDIDATES = 8  # choices that are thought of at a node
RELIABLE = 4  # times that a choice has been tried before it is known what it brings
TRY_EFFORT = 50  # simplex iterations of trying a choice
LEAST_RISE = 1e-6  # nats, so that a product of two says something if one is nothing
CHOICE_BYTES, DUAL_BYTES, NODE_BYTES = 8, 12, 200  # of a node: for each choice, for each cut of its duals, and besides
Side = tuple[float, Multipliers | None]  # the bound of one side of a choice, as far as it is known, and by what
UNKNOWN: tuple[Side, Side] = ((-math.inf, None), (-math.inf, None))
TOLD = 8  # nodes after which it is told how far the tree has come


def branch(
    program: Program,
    tree: Tree,
    limit: float,
    room: int,
    workers: Workers,
    on_turn: Callable[[Tree, Support], bool],
) -> Tree:
    """Go on with the tree of the program's families until no node below `limit` nats is open: then the tree has the
    cheapest network, if that costs less.

    Ends earlier when open nodes take more than `room` bytes, and when on_turn, which gets what there is and the last
    solution of an LP after some nodes, says so. Deterministic, whatever the threads. Raises Stopped, and what on_turn
    raises. The LPs of a node take some tens of milliseconds for a thousand families.
    """
    branching = _Branching(program, tree, limit, workers)
    while branching.open and branching.bytes <= room:
        cost = branching.cost
        branching.look()
        some = branching.looked % TOLD == 0 or branching.cost < cost
        if some and not on_turn(branching.reached(), program.support()):
            break
    return branching.reached()


def allowed(families: FamilyArrays, choices: tuple[int, ...]) -> NDArray[np.bool_]:
    """(m,) bool: the families that these choices leave, without those that would close a cycle with parents chosen.

    O(families of the children chosen, for each choice, and n^2).
    """
    n = families.first.size - 1
    left, leads = np.ones(families.costs.size, bool), np.eye(n, dtype=bool)  # leads[a, b]: a comes before b, or is b
    for number in choices:
        (x, y), without = divmod(number // 2, n), number % 2 == 1
        lo, hi = families.first[x], families.first[x + 1]
        left[lo:hi] &= _having(families, x, y) != without
        if not without:
            leads |= np.outer(leads[:, y], leads[x])
    for a, b in np.argwhere(leads & ~np.eye(n, dtype=bool)).tolist():
        left[families.first[a] : families.first[a + 1]] &= ~_having(families, a, b)
    return left


def _having(families: FamilyArrays, x: int, y: int) -> NDArray[np.bool_]:
    """Which families of x have y as a parent."""
    words = families.parents[y >> 6, families.first[x] : families.first[x + 1]]
    return (words >> np.uint64(y & 63) & np.uint64(1)).astype(bool)


class _Branching:
    """A tree at work. looked, cost: see `Tree`."""

    def __init__(self, program: Program, tree: Tree, limit: float, workers: Workers) -> None:
        self._program, self._limit, self._workers = program, limit, workers
        self._families = program.families
        self._n = self._families.first.size - 1
        self._child = np.repeat(np.arange(self._n), np.diff(self._families.first))
        self.open = SortedList(tree.open)
        self._below: Node | None = None  # the open node to be looked at next, if it is not the one with the least bound
        self.looked, self.cost, self._order = tree.looked, tree.cost, tree.order
        self._closed = list(tree.closed)
        self._cuts = {cut.tobytes(): number for number, cut in enumerate(tree.cuts)}
        self._last = no_multipliers(self._families)  # of the program solved last
        self._known: dict[int, tuple[float, int]] = {}  # what choices have brought: sum of rises, of so many
        self.bytes = sum(map(_bytes, (*self.open, *self._closed)))

    @property
    def _cutoff(self) -> float:
        """What a network must cost less than to be of interest."""
        return min(self._limit, self.cost)

    def reached(self) -> Tree:
        """What there is by now."""
        width = self._families.parents.shape[0]
        cuts = np.frombuffer(b"".join(self._cuts), np.uint64).reshape(-1, MEMBERS, width)
        return Tree(tuple(self.open), self.looked, self._order, self.cost, tuple(self._closed), cuts)

    def look(self) -> None:
        """Look at an open node: close it, or put its children in its place.

        The likelier child is looked at next, so that networks are found soon; where there is none, the node with the
        least bound.
        """
        node = self._below or self.open[0]
        self.open.remove(node)
        self.bytes -= _bytes(node)
        self._below = None
        self.looked += 1
        left = allowed(self._families, node.choices)
        bound, left, solved, shown = self._bounded(node.bound, left)
        if left.sum() == self._n:
            shown.append(no_multipliers(self._families))  # one network, or a cycle
        number = self._close(node, shown)
        if bound >= self._cutoff or not self._families.has_each(left):
            return
        if solved:
            self._note_network(self._program.values() > 0.5)
        if left.sum() == self._n:
            self._note_network(left)
            return
        children = self._children(Node(bound, node.choices, number), left, solved)
        for child in children:
            if child.bound >= self._cutoff:
                self._close(child)  # it needs no look
            else:
                self.open.add(child)
                self.bytes += _bytes(child)
        self._below = min((child for child in children if child.bound < self._cutoff), default=None)

    def _close(self, node: Node, shown: Sequence[Multipliers] = ()) -> int:
        """Put a node among the closed ones, with what else was shown of it; its number there."""
        duals = (*node.duals, *map(self._duals_of, shown))
        self._closed.append(Closed(node.above, node.choices[-1] if node.choices else -1, duals))
        self.bytes += _bytes(self._closed[-1])
        return len(self._closed) - 1

    def _duals_of(self, found: Multipliers) -> Duals:
        """Multipliers by the numbers of their cuts."""
        numbers = [self._cuts.setdefault(cut.tobytes(), len(self._cuts)) for cut in found.cuts]
        return Duals(np.array(numbers, np.int32), found.weights)

    def _bounded(
        self, bound: float, left: NDArray[np.bool_]
    ) -> tuple[float, NDArray[np.bool_], bool, list[Multipliers]]:
        """The bound of these families, which of them a network below the limit may have, whether the program has a
        solution for them, and the multipliers that show this: each drops families, or is the last, with the bound."""
        program, solved, shown = self._program, False, list[Multipliers]()
        if bound >= self._cutoff or not self._families.has_each(left):
            return math.inf, left, solved, shown
        program.families = self._families._replace(costs=np.where(left, self._families.costs, np.inf))
        program.allow(np.flatnonzero(~left), False)
        program.allow(np.flatnonzero(left), True)
        found = multipliers_of(program.families, self._last.cuts, self._last.weights)
        if found.root >= self._cutoff:
            return found.root, left, solved, [found]
        columns, cuts, useful = program.missing_columns(found), found.cuts[:0], True
        for turn in range(TURNS):
            program.add_columns(columns)
            program.add_cuts(cuts)
            solved = program.solve(EFFORT, self._workers) > 0
            if not solved:
                break
            found, before = program.multipliers(), bound
            self._last, bound = found, max(bound, found.root)
            kept = left & (found.root + found.reduced < self._cutoff)
            if not useful and shown and shown[-1].root <= found.root:
                shown.pop()
            shown.append(found)
            useful = bool((kept != left).any())
            left = kept
            if bound >= self._cutoff or (turn and bound - before < RISE * (self._cutoff - bound)):
                break
            columns = program.missing_columns(found)
            cuts, _ = program.violated(CUT_EFFORT, self._workers)
            if (not columns.size and not len(cuts)) or turn == TURNS - 1:
                break
            program.drop_slack()
        return bound, left, solved, shown

    def _note_network(self, chosen: NDArray[np.bool_]) -> None:
        """Keep the network of these families (m,) bool, if they are one for each child, without a cycle, and cheap."""
        rows = np.flatnonzero(chosen)
        if rows.size != self._n or (self._child[rows] != np.arange(self._n)).any():
            return
        cost = math.fsum(self._families.costs[rows].tolist())
        parents = np.ascontiguousarray(self._families.parents[:, rows])
        order = tuple(order_of_solution(parents, self._child[rows], np.ones(self._n), self._n).tolist())
        if cost < self._cutoff and _follows(order, parents):
            self.cost, self._order = cost, order

    def _children(self, node: Node, left: NDArray[np.bool_], solved: bool) -> list[Node]:
        """The two children of a node."""
        candidates = self._candidates(left) if solved else []
        number, sides = self._best(candidates, left) if candidates else (self._any_choice(left), UNKNOWN)
        children = []
        for k, (bound, found) in enumerate(sides):
            duals = () if found is None or bound <= node.bound else (self._duals_of(found),)
            bound = max(node.bound, bound)
            children.append(Node(bound, (*node.choices, number + k), node.above, duals))
        return children

    def _any_choice(self, left: NDArray[np.bool_]) -> int:
        """A choice that parts the families left of a child."""
        sizes = np.add.reduceat(left, self._families.first[:-1], dtype=np.int64)
        x = int(np.argmax(sizes))
        own = left[self._child == x]
        counts = [int((_having(self._families, x, y) & own).sum()) for y in range(self._n)]  # of the families with y
        y = min(range(self._n), key=lambda y: abs(2 * counts[y] - int(sizes[x])))
        return 2 * (x * self._n + y)

    def _candidates(self, left: NDArray[np.bool_]) -> list[tuple[int, float]]:
        """The likeliest choices of which the solution makes a part: their numbers for 'with', and which part."""
        parents, child, x = self._program.support()
        counts, members = unpacked(parents.T)
        part = np.zeros((self._n, self._n))
        np.add.at(part, (np.repeat(child, counts), members), np.repeat(x, counts))
        open_ones = np.flatnonzero((part > PART) & (part < 1.0 - PART))
        parts = part.ravel()[open_ones]
        scores = [_score(self._expected(2 * int(i), p)) for i, p in zip(open_ones, parts, strict=True)]
        best = np.argsort(-np.array(scores), kind="stable")[:CANDIDATES]
        return [(2 * int(open_ones[i]), float(parts[i])) for i in best]

    def _expected(self, number: int, part: float) -> tuple[float, float]:
        """By how much the LPs of a choice may rise, with and without."""
        return self._rate(number) * (1.0 - part), self._rate(number + 1) * part

    def _rate(self, number: int) -> float:
        """By how much the LP of a choice rises for what its solution lacks, as far as that is known."""
        total, times = self._known.get(number) or self._known.get(-1 - number % 2) or (1.0, 1)
        return total / times

    def _best(self, candidates: list[tuple[int, float]], left: NDArray[np.bool_]) -> tuple[int, tuple[Side, Side]]:
        """The best of some choices, and what is known of its two sides."""
        unknown = [
            (number, part)
            for number, part in candidates
            if min(self._known.get(number + k, (0.0, 0))[1] for k in (0, 1)) < RELIABLE
        ]
        rises = {number: self._expected(number, part) for number, part in candidates}
        sides = dict.fromkeys(rises, UNKNOWN)
        streams = self._program.copies(STREAMS) if unknown else []
        tasks = [(stream, unknown[i::STREAMS], left) for i, stream in enumerate(streams)]
        for tried in self._workers.map(self._tried, tasks):
            for number, part, own_rises, own_sides in tried:
                rises[number], sides[number] = own_rises, own_sides
                self._note_rises(number, part, own_rises)
        number = max(rises, key=lambda number: (_score(rises[number]), -number))
        return number, sides[number]

    def _note_rises(self, number: int, part: float, rises: tuple[float, float]) -> None:
        """Keep what a choice has brought, for itself and among all."""
        for k, lacked in ((0, 1.0 - part), (1, part)):
            for key in (number + k, -1 - k):
                total, times = self._known.get(key, (0.0, 0))
                self._known[key] = total + rises[k] / lacked, times + 1

    def _tried(
        self, stream: Program, choices: list[tuple[int, float]], left: NDArray[np.bool_]
    ) -> list[tuple[int, float, tuple[float, float], tuple[Side, Side]]]:
        """Of each choice its number and part, and the rises and what is known of its two sides, after a few
        iterations."""
        basis, value = self._program.basis, self._program.value
        found = []
        for number, part in choices:
            x, y = divmod(number // 2, self._n)
            lo, hi = int(self._families.first[x]), int(self._families.first[x + 1])
            having = _having(self._families, x, y)
            rises, sides = [], list[Side]()
            for own in (having & left[lo:hi], ~having & left[lo:hi]):
                others = lo + np.flatnonzero(left[lo:hi] & ~own)
                solved = stream.run_without(others, basis, TRY_EFFORT, self._workers.halt) > 0
                rises.append(max(0.0, stream.value - value))
                side = UNKNOWN[0]
                if solved:
                    shown = stream.multipliers()
                    side = shown.root + float(shown.reduced[lo + np.flatnonzero(own)].min(initial=math.inf)), shown
                sides.append(side)
            found.append((number, part, (rises[0], rises[1]), (sides[0], sides[1])))
        return found


def _score(rises: tuple[float, float]) -> float:
    """How good a choice is whose LPs rise so much: on both sides, or little is gained."""
    return max(rises[0], LEAST_RISE) * max(rises[1], LEAST_RISE)


def _follows(order: tuple[int, ...], parents: NDArray[np.uint64]) -> bool:
    """Whether the parents (words, n) of each variable come before it."""
    before = np.zeros(parents.shape[0], np.uint64)
    for v in order:
        if (parents[:, v] & ~before).any():
            return False
        before[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    return True


def _bytes(node: Node | Closed) -> int:
    """About the memory that a node takes."""
    choices = CHOICE_BYTES * len(node.choices) if isinstance(node, Node) else 0
    return NODE_BYTES + choices + DUAL_BYTES * sum(duals.cuts.size for duals in node.duals)
