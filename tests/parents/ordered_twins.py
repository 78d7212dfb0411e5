"""Slow twins of the methods under an order: the figures of Tian (2000), word for word, over dictionaries of counts.

A twin gets the data, the child and the candidates before it, and returns the parents and the number of entropy terms.
"""

import itertools
import math

import naive

TIE = 1e-9  # costs that differ by less are equal; then fewer parents win, and among as many the first in the order


def key(cost, parents, place):
    return len(parents), sorted(place[p] for p in parents)


def wins(new, old, place):
    """Whether one (cost, parents) is better than another."""
    if abs(new[0] - old[0]) > TIE:
        return new[0] < old[0]
    return key(*new, place) < key(*old, place)


class Child:
    """The costs of a child's families."""

    def __init__(self, score, codes, arities, child, before):
        self.score, self.codes, self.arities, self.child = score, codes, arities, child
        self.place = {v: k for k, v in enumerate(before)}
        nothing, one = self.cost(()), self.penalty(())
        varies = [len(set(codes[:, v].tolist())) > 1 for v in before]
        self.candidates = [
            v for v, differs in zip(before, varies, strict=True) if differs and one * int(arities[v]) < nothing
        ]

        least = itertools.accumulate(sorted(int(arities[v]) for v in self.candidates), int.__mul__)
        self.most = sum(one * configurations < nothing for configurations in least)  # parents that can win

    def penalty(self, parents):
        """The price of the free parameters."""
        configurations = math.prod(int(self.arities[p]) for p in parents)
        return naive.PARAMETER[self.score](len(self.codes)) * (int(self.arities[self.child]) - 1) * configurations

    def cost(self, parents):
        return naive.family_cost(self.score, self.codes, self.arities, self.child, tuple(parents))

    def misfit(self, parents):
        return self.cost(parents) - self.penalty(parents)


def brute(own, before, limit):
    """The best of all subsets of at most `limit` parents."""
    best = own.cost(()), ()
    for size in range(1, limit + 1):
        for parents in itertools.combinations(before, size):
            if wins((own.cost(parents), parents), best, own.place):
                best = own.cost(parents), parents
    return best


def k3(own, limit):
    """Figure 1: cost, parents, terms."""
    parents, cost, terms = (), own.cost(()), 1
    while len(parents) < min(limit, own.most):
        others = [q for q in own.candidates if q not in parents]
        terms += len(others)
        found = [(own.cost((*parents, q)), q) for q in others]
        least = min((cost for cost, _ in found), default=math.inf)
        if not least < cost - TIE:
            break
        cost, chosen = next(one for one in found if one[0] <= least + TIE)
        parents = (*parents, chosen)
    return cost, parents, terms


def suzuki(own, limit):
    """B&B_D: cost, parents, states visited."""
    best, states = (own.cost(()), ()), 0

    def visit(parents, after):
        nonlocal best, states
        states += 1
        if wins((own.cost(parents), parents), best, own.place):
            best = own.cost(parents), parents
        for k, q in enumerate(after if len(parents) < limit else ()):
            if own.misfit(parents) > own.penalty(parents) * (int(own.arities[q]) - 1):
                visit((*parents, q), after[k + 1 :])

    visit((), own.candidates)
    return *best, states


def dfbnb(own, limit, own_bounds):
    """Figure 3: cost, parents, terms, those of K3 among them. A set that costs as much may still win by its size."""
    if not own.candidates or limit == 0:
        return own.cost(()), (), 1
    cost, parents, terms = k3(own, limit)
    best = cost, parents
    tree = sorted(own.candidates, key=lambda q: (round(own.misfit((q,)) / TIE), own.place[q]))
    fixed = own.misfit(tree)
    terms += 1  # of the fixed bound

    def visit(state, after):
        nonlocal best, terms
        terms += 1 + (own_bounds and bool(after) and bool(state))
        if state and wins((own.cost(state), state), best, own.place):
            best = own.cost(state), state
        bound = own.misfit((*state, *after)) if own_bounds else fixed
        for k, q in enumerate(after if len(state) < limit else ()):
            gap = best[0] - (bound + own.penalty((*state, q)))
            if gap > TIE or (gap >= -TIE and len(state) + 1 <= len(best[1])):
                visit((*state, q), after[k + 1 :])

    visit((), tuple(tree))
    return *best, terms
