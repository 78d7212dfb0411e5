"""What the tests of several methods share: a context, hard beginnings, the truth."""

import naive
import numpy as np
from cases import shelf_of
from patching import called_by

from extbnsl.core.events import ignore
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers, never
from extbnsl.orders.local_search import Incumbent
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.scores.local import local_scores


def context_of(workers, memory=1 << 28, observer=ignore):
    return Context(workers, Stages(observer, {}), memory, Methods(), Store(None, 0), shelf_of(0))


def outcome_of(find, scores, stop=never, **how):
    """What a method finds."""
    with Workers(1, stop) as workers:
        return find(scores, context_of(workers, **how))


def cost_of(outcome, scores):
    """What the network of an outcome costs."""
    return sum(own[row] for own, row in zip(scores.costs, outcome.rows, strict=True))


def optimum_of(families):
    n = len(families)
    return naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


def needy(rng, families):
    """The families, some of which lack the empty parent set; there may be no network."""
    return [
        [(varset, cost) for varset, cost in own if varset] if child and len(own) > 1 and rng.random() < 0.3 else own
        for child, own in enumerate(families)
    ]


def begun_along(order):
    """Methods while they begin with the network along an order, without a local search."""
    return called_by(
        "lab.baselines.outcome", "best_order", lambda real: lambda *given: Incumbent(np.array(order), np.nan)
    )


def scores_of_threes(some):
    """Seventy-two variables in threes, the first of a three far from its last: of some threes each variable wants the
    others as parents."""
    n, rng = 72, np.random.default_rng(0)
    families = []
    for child in range(n):
        others = [v for v in range(child % 24, n, 24) if v != child]
        sets = [(), others[:1], others[1:], others] if child % 24 < some else [()]
        costs = 9.0 - 2.0 * np.array([len(own) for own in sets]) + rng.uniform(0, 1, len(sets))
        families.append((np.stack([pack(own, n) for own in sets]), costs))
    return local_scores([f"v{k}" for k in range(n)], families, "file")
