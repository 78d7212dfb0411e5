"""`extbnsl query`: what a network says of some variables, given values of others."""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.export import described_of, smoothed_problem
from extbnsl.cli.saying import say, say_all, say_sentence
from extbnsl.cli.score_network import score_told
from extbnsl.core.errors import InputError
from extbnsl.core.options import declared
from extbnsl.files.atomic import encoded, write_atomically
from extbnsl.machine.budgets import Budgets
from extbnsl.results.reading import read_result

if TYPE_CHECKING:
    from extbnsl.cli.parser import Command
    from extbnsl.formats.described import Described
    from extbnsl.networks.models import Model

EPILOG = """\
Prints the probability of each state of each VARIABLE, given what --given says,
exactly; of continuous variables the mean and the standard deviation. What is
neither given nor asked for is summed out. NETWORK is a run directory, its
result.json, or a file of a network. Parameters are those of network.json; data
are read again only where it has none, and for --smoothing and --average: this
asks all networks that `posterior --sample` drew, each with parameters of its
own and weighed by how likely it makes what is given.

example:
  extbnsl query asia.run lung bronc --given smoke=yes --given xray=no
  extbnsl query network.bif --given smoke=yes -o all.csv
  extbnsl query survey.run income --given degree=yes --average
"""


def add(parser: "Command") -> None:
    """Add what the command takes."""
    parser.words = "variables"
    parser.add_argument(
        "result", metavar="NETWORK", type=Path, help="a run directory, its result.json, or a file of a network"
    )
    parser.add_argument(
        "variables", metavar="VARIABLE", nargs="*", help="what is asked for (default: all that is not given)"
    )
    parser.add_argument(
        "--given",
        metavar="NAME=VALUE",
        action="append",
        help="a variable and its state, or its number; may be repeated; what has an = in it may be in double quotes",
    )
    parser.add_argument("--joint", action="store_true", help="ask for all of them together")
    options.add_shared(parser, "--average", "--smoothing", "--training")
    options.add_options(parser, {"memory": declared(Budgets)["memory"]})
    options.add_output(parser, "a CSV file for the answer")
    options.add_shared(parser, "--overwrite")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the answer; the exit code."""
    from extbnsl.data.column import clean_name

    if given.output is not None:
        options.check_output(given, given.output, given.overwrite)
    asked = _asked_of_all(given) if given.average else _asked_of_one(given)
    values = _values(given.given or (), asked.names)
    answer = asked.ask(given.variables or None, values, given.joint)
    wanted = list(dict.fromkeys(map(clean_name, given.variables)))
    named = wanted or [name for name in asked.names if name not in values]
    told = _Told(answer, named, given.joint, dict(zip(asked.names, map(bool, asked.states), strict=True)))
    if given.output is not None:
        from extbnsl.formats.spelling import csv_text

        write_atomically(given.output, encoded(csv_text(told.head, told.rows)))
    if given.json:
        averaged = {"networks": asked.networks} if given.average else {}
        say(json.dumps({"given": values, "smoothing": given.smoothing, **averaged, **told.document()}, indent=1))
    elif given.output is None:
        say_all(f"{line}\n" for line in told.lines())
    else:
        say_sentence(f"The answer is in {given.output}.")
    return 0


@dataclass(frozen=True, eq=False)
class _Asked:
    """Who is asked: the names of the variables and their states, none of those of numbers; what answers about variables
    given values, perhaps together; and how many networks that were drawn it asks."""

    names: Sequence[str]
    states: Sequence[Sequence[str]]
    ask: Callable[[Sequence[str] | None, Mapping[str, str], bool], dict[Any, Any]]
    networks: int = 0


def _asked_of_one(given: argparse.Namespace) -> _Asked:
    """The network with its parameters."""
    from extbnsl.results.querying import about

    model = _model(_network(given), given.memory)
    return _Asked(model.network.names, model.states, partial(about, model))


def _asked_of_all(given: argparse.Namespace) -> _Asked:
    """All networks that were drawn, with parameters of the data."""
    from extbnsl.data import Data
    from extbnsl.formats.network_reader import is_network_file
    from extbnsl.networks.models import fitting
    from extbnsl.results.querying import about_average
    from extbnsl.results.samples import counted_in

    if is_network_file(given.result):
        raise InputError(f"--average is for runs, and {given.result} has one network; leave it out.")
    document = read_result(given.result)
    problem = smoothed_problem(given, document)
    if not isinstance(problem, Data):
        raise _no_parameters(given.result)
    networks = counted_in(given.result, document, problem.names)
    known = fitting(problem, score_told(document, given.result), given.smoothing, given.memory)

    def ask(variables: Sequence[str] | None, values: Mapping[str, str], joint: bool) -> dict[Any, Any]:
        with options.networks_told(len(networks)) as advance:
            return about_average(known, networks, variables, values, joint, advance)

    return _Asked(problem.names, known.states, ask, sum(networks.values()))


def _no_parameters(path: Path) -> InputError:
    return InputError(f"{path} has no parameters, since its network was learned from local scores alone.")


def _network(given: argparse.Namespace) -> "Described":
    """The network with its parameters, from a run or a file."""
    from extbnsl.formats.network_reader import is_network_file

    if not is_network_file(given.result):
        known = described_of(given, "bif")  # which has parameters alone
        if known.tables is None and not known.has_numbers:
            raise _no_parameters(given.result)
        return known
    if given.smoothing > 0.0 or given.training is not None:
        option = "--training" if given.training is not None else "--smoothing"
        raise InputError(f"{option} is for networks of runs, and {given.result} has its parameters; leave it out.")
    from extbnsl.formats.described import Described
    from extbnsl.formats.network_reader import read_network

    read = read_network(given.result)
    return Described(read.network, 0.0, read.states, read.tables)


def _model(known: "Described", memory: int | None) -> "Model":
    """What is asked of a network that has parameters; memory: in bytes, for an answer."""
    from extbnsl.networks.inference import Tables
    from extbnsl.networks.models import OfBoth, OfNumbers, OfStates

    if known.regressions is not None:
        return OfNumbers(known.network, known.regressions)
    both = known.conditionals or known.columns
    if both is not None:
        return OfBoth(both)
    states, tables = known.parameters()
    return OfStates(Tables.known(known.network, tables), states, memory)


def _values(pairs: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """What is given, as texts by name; of an = in a name or a value the first one that ends a known name counts."""
    from extbnsl.data.column import clean_name

    found: dict[str, str] = {}
    for text in pairs:
        parts = text.split("=")
        splits = [
            (clean_name(_unquoted("=".join(parts[:i]))), _unquoted("=".join(parts[i:]))) for i in range(1, len(parts))
        ]
        if not splits:
            raise InputError(f"{text!r} is no name and value: write NAME=VALUE.", option="given", value=text)
        name, value = next((one for one in splits if one[0] in names), splits[0])
        if name in found:
            raise InputError(f"{name!r} is given twice: leave one out.", option="given", names=[name])
        found[name] = value
    return found


def _unquoted(text: str) -> str:
    """The text without the quotes around it, and with single ones for the double ones in it."""
    plain = text.strip()
    quoted = len(plain) > 1 and plain[0] == plain[-1] == '"'
    return plain[1:-1].replace('""', '"') if quoted else plain


@dataclass(frozen=True, eq=False)
class _Told:
    """An answer about the variables that are asked for, as a table and as JSON."""

    answer: Mapping[Any, Any]
    asked: Sequence[str]
    joint: bool
    of_states: Mapping[str, bool]

    def has_numbers(self, name: str) -> bool:
        """Whether the variable of this name has numbers."""
        return not self.of_states[name]

    @property
    def kinds(self) -> set[bool]:
        """Whether those that are asked for have numbers."""
        return set(map(self.has_numbers, self.asked))

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns."""
        if self.kinds == {True}:
            return ("variable", "mean", *(self.asked if self.joint else ("standard_deviation",)))
        if self.kinds == {True, False}:
            return ("variable", "state", "probability", "mean", "standard_deviation")
        return (*self.asked, "probability") if self.joint else ("variable", "state", "probability")

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the table, texts and then numbers."""
        for key, own in self.answer.items():
            if self.kinds == {True, False}:
                if self.has_numbers(key):
                    yield (key, "", "", own["mean"], own["standard_deviation"])
                else:
                    yield from ((key, state, probability, "", "") for state, probability in own.items())
            elif self.kinds == {True}:
                spread = own["covariance"].values() if self.joint else (own["standard_deviation"],)
                yield (key, own["mean"], *spread)
            elif self.joint:
                yield (*key, own)
            else:
                yield from ((key, state, probability) for state, probability in own.items())

    def lines(self) -> Iterator[str]:
        """The table for people: columns below each other, a variable named once."""
        shown, before = [self.head], None
        for row in self.rows:
            cells = tuple(cell if isinstance(cell, str) else _figure(cell) for cell in row)
            again = not self.joint and row[0] == before
            shown.append(("", *cells[1:]) if again else cells)
            before = row[0]
        texts = len(self.asked) if self.joint and self.kinds == {False} else 1 + ("state" in self.head[:2])
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for line in shown:
            padded = zip(line, widths, strict=True)
            yield "  ".join(
                cell.ljust(width) if number < texts else cell.rjust(width)
                for number, (cell, width) in enumerate(padded)
            ).rstrip()

    def document(self) -> dict[str, Any]:
        """The table as JSON values."""
        if self.joint and self.kinds == {False}:
            rows = (
                {"states": dict(zip(self.asked, key, strict=True)), "probability": own}
                for key, own in self.answer.items()
            )
            return {"joint": list(rows)}
        return {"variables": dict(self.answer)}


def _figure(number: float) -> str:
    """A number for people: six decimals, or six digits."""
    return f"{number:.6f}" if 1e-4 <= abs(number) < 1e6 or number == 0.0 else f"{number:.5e}"
