"""Lists of families that grow while orders are searched: beside what the networks so far choose, more is scored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import WORD_BITS, words
from extbnsl.machine.workers import Workers
from extbnsl.orders.parent_lists import ParentLists, parent_lists
from extbnsl.parents.explored.explore import Exploration
from extbnsl.parents.explored.families import FamilyList
from extbnsl.parents.explored.neighbours import TRIED, Chosen, Family, extended

AHEAD = 4  # children for each thread that wait or are done
SETS = 2_000_000  # neighbours that are scored at a time, about: some seconds

Parents = Sequence[Family]  # of each child, in a network


@dataclass(eq=False)
class GrowingLists:
    """The families of each child of an exploration, and the lists that a search takes; `most` families at most, or a
    few more. expanded: which families of each child have been expanded; turns: how many children have had their turn,
    each again and again."""

    problem: Exploration
    families: list[FamilyList]
    most: int
    lists: ParentLists = field(init=False)
    expanded: list[set[Family]] = field(init=False)
    turns: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.lists = lists_of_families(self.families)
        self.expanded = [set() for _ in self.families]

    @property
    def variables(self) -> int:
        """The number of variables."""
        return len(self.families)

    def grow(self, networks: Sequence[Parents], workers: Workers) -> bool:
        """Expand what networks choose for the next children, at most all and as many as take some seconds; the first
        network alone when it is their first turn: what it finds is much of what the others lack. Returns whether there
        are more families now; then `lists` are others. Raises Stopped when the workers are stopped, with what was found
        until then.

        What is found does not depend on the number of threads. Memory: n^2 / 8 bytes for each network.
        """
        before = self.lists.costs.size
        if before >= self.most:
            return False
        some = networks if self.turns >= self.variables else networks[:1]
        tasks = (
            (child, self.families[child], chosen, self.expanded[child], self.problem, workers.halt)
            for child, chosen in self._next_to_expand(some)
        )
        try:
            for found in workers.spread(_extended, tasks, AHEAD * workers.threads, self._keep):
                self._keep(found)
        finally:
            self.lists = lists_of_families(self.families)
        return self.lists.costs.size > before

    def _keep(self, found: tuple[int, FamilyList, set[Family]]) -> None:
        child, self.families[child], self.expanded[child] = found

    def _next_to_expand(self, networks: Sequence[Parents]) -> list[tuple[int, list[Chosen]]]:
        """The next children with what is to be expanded of them, until it is enough or each had a turn."""
        below, n = [descendants(parents) for parents in networks], self.variables
        wanted, sets, last = [], 0, self.turns + n
        while self.turns < last and sets < SETS:
            child = self.turns % n
            self.turns += 1
            chosen = [
                Chosen(parents[child], np.unpackbits(own[child].view(np.uint8), count=n, bitorder="little") == 0)
                for parents, own in zip(networks, below, strict=True)
                if parents[child] not in self.expanded[child]
            ]
            if chosen:
                wanted.append((child, chosen))
                sets += sum(min(n, TRIED) * (len(one.family) + 1) for one in chosen)
        return wanted


def _extended(child: int, *given: Any) -> tuple[int, FamilyList, set[Family]]:
    return child, *extended(child, *given)


def lists_of_families(families: Iterable[FamilyList]) -> ParentLists:
    """The lists of what an exploration has found."""
    return parent_lists((own.costs, np.diff(own.starts), own.parents.astype(np.int64)) for own in families)


def descendants(parents: Parents) -> NDArray[np.uint64]:
    """The descendants of each variable of an acyclic network as varsets, uint64 (n, w); itself is one of them.
    O(arcs n / 64)."""
    n = len(parents)
    below = np.zeros((n, words(n)), np.uint64)
    below[np.arange(n), np.arange(n) // WORD_BITS] = np.uint64(1) << (np.arange(n) % WORD_BITS).astype(np.uint64)
    children = np.bincount(np.array([p for own in parents for p in own], np.int64), minlength=n)
    ready = np.flatnonzero(children == 0).tolist()
    while ready:
        child = ready.pop()
        for p in parents[child]:
            below[p] |= below[child]
            children[p] -= 1
            if children[p] == 0:
                ready.append(p)
    return below
