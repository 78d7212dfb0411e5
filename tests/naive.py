"""The oracle of the tests: obvious, slow code that shares nothing with extbnsl.

Varsets are Python integers used as bitmasks; costs are in nats, minimised, by the score named (MDL if none is).
Tables of costs have shape (n, 2^n): row is the child, column is the varset, inf where there is no such family.
"""

import math
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cache

import numpy as np


def members(varset):
    """The variables in a varset, ascending."""
    return [i for i in range(varset.bit_length()) if varset >> i & 1]


PARAMETER = {"mdl": lambda records: math.log(records) / 2, "aic": lambda records: 1.0}  # nats of a free parameter


def mdl(codes, arities, child, parents):
    """N H(child | parents) + ln N / 2 (r_child - 1) prod r_parent."""
    return family_cost("mdl", codes, arities, child, parents)


def aic(codes, arities, child, parents):
    """N H(child | parents) + (r_child - 1) prod r_parent."""
    return family_cost("aic", codes, arities, child, parents)


def family_cost(score, codes, arities, child, parents, weights=None):
    """What a family costs, by counting in dictionaries; "bdeu:10" has an equivalent sample size of 10, "bdeu" of 1;
    weights: of each record, 1 if there are none."""
    counts, weights = {}, [1] * len(codes) if weights is None else weights.tolist()
    for row, weight in zip(np.asarray(codes).tolist(), weights, strict=True):
        own = counts.setdefault(tuple(row[p] for p in parents), {})
        own[row[child]] = own.get(row[child], 0) + weight
    arity, configurations = int(arities[child]), math.prod(int(arities[p]) for p in parents)
    name, _, ess = score.partition(":")
    if name in ("bdeu", "bds", "k2"):
        size = float(ess or 1)
        prior = {"bdeu": size / configurations, "bds": size / len(counts), "k2": arity}[name]
        return dirichlet_cost(prior, arity, counts)
    misfit = 0.0
    for own in counts.values():
        misfit -= sum(count * math.log(count / sum(own.values())) for count in own.values())
    if name == "fnml":
        return misfit + sum(log_regret(sum(own.values()), arity) for own in counts.values())
    if name == "qnml":
        return misfit + log_regret(len(codes), configurations * arity) - log_regret(len(codes), configurations)
    return misfit + PARAMETER[name](sum(weights)) * (arity - 1) * configurations


def gaussian_cost(values, child, parents):
    """Minus the largest Gaussian log-likelihood, record by record, and ln N / 2 for each of |P| + 2 parameters."""
    values = np.asarray(values, float)
    values = values - values.mean(axis=0)
    design = np.column_stack([np.ones(len(values)), *(values[:, p] for p in parents)])
    error = values[:, child] - design @ np.linalg.lstsq(design, values[:, child], rcond=None)[0]
    variance = sum(e * e for e in error.tolist()) / len(values)
    loss = sum(0.5 * math.log(2 * math.pi * variance) + e * e / (2 * variance) for e in error.tolist())
    return loss + math.log(len(values)) / 2 * (len(parents) + 2)


@cache
def _least_left(columns):
    """The least share of its variance that a regression on the others leaves a column."""
    columns = np.array(columns)
    columns = columns - columns.mean(axis=1, keepdims=True)
    left = 1.0
    for own, others in ((columns[i], np.delete(columns, i, axis=0)) for i in range(len(columns))):
        others = others / np.abs(others).max(axis=1, keepdims=True)
        error = own - others.T @ np.linalg.lstsq(others.T, own, rcond=None)[0]
        left = min(left, float(error @ error) / float(own @ own))
    return left


def is_singular(values, varset):
    """Whether others leave a column of these less than 1e-10 of its variance; none of one column."""
    return varset.bit_count() > 1 and _least_left(tuple(map(tuple, np.asarray(values).T[members(varset)]))) < 1e-10


def all_gaussian_costs(values, allowed=lambda child, varset: True):
    """What each family costs by linear regression, (n, 2^n), infinite if it holds its child, is singular, or is not
    allowed."""
    n = np.shape(values)[1]
    regular = [not is_singular(values, u) for u in range(2**n)]
    return np.array(
        [
            [
                gaussian_cost(values, x, members(u))
                if not u >> x & 1 and regular[u | 1 << x] and allowed(x, u)
                else np.inf
                for u in range(2**n)
            ]
            for x in range(n)
        ]
    )


def optimal_gaussian_cost(values, allowed=lambda child, varset: True):
    """The least cost of any network of columns of numbers whose families are allowed (n <= 5)."""
    n, costs = np.shape(values)[1], all_gaussian_costs(values, allowed)
    return min(sum(costs[i][graph[i]] for i in range(n)) for graph in all_dags(n))


def conditional_cost(data, child, parents):
    """Minus the largest log-likelihood of a column given its parents, record by record, and ln N / 2 for each
    parameter; infinite if the family is not allowed. data: states and numbers."""
    discrete, numbers = ([p for p in parents if bool(data.states[p]) == kind] for kind in (True, False))
    configurations, price = math.prod(len(data.states[p]) for p in discrete), math.log(data.records) / 2
    if data.states[child]:
        if numbers:
            return math.inf
        counts = Counter(map(tuple, data.codes[:, [*discrete, child]].tolist()))
        of_parents = Counter(map(tuple, data.codes[:, discrete].tolist()))
        loss = -sum(many * math.log(many / of_parents[cell[:-1]]) for cell, many in counts.items())
        return loss + price * (len(data.states[child]) - 1) * configurations
    groups, loss = defaultdict(list), 0.0
    for codes, values in zip(data.codes.tolist(), data.values.tolist(), strict=True):
        groups[tuple(codes[p] for p in discrete)].append([values[v] for v in (*numbers, child)])
    spread = data.values[:, [*numbers, child]].std(axis=0)
    for rows in groups.values():
        own = np.array(rows)
        if not _is_regular(own, spread):
            return math.inf
        middle = (own - own.mean(axis=0)) / spread
        design = np.column_stack([np.ones(len(own)), *middle[:, :-1].T])
        error = middle[:, -1] - design @ np.linalg.lstsq(design, middle[:, -1], rcond=None)[0]
        error = error * spread[-1]
        variance = float(error @ error) / len(own)
        loss += sum(0.5 * math.log(2 * math.pi * variance) + e * e / (2 * variance) for e in error.tolist())
    return loss + price * configurations * (len(numbers) + 2)


def _is_regular(rows, spread):
    """Whether regressions on the others leave each column a mean square of 1e-10 of that of `spread`, or more."""
    if len(rows) <= rows.shape[1]:
        return False
    columns = ((rows - rows.mean(axis=0)) / spread).T
    for i in range(len(columns)):
        others = np.delete(columns, i, axis=0)
        error = columns[i] - others.T @ np.linalg.lstsq(others.T, columns[i], rcond=None)[0]
        if float(error @ error) / len(rows) < 1e-10:
            return False
    return True


def all_conditional_costs(data, allowed=lambda child, varset: True):
    """What each family costs by `conditional_cost`, (n, 2^n), infinite if it holds its child or is not allowed."""
    n = data.variables
    return np.array(
        [
            [conditional_cost(data, x, members(u)) if not u >> x & 1 and allowed(x, u) else np.inf for u in range(2**n)]
            for x in range(n)
        ]
    )


def indicators(data, variable):
    """The columns of a variable, (N, x): one of numbers, and one for each state that occurs but the first."""
    if not data.states[variable]:
        return data.values[:, [variable]]
    occur = sorted(set(data.codes[:, variable].tolist()))
    return np.array([[float(code == state) for state in occur[1:]] for code in data.codes[:, variable]])


def degenerate_cost(data, child, parents):
    """The degenerate Gaussian BIC of a family by determinants of covariance matrices; infinite if it is not allowed."""
    own, others = (
        indicators(data, child),
        np.hstack([np.zeros((data.records, 0)), *(indicators(data, p) for p in parents)]),
    )
    records, x, p = data.records, own.shape[1], others.shape[1]
    if p + x and not _is_regular(np.hstack([others, own]), np.hstack([others, own]).std(axis=0)):
        return math.inf

    def log_det(columns):
        spread = columns.std(axis=0)
        middle = (columns - columns.mean(axis=0)) / spread
        return float(np.linalg.slogdet(middle.T @ middle / records)[1]) + 2.0 * float(np.log(spread).sum())

    loss = records / 2 * (log_det(np.hstack([others, own])) - log_det(others) + x * math.log(2 * math.pi) + x)
    return loss + math.log(records) / 2 * (x * (x + 1) / 2 + x * p + x)


def all_degenerate_costs(data):
    """What each family costs by `degenerate_cost`, (n, 2^n), infinite if it holds its child or is not allowed."""
    n = data.variables
    return np.array(
        [[degenerate_cost(data, x, members(u)) if not u >> x & 1 else np.inf for u in range(2**n)] for x in range(n)]
    )


def dirichlet_cost(prior, arity, counts):
    """Minus the log of the product of the predictive probabilities, record by record; of weights that are not whole, of
    the mean of the product of the shares of the states, each as often as its weight says."""
    cost = 0.0
    for own in counts.values():
        records = 0
        if any(isinstance(count, float) for count in own.values()):
            cost += math.lgamma(prior + sum(own.values())) - math.lgamma(prior)
            cost -= sum(math.lgamma(prior / arity + count) - math.lgamma(prior / arity) for count in own.values())
            continue
        for count in own.values():
            for again in range(count):
                cost -= math.log((prior / arity + again) / (prior + records))
                records += 1
    return cost


@cache
def log_regret(records, states):
    """The log of the sum of the largest likelihoods of all sequences, by the recurrence over the states; in decimals,
    which have no largest exponent."""
    if records == 0:
        return 0.0
    shares = [(math.comb(records, h), h / records) for h in range(records + 1)]
    one = Decimal(1)
    two = sum(
        Decimal(ways) * Decimal(share**h * (1 - share) ** (records - h)) for h, (ways, share) in enumerate(shares)
    )
    for k in range(1, states):
        one, two = two, two + Decimal(records) / k * one
    return float(one.ln())


def network_cost(codes, arities, parents, score="mdl"):
    """The cost of a network, given the parents of each child."""
    return sum(family_cost(score, codes, arities, child, parents[child]) for child in range(len(parents)))


def joint_misfits(codes):
    """N H(S) for every varset S, shape (2^n,): cells of S are cells of S without its last variable, split."""
    codes = np.asarray(codes, dtype=np.int64)
    records, n = codes.shape
    cells = [np.zeros(records, dtype=np.int64)]
    misfits = np.zeros(2**n)
    for varset in range(1, 2**n):
        last = varset.bit_length() - 1
        split = cells[varset ^ 1 << last] * (codes[:, last].max() + 1) + codes[:, last]
        _, cell, counts = np.unique(split, return_inverse=True, return_counts=True)
        cells.append(cell)
        misfits[varset] = -(counts * np.log(counts / records)).sum()
    return misfits


def all_local_scores(codes, arities, max_parents=None, score="mdl"):
    """The cost of every family of at most `max_parents` parents, shape (n, 2^n); by MDL and AIC from entropies."""
    records, n = np.shape(codes)
    costs = np.full((n, 2**n), np.inf)
    if score not in PARAMETER:
        for child in range(n):
            for varset in (v for v in range(2**n) if not v >> child & 1):
                if max_parents is None or varset.bit_count() <= max_parents:
                    costs[child, varset] = family_cost(score, codes, arities, child, members(varset))
        return costs
    misfits = joint_misfits(codes)
    for varset in range(2**n):
        parents = members(varset)
        if max_parents is not None and len(parents) > max_parents:
            continue
        configurations = math.prod(int(arities[p]) for p in parents)
        for child in range(n):
            if child not in parents:
                penalty = PARAMETER[score](records) * (int(arities[child]) - 1) * configurations
                costs[child, varset] = misfits[varset | 1 << child] - misfits[varset] + penalty
    return costs


def cost_table(n, families):
    """The (n, 2^n) table of families given as one list of (parent varset, cost) per child."""
    costs = np.full((n, 2**n), np.inf)
    for child in range(n):
        for varset, cost in families[child]:
            costs[child, varset] = cost
    return costs


def best_scores(costs):
    """BestScore(child, U), the least cost of a subset of U, for all U: shape (n, 2^n)."""
    best = np.array(costs)
    varsets = np.arange(best.shape[1])
    for i in range(best.shape[0]):
        with_i = varsets[varsets >> i & 1 == 1]
        best[:, with_i] = np.minimum(best[:, with_i], best[:, with_i ^ 1 << i])
    return best


def optimal_cost_dp(n, best):
    """The cost of an optimal network: the cheapest order of the variables, by a table over all varsets."""
    best = np.asarray(best).tolist()
    cheapest = [0.0] + [math.inf] * (2**n - 1)
    for varset in range(1, 2**n):
        for last in members(varset):
            before = varset ^ 1 << last
            cheapest[varset] = min(cheapest[varset], cheapest[before] + best[last][before])
    return cheapest[2**n - 1]


def optimal_cost(codes, arities, max_parents=None, score="mdl"):
    """The cost of an optimal network of a data set, by the dynamic program."""
    costs = all_local_scores(codes, arities, max_parents, score)
    return optimal_cost_dp(len(costs), best_scores(costs))


def is_acyclic(parents):
    """Whether a tuple of parent varsets, one per child, is a directed acyclic graph."""
    waiting, placed = set(range(len(parents))), 0
    while waiting:
        ready = [i for i in waiting if parents[i] & ~placed == 0]
        if not ready:
            return False
        for i in ready:
            placed |= 1 << i
            waiting.remove(i)
    return True


@cache
def all_dags(n):
    """Every directed acyclic graph of n variables, as tuples of parent varsets (n = 5: 29,281)."""
    graphs = [()]
    for child in range(n):
        no_parents_yet = (0,) * (n - child - 1)
        graphs = [
            (*graph, parents)
            for graph in graphs
            for parents in range(2**n)
            if parents >> child & 1 == 0 and is_acyclic((*graph, parents, *no_parents_yet))
        ]
    return tuple(graphs)


def optimal_cost_brute(codes, arities, max_parents=None, score="mdl"):
    """The least cost of any network, by looking at every one of them (n <= 5)."""
    n = np.shape(codes)[1]
    limit = n if max_parents is None else max_parents
    costs = [[math.inf] * 2**n for _ in range(n)]
    for child in range(n):
        for varset in range(2**n):
            if not varset >> child & 1 and varset.bit_count() <= limit:
                costs[child][varset] = family_cost(score, codes, arities, child, members(varset))
    return min(sum(costs[i][graph[i]] for i in range(n)) for graph in all_dags(n))
