"""Knowledge for tests: at random, and what it leaves of all families."""

import naive
import numpy as np

from extbnsl.core.knowledge import Knowledge


def random_knowledge(rng, names, most=None):
    """Knowledge of each kind or of none, that does not contradict itself."""
    n = len(names)
    order = rng.permutation(n).tolist()
    pairs = [(names[a], names[b]) for i, a in enumerate(order) for b in order[i + 1 :]]  # no cycle among them

    def some(of, share):
        return tuple(of[i] for i in np.flatnonzero(rng.random(len(of)) < share))

    required = some(pairs, rng.choice([0.0, 0.2, 0.4]))
    every = [(a, b) for a in names for b in names if a != b]
    forbidden = tuple(arc for arc in some(every, rng.choice([0.0, 0.2])) if arc not in required)
    allowed = (*some(every, 0.5), *required) if rng.random() < 0.3 else ()
    if allowed:
        forbidden = tuple(arc for arc in forbidden if arc not in required)
    tiers = ()
    if rng.random() < 0.3:
        cut = int(rng.integers(n + 1))
        tiers = (tuple(names[v] for v in order[:cut]), tuple(names[v] for v in order[cut : cut + 2]))
    parents_of = {name: [p for p, c in required if c == name] for name in names}
    roots = tuple(name for name in some(names, 0.15) if not parents_of[name])
    leaves = tuple(name for name in some(names, 0.15) if all(p != name for p, _ in required))
    limits = tuple((name, len(parents_of[name]) + int(rng.integers(3))) for name in some(names, 0.2))
    if most is not None:
        required = tuple(arc for arc in required if len(parents_of[arc[1]]) <= most)
    apart = ()
    if rng.random() < 0.3:
        groups = [some(names, 0.5) for _ in range(int(rng.integers(1, 3)))]
        apart = tuple(group for group in groups if not any({p, c} <= set(group) for p, c in required))
    return Knowledge(required, forbidden, allowed, tiers, roots, leaves, limits, apart)


def rules_out(knowledge, parent, child):
    """Whether there is no arc from a parent to a child."""
    tier = [next((at for at, own in enumerate(knowledge.tiers) if name in own), None) for name in (parent, child)]
    return (
        parent == child
        or (parent, child) in knowledge.forbidden
        or (knowledge.allowed and not {(parent, child), (child, parent)} & {*knowledge.allowed})
        or (None not in tier and tier[0] > tier[1])
        or child in knowledge.roots
        or parent in knowledge.leaves
        or any(parent in group and child in group for group in knowledge.apart)
    )


def admitted(knowledge, names, max_parents):
    """Which families there may be, (n, 2^n) bool, arc by arc."""
    n, limits = len(names), dict(knowledge.max_parents)
    found = np.zeros((n, 2**n), bool)
    for child in range(n):
        must = {p for p, c in knowledge.required if c == names[child]}
        for varset in (v for v in range(2**n) if not v >> child & 1):
            own = [names[p] for p in naive.members(varset)]
            most = min(n if max_parents is None else max_parents, limits.get(names[child], n))
            found[child, varset] = (
                must <= set(own)
                and len(own) <= most
                and not any(rules_out(knowledge, parent, names[child]) for parent in own)
            )
    return found
