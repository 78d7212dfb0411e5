"""A part of the tree of branching: what becomes of some of its open nodes, as a task that others can do too.

The choice at a node is one of which the solution makes a part only, and whose LPs rise most, by a few iterations of
each (strong branching) or as they have risen elsewhere (pseudo-costs; Achterberg, Koch and Martin 2005). The likelier
child is looked at next, so that networks are found soon; where there is none, the node with the least bound.
"""

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedList

from extbnsl.bounds.lp.polish import ROOT
from extbnsl.bounds.lp.program import Program, Snapshot
from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.bounds.lp.tree import Closed, Duals, Node
from extbnsl.bounds.multipliers import MEMBERS, FamilyArrays, Multipliers, Support, multipliers_of, no_multipliers
from extbnsl.kernels.varsets import unpacked
from extbnsl.machine.workers import Alone

EFFORT = 5_000  # simplex iterations of an LP, at most
CUT_EFFORT = 100  # of looking for cuts once, see `Program.violated`
NODE_EFFORT = 50  # that a node counts for besides
TURNS = 20  # in which a node looks for cuts, at most
RISE = 0.05  # share of the gap that the bound must rise by in a turn for another one
PART = 1e-6  # a choice of which the solution makes less, or all but less, is made or not
CANDIDATES = 8  # choices that are thought of at a node
RELIABLE = 4  # times that a choice has been tried before it is known what it brings
TRY_EFFORT = 50  # simplex iterations of trying a choice
LISTEN_SECONDS = 0.2  # between two looks at `halt`
LEAST_RISE = 1e-6  # nats, so that a product of two says something if one is nothing
Side = tuple[float, Multipliers | None]  # the bound of one side of a choice, as far as it is known, and by what
UNKNOWN: tuple[Side, Side] = ((-math.inf, None), (-math.inf, None))
Known = dict[int, tuple[float, int]]  # what choices have brought: sum of rises, of so many


class Tried(NamedTuple):
    """A choice that was tried at a node: its number for 'with', which part of it the solution made, and by how much the
    LPs of both sides have risen, in nats."""

    number: int
    part: float
    rises: tuple[float, float]


class Given(NamedTuple):
    """What all parts of a round are given.

    snapshot: what their programs begin with, and room: how many bytes each may take; places: how many parts a process
    may do at a time; limit: what a network must cost
    less than, in nats; known: what choices have brought; closed, cuts: how many of them the tree has; effort: after so
    many simplex iterations no other node is looked at.
    """

    snapshot: Snapshot
    room: int
    places: int
    limit: float
    known: Known
    closed: int
    cuts: int
    effort: int


class Grown(NamedTuple):
    """What has become of some open nodes of a tree: those that are open now, and those that were closed; how many were
    looked at, by so many simplex iterations; the cheapest network below the limit that they led to, by its order, and
    its cost.

    Closed nodes are numbered on from those that the tree had, and so are the cuts (k, 3, words), those of new duals.
    tried: choices, in order; snapshot, bytes: of the program at the end; support: of its last solution, if it had one.
    """

    open: tuple[Node, ...]
    closed: tuple[Closed, ...]
    looked: int
    effort: int
    order: tuple[int, ...] | None
    cost: float
    cuts: NDArray[np.uint64]
    tried: tuple[Tried, ...]
    snapshot: Snapshot
    bytes: int
    support: Support | None


def grow(families: FamilyArrays, given: Given, nodes: Sequence[Node], halt: NDArray[np.uint8]) -> Grown:
    """Look at these nodes and those below them, until none is open or the effort is spent; of no use once halt[0] is
    set. A pure function: it changes nothing that it is given. The LPs of a node take some tens of milliseconds for a
    thousand families."""
    with _places.one(given.places, halt):
        part = _Part(families, given, nodes, halt)
        while part.open and part.spent < given.effort and not halt[0]:
            part.look()
        return part.grown()


class _Places:
    """How many parts this process does at a time: their programs share its memory."""

    def __init__(self) -> None:
        self._changed, self._taken = threading.Condition(), 0

    @contextlib.contextmanager
    def one(self, most: int, halt: NDArray[np.uint8]) -> Iterator[None]:
        """Wait until fewer than `most` are taken, or halt[0] is set, and take one until the end of the block."""
        with self._changed:
            while self._taken >= most and not halt[0]:
                self._changed.wait(LISTEN_SECONDS)
            self._taken += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                self._changed.notify_all()


_places = _Places()


def note_tried(known: Known, tried: Iterable[Tried]) -> None:
    """Keep what choices have brought, each for itself and among all."""
    for number, part, rises in tried:
        for k, lacked in ((0, 1.0 - part), (1, part)):
            for key in (number + k, -1 - k):
                total, times = known.get(key, (0.0, 0))
                known[key] = total + rises[k] / lacked, times + 1


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


class _Part:
    """A part of a tree at work. spent: simplex iterations, and what counts like them."""

    def __init__(self, families: FamilyArrays, given: Given, nodes: Sequence[Node], halt: NDArray[np.uint8]) -> None:
        self._families, self._given, self._alone = families, given, Alone(halt)
        self._n = families.first.size - 1
        self._child = np.repeat(np.arange(self._n), np.diff(families.first))
        self._program = Program(families, given.snapshot, ROOT, given.room)
        self._last = given.snapshot.last  # multipliers of the program solved last
        self.open = SortedList(nodes)
        self._below: Node | None = None  # the open node to be looked at next, if it is not the one with the least bound
        self.spent, self._looked = 0, 0
        self._order: tuple[int, ...] | None = None
        self._cost = math.inf
        self._closed: list[Closed] = []
        self._cuts: dict[bytes, int] = {}
        self._tried: list[Tried] = []
        self._known = dict(given.known)

    @property
    def _cutoff(self) -> float:
        """What a network must cost less than to be of interest."""
        return min(self._given.limit, self._cost)

    def grown(self) -> Grown:
        """What there is by now."""
        cuts = np.frombuffer(b"".join(self._cuts), np.uint64).reshape(-1, MEMBERS, self._families.parents.shape[0])
        support = self._program.support()
        return Grown(
            tuple(self.open),
            tuple(self._closed),
            self._looked,
            self.spent,
            self._order,
            self._cost,
            cuts,
            tuple(self._tried),
            self._program.snapshot,
            self._program.bytes,
            support if support[2].size else None,
        )

    def look(self) -> None:
        """Look at an open node: close it, or put its children in its place."""
        node = self._below or self.open[0]
        self.open.remove(node)
        self._below = None
        self._looked += 1
        self.spent += NODE_EFFORT
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
        self._below = min((child for child in children if child.bound < self._cutoff), default=None)

    def _close(self, node: Node, shown: Sequence[Multipliers] = ()) -> int:
        """Put a node among the closed ones, with what else was shown of it; its number there."""
        self._closed.append(node.closed(*map(self._duals_of, shown)))
        return self._given.closed + len(self._closed) - 1

    def _duals_of(self, found: Multipliers) -> Duals:
        """Multipliers by the numbers of their cuts."""
        new = self._given.cuts
        numbers = [self._cuts.setdefault(cut.tobytes(), new + len(self._cuts)) for cut in found.cuts]
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
            left_over = program.solve(EFFORT, self._alone)
            self.spent, solved = self.spent + EFFORT - left_over, left_over > 0
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
            cuts, left_over = program.violated(CUT_EFFORT, self._alone)
            self.spent += CUT_EFFORT - left_over
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
            self._cost, self._order = cost, order

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
        for tried, own_sides in self._try(unknown, left):
            rises[tried.number], sides[tried.number] = tried.rises, own_sides
            note_tried(self._known, [tried])
            self._tried.append(tried)
        number = max(rises, key=lambda number: (_score(rises[number]), -number))
        return number, sides[number]

    def _try(
        self, choices: list[tuple[int, float]], left: NDArray[np.bool_]
    ) -> Iterator[tuple[Tried, tuple[Side, Side]]]:
        """Try choices, each with the part of it that the solution makes, by a few iterations of both sides: what they
        bring, and what is known of the sides then."""
        if not choices:
            return
        [stream], basis, value = self._program.copies(1), self._program.basis, self._program.value
        for number, part in choices:
            x, y = divmod(number // 2, self._n)
            lo, hi = int(self._families.first[x]), int(self._families.first[x + 1])
            having = _having(self._families, x, y)
            rises, sides = [], list[Side]()
            for own in (having & left[lo:hi], ~having & left[lo:hi]):
                others = lo + np.flatnonzero(left[lo:hi] & ~own)
                left_over = stream.run_without(others, basis, TRY_EFFORT, self._alone.halt)
                self.spent += TRY_EFFORT - left_over
                rises.append(max(0.0, stream.value - value))
                side = UNKNOWN[0]
                if left_over > 0:
                    shown = stream.multipliers()
                    side = shown.root + float(shown.reduced[lo + np.flatnonzero(own)].min(initial=math.inf)), shown
                sides.append(side)
            yield Tried(number, part, (rises[0], rises[1])), (sides[0], sides[1])


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
