"""Networks: directed acyclic graphs over named variables, their equivalence classes and their parameters."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.knowledge import NOTHING, Knowledge

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

    def above(self) -> list[int]:
        """Each variable and its ancestors, as bits; VerificationError for a cycle. O(arcs of all paths) words."""
        above = [0] * len(self.names)
        for x in self.order():
            above[x] = 1 << x
            for parent in self.parents[x]:
                above[x] |= above[parent]
        return above

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


def where_set(network: Network, variables: Collection[int]) -> Network:
    """The network where these variables were set from outside: without the arcs that lead to them."""
    return Network(network.names, tuple(() if v in variables else own for v, own in enumerate(network.parents)))


def relevant(network: Network, targets: Collection[int], observed: Collection[int]) -> tuple[int, ...]:
    """The children, ascending, whose families decide the posterior of some targets given some observed variables.

    Without targets: those that decide how likely the observed ones are. They are the targets, the observed variables
    and their ancestors, since all others sum to 1 (Shachter 1986); and of these such as reach a target from family to
    family by variables that are not observed. O(variables + arcs).
    """
    kept, waiting = set[int](), [*targets, *observed]
    while waiting:
        child = waiting.pop()
        if child not in kept:
            kept.add(child)
            waiting += network.parents[child]
    if not targets:
        return tuple(sorted(kept))
    given, holders = set(observed), dict[int, list[int]]()
    for child in kept:
        for variable in (*network.parents[child], child):
            holders.setdefault(variable, []).append(child)
    found, reached, waiting = set[int](), set(targets), list(targets)
    while waiting:
        for child in holders[waiting.pop()]:
            if child not in found:
                found.add(child)
                beyond = {*network.parents[child], child} - given - reached
                reached |= beyond
                waiting += beyond
    return tuple(sorted(found))


def with_targets(network: Network, knowledge: Knowledge, targets: Iterable[Collection[str]]) -> Knowledge:
    """The knowledge under which the class of a network is its interventional one, given the sets of variables that were
    set from outside: such networks differ in no arc of which one end was set without the other (Hauser and Bühlmann
    2012, Journal of Machine Learning Research 13). So these arcs are required."""
    sets, names = list(map(set, targets)), network.names
    told = ((names[parent], names[child]) for parent, child in network.arcs())
    more = [(p, x) for p, x in told if any((p in own) != (x in own) for own in sets)]
    known = set(knowledge.required)
    return replace(knowledge, required=(*knowledge.required, *(arc for arc in more if arc not in known)))


def cpdag(network: Network, knowledge: Knowledge = NOTHING) -> tuple[tuple[Arc, ...], tuple[Arc, ...]]:
    """The class of an acyclic network: the members of its Markov equivalence class that the knowledge allows.

    Returns (directed arcs as (parent, child), which all members have, undirected edges as (smaller, larger), which some
    members turn), both sorted. Knowledge directs an arc that it requires, or whose reversal it rules out; limits on
    parents direct none, nor do allowed pairs. The graph is the CPDAG, or under knowledge the MPDAG: the v-structures
    and what the knowledge directs, closed under rules 1 to 4 of Meek (1995, UAI), which find all that follows.

    One pass, parents first, since all that a rule asks about an arc lies among its child and the ancestors of that.
    O(p^3) operations on sets of variables for a variable of p parents. Raises VerificationError for a cycle, and for a
    network that the knowledge does not allow, naming the arc.
    """
    near = [1 << x for x in range(len(network.names))]  # sets of variables as bits
    for child, parents in enumerate(network.parents):
        for parent in parents:
            near[child] |= 1 << parent
            near[parent] |= 1 << child
    known = _Directions([0] * len(near), [0] * len(near), near)
    undirected = list[Arc]()
    decided = _decided(network, knowledge)
    for child in network.order():
        parents = network.parents[child]
        own, waiting = sum(1 << parent for parent in parents), []
        for parent in parents:
            if own & ~near[parent] or (parent, child) in decided:
                known.add(parent, child)
            else:
                waiting.append(parent)
        undirected += [(parent, child) for parent in known.closed(child, waiting, parents)]
    directed = sorted(set(network.arcs()) - set(undirected))
    return tuple(directed), tuple(sorted((min(arc), max(arc)) for arc in undirected))


def _decided(network: Network, knowledge: Knowledge) -> set[Arc]:
    """The arcs of a network that the knowledge directs; VerificationError if it does not allow the network."""
    if not knowledge:
        return set()
    arcs = {(network.names[parent], network.names[child]): (parent, child) for parent, child in network.arcs()}
    ruled_out, required = knowledge.ruling_out(), set(knowledge.required)
    for (parent, child), why in ((names, ruled_out(*names)) for names in arcs):
        if why is not None:
            raise VerificationError(f"The network has the arc from {parent!r} to {child!r}, but {why}.")
    for parent, child in knowledge.required:
        if (parent, child) not in arcs:
            raise VerificationError(f"The network lacks the arc from {parent!r} to {child!r}, which is required.")
    return {arc for names, arc in arcs.items() if names in required or ruled_out(*names[::-1]) is not None}


@dataclass(frozen=True)
class _Directions:
    """What is known of the directions of the arcs of a network, as sets of variables in bits: the parents of each
    variable, its children, and itself with all that it is joined with in either direction, known or not."""

    into: list[int]
    out: list[int]
    near: list[int]

    def add(self, parent: int, child: int) -> None:
        """Let an arc be known."""
        self.into[child] |= 1 << parent
        self.out[parent] |= 1 << child

    def closed(self, child: int, waiting: list[int], parents: tuple[int, ...]) -> list[int]:
        """Those of the waiting `parents` of a child whose arcs no rule directs, when all that follow are added."""
        before = -1
        while len(waiting) != before:
            before, left = len(waiting), []
            for parent in waiting:
                if self._follows(parent, child, parents):
                    self.add(parent, child)
                else:
                    left.append(parent)
            waiting = left
        return waiting

    def _follows(self, a: int, b: int, parents: tuple[int, ...]) -> bool:
        """Whether a rule of Meek directs the undecided edge a - b of the network from a to b, a parent of b.

        The other direction need not be asked: the rules are sound, so they never turn an arc of a member.
        """
        into, near = self.into, self.near
        # Rule 1: c -> a with c and b not adjacent; b -> a would make a new v-structure.
        if into[a] & ~near[b]:
            return True
        # Rule 2: a -> c -> b; b -> a would close a cycle.
        if self.out[a] & into[b]:
            return True
        joined = into[b] & near[a] & ~into[a]
        for c in parents:
            if joined >> c & 1:
                # Rule 3: c -> b and d -> b with c and d not adjacent, both joined to a by undirected edges.
                if joined & ~near[c]:
                    return True
                # Rule 4: d -> c -> b with d and b not adjacent, and all three joined to a; b -> a would make c -> a, so
                # d -> a, and a new v-structure there.
                if into[c] & near[a] & ~near[b]:
                    return True
        return False
