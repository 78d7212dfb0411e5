"""Whether what a program gave is a network, and whether it costs what the program says."""

import math
from collections.abc import Mapping, Sequence

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, ProgramError, VerificationError
from extbnsl.core.sentences import Mention
from extbnsl.data import Data
from extbnsl.lab.baselines.external.task import Parents, Program, Task
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.rescoring import family_costs


def network_of_parents(program: Program, names: Sequence[str], parents: Parents, max_parents: int | None) -> Network:
    """The network of a program; ProgramError if it is none: a variable that is not there or is missing, a parent twice,
    a cycle, or more parents than are allowed."""
    network = Network(tuple(names), tuple(tuple(sorted(own)) for own in parents))
    try:
        network.check()
        network.order()
    except (InputError, VerificationError) as error:
        raise ProgramError(f"{program.name} has given what is no network. {error}") from error
    if max_parents is not None and (most := max(map(len, network.parents))) > max_parents:
        what = f"{program.name} has given a variable {most} parents, and "
        raise ProgramError(what, Mention("max-parents"), f" is {max_parents}.")
    return network


def score_of(program: Program, task: Task, scores: Mapping[str, str]) -> str:
    """The program's word for the score of a task; InputError if it has no such score, or cannot be told what is known
    of the network."""
    claim = task.claim
    if claim.score not in scores:
        known = " or ".join(map(repr, scores))
        raise InputError(f"score: the method {program.name!r} has {known} alone, not {claim.score!r}.")
    if claim.knowledge:
        raise InputError(f"knowledge: the method {program.name!r} cannot be told it; take another.")
    return scores[claim.score]


def cost_of(program: Program, network: Network, problem: Data | LocalScores, claim: Claim) -> float:
    """What a network costs, in nats: counted from data, whether or not its families could win; ProgramError if given
    scores do not list them."""
    try:
        return math.fsum(family_costs(problem, network, claim.score, claim.ess))
    except VerificationError as error:
        raise ProgramError(f"{program.name} has given a network that cannot be scored. {error}") from error


def check_told(program: Program, parents: Parents, scores: LocalScores, told: float, tolerance: float) -> None:
    """Raise ProgramError unless a network costs by the scores what the program says, in nats, within the tolerance."""
    network = network_of_parents(program, scores.names, parents, None)
    cost = cost_of(program, network, scores, scores.claim)
    if not abs(cost - told) <= tolerance:
        raise ProgramError(
            f"{program.name} says that its network costs {told:.6f} nats, and by the scores that it was given it costs "
            f"{cost:.6f}: it has solved another problem."
        )
