"""Optima by BDeu that share no code with extbnsl: families from numpy alone, a dynamic program, an integer program.

A family is (cost, parents) with the parents a frozenset of variables; `families[child]` lists those of a child. Costs
are in nats, minimised.
"""

import itertools
import math

import highspy
import numpy as np

VIOLATED = 1e-6


def bdeu_families(codes, arities, max_parents, ess=1.0):
    """The families of at most so many parents by BDeu, but those that cost no less than one of their subsets."""
    rows, n = codes.shape
    codes, tables, found = codes.astype(np.int64), {}, [{} for _ in range(n)]

    def evidence(counts, states):
        """The sum over the counts of ln G(ess / states + m) - ln G(ess / states)."""
        if states not in tables:
            prior = ess / states
            tables[states] = np.array([math.lgamma(prior + m) - math.lgamma(prior) for m in range(rows + 1)])
        return float(tables[states][counts].sum())

    for size in range(max_parents + 1):
        for parents in itertools.combinations(range(n), size):
            joint, states = np.zeros(rows, np.int64), 1
            for parent in parents:
                joint, states = joint * arities[parent] + codes[:, parent], states * arities[parent]
            own = evidence(np.bincount(joint), states)
            for child in set(range(n)) - set(parents):
                arity = arities[child]
                both = np.bincount(joint * arity + codes[:, child])
                found[child][frozenset(parents)] = own - evidence(both, states * arity)
    return [_undominated(costs) for costs in found]


def _undominated(costs):
    """The families of a child, fewest parents first, each cheaper than all with a part of its parents."""
    least, kept = {}, []
    for parents, cost in costs.items():
        below = min((least[parents - {p}] for p in parents), default=math.inf)
        least[parents] = min(cost, below)
        if cost < below:
            kept.append((cost, parents))
    return kept


def optimum_by_subsets(families):
    """The least cost of an acyclic choice, by the cheapest last variable of every subset: for up to 14 variables."""
    n = len(families)
    masks = [sorted((cost, sum(1 << p for p in parents)) for cost, parents in own) for own in families]
    cheapest = [0.0] * (1 << n)
    for subset in range(1, 1 << n):
        cheapest[subset] = min(
            cheapest[subset ^ 1 << v] + next(cost for cost, mask in masks[v] if mask & ~(subset ^ 1 << v) == 0)
            for v in range(n)
            if subset >> v & 1
        )
    return cheapest[-1]


def optimum_by_cuts(families):
    """The least cost of an acyclic choice, by an integer program with a cut for each cluster that is found violated.

    In every set C of variables, one has no parent in C (Jaakkola and others 2010): such cuts are added while the
    linear relaxation violates one, and then those of the cycles of integer solutions, until one has no cycle.
    """
    program = _Program(families)
    while True:
        values = program.solve(integer=False)
        cuts = _violated(families, values)
        if not cuts:
            break
        program.add(cuts)
    while True:
        values = program.solve(integer=True)
        best = [
            max(zip(x, own, strict=True), key=lambda pair: pair[0])[1] for own, x in zip(families, values, strict=True)
        ]
        cycles = _cycles([parents for _, parents in best])
        if not cycles:
            return math.fsum(cost for cost, _ in best)
        program.add(cycles)


class _Program:
    """A family for each variable, cheapest together; a 0/1 column for each family."""

    def __init__(self, families):
        self.highs, self.families, self.columns, self.cuts = _quiet(), families, [], set()
        for own in families:
            first = self.highs.getNumCol()
            for cost, _ in own:
                self.highs.addCol(cost, 0.0, 1.0, 0, [], [])
            self.columns.append(range(first, first + len(own)))
            self.highs.addRow(1.0, 1.0, len(own), list(self.columns[-1]), [1.0] * len(own))

    def add(self, clusters):
        """Demand that in each cluster a variable has no parent of it."""
        assert not self.cuts & set(clusters), "a cut that is there is not violated"
        self.cuts.update(clusters)
        for cluster in clusters:
            at = [
                column
                for v in cluster
                for column, (_, parents) in zip(self.columns[v], self.families[v], strict=True)
                if not parents & cluster
            ]
            self.highs.addRow(1.0, math.inf, len(at), at, [1.0] * len(at))

    def solve(self, integer):
        """The values of the columns of each variable."""
        if not integer:
            values = _solved(self.highs)
        else:  # by a solver of its own: what has solved relaxations may stop at a worse solution
            highs = _quiet()
            highs.passModel(self.highs.getModel())
            for column in range(highs.getNumCol()):
                highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
            values = _solved(highs)
        return [values[list(columns)] for columns in self.columns]


def _violated(families, values):
    """Clusters of which less than one variable has no parent of it: those that grow from arcs, or else the worst."""
    support = [
        [(float(x), parents) for x, (_, parents) in zip(own, costs, strict=True) if x > 1e-9]
        for own, costs in zip(values, families, strict=True)
    ]
    return _grown(support) or _worst(support)


def _grown(support):
    """What grows from each arc by the variable that leaves the least outside, if that is violated."""
    found, n = set(), len(support)

    def outside(cluster):
        return sum(x for v in cluster for x, parents in support[v] if not parents & cluster)

    for cluster in {frozenset((v, p)) for v in range(n) for _, parents in support[v] for p in parents}:
        value = outside(cluster)
        while value >= 1.0 - VIOLATED and len(cluster) < 12:
            near = {p for v in cluster for _, parents in support[v] for p in parents} - cluster
            if not near:
                break
            value, _, cluster = min((outside(cluster | {v}), v, cluster | {v}) for v in near)
        if value < 1.0 - VIOLATED:
            found.add(cluster)
    return sorted(found, key=sorted)


def _worst(support):
    """The most violated cluster, by an integer program of its own (Bartlett and Cussens 2013); none if none is.

    A column says whether a variable is in the cluster, and one for each family whether it has a parent there.
    """
    highs, n = _quiet(), len(support)
    for _ in range(n):
        highs.addCol(1.0, 0.0, 1.0, 0, [], [])
    for v, own in enumerate(support):
        for x, parents in own:
            if parents:
                column = highs.getNumCol()
                highs.addCol(-x, 0.0, 1.0, 0, [], [])
                highs.addRow(-math.inf, 0.0, 2, [column, v], [1.0, -1.0])
                at = [column, *sorted(parents)]
                highs.addRow(-math.inf, 0.0, len(at), at, [1.0] + [-1.0] * len(parents))
    highs.addRow(2.0, math.inf, n, list(range(n)), [1.0] * n)
    for column in range(n):
        highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    chosen = _solved(highs)
    cluster = frozenset(v for v in range(n) if chosen[v] > 0.5)
    return [cluster] if highs.getObjectiveValue() < 1.0 - VIOLATED else []


def _quiet():
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for option in ("mip_rel_gap", "mip_abs_gap"):
        highs.setOptionValue(option, 0.0)
    return highs


def _solved(highs):
    """The values of the columns of an optimum."""
    highs.run()
    assert highs.modelStatusToString(highs.getModelStatus()) == "Optimal"
    values = np.array(highs.getSolution().col_value)
    assert np.isclose(values @ np.array(highs.getLp().col_cost_), highs.getObjectiveValue(), rtol=1e-9, atol=1e-9)
    return values


def _cycles(parents):
    """The sets of the cycles that walks from child to parent end in; none if there is no cycle."""
    left = set(range(len(parents)))
    while done := {v for v in left if not parents[v] & left}:
        left -= done
    found = set()
    for start in left:
        walk = [start]
        while (after := min(parents[walk[-1]] & left)) not in walk:
            walk.append(after)
        found.add(frozenset(walk[walk.index(after) :]))
    return sorted(found, key=sorted)
