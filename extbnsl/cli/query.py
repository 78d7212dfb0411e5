"""`extbnsl query`: what a network says of some variables, given values of others."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.cli.export import described_of
from extbnsl.cli.saying import say, say_all, say_sentence
from extbnsl.core.errors import InputError
from extbnsl.core.options import declared
from extbnsl.files.atomic import encoded, write_atomically
from extbnsl.machine.budgets import Budgets

if TYPE_CHECKING:
    from extbnsl.cli.parser import Command
    from extbnsl.formats.described import Described

EPILOG = """\
Prints the probability of each state of each VARIABLE, given what --given says,
exactly; of continuous variables the mean and the standard deviation. What is
neither given nor asked for is summed out. NETWORK is a run directory, its
result.json, or a file of a network. Parameters are those of network.json; data
are read again only where it has none, and for --smoothing.

example:
  extbnsl query asia.run lung bronc --given smoke=yes --given xray=no
  extbnsl query network.bif --given smoke=yes -o all.csv
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
    options.add_shared(parser, "--smoothing", "--training")
    options.add_options(parser, {"memory": declared(Budgets)["memory"]})
    options.add_output(parser, "a CSV file for the answer")
    options.add_shared(parser, "--overwrite")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the answer; the exit code."""
    from extbnsl.data.column import clean_name

    if given.output is not None:
        options.check_output(given.output, given.overwrite)
    known = _network(given)
    values = _values(given.given or (), known.network.names)
    answer = _answer(given, known, values)
    asked = list(dict.fromkeys(map(clean_name, given.variables)))
    told = _Told(answer, asked or [name for name in known.network.names if name not in values], given.joint, known)
    if given.output is not None:
        from extbnsl.formats.spelling import csv_text

        write_atomically(given.output, encoded(csv_text(told.head, told.rows)))
    if given.json:
        say(json.dumps({"given": values, "smoothing": given.smoothing, **told.document()}, indent=1))
    elif given.output is None:
        say_all(f"{line}\n" for line in told.lines())
    else:
        say_sentence(f"The answer is in {given.output}.")
    return 0


def _network(given: argparse.Namespace) -> "Described":
    """The network with its parameters, from a run or a file."""
    from extbnsl.formats.network_reader import is_network_file

    if not is_network_file(given.result):
        known = described_of(given, "bif")  # which has parameters alone
        if known.tables is None and not known.has_numbers:
            raise InputError(
                f"{given.result} has no parameters, since its network was learned from local scores alone."
            )
        return known
    if given.smoothing > 0.0 or given.training is not None:
        option = "--training" if given.training is not None else "--smoothing"
        raise InputError(f"{option} is for networks of runs, and {given.result} has its parameters; leave it out.")
    from extbnsl.formats.described import Described
    from extbnsl.formats.network_reader import read_network

    read = read_network(given.result)
    return Described(read.network, 0.0, read.states, read.tables)


def _answer(given: argparse.Namespace, known: "Described", values: Mapping[str, str]) -> dict[Any, Any]:
    from extbnsl.networks.inference import Tables
    from extbnsl.results.querying import about_both, about_numbers, about_states

    variables = given.variables or None
    if known.regressions is not None:
        return about_numbers(known.network, known.regressions, variables, values, given.joint)
    if known.conditionals is not None:
        return about_both(known.conditionals, variables, values, given.joint)
    if known.columns is not None:
        return about_both(known.columns, variables, values, given.joint)
    states, tables = known.parameters()
    return about_states(Tables.known(known.network, tables), states, variables, values, given.joint, given.memory)


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
    known: "Described"

    def has_numbers(self, name: str) -> bool:
        """Whether the variable of this name has numbers."""
        states = self.known.states
        return states is None or not states[self.known.network.names.index(name)]

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
