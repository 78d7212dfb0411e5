"""Results of searches for the k best networks that nobody has made: random networks over given names."""

import numpy as np

from extbnsl.core.claims import OPTIMAL, Claim
from extbnsl.kernels.varsets import pack
from extbnsl.results.networks import RankedNetworks
from extbnsl.results.ranked import KBestResult

HOSTILE = ('quote"d', "a,b", "two\nlines", "naïve 中", ' "networks": [', "\udc80", "back\\slash", "]|:[", "", "\u2028")


def fake_networks(m, names, seed=0, families=30):
    """m random networks over these names, in an order of their own, with as many families for each child."""
    rng, n = np.random.default_rng(seed), len(names)
    order = rng.permutation(n)
    parents = []
    for x in range(n):
        before = order[: np.flatnonzero(order == x)[0]]
        sets = [rng.choice(before, min(before.size, rng.integers(0, 4)), replace=False) for _ in range(families)]
        parents.append(np.stack([pack(own.tolist(), n) for own in sets]))
    costs = np.sort(rng.random(m).round(2)) + 1234.5
    weights = np.exp(costs[0] - costs)
    return RankedNetworks(
        tuple(names),
        tuple(parents),
        rng.integers(0, families, (m, n)).astype(np.int32),
        costs,
        np.searchsorted(costs, costs) + 1,
        rng.integers(1, m + 1, m),
        weights / weights.sum(),
    )


def arcs_of(networks):
    """The share of each arc, added up one by one."""
    arcs = np.zeros((len(networks.names),) * 2)
    for one in networks:
        for p, x in one.network.arcs():
            arcs[p, x] += one.share
    return arcs


def fake_result(networks, arcs=None, **changes):
    """A result with these networks, without data."""
    best = networks[0]
    plain = {
        "status": OPTIMAL,
        "network": best.network,
        "cost": best.cost,
        "lower_bound": best.cost - 1e-6,
        "upper_bound": best.cost,
        "order": best.network.order(),
        "claim": Claim(),
        "seed": 0,
        "stats": {"seconds": 1.5},
        "options": {"k": len(networks), "within_factor": None, "classes": False},
        "warnings": ("one\ntwo",),
        "local_scores": None,
        "digest": "0123",
        "dataset": None,
        "networks": networks,
        "within": 1.0,
        "arcs": arcs_of(networks) if arcs is None else arcs,
    }
    return KBestResult(**(plain | changes))


def document_of(one):
    """What result.json has of one of the networks."""
    return {
        "cost": one.cost,
        "share": one.share,
        "rank": one.rank,
        "equivalence_class": one.equivalence_class,
        "parents": one.network.parents_by_name(),
    }
