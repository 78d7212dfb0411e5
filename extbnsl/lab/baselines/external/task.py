"""What a program of somebody else gets, and what it gives: a network that is checked, and what it says of its cost."""

import math
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, ProgramError, VerificationError
from extbnsl.core.sentences import Mention
from extbnsl.data import Data, Dataset
from extbnsl.lab.process import Ended
from extbnsl.machine.budgets import Deadline
from extbnsl.networks.network import Network
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores
from extbnsl.verify.rescoring import family_costs

Parents = Sequence[Sequence[int]]  # of each variable, by numbers


class Program(NamedTuple):
    """A program that is there: what people call it, how its command line begins, and its version, where that is known
    before it runs."""

    name: str
    command: tuple[str, ...]
    version: str | None = None


@dataclass(frozen=True)
class Task:
    """What a program is to do.

    dataset: None if local scores were given. scores: the families that can win, for a program that takes local scores,
    and else None. deadline: when the run ends. folder: an empty one, which is gone afterwards.
    """

    dataset: Dataset | None
    scores: LocalScores | None
    claim: Claim
    seed: int
    context: Context
    deadline: Deadline
    folder: Path

    @property
    def variables(self) -> int:
        """How many there are."""
        return self.given_data.variables if self.scores is None else self.scores.variables

    @property
    def given_data(self) -> Dataset:
        """The data, for a program that takes these."""
        assert self.dataset is not None, "the registry says that the program takes data"
        return self.dataset

    @property
    def given_scores(self) -> LocalScores:
        """The local scores, for a program that takes these."""
        assert self.scores is not None, "the registry says that the program takes scores"
        return self.scores


@dataclass(frozen=True)
class Answer:
    """What a program has given.

    status: OPTIMAL only if the program says so and has solved our scores, in double precision. parents: its network;
    None if it had none when it was stopped. told: what the statistics of the result are to have of it, as JSON values.
    """

    status: str
    parents: Parents | None
    told: Mapping[str, Any] = field(default_factory=dict)


class Call(NamedTuple):
    """How a program is begun once its input lies in the folder of its task: the command line before its arguments, the
    arguments, and what of them the statistics are to have."""

    command: tuple[str, ...]
    arguments: Sequence[str]
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Dialogue:
    """How to talk with a program.

    locate: the program; InputError that says what to install if it is not there.
    call: writes its input, and says how it is begun.
    network: the file that it writes its network to.
    parents: the parents of each of so many variables in the text of that file; ProgramError if it tells none.
    judge: the status that the parents deserve by what was said, and more for the statistics; ProgramError if that tells
    of another problem.
    hear: what the statistics are to have of what was said, whatever the file tells; ProgramError if there is no
    network.
    asked: the signal that makes it end with the network that it has; None if it has none before its end.
    scores: its words for the scores that it has, by ours; None if it takes local scores.
    """

    locate: Callable[[], Program]
    call: Callable[[Program, Task], Call]
    network: str
    parents: Callable[[Program, str, int], Parents]
    judge: Callable[[Program, Task, Parents, Ended], tuple[str, Mapping[str, Any]]]
    hear: Callable[[Program, Ended], Mapping[str, Any]] = lambda program, ended: {}
    asked: signal.Signals | None = None
    scores: Mapping[str, str] | None = None


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


def cost_of(program: Program, network: Network, problem: Data | LocalScores, claim: Claim) -> float:
    """What a network costs, in nats: counted from data, whether or not its families could win; ProgramError if given
    scores do not list them."""
    try:
        return math.fsum(family_costs(problem, network, claim))
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
