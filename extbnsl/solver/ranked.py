"""The result of a search for the k best networks, from that of the best and what is found of the others."""

import math
from dataclasses import fields

import numpy as np

from extbnsl.kbest.classes import class_keys, numbered
from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import arc_shares, family_shares, parents_of, ranks, shares
from extbnsl.kbest.scope import Scope
from extbnsl.kernels.varsets import pack, sizes
from extbnsl.results.networks import CostedNetwork, RankedNetworks, network_of
from extbnsl.results.ranked import KBestResult
from extbnsl.results.result import Result
from extbnsl.solver.ranking import Found, Ranking, Tallied


def ranked_result(result: Result, standing: Ranking, scope: Scope) -> KBestResult:
    """The networks with their ranks, classes and shares; the first is that of the result. Without any that are
    found, the network of the result alone, of which it is not known whether it is the best.

    Of classes each is listed by its cheapest network, and has the share of all of its networks that are found. Shares
    are among all that are tallied, if they are, and else among those that are found.
    """
    found, tallied = standing.found or _alone(result), standing.tallied
    networks = _in_order(found)
    classes = numbered(class_keys(parents_of(networks, found.parents)))
    kept = (classes if scope.classes else np.arange(classes.size)) < (scope.k or classes.size)
    networks, classes = Networks(networks.rows[kept], networks.costs[kept]), classes[kept]
    own_shares = shares(networks.costs)
    log_listed = math.log(float(np.exp(networks.costs[0] - networks.costs).sum())) - float(networks.costs[0])
    if tallied is None:
        families = family_shares(networks, [costs.size for costs in found.costs], own_shares)
        arcs, share, log_found = arc_shares(found.parents, families), 1.0, log_listed
    else:
        log_found = math.log(tallied.weight) - float(networks.costs[0])
        arcs, share = tallied.arcs, min(1.0, math.exp(log_listed - log_found))
    if scope.classes:
        first = np.unique(classes, return_index=True)[1]
        own_shares = np.bincount(classes, weights=own_shares).astype(np.float64, copy=False)
        networks, classes = Networks(networks.rows[first], networks.costs[first]), classes[first]
    ranked = RankedNetworks(
        result.network.names,
        found.parents,
        networks.rows,
        networks.costs,
        ranks(networks.costs),
        classes + 1,
        share * own_shares,
    )
    own = {field.name: getattr(result, field.name) for field in fields(Result)}
    own |= {"network": ranked[0].network, "order": ranked[0].network.order()}
    return KBestResult(
        **own,
        networks=ranked,
        within=found.within if found.within >= 0.0 else None,
        arcs=arcs,
        counted=_how_many(ranked, found, tallied, scope),
        share=share,
        of_all=None if standing.log_weight is None else min(1.0, math.exp(log_found - standing.log_weight)),
        written=scope.top,
    )


def _how_many(ranked: RankedNetworks, found: Found, tallied: Tallied | None, scope: Scope) -> int | None:
    """How many networks, or classes, there are within what is found; None if nobody knows."""
    if tallied is not None:
        return tallied.networks
    most = scope.k if scope.classes else scope.most
    return None if found.within < 0.0 or (most is not None and len(ranked) >= most) else len(ranked)


def costed_networks(found: Found, names: tuple[str, ...]) -> list[CostedNetwork]:
    """The networks, best first; there may be more that cost the same as the last ones, but none that cost less."""
    networks = _in_order(found)
    return [
        CostedNetwork(rank, cost, network_of(names, found.parents, row))
        for rank, cost, row in zip(ranks(networks.costs).tolist(), networks.costs.tolist(), networks.rows, strict=True)
    ]


def _alone(result: Result) -> Found:
    n, cost = len(result.network.names), np.array([result.cost])
    parents = tuple(pack(own, n)[None, :] for own in result.network.parents)
    costs = (cost, *(np.zeros(1),) * (n - 1))  # what each family costs is not known here
    return Found(parents, costs, Networks(np.zeros((1, n), np.int32), cost), -math.inf)


def _in_order(found: Found) -> Networks:
    """The networks with what each costs, whatever the order in which its families were found; of those that cost the
    same the ones with the fewest arcs first."""
    networks = found.networks
    costs, arcs = np.zeros(networks.costs.size), np.zeros(networks.costs.size, np.int64)
    lost = np.zeros_like(costs)
    for x, (varsets, own) in enumerate(zip(found.parents, found.costs, strict=True)):
        more = own[networks.rows[:, x]]
        total = costs + more
        taken = total - costs
        lost += (costs - (total - taken)) + (more - taken)  # what this rounds off (Knuth's sum of two)
        costs = total
        arcs += sizes(varsets)[networks.rows[:, x]]
    costs += lost
    order = np.lexsort((arcs, costs))
    return Networks(networks.rows[order], costs[order])
