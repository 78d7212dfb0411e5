"""Networks: directed acyclic graphs over named variables, their equivalence classes and their parameters."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from extbnsl.core.errors import InputError, VerificationError

Arc = tuple[int, int]


@dataclass(frozen=True)
class Network:
    """A Bayesian network structure. That it is acyclic is not taken for granted: `order` finds out.

    Attributes
    ----------
    names : tuple of str
        The names of the n variables.
    parents : tuple of tuple of int
        parents[i] are the parents of variable i, ascending indices.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    @staticmethod
    def from_names(names: Sequence[str], parents: Mapping[str, Iterable[str]]) -> "Network":
        """The network over some variables, from the names of their parents.

        Parameters
        ----------
        names : sequence of str
            The names of the variables, in their order.
        parents : dict of iterable of str
            The parents of each child; one that is not there has none.

        Returns
        -------
        Network
            The network, which may have a cycle.

        Raises
        ------
        InputError
            For a name that is not a variable, or that occurs twice.
        """
        index = {name: i for i, name in enumerate(names)}
        by_child: list[tuple[int, ...]] = [()] * len(names)
        for child, given in parents.items():
            if child not in index:
                raise InputError(f"The network gives parents to {child!r}, which is not a variable.")
            members = list(given)
            unknown = [name for name in members if name not in index]
            if unknown:
                raise InputError(f"The parent {unknown[0]!r} of {child!r} is not a variable.")
            by_child[index[child]] = tuple(sorted(index[name] for name in members))
        network = Network(tuple(names), tuple(by_child))
        network.check()
        return network

    def check(self) -> None:
        """Check all but acyclicity: raises InputError unless names and parents are distinct and in range."""
        n = len(self.names)
        if len(set(self.names)) < n:
            raise InputError("The names of the variables of a network must be distinct.")
        if len(self.parents) != n:
            raise InputError(f"The network has {n} variables but parents for {len(self.parents)}.")
        for name, parents in zip(self.names, self.parents, strict=True):
            if list(parents) != sorted(set(parents)):
                raise InputError(f"The parents of {name!r} must be distinct and in ascending order.")
            if parents and not 0 <= parents[0] <= parents[-1] < n:
                raise InputError(f"The variable {name!r} has a parent that is none of the {n} variables.")

    def arcs(self) -> tuple[Arc, ...]:
        """All arcs as (parent, child), sorted."""
        return tuple(sorted((p, child) for child, parents in enumerate(self.parents) for p in parents))

    def order(self) -> tuple[int, ...]:
        """The topological order that always takes the least variable ready; O((n + arcs) log n).

        Returns
        -------
        tuple of int
            The numbers of the variables, parents first.

        Raises
        ------
        VerificationError
            If there is none; it names a cycle.
        """
        children = self.children()
        missing = list(map(len, self.parents))
        ready = [i for i, count in enumerate(missing) if count == 0]
        order = []
        while ready:
            placed = heapq.heappop(ready)
            order.append(placed)
            for child in children[placed]:
                missing[child] -= 1
                if missing[child] == 0:
                    heapq.heappush(ready, child)
        if len(order) < len(self.names):
            cycle = " -> ".join(repr(self.names[i]) for i in self._cycle(set(order)))
            raise VerificationError(f"The network has the cycle {cycle}.")
        return tuple(order)

    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each variable, ascending indices."""
        children: list[list[int]] = [[] for _ in self.names]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(child)
        return tuple(map(tuple, children))

    def parents_by_name(self) -> dict[str, list[str]]:
        """The names of the parents of every variable, in the order of the variables."""
        return {name: [self.names[p] for p in parents] for name, parents in zip(self.names, self.parents, strict=True)}

    def _cycle(self, placed: set[int]) -> list[int]:
        """A cycle among the variables that no order could place, first variable repeated at the end.

        Each of them has a parent that is not placed either, so walking upwards must come back.
        """
        walk = [next(i for i in range(len(self.names)) if i not in placed)]
        while walk[-1] not in walk[:-1]:
            walk.append(next(p for p in self.parents[walk[-1]] if p not in placed))
        return walk[walk.index(walk[-1]) :][::-1]


def cpdag(network: Network) -> tuple[tuple[Arc, ...], tuple[Arc, ...]]:
    """The equivalence class of an acyclic network: arcs that all members share, and edges that they turn.

    Returns (directed arcs as (parent, child), undirected edges as (smaller, larger)), both sorted. Keeps
    the v-structures of the skeleton and closes them under rules 1 to 3 of Meek (1995, UAI), which suffice
    when all directions come from v-structures. Raises VerificationError, naming it, for a cycle.
    """
    children = network.children()
    neighbours: list[set[int]] = list(map(set, network.parents))
    for own, below in zip(neighbours, children, strict=True):
        own.update(below)
    into: list[set[int]] = []
    for parents in network.parents:
        into.append(set())
        for a, b in combinations(parents, 2):
            if b not in neighbours[a]:
                into[-1] |= {a, b}
    # From the roots down, since directions spread along the arcs: two rounds do for most networks.
    waiting = [(a, b) for a in network.order() for b in children[a] if a not in into[b]]
    compelled = 1
    while compelled:
        undecided = []
        for a, b in waiting:
            if _compelled(a, b, into, neighbours):
                into[b].add(a)
            else:
                undecided.append((a, b))
        compelled = len(waiting) - len(undecided)
        waiting = undecided
    directed = sorted(set(network.arcs()) - set(waiting))
    return tuple(directed), tuple(sorted((min(arc), max(arc)) for arc in waiting))


def _compelled(a: int, b: int, into: list[set[int]], neighbours: list[set[int]]) -> bool:
    """Whether a rule of Meek directs the undecided edge a - b from a to b; `into[x]` are known parents of x.

    The other direction need not be asked: the rules are sound, so they never turn an arc of the network.
    """
    # Rule 1: c -> a with c and b not adjacent; b -> a would make a new v-structure.
    if into[a] - neighbours[b]:
        return True
    joined = (into[b] & neighbours[a]) - into[a]
    for c in into[b]:
        # Rule 2: a -> c -> b; b -> a would close a cycle.
        if a in into[c]:
            return True
        # Rule 3: c -> b and d -> b with c and d not adjacent, both joined to a by undecided edges.
        if c in joined and not joined <= neighbours[c] | {c}:
            return True
    return False
