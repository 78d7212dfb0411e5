"""The result of one network, scored again: found without a proof, or by a solve, from its parts and with its
certificate.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from extbnsl.core.claims import HEURISTIC, OPTIMAL, Claim, tolerance
from extbnsl.core.errors import VerificationError
from extbnsl.core.events import Warned
from extbnsl.data import Data
from extbnsl.kernels.varsets import add, pack, unpack
from extbnsl.networks.arcs import costs_in
from extbnsl.networks.kinds import number_of_parameters
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Checkpoints, Commits
from extbnsl.proof.context import Stages
from extbnsl.proof.pieces import Part
from extbnsl.proof.steps import Branched, RootPass, Searched, Step
from extbnsl.results.outputs import warnings_of_outputs
from extbnsl.results.result import Result
from extbnsl.scores.known import score_claimed
from extbnsl.scores.local import LocalScores
from extbnsl.solver.opening import Opened, warnings_of
from extbnsl.verify.certificate import MOST_UNITS, Certificate, CertifiedComponent, floor_units
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.steps import Pass, Search, Wholes

if TYPE_CHECKING:
    from extbnsl.verify.branching import Branching


@dataclass(frozen=True)
class FoundNetwork:
    """A network, its variables with the parents first, its cost, and what every network costs at least, in nats."""

    network: Network
    order: tuple[int, ...]
    cost: float
    lower_bound: float


def claim_on(problem: Data | LocalScores, claim: Claim) -> Claim:
    """What a claim says of a problem: local scores have a claim of their own."""
    return claim if isinstance(problem, Data) else problem.claim


def result_of(problem: Data | LocalScores, found: FoundNetwork, claim: Claim, stages: Stages) -> Result:
    """The result of a network, 'heuristic', scored again if there are data. What it took, the options and what the
    method has to tell are yet to be added."""
    dataset, scores = (problem, None) if isinstance(problem, Data) else (None, problem)
    with stages.stage("verify", "scoring the network again from the data" if dataset else "") as summary:
        cost = verified(found.network, found.cost, dataset, claim)
        summary.append(f"cost {cost:.6f}, acyclic")
    of_outputs = warnings_of_outputs(found.network, dataset)
    for message in of_outputs:
        stages.observer(Warned(message))
    return Result(
        status=HEURISTIC,
        network=found.network,
        cost=cost,
        lower_bound=min(cost, found.lower_bound),
        upper_bound=cost,
        order=found.order,
        claim=claim if scores is not None else replace(claim, ess=score_claimed(claim).ess),
        seed=0,
        stats={
            "parameters": dataset and number_of_parameters(found.network, dataset, claim.score),
            "empty_cost": empty_cost(problem, claim),
            "stages": stages.seconds,
        },
        options={},
        warnings=(*warnings_of(problem, claim), *of_outputs),
        local_scores=scores,
        digest=problem.fingerprint,
        dataset=dataset,
    )


def empty_cost(problem: Data | LocalScores, claim: Claim) -> float | None:
    """What a network without arcs costs, in nats: what a gap may be seen beside. None if local scores do not tell."""
    children = range(problem.variables)
    if isinstance(problem, Data):
        return score_network(problem, Network(problem.names, ((),) * problem.variables), claim)
    costs = list(map(costs_in(problem), children, ((),) * problem.variables))
    return None if None in costs else math.fsum(cost for cost in costs if cost is not None)


def verified(network: Network, cost: float, dataset: Data | None, claim: Claim) -> float:
    """The cost of the network, scored again from the data if there are any; VerificationError if it is another."""
    network.order()
    if dataset is None:
        return cost
    again = score_network(dataset, network, claim)
    if abs(again - cost) > 1e-9 * abs(cost) + 1e-6:
        raise VerificationError(
            f"The network costs {again!r} nats when scored again, not {cost!r} as the search found."
        )
    return again


@dataclass(frozen=True)
class Solution:
    """What solving has brought: the families, the components, and how far each of these is solved."""

    survivors: Survivors
    components: tuple[Component, ...]
    parts: tuple[Part, ...]

    @property
    def status(self) -> str:
        """Whether all is proved, or why the first part that is not was given up."""
        for part in self.parts:
            if part.stopped is not None:
                return part.stopped
        return OPTIMAL


def _proved_bound(part: Part) -> float:
    """What a part proves, in nats: never more than its cost less the tolerance, which is what 'optimal' claims."""
    return min(part.lower_bound, part.upper_bound - tolerance(part.upper_bound))


def concluded(run: Opened[Any], solution: Solution, stopped: str | None) -> Result:
    """The result of a run, and its last commit; stopped: why there is more to do, None if there is not."""
    commits, scores = run.commits, solution.survivors.scores
    if stopped is not None:
        commits.last_commit(stopped)  # what it takes on disk is part of the result
    found = network_of(solution)
    result = result_of(run.asked.problem, found, scores.claim, run.context.stages)
    result = replace(
        result,
        status=solution.status,
        seed=run.context.methods.seed,
        stats=_stats_of(solution, commits)
        | {"parameters": result.stats["parameters"], "empty_cost": result.stats["empty_cost"]},
        options=run.asked.options(run.granted),
        local_scores=scores,
        certificate=_certificate(scores.names, solution),
    )
    if stopped is None:
        commits.finish(solution.status)  # not before the network is verified
    return result


def network_of(solution: Solution) -> FoundNetwork:
    """The network of the components' joined orders in which every variable has its best parents before it; no network
    costs less than what the parts prove, each within its own tolerance."""
    scores = solution.survivors.scores
    parents: list[tuple[int, ...]] = [()] * scores.variables
    order: list[int] = []
    cost = []
    before = pack((), scores.variables)
    for part, component in zip(solution.parts, solution.components, strict=True):
        for i in part.order:
            child = component.variables[i]
            inside = np.flatnonzero(np.logical_not((scores.parents[child] & ~before).any(axis=1)))
            if not inside.size:
                raise VerificationError(f"{scores.names[child]!r} has no parent set among the variables before it.")
            row = int(inside[0])  # they are in score order
            parents[child] = unpack(scores.parents[child][row])
            cost.append(float(scores.costs[child][row]))
            add(child, before)
            order.append(child)
    lower_bound = math.fsum(map(_proved_bound, solution.parts))
    return FoundNetwork(Network(scores.names, tuple(parents)), tuple(order), math.fsum(cost), lower_bound)


def _stats_of(solution: Solution, commits: Checkpoints[Any]) -> dict[str, Any]:
    """What a solution took in all sessions, and its size; of a solve what its searches did."""
    searched = {}
    if isinstance(commits, Commits):
        commits.look()
        improved = commits.standing.improved
        searched = {**commits.standing.counted(), "improved": improved and asdict(improved)}
    return searched | {
        "varsets_counted": solution.survivors.varsets,
        "parent_sets": solution.survivors.scores.families,
        "stages": commits.spent.stages,
        "components": [component.size for component in solution.components],
        **commits.taken(),
    }


def _certificate(names: tuple[str, ...], solution: Solution) -> Certificate | None:
    """What proves the solution, if all its parts have the steps of a proof and a check has units for their multipliers.
    The parts of a list that was stopped have no steps, though its best network is known to be optimal."""
    components = []
    for part, component in zip(solution.parts, solution.components, strict=True):
        if not part.steps:
            return None
        own = tuple(map(names.__getitem__, component.variables))
        steps = []
        for step in part.steps:
            if _heaviest(step) > MOST_UNITS:
                return None
            steps.append(_named_step(step, own))
        first = part.steps[0]
        assert isinstance(first, RootPass), "a proof begins with a pass"
        least = dict(zip(own, map(floor_units, first.least), strict=True))
        components.append(CertifiedComponent(own, _proved_bound(part), least, tuple(steps)))
    return Certificate(tuple(components))


def _heaviest(step: Step) -> int:
    """What the multipliers of a pass of a step come to at most, in units."""
    if isinstance(step, Branched):
        return max((sum(duals.weights.tolist()) for node in step.nodes for duals in node.duals), default=0)
    return sum(step.weights)


def _named_step(step: Step, names: tuple[str, ...]) -> "Pass | Search | Branching":
    """A step of a proof by the names of the component's variables."""
    name = names.__getitem__
    cuts = tuple(tuple(tuple(map(name, cluster)) for cluster in cut) for cut in step.cuts)
    if isinstance(step, RootPass):
        return Pass(cuts, Wholes(step.weights))
    own = tuple(map(name, step.variables))
    if isinstance(step, Searched):
        return Search(own, step.bound, Pass(cuts, Wholes(step.weights)))
    from extbnsl.verify.branching import Answer, Branching, NodePass, TreeNode

    nodes = []
    for node in step.nodes:
        x, y = divmod(node.choice // 2, len(own))
        answer = None if node.above < 0 else Answer(own[x], own[y], node.choice % 2 == 0)
        passes = tuple(NodePass(Wholes(duals.cuts.tolist()), Wholes(duals.weights.tolist())) for duals in node.duals)
        nodes.append(TreeNode(node.above, answer, passes))
    return Branching(own, step.bound, cuts, tuple(nodes))
