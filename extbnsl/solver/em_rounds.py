"""The rounds of EM that are done, a line each in a journal of the run directory: a resume goes on behind them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from extbnsl.core.claims import DISK_LIMIT, STATUSES, Claim
from extbnsl.core.codec import Misfit, Within, decode, encode, json_text, json_value
from extbnsl.core.errors import BudgetError, ExtbnslError, RunDirectoryError
from extbnsl.data import Data
from extbnsl.em.expectation import expectation_of
from extbnsl.em.model import Expectation, Model, flat, never_checked
from extbnsl.files.journal import Journal, read_lines
from extbnsl.files.names import ROUNDS
from extbnsl.machine.workers import Stopped
from extbnsl.networks.network import Network
from extbnsl.results.rounds import Round
from extbnsl.solver.place import Place


class Taken:
    """The rounds that are done, with the model of each, and the journal that gets each further one, if there is a run
    directory.

    kept: whether the last one is to be gone on from.
    """

    def __init__(self, done: list[tuple[Round, Model]], journal: Journal | None) -> None:
        self.done = done
        self._journal = journal
        self.kept = True

    @property
    def last(self) -> Model:
        """The model to go on with; there is one."""
        return self.done[-1][1]

    @property
    def cost(self) -> float:
        """What is observed costs by it, in nats."""
        return self.done[-1][0].cost

    def tell(self, round: Round, model: Model) -> None:
        """Have a first one that ends a run; a resume begins again."""
        self.done.append((round, model))
        self.kept = False

    def add(self, round: Round, model: Model) -> None:
        """Add one, on disk when this returns; Stopped when the disk is full."""
        if self._journal is not None:
            parents = {name: tuple(own) for name, own in round.network.parents_by_name().items()}
            figures = round.number, round.status, round.expected_cost, round.cost, round.steps
            try:
                self._journal.append(json_text(encode(_Line(*figures, parents, flat(model)))))
            except BudgetError as error:
                raise Stopped(DISK_LIMIT) from error
        self.done.append((round, model))


@contextlib.contextmanager
def rounds_at(place: Place, expected: Expectation) -> Iterator[Taken]:
    """What the run at this place has done; RunDirectoryError if its journal is damaged."""
    if place.run_folder is None:
        yield Taken([], None)
        return
    path = place.run_folder / ROUNDS
    lines = [] if place.resume is None else read_lines(path)
    done = _read_all(path, lines, expected)
    with contextlib.closing(Journal(path, sum(len(line) + 1 for line in lines))) as journal:
        yield Taken(done, journal)


def completed_in(folder: Path, data: Data, claim: Claim, memory: int) -> Data:
    """The data, completed by the network of the run in a folder; InputError as `expectation_of`, RunDirectoryError if
    its journal is not there or damaged."""
    expected, path = expectation_of(data, claim, memory), folder / ROUNDS
    done = _read_all(path, read_lines(path), expected)
    if not done:
        raise RunDirectoryError(f"{path} is not there, or empty, so that nothing completes the data of the run.")
    return expected.completed(done[-1][1], never_checked)


@dataclass(frozen=True)
class _Line:
    """A line of the journal: a round as `Round` has it, and its parameters by the names of variables, in C order."""

    round: Annotated[int, Within(0)]
    status: Annotated[str, STATUSES.__contains__]
    expected_cost: float | None
    cost: float
    steps: Annotated[int, Within(0)]
    parents: dict[str, tuple[str, ...]]
    parameters: dict[str, tuple[float, ...]]


def _read_all(path: Path, lines: list[bytes], expected: Expectation) -> list[tuple[Round, Model]]:
    """The rounds in the lines of a journal, one after another; RunDirectoryError if one is not what a run writes."""
    done: list[tuple[Round, Model]] = []
    for at, line in enumerate(lines, start=1):
        names = expected.data.names
        try:
            told: _Line = decode(_Line, json_value(line))
            network = Network.from_names(names, told.parents)
            network.order()
            if told.round != len(done):
                raise ValueError("a round is missing")
            model = expected.shaped(network, tuple(told.parameters[name] for name in names))
        except (ValueError, KeyError, RecursionError, Misfit, ExtbnslError) as error:
            raise RunDirectoryError(
                f"{path} is damaged in line {at}; cut that line and all below it off, and these rounds are done again."
            ) from error
        own = Round(told.round, told.status, told.expected_cost, told.cost, told.steps, network)
        done.append((own, model))
    return done
