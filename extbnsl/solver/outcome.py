"""The result of a solve: one network from the parts, scored again, and its certificate."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.errors import VerificationError
from extbnsl.kernels.varsets import add, pack, unpack
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Checkpoints, Commits
from extbnsl.proof.standing import Part
from extbnsl.proof.steps import RootPass, Searched, Step
from extbnsl.results.result import Result
from extbnsl.solver.found import FoundNetwork, result_of
from extbnsl.solver.opening import Opened
from extbnsl.verify.certificate import (
    MOST_UNITS,
    Answer,
    Branching,
    Certificate,
    CertifiedComponent,
    NodePass,
    Pass,
    Search,
    TreeNode,
    floor_units,
)
from extbnsl.verify.document import Wholes


@dataclass(frozen=True)
class Solution:
    """What solving has brought: the families, the components, and how far each of these is solved."""

    survivors: Survivors
    components: tuple[Component, ...]
    parts: tuple[Part, ...]

    @property
    def status(self) -> str:
        """Whether all is proved, or why the first part that is not was given up."""
        stopped = [part.stopped for part in self.parts if part.stopped is not None]
        return stopped[0] if stopped else OPTIMAL

    @property
    def lower_bound(self) -> float:
        """What every network costs at least, in nats: what the parts prove, each within its own tolerance."""
        return math.fsum(map(_proved_bound, self.parts))


def _proved_bound(part: Part) -> float:
    """What a part proves, in nats: never more than its cost less the tolerance, which is what 'optimal' claims."""
    return min(part.lower_bound, part.upper_bound - tolerance(part.upper_bound))


def concluded(
    run: Opened[Any], solution: Solution, stopped: str | None, stats: Callable[[Solution, Any], dict[str, Any]]
) -> Result:
    """The result of a run, and its last commit; stopped: why there is more to do, None if there is not. `stats` gives
    the statistics when all is done."""
    commits, scores = run.commits, solution.survivors.scores
    if stopped is not None:
        commits.last_commit(stopped)  # what it takes on disk is part of the result
    network, order, cost = network_of(solution)
    found = FoundNetwork(network, order, cost, solution.lower_bound)
    result = result_of(run.asked.problem, found, scores.claim, run.context.stages)
    result = replace(
        result,
        status=solution.status,
        seed=run.context.methods.seed,
        stats=stats(solution, commits) | {"parameters": result.stats["parameters"]},
        options=run.asked.options(run.granted),
        local_scores=scores,
        certificate=_certificate(network.names, solution),
    )
    if stopped is None:
        commits.finish(solution.status)  # not before the network is verified
    return result


def network_of(solution: Solution) -> tuple[Network, tuple[int, ...], float]:
    """Join the components' orders and let every variable choose its best parents before it: network, order, cost."""
    scores = solution.survivors.scores
    parents: list[tuple[int, ...]] = [()] * scores.variables
    order: list[int] = []
    cost = []
    before = pack((), scores.variables)
    for part, component in zip(solution.parts, solution.components, strict=True):
        for child in (component.variables[i] for i in part.order):
            inside = np.flatnonzero(np.logical_not((scores.parents[child] & ~before).any(axis=1)))
            if not inside.size:
                raise VerificationError(f"{scores.names[child]!r} has no parent set among the variables before it.")
            row = int(inside[0])  # they are in score order
            parents[child] = unpack(scores.parents[child][row])
            cost.append(float(scores.costs[child][row]))
            add(child, before)
            order.append(child)
    return Network(scores.names, tuple(parents)), tuple(order), math.fsum(cost)


def stats_of(solution: Solution, commits: Commits) -> dict[str, Any]:
    """The statistics of all sessions of a solve."""
    commits.look()
    standing = commits.standing
    return (
        standing.counted() | {"improved": standing.improved and asdict(standing.improved)} | spent_on(solution, commits)
    )


def spent_on(solution: Solution, commits: Checkpoints[Any]) -> dict[str, Any]:
    """What a solution took, and its size."""
    return {
        "varsets_counted": solution.survivors.varsets,
        "parent_sets": solution.survivors.scores.families,
        "stages": commits.standing.spent.stages,
        "components": [component.size for component in solution.components],
        **commits.taken(),
    }


def _certificate(names: tuple[str, ...], solution: Solution) -> Certificate | None:
    """What proves the solution, if all its parts have the steps of a proof and a check has units for their multipliers.
    The parts of a list that was stopped have no steps, though its best network is known to be optimal."""
    if not all(part.steps for part in solution.parts):
        return None
    components = []
    for part, component in zip(solution.parts, solution.components, strict=True):
        own = tuple(names[v] for v in component.variables)
        steps = tuple(_named_step(step, own) for step in part.steps)
        if any(sum(multipliers) > MOST_UNITS for step in steps for multipliers in _multipliers(step)):
            return None
        first = part.steps[0]
        assert isinstance(first, RootPass), "a proof begins with a pass"
        least = dict(zip(own, map(floor_units, first.least), strict=True))
        components.append(CertifiedComponent(own, _proved_bound(part), least, steps))
    return Certificate(tuple(components))


def _multipliers(step: Pass | Search | Branching) -> Iterator[tuple[int, ...]]:
    """Those of each pass of a step, in units."""
    if isinstance(step, Branching):
        yield from (multipliers for node in step.nodes for _, multipliers in node.passes)
    else:
        yield (step.guide if isinstance(step, Search) else step).multipliers


def _named_step(step: Step, names: tuple[str, ...]) -> Pass | Search | Branching:
    """A step of a proof by the names of the component's variables."""
    cuts = tuple(tuple(tuple(names[i] for i in cluster) for cluster in cut) for cut in step.cuts)
    if isinstance(step, RootPass):
        return Pass(cuts, step.weights)
    own = tuple(names[i] for i in step.variables)
    if isinstance(step, Searched):
        return Search(own, step.bound, Pass(cuts, step.weights))
    nodes = []
    for node in step.nodes:
        x, y = divmod(node.choice // 2, len(own))
        answer = None if node.above < 0 else Answer(own[x], own[y], node.choice % 2 == 0)
        passes = tuple(NodePass(Wholes(duals.cuts.tolist()), Wholes(duals.weights.tolist())) for duals in node.duals)
        nodes.append(TreeNode(node.above, answer, passes))
    return Branching(own, step.bound, cuts, tuple(nodes))
