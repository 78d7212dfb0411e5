"""What a program of somebody else gets, and what it gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from extbnsl.core.claims import Claim
from extbnsl.data import Dataset
from extbnsl.machine.budgets import Deadline
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

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


@dataclass(frozen=True)
class Answer:
    """What a program has given.

    status: OPTIMAL only if the program says so and has solved our scores, in double precision. parents: its network;
    None if it had none when it was stopped. told: what the statistics of the result are to have of it, as JSON values.
    """

    status: str
    parents: Parents | None
    told: Mapping[str, Any] = field(default_factory=dict)


Locate = Callable[[], Program]
"""`locate` of a module of this room: the program; InputError that says what to install if it is not there."""
Solve = Callable[[Program, Task], Answer]
"""`solve` of a module of this room: what the program gives; ProgramError if it fails or gives what is no network."""
