"""Charges for tests: claims with some at random, and what families cost by them, by obvious formulas."""

import math

import naive
import numpy as np
from knowing import admitted, random_knowledge

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed, Numbers

PENALISED = ("mdl", "aic", "gaussian-bic", "cg-bic", "dg-bic")
ESS = {"bdeu": 1.0, "bds": 3.0}


def random_claim(rng, names, score, dull=(), saving=True, most=None):
    """A claim with charges of each kind or of none; no arc of `dull` variables is cheaper than nothing."""
    knowledge = random_knowledge(rng, names, most) if rng.random() < 0.4 else Knowledge()
    costs = []
    for parent in names:
        for child in names:
            if parent != child and rng.random() < rng.choice([0.0, 0.2, 0.7]):
                nats = float(rng.choice([-20.0, -3.0, -1.0, 0.0, 0.5, 2.0, 30.0]))
                nats = abs(nats) if not saving or {parent, child} & set(dull) else nats
                costs.append((parent, child, nats))
    penalised = score in PENALISED
    return Claim(
        score,
        most,
        ESS.get(score),
        Knowledge(**vars(knowledge) | {"costs": tuple(costs)}),
        penalty=float(rng.choice([0.3, 2.0, 9.0])) if penalised and rng.random() < 0.5 else None,
        gamma=float(rng.choice([0.0, 0.5, 1.0])) if penalised and rng.random() < 0.5 else None,
        parent_cost=float(rng.choice([0.0, 0.7, 5.0])),
    )


def naive_costs(problem, claim):
    """What all families cost, (n, 2^n), infinity where they are not admitted, by obvious formulas."""
    n, names = len(problem.names), problem.names
    if isinstance(problem, Numbers):
        costs, own = naive.all_gaussian_costs(problem.values), math.log(problem.records) / 2
    elif isinstance(problem, Mixed):
        of_both = naive.all_degenerate_costs if claim.score == "dg-bic" else naive.all_conditional_costs
        costs, own = of_both(problem), math.log(problem.records) / 2
    else:
        own = 1.0 if claim.score == "aic" else math.log(problem.records) / 2
        spelled = claim.score if claim.ess is None else f"{claim.score}:{claim.ess:g}"
        costs = naive.all_local_scores(problem.codes, problem.arities, None, spelled)
    told = {(parent, child): nats for parent, child, nats in claim.knowledge.costs}
    each = claim.parent_cost + (2 * claim.gamma * math.log(n) if claim.gamma else 0.0)
    for child in range(n):
        for varset in range(2**n):
            parents = naive.members(varset)
            if claim.penalty is not None:
                parameters = len(parents) + 2.0
                if claim.score == "dg-bic":
                    x, p = (sum(naive.indicators(problem, v).shape[1] for v in group) for group in ((child,), parents))
                    parameters = x * (x + 1) / 2 + x * p + x
                elif not isinstance(problem, Numbers):
                    states = math.prod(max(1, int(problem.arities[p])) for p in parents)
                    numbers = sum(not problem.states[p] for p in parents)
                    parameters = (int(problem.arities[child]) - 1 if problem.states[child] else numbers + 2.0) * states
                costs[child, varset] += (claim.penalty - own) * parameters
            costs[child, varset] += sum(each + told.get((names[p], names[child]), 0.0) for p in parents)
    costs[~admitted(claim.knowledge, names, claim.max_parents)] = np.inf
    return costs
