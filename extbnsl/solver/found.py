"""A network that was found without a proof: the bounds of all families, and the result."""

from dataclasses import dataclass

from extbnsl.core.claims import HEURISTIC, Claim
from extbnsl.core.errors import VerificationError
from extbnsl.core.events import Warned
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import number_of_parameters
from extbnsl.parents.exhaustive.measured import least_costs
from extbnsl.parents.exhaustive.problem import alone, counting_problem, varying, with_floors
from extbnsl.proof.stages import Stages
from extbnsl.results.outputs import warnings_of_outputs
from extbnsl.results.result import Result
from extbnsl.scores.known import score_named, score_of
from extbnsl.scores.local import LocalScores
from extbnsl.solver.opening import warnings_of
from extbnsl.verify.rescoring import score_network


@dataclass(frozen=True)
class FoundNetwork:
    """A network, its variables with the parents first, its cost, and what every network costs at least, in nats."""

    network: Network
    order: tuple[int, ...]
    cost: float
    lower_bound: float


def bounds_of_children(data: Data, claim: Claim, workers: Workers) -> list[float]:
    """What a family of each child costs at least, whatever the order, in nats: the misfit that all other variables
    leave, and the penalty of no parents. A stop leaves zero of the misfit of states. Some ten ns per record and
    variable."""
    if isinstance(data, Numbers):
        return least_costs(data)
    return _of_states(data, claim, workers)


def _of_states(dataset: Dataset, claim: Claim, workers: Workers) -> list[float]:
    floors = dict.fromkeys(range(dataset.variables), 0.0)
    order = varying(dataset, score_of(claim))
    if order.size:
        try:
            found = with_floors(counting_problem(dataset, order, claim), workers).floors
            floors |= dict(zip(order.tolist(), found.tolist(), strict=True))
        except Stopped:
            pass
    score = score_of(claim)
    return [score.least(alone(dataset, child), floor) for child, floor in floors.items()]


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
        score=claim.score,
        ess=score_named(claim.score, claim.ess).ess if scores is None else claim.ess,
        max_parents=claim.max_parents,
        knowledge=claim.knowledge,
        seed=0,
        stats={"parameters": dataset and number_of_parameters(found.network, dataset), "stages": stages.seconds},
        options={},
        warnings=(*warnings_of(problem), *of_outputs),
        local_scores=scores,
        digest=problem.fingerprint,
        dataset=dataset,
    )


def verified(network: Network, cost: float, dataset: Data | None, claim: Claim) -> float:
    """The cost of the network, scored again from the data if there are any; VerificationError if it is another."""
    network.order()
    if dataset is None:
        return cost
    again = score_network(dataset, network, claim.score, claim.ess)
    if abs(again - cost) > 1e-9 * abs(cost) + 1e-6:
        raise VerificationError(
            f"The network costs {again!r} nats when scored again, not {cost!r} as the search found."
        )
    return again
