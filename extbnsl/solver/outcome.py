"""The result of a solve: one network from the parts, scored again, and its certificate."""

import math
from typing import Any

import numpy as np

from extbnsl.bounds.multipliers import UNIT
from extbnsl.claims import OPTIMAL, tolerance
from extbnsl.data import Dataset
from extbnsl.errors import VerificationError
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component, origin
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.context import Context
from extbnsl.proof.standing import Part
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import CLUSTERS, SEARCH, Certificate, CertifiedComponent, Pass
from extbnsl.verify.verdict import score_network


def _network(
    scores: LocalScores, parts: list[Part], found: tuple[Component, ...]
) -> tuple[Network, tuple[int, ...], float]:
    """Join the components' orders and let every variable choose its best parents before it."""
    parents: list[tuple[int, ...]] = [()] * scores.variables
    order: list[int] = []
    cost = []
    for part, component in zip(parts, found, strict=True):
        before: list[int] = []
        for i in part.order:
            outside = component.parents[i] & ~pack(before, component.size)
            place = int(np.argmin(outside.any(axis=1)))  # the first inside: they are in score order
            child = component.variables[i]
            row = int(origin(component, i, scores)[place])
            parents[child] = unpack(scores.parents[child][row])
            cost.append(float(scores.costs[child][row]))
            before.append(i)
            order.append(child)
    return Network(scores.names, tuple(parents)), tuple(order), math.fsum(cost)


def result_of(
    problem: Dataset | LocalScores,
    survivors: Survivors,
    found: tuple[Component, ...],
    parts: list[Part],
    options: dict[str, Any],
    context: Context,
    warnings: tuple[str, ...],
) -> Result:
    standing = context.standing
    network, order, cost = _network(survivors.scores, parts, found)
    dataset = problem if isinstance(problem, Dataset) else None
    with context.stages.stage("verify", "scoring the network again from the data" if dataset else "") as summary:
        cost = _verified(network, cost, dataset)
        summary.append(f"cost {cost:.6f}, acyclic")
    slack, lower_bound = tolerance(cost), sum(part.lower_bound for part in parts)
    stopped = [part.stopped for part in parts if part.stopped is not None]
    status = stopped[0] if stopped else OPTIMAL
    context.commits.add_up()
    stats = standing.counted() | {
        "varsets_counted": survivors.varsets,
        "parent_sets": survivors.scores.families,
        "stages": standing.stages,
        "components": [component.size for component in found],
        "seconds": standing.seconds,
        "cpu_seconds": standing.cpu_seconds,
        "peak_rss_bytes": standing.peak_rss,
        "peak_disk_bytes": standing.peak_disk,
    }
    return Result(
        status=status,
        network=network,
        cost=cost,
        lower_bound=cost - slack if status == OPTIMAL else min(lower_bound, cost - slack),
        upper_bound=cost,
        order=order,
        score=survivors.scores.score,
        max_parents=survivors.scores.max_parents,
        seed=context.seed,
        stats=stats,
        options=options,
        warnings=warnings,
        local_scores=survivors.scores,
        digest=problem.fingerprint,
        dataset=dataset,
        certificate=_certificate(network.names, parts, found) if status == OPTIMAL and dataset else None,
    )


def _certificate(names: tuple[str, ...], parts: list[Part], found: tuple[Component, ...]) -> Certificate:
    """What proves the parts again, by the names of their variables."""
    components = []
    for part, component in zip(parts, found, strict=True):
        own = tuple(names[v] for v in component.variables)
        passes = tuple(
            Pass(
                tuple(tuple(tuple(own[i] for i in cluster) for cluster in cut) for cut in one.cuts),
                tuple(weight * UNIT for weight in one.weights),
                dict(zip(own, one.least, strict=True)),
            )
            for one in part.passes
        )
        components.append(CertifiedComponent(own, part.upper_bound, CLUSTERS if passes else SEARCH, passes))
    return Certificate(tuple(components))


def _verified(network: Network, cost: float, dataset: Dataset | None) -> float:
    """The cost of the network, scored again from the data if there are any; VerificationError if it is another."""
    network.order()
    if dataset is None:
        return cost
    again = score_network(dataset, network)
    if abs(again - cost) > 1e-9 * abs(cost) + 1e-6:
        raise VerificationError(
            f"The network costs {again!r} nats when scored again, not {cost!r} as the search found."
        )
    return again
