"""Classes of networks by listing all that there are. A graph is a tuple of parent varsets, as `naive` has them.

Nothing here is shared with extbnsl: what makes networks equivalent is as Verma and Pearl (1990) say it, and what
knowledge allows is looked up arc by arc.
"""

import functools
import itertools

import naive


def arcs_of(graph):
    """The arcs of a graph as a set of (parent, child)."""
    return {(p, x) for x, own in enumerate(graph) for p in naive.members(own)}


def shape(graph):
    """What makes two graphs equivalent: pairs that are joined, and v-structures."""
    arcs = arcs_of(graph)
    joined = {frozenset(arc) for arc in arcs}
    into = {(a, x, b) for a, x in arcs for b, y in arcs if x == y and a < b and frozenset((a, b)) not in joined}
    return frozenset(joined), frozenset(into)


@functools.cache
def by_shape(n):
    """All graphs of n variables by what makes them equivalent."""
    found = {}
    for graph in naive.all_dags(n):
        found.setdefault(shape(graph), []).append(graph)
    return found


def allows(knowledge, names, graph):
    """Whether knowledge allows a graph; limits on parents are none."""
    arcs = {(names[p], names[x]) for p, x in arcs_of(graph)}
    times = {name: time for time, tier in enumerate(knowledge.tiers) for name in tier}
    pairs = {frozenset(pair) for pair in knowledge.allowed}
    return (
        arcs >= set(knowledge.required)
        and not arcs & set(knowledge.forbidden)
        and (not pairs or all(frozenset(arc) in pairs for arc in arcs))
        and not any(child in knowledge.roots or parent in knowledge.leaves for parent, child in arcs)
        and not any(set(arc) <= set(group) for arc in arcs for group in knowledge.apart)
        and all(times.get(parent, -1) <= times.get(child, len(names)) for parent, child in arcs)
    )


def members(graph, knowledge=None, names=()):
    """The graphs of the class of one, or those of them that knowledge over these names allows."""
    whole = by_shape(len(graph))[shape(graph)]
    return whole if knowledge is None else [one for one in whole if allows(knowledge, names, one)]


def shared(graphs):
    """The arcs that all of some graphs of one shape have, and the pairs that some turn, smaller first: both sorted."""
    sets = list(map(arcs_of, graphs))
    directed = set.intersection(*sets)
    turned = {tuple(sorted(arc)) for arc in set.union(*sets) - directed}
    return tuple(sorted(directed)), tuple(sorted(turned))


def closed(graph, settled, rng):
    """The same as `shared` of the members that have the arcs `settled` of the graph, by the rules of Meek, tried in an
    order of `rng` on one undirected edge after the other, until none directs any."""
    n, joined = len(graph), {frozenset(arc) for arc in arcs_of(graph)}
    directed = set(settled) | {arc for a, x, b in shape(graph)[1] for arc in ((a, x), (b, x))}

    def near(a, b):
        return frozenset((a, b)) in joined

    def open_(a, b):
        return near(a, b) and (a, b) not in directed and (b, a) not in directed

    rules = [
        lambda a, b: any((c, a) in directed and not near(c, b) for c in range(n) if c != b),
        lambda a, b: any({(a, c), (c, b)} <= directed for c in range(n)),
        lambda a, b: any(
            open_(a, c) and open_(a, d) and {(c, b), (d, b)} <= directed and not near(c, d)
            for c, d in itertools.combinations(range(n), 2)
        ),
        lambda a, b: any(
            {(d, c), (c, b)} <= directed and near(a, c) and open_(a, d) and not near(b, d)
            for c, d in itertools.permutations(range(n), 2)
        ),
    ]
    steps = [(rule, a, b) for rule in rules for a, b in itertools.permutations(range(n), 2)]
    done = False
    while not done:
        done = True
        rng.shuffle(steps)
        for rule, a, b in steps:
            if open_(a, b) and rule(a, b):
                directed.add((a, b))
                done = False
                break
    return tuple(sorted(directed)), tuple(sorted((a, b) for a, b in itertools.combinations(range(n), 2) if open_(a, b)))
