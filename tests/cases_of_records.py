"""Cases of families that are costed over records of their own: variables set from outside, and values missing; and what
such families cost, by obvious code."""

import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import random_dataset, random_mixed, random_numbers

from extbnsl.data.beside import Targets
from extbnsl.machine.workers import Workers
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify


def random_targets(rng, n, records):
    """Targets of one to four sets, with which each variable is left to itself in some records; none perhaps."""
    sets = {tuple(np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.2, 0.5])).tolist()) for _ in range(3)}
    sets = sorted(sets | {()})
    of = rng.integers(0, len(sets), records).astype(np.uint16)
    of[rng.integers(records)] = sets.index(())
    kept, of = np.unique(of, return_inverse=True)
    sets = tuple(sets[k] for k in kept.tolist())
    return None if sets == ((),) else Targets(sets, of.reshape(-1).astype(np.uint16))


def with_targets(seed, n, records):
    """Random states, some of which are set from outside, to whatever they are."""
    rng = np.random.default_rng(seed)
    return replace(random_dataset(rng, n, records), targets=random_targets(rng, n, records))


def numbers_with_targets(seed, n, records):
    """Random numbers, some of which are set from outside."""
    rng = np.random.default_rng(seed)
    return replace(random_numbers(rng, n, records), targets=random_targets(rng, n, records))


def mixed_with_targets(seed, n, records):
    """Random columns of both kinds, some of which are set from outside."""
    rng = np.random.default_rng(seed)
    return replace(random_mixed(rng, n, records), targets=random_targets(rng, n, records))


def mixed_with_gaps(seed, n, records, targets=False):
    """Random columns of both kinds of which some values are missing."""
    rng = np.random.default_rng(seed)
    data = mixed_with_targets(seed, n, records) if targets else random_mixed(rng, n, records)
    codes = _thinned(rng, data.codes, np.where(data.of_states, data.arities, 0))
    values = np.where(data.of_states, 0.0, _thinned(rng, data.values, np.nan))
    return replace(data, codes=codes, values=values, gaps=True)


def with_gaps(seed, n, records, targets=False):
    """Random states of which some are missing, here and there or together, but in no column all."""
    rng = np.random.default_rng(seed)
    dataset = with_targets(seed, n, records) if targets else random_dataset(rng, n, records)
    return replace(dataset, codes=_thinned(rng, dataset.codes, dataset.arities), gaps=True)


def numbers_with_gaps(seed, n, records, targets=False):
    """Random numbers of which some are missing."""
    rng = np.random.default_rng(seed)
    numbers = numbers_with_targets(seed, n, records) if targets else random_numbers(rng, n, records)
    return replace(numbers, values=_thinned(rng, numbers.values, np.nan), gaps=True)


def _thinned(rng, values, nothing):
    values = values.copy()
    lacking = rng.random(values.shape) < rng.choice([0.0, 0.1, 0.4, 0.7], values.shape[1])
    lacking &= rng.random(len(values))[:, None] < 0.8
    lacking[rng.integers(len(values))] = False
    return np.where(lacking, nothing, values).astype(values.dtype)


def left(data, child):
    """The records in which a child was left to itself."""
    if data.targets is None:
        return np.ones(data.records, bool)
    return np.array([child not in data.targets.sets[k] for k in data.targets.of.tolist()])


def cost_of(data, child, parents, score="mdl"):
    """What a family costs: over its records, but for the price of parameters, and as many times as others lack one."""
    own, parents = left(data, child), list(parents)
    codes = data.codes[own]
    whole = (codes[:, [child, *parents]] != data.arities[[child, *parents]]).all(axis=1)
    if not whole.any():
        return math.inf
    cost = naive.family_cost(score, codes[whole], data.arities, child, parents)
    if score not in naive.PARAMETER:
        return cost
    parameters = (int(data.arities[child]) - 1) * math.prod(data.arities[parents].tolist())
    misfit = cost - naive.PARAMETER[score](int(whole.sum())) * parameters
    return misfit * len(codes) / int(whole.sum()) + naive.PARAMETER[score](data.records) * parameters


def gaussian_cost_of(data, child, parents):
    """The same by regressions; infinite where the family is singular."""
    own, parents = left(data, child), list(parents)
    values = data.values[own]
    whole = ~np.isnan(values[:, [child, *parents]]).any(axis=1)
    family = values[whole][:, [child, *parents]]
    n, k = int(whole.sum()), len(parents)
    if n < k + 2 or (family.max(axis=0) == family.min(axis=0)).any() or naive.is_singular(family, 2 ** (k + 1) - 1):
        return math.inf
    misfit = naive.gaussian_cost(family, 0, range(1, k + 1)) - math.log(n) / 2 * (k + 2)
    return misfit * len(values) / n + math.log(data.records) / 2 * (k + 2)


def complete_of(data, family):
    """Columns of both kinds in the records of a family, of which the child is the first; None if there are none."""
    lacks = [data.codes[:, v] == len(data.states[v]) if data.states[v] else np.isnan(data.values[:, v]) for v in family]
    rows = np.flatnonzero(left(data, family[0]) & ~np.any(lacks, axis=0))
    if rows.size == 0:
        return None
    return replace(data, codes=data.codes[rows], values=data.values[rows], targets=None, gaps=False)


def varies(data, variables):
    """Whether all of these that have numbers vary."""
    return all(data.states[v] or data.values[:, v].min() < data.values[:, v].max() for v in variables)


def mixed_cost_of(data, child, parents):
    """The same of columns of both kinds, by what they cost over records that are all complete."""
    own, whole = left(data, child), complete_of(data, [child, *parents])
    if whole is None or (not data.states[child] and not varies(whole, [child, *parents])):
        return math.inf
    cost, n = naive.conditional_cost(whole, child, parents), whole.records
    parameters = parameters_of(data, child, parents)
    return (cost - math.log(n) / 2 * parameters) * int(own.sum()) / n + math.log(data.records) / 2 * parameters


def degenerate_cost_of(data, child, parents):
    """The same by dg-bic, of columns that lack nothing."""
    whole = complete_of(data, [child, *parents])
    if whole is None or not varies(whole, [child, *parents]):
        return math.inf
    x, p = (sum(naive.indicators(whole, v).shape[1] for v in own) for own in ([child], parents))
    more = math.log(data.records) / 2 - math.log(whole.records) / 2
    return naive.degenerate_cost(whole, child, parents) + more * (x * (x + 1) / 2 + x * p + x)


def parameters_of(data, child, parents):
    """How many free parameters a family has by cg-bic."""
    configurations = math.prod(len(data.states[p]) for p in parents if data.states[p])
    numbers = sum(not data.states[p] for p in parents)
    return configurations * (len(data.states[child]) - 1 if data.states[child] else numbers + 2)


def all_costs(data, cost, max_parents=None):
    """The cost of every family of at most so many parents, shape (n, 2^n)."""
    n = data.variables
    costs = np.full((n, 2**n), np.inf)
    for x in range(n):
        for varset in range(2**n):
            if not varset >> x & 1 and (max_parents is None or varset.bit_count() <= max_parents):
                costs[x, varset] = cost(data, x, naive.members(varset))
    return costs


def optimum(costs):
    """The least cost of any network, by looking at all of them; of more than four variables by a table."""
    n = len(costs)
    if n > 4:
        return naive.optimal_cost_dp(n, naive.best_scores(costs))
    return min(sum(costs[x, graph[x]] for x in range(n)) for graph in naive.all_dags(n))


def check_proved(data, result):
    """The result holds, and its proof too, by code of its own."""
    document = result.document()
    verdict = verify(document, data)
    assert verdict.findings == ()
    assert verdict.cost == pytest.approx(result.cost, rel=1e-9, abs=1e-8)
    with Workers(1) as workers:
        optimality = verify_optimality(document, data, workers)
    assert optimality.findings == ()
    assert optimality.complete, optimality.why
