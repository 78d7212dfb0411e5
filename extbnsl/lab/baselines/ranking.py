"""The k best networks by A* over the BN graph, with the parent limits of the paper, as a result like that of
`k_best_networks`: the method of Chen, Darwiche and Choi 2018."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.claims import OPTIMAL, Claim, tolerance
from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data, Dataset
from extbnsl.files.manifest import K_BEST
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.lab.baselines.able import refusals
from extbnsl.lab.baselines.bn_graph import (
    BnGraphResult,
    Limits,
    best_by_bn_graph,
    check_variables,
    needed_families_within,
)
from extbnsl.lab.baselines.outcome import network_of
from extbnsl.lab.parent_limits.limits import limit_problem
from extbnsl.lab.parent_limits.permutations import choices, parent_limits, score_list_bytes
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.results.ranked import KBestResult
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import given_scores
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import FoundNetwork, claim_on, result_of
from extbnsl.solver.ranking import Ranking, RankingCommits, found_of, ranked_result

SLACK = 8.0  # nats within which the search gets all families at first
NODE_BYTES = 500  # about what a network in the search takes


def rank_by_bn_graph(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> KBestResult:
    """The k best networks of a `Scope`, by `BaselineMethods`; without checkpoints and without a certificate.

    The families are those within some nats of the best of their subsets, and within more if the k best need that. The
    statistics have what Tables 1 and 2 of the paper have: the parent limit p that its theorems give for k, what a list
    of the scores of so many parents takes, the calls of the black box, and the seconds in it and beside it. `stop` is
    polled; a reason other than None, or the end of a budget, leaves the first of the k best with that status.

    Raises InputError for unusable arguments, and for a scope that the method does not have.
    """
    asked = replace(asked, budgets=replace(asked.budgets, disk=0), kind=K_BEST)
    problem, claim, methods, scope = asked.problem, asked.claim, asked.methods, asked.scope
    asked.check()
    for error in refusals(methods, scope, claim, type(problem)):
        raise error
    check_variables(problem.variables)
    with opened(asked, RankingCommits, observer=observer, stop=stop, kept=False) as run:
        figures = _figures(run, scope.k)
        with run.context.stages.stage("search", f"the {scope.k:,} best networks by A* over the BN graph") as summary:
            found, status = _searched(run, scope.k)
            summary.append(f"{0 if found is None else found.networks.costs.size:,} found")
        standing = Ranking()
        if found is not None and found.networks.costs.size:
            within = float(found.networks.costs[-1] - found.networks.costs[0])
            standing.found = found_of(found.scores, found.networks, within)
        own = result_of(problem, _best(problem, found, claim), claim_on(problem, claim), run.context.stages)
        effort = {} if found is None else asdict(found.effort)
        stats = {**own.stats, "method": methods.method, **figures, **effort, **run.commits.taken()}
    result = replace(own, status=status, stats=stats, options=asked.options(run.granted), seed=methods.seed)
    return ranked_result(result, standing, scope)


def _figures(run: Opened[RankingCommits], k: int) -> Mapping[str, Any]:
    """What Table 1 has: p, the theorems that give it, and what the list of all scores and that of at most p parents
    take; nothing without data, or where the time is up before."""
    dataset, claim, workers = run.asked.problem, run.asked.claim, run.context.workers
    if not isinstance(dataset, Dataset) or not dataset.alike:  # the theorems are about families of the same records
        return {}
    with run.context.stages.stage("limits", f"parent limits that keep the {k:,} best networks") as summary:
        try:
            problem = limit_problem(dataset, claim, workers)
            shelf = Shelf(run.granted.memory, Store(Path(), 0))
            found = surviving_families(dataset, claim, Means(workers, shelf, ignore))
            if found.stopped is not None:
                return {}
            best = choices(problem, found.scores)
            limits = parent_limits(problem, best, k, check=workers.check)
        except Stopped:
            return {}
        summary.append(f"at most {limits.most} parents")
    largest = {by for by, limit in zip(limits.by, limits.limits.tolist(), strict=True) if limit == limits.most}
    return {
        "parent_limit": limits.most,
        "limited_by": " / ".join(sorted(largest)),
        "score_list_bytes": score_list_bytes(dataset.variables),
        "limited_list_bytes": score_list_bytes(dataset.variables, limits.most),
    }


def _searched(run: Opened[RankingCommits], k: int) -> tuple[BnGraphResult | None, str]:
    """The networks that are found, None if it did not come to that, and the status."""
    slack, workers = SLACK, run.context.workers
    limits = Limits(nodes=max(1, run.granted.memory // NODE_BYTES))
    while True:
        try:
            workers.check()
            scores = _families(run.asked, k, slack, workers)
        except Stopped as stopped:
            return None, stopped.reason
        found = best_by_bn_graph(scores, k, limits, stop=workers.stop)
        costs = found.networks.costs
        enough = costs.size and costs[-1] - costs[0] <= slack and costs.size == k
        if found.status != OPTIMAL or enough or isinstance(run.asked.problem, LocalScores):
            return found, found.status
        spread = float(costs[-1] - costs[0]) if costs.size == k else math.inf
        if slack == math.inf:
            return found, found.status
        slack = spread


def _families(asked: Request, k: int, slack: float, workers: Workers) -> LocalScores:
    if isinstance(asked.problem, LocalScores):
        return given_scores(asked.problem, asked.claim)
    return needed_families_within(asked.problem, k, slack, asked.claim, workers.stop)


def _best(problem: Data | LocalScores, found: BnGraphResult | None, claim: Claim) -> FoundNetwork:
    """The best network that is found, or any, with what every network costs at least."""
    if found is not None and found.networks.costs.size:
        best = network_of(found.scores, found.networks.rows[0].astype(np.int64))
        return replace(best, lower_bound=best.cost - tolerance(best.cost))
    if isinstance(problem, LocalScores):
        return network_of(problem)
    source = source_of(problem, claim)
    costs = [source.cost(child, ()) for child in range(problem.variables)]
    network = Network(problem.names, ((),) * problem.variables)
    return FoundNetwork(network, network.order(), math.fsum(costs), -math.inf)
