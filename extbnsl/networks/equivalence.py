"""Markov equivalence: the CPDAG of a network."""

from itertools import combinations

from extbnsl.networks.network import Arc, Network


def cpdag(network: Network) -> tuple[tuple[Arc, ...], tuple[Arc, ...]]:
    """The equivalence class of an acyclic network: arcs that all members share, and edges that they turn.

    Returns (directed arcs as (parent, child), undirected edges as (smaller, larger)), both sorted. Keeps
    the v-structures of the skeleton and closes them under rules 1 to 3 of Meek (1995, UAI), which suffice
    when all directions come from v-structures. Raises VerificationError, naming it, for a cycle.
    """
    arcs = set(network.arcs())
    neighbours: list[set[int]] = [set() for _ in network.names]
    for a, b in arcs:
        neighbours[a].add(b)
        neighbours[b].add(a)
    into: list[set[int]] = [set() for _ in network.names]
    for child, parents in enumerate(network.parents):
        for a, b in combinations(parents, 2):
            if b not in neighbours[a]:
                into[child] |= {a, b}
    # From the roots down, since directions spread along the arcs: two rounds do for most networks.
    place = {variable: at for at, variable in enumerate(network.order())}
    waiting = sorted((arc for arc in arcs if arc[0] not in into[arc[1]]), key=lambda arc: place[arc[0]])
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
    directed = sorted(arcs - set(waiting))
    return tuple(directed), tuple(sorted((min(arc), max(arc)) for arc in waiting))


def _compelled(a: int, b: int, into: list[set[int]], neighbours: list[set[int]]) -> bool:
    """Whether a rule of Meek directs the undecided edge a - b from a to b; `into[x]` are known parents of x.

    The other direction need not be asked: the rules are sound, so they never turn an arc of the network.
    """
    # Rule 1: c -> a with c and b not adjacent; b -> a would make a new v-structure.
    if into[a] - neighbours[b]:
        return True
    # Rule 2: a -> c -> b; b -> a would close a cycle.
    if any(a in into[c] for c in into[b]):
        return True
    # Rule 3: c -> b and d -> b with c and d not adjacent, both joined to a by undecided edges.
    candidates = sorted((into[b] & neighbours[a]) - into[a])
    return any(d not in neighbours[c] for c, d in combinations(candidates, 2))
