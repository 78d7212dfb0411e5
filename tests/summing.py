"""Sums over all networks and orders by going through them one by one, and the problems they are tried on."""

import functools
import itertools
import math

import numpy as np
from cases import scores_of
from hypothesis import strategies as st
from naive import all_dags, members

from extbnsl.core.errors import InputError


@functools.cache
def orders_of(parents):
    """How many orders a network keeps to."""
    many = [1] + [0] * (2 ** len(parents) - 1)  # orders of those that come first
    for first in range(1, len(many)):
        before = {x: first ^ 1 << x for x in members(first)}  # all but the last of them
        many[first] = sum(many[rest] for x, rest in before.items() if not parents[x] & ~rest)
    return many[-1]


def log_sum(logs):
    """The logarithm of a sum, from logarithms."""
    largest = max(logs, default=-math.inf)
    return largest if largest == -math.inf else largest + math.log(math.fsum(math.exp(one - largest) for one in logs))


def table_of(table):
    """Local scores of a table of costs (n, 2^n), infinite for what is no family."""
    return scores_of(
        [[(v, float(cost)) for v, cost in enumerate(own) if np.isfinite(cost)] for own in np.asarray(table)]
    )


def summed(scores, prior):
    """The logarithm of the sum over all networks of exp(-cost), by the prior 'order' as often as each has orders; the
    probability of each family of each child, in the order of the scores; and that of each network, by its parents."""
    n = scores.variables
    tables = [
        {int(varset[0]): (row, float(cost)) for row, (varset, cost) in enumerate(zip(own, costs, strict=True))}
        for own, costs in zip(scores.parents, scores.costs, strict=True)
    ]
    logs = {}
    for parents in all_dags(n):
        if all(own in table for own, table in zip(parents, tables, strict=True)):
            many = orders_of(parents) if prior == "order" else 1
            logs[parents] = math.log(many) - math.fsum(
                table[own][1] for own, table in zip(parents, tables, strict=True)
            )
    total = log_sum(list(logs.values()))
    shares = {parents: math.exp(own - total) for parents, own in logs.items()}
    families = [np.zeros(costs.size) for costs in scores.costs]
    for parents, share in shares.items():
        for x, own in enumerate(parents):
            families[x][tables[x][own][0]] += share
    return total, families, shares


def by_orders(scores):
    """log Z, and of each child the probability of each family: order by order."""
    n = scores.variables
    total, found = [], [[[] for _ in own] for own in scores.costs]
    for order in itertools.permutations(range(n)):
        before, inside, log = 0, {}, 0.0
        for x in order:
            inside[x] = [j for j, own in enumerate(scores.parents[x][:, 0].tolist()) if not own & ~before]
            log += log_sum([-float(scores.costs[x][j]) for j in inside[x]])
            before |= 1 << x
        if log == -math.inf:
            continue
        total.append(log)
        for x, some in inside.items():
            alpha = log_sum([-float(scores.costs[x][j]) for j in some])
            for j in some:
                found[x][j].append(log - alpha - float(scores.costs[x][j]))
    log_z = log_sum(total)
    return log_z, [[math.exp(log_sum(own) - log_z) for own in child] for child in found]


def by_varsets(scores):
    """The same, by a dynamic program over all varsets."""
    n = scores.variables
    families = [
        list(zip(p[:, 0].tolist(), c.tolist(), strict=True)) for p, c in zip(scores.parents, scores.costs, strict=True)
    ]
    alpha = [[log_sum([-c for p, c in own if not p & ~u]) for u in range(1 << n)] for own in families]
    g, h = [0.0] + [-math.inf] * (2**n - 1), [-math.inf] * (2**n - 1) + [0.0]
    for u in range(1, 1 << n):
        g[u] = log_sum([g[u ^ 1 << i] + alpha[i][u ^ 1 << i] for i in range(n) if u >> i & 1])
    for u in reversed(range((1 << n) - 1)):
        h[u] = log_sum([alpha[i][u] + h[u | 1 << i] for i in range(n) if not u >> i & 1])
    found = []
    for i, own in enumerate(families):
        through = {u: g[u] + h[u | 1 << i] - g[-1] for u in range(1 << n) if not u >> i & 1}
        found.append([math.exp(log_sum([log - c for u, log in through.items() if not p & ~u])) for p, c in own])
    return g[-1], found


def random_scores(rng, n, scale, missing=0.3, alone=0):
    """Random costs, many of them equal; now and then a child lacks the empty set. The last ones are alone."""
    inner = n - alone
    while True:
        table = np.round(rng.normal(size=(n, 1 << inner)), int(rng.integers(0, 4))) * scale
        families = [
            [
                (v, float(table[x, v]))
                for v in range(1 << inner)
                if not v >> x & 1 and (v == 0 or (x < inner and rng.random() > missing))
            ]
            for x in range(n)
        ]
        if inner > 1 and rng.random() < 0.5:
            x = int(rng.integers(inner))
            families[x] = families[x][1:] or families[x]
        try:
            return scores_of(families)
        except InputError:  # no network without a cycle
            continue


@st.composite
def problems(draw, most):
    """Local scores of up to so many variables: some or all families, with ties, over ranges of any width, and some
    children that must have parents."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.0, 1.0, 5.0, 100.0, 1e5]))
    tied = draw(st.booleans())
    families = []
    for x in range(n):
        sets = [
            v for v in range(1 << n) if not v >> x & 1 and (v == 0 or rng.random() < draw(st.sampled_from([0.3, 1])))
        ]
        if len(sets) > 1 and rng.random() < 0.2:
            sets = sets[1:]
        costs = scale * rng.random(len(sets)) + rng.integers(-3, 3)
        families.append(list(zip(sets, (np.round(costs) if tied else costs).tolist(), strict=True)))
    try:
        return scores_of(families)
    except InputError:  # no network
        return scores_of([[(0, 1.0), *(own for own in some if own[0])] for some in families])


def sparse_scores(n, seed=0, most=3, spread=8.0):
    """A problem whose posterior is concentrated: each variable gains by some parents, all in one order."""
    rng = np.random.default_rng(seed)
    families = []
    for x in range(n):
        some = [sum(1 << int(p) for p in rng.permutation(n)[:size] if p != x) for size in rng.integers(1, most + 1, 30)]
        own = {0: 0.0, **{v: spread * float(rng.normal()) for v in some}}
        families.append(list(own.items()))
    return scores_of(families)


def last(states):
    """The last of some states."""
    for state in states:
        found = state
    return found
