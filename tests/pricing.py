"""Prices for tests: cuts at random, what families count for them, and families by price."""

import math
from functools import partial
from pathlib import Path

import naive
import numpy as np
from cases import shelf_of

from extbnsl.core.events import ignore
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.priced.prices import Prices, Stage
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.proof.priced import KnownNetworks

UNIT = 2.0**-36


def counted(child, parents, cuts):
    """What a family counts for cuts, given by their clusters and a weight in UNITs, in nats."""
    total = 0
    for clusters, weight in cuts:
        times = sum(child in cluster and not cluster & set(parents) for cluster in clusters)
        total += weight * ((times + 1) // 2)
    return total * UNIT


def packed(cuts, n):
    found = np.zeros((len(cuts), 3, n), bool)
    for row, (clusters, _) in zip(found, cuts, strict=True):
        for member, cluster in zip(row, clusters, strict=False):
            member[list(cluster)] = True
    return as_varsets(found.reshape(-1, n)).reshape(-1, 3, 1)


def random_cuts(rng, n):
    cuts = []
    for _ in range(rng.integers(0, 8)):
        clusters = [set(rng.choice(n, rng.integers(1, n), replace=False).tolist()) for _ in range(rng.choice([1, 3]))]
        cuts.append((clusters, int(rng.integers(1, 5 << 36))))
    return cuts


def prices_of(cuts, n, least, gap):
    stage = Stage(0, 0, gap, math.inf, -math.inf, 0, 0, effort=1 << 40)
    weights = np.array([weight for _, weight in cuts], np.int64)
    own, unknown = packed(cuts, n), np.full(n, -math.inf)
    return Prices(stage, own, weights, least, unknown, np.arange(n), np.full(n, gap), own[:0], weights[:0])


def families_by_price(data, claim, begun=None, seen=None, threads=1, hear=lambda found: None):
    """The families of the data by price; what was known of all networks on the way is seen, or heard."""
    on_progress = hear if seen is None else seen.append
    with Workers(threads) as workers:
        shelf = shelf_of()
        context = Context(workers, Stages(ignore, {}), 1 << 30, Methods(), Store(Path(), 0), shelf)
        means = Means(workers, shelf, ignore)
        return surviving_families(data, claim, means, begun, on_progress, networks=partial(KnownNetworks, context))


def cost_of(scores):
    costs = np.full((scores.variables, 1 << scores.variables), math.inf)
    for child, (parents, own) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        costs[child, parents[:, 0].astype(int)] = own
    return naive.optimal_cost_dp(scores.variables, naive.best_scores(costs))


def as_sets(scores):
    return [
        dict(zip(parents[:, 0].tolist(), costs.tolist(), strict=True))
        for parents, costs in zip(scores.parents, scores.costs, strict=True)
    ]
