"""`extbnsl describe`: tell what the columns of data hold, before any solve."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from extbnsl.cli import options
from extbnsl.cli.saying import say
from extbnsl.core.claims import Claim
from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full, wrapped
from extbnsl.core.options import declared
from extbnsl.core.sentences import Mention
from extbnsl.formats.kinds import is_score_file
from extbnsl.machine.budgets import Budgets
from extbnsl.scores.known import DESCRIBED, kind_of

if TYPE_CHECKING:
    from extbnsl.data.described import Described, Description

EPILOG = """\
Prints a line for each column: what it is, how many different values it has, its
first states or its range, how many values are missing, how texts were read and
cut, and below that what is odd, with the option that settles it. It does so for
data that solve refuses too. Give the data options that solve is to have, and
its score: then it says too which columns are states by that, which numbers.

example:
  extbnsl describe survey.csv --missing drop --score cg-bic
"""
WIDEST_NAME = 30  # characters
WIDEST_STATES = 44
HEAD = ("column", "kind", "values", "states or range", "missing", "read and cut", "notes")


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("data", metavar="DATA", help="a CSV file (or .csv.gz), - for standard input")
    options.add_options(parser, declared(Budgets), "disk", "threads", "hands")
    options.add_data(parser)
    options.add_options(parser, DESCRIBED)
    options.add_shared(parser, "--quiet")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the table; the exit code."""
    if is_score_file(given.data):
        raise InputError(f"{given.data} holds local scores, which have no columns; give data.")
    from extbnsl.data.description import described
    from extbnsl.em.model import check_described

    budgets = options.options_of(Budgets, given)
    treated = options.data_options(given)
    kind = None if given.score is None else kind_of(given.score)
    make = partial(described, kind=kind)
    found, _ = options.read_problem(given.data, treated, budgets, given.quiet, make=make)
    if given.score is not None:
        check_described(found, Claim(given.score), treated["missing"])
    if given.json:
        say(json_text(found.document(), indent=1))
    else:
        advised = options.advice_on(given.data, treated, budgets, kind) if found.notes else ()
        say("\n".join((*lines(found), *_together(advised))))
    return 0


def _together(advised: Sequence[Mention]) -> Iterator[str]:
    """The line with all options that are advised, which may be long: it is to be copied as it is."""
    if advised:
        yield f"The first advice of each, together: {' '.join(map(str, advised))}"


def lines(found: "Description") -> Iterator[str]:
    """The table, with a line for each column, and what is odd below that."""
    from extbnsl.drawing.markup import aligned

    layout = f", {found.layout}" if found.layout else ""
    yield wrapped(
        f"{found.source}: {in_full(found.records, 'record')}, {in_full(len(found.columns), 'column')}{layout}"
    )
    notes: list[list[str]] = [[] for _ in found.columns]
    for number, note in enumerate(found.notes, 1):
        for j in note.columns:
            notes[j].append(f"{number}{'!' if note.refuses else ''}")
    rows = [HEAD, *(_row(column, ", ".join(own)) for column, own in zip(found.columns, notes, strict=True))]
    if any(column.taken for column in found.columns):
        taken = ("taken as", *(column.taken for column in found.columns))
        rows = [(*row[:2], own, *row[2:]) for row, own in zip(rows, taken, strict=True)]
    yield from aligned(rows, left=len(rows[0]))
    if found.notes:
        yield ""
    for number, note in enumerate(found.notes, 1):
        yield wrapped(f"{number}{'!' if note.refuses else ' '} {note.sentence}", indent=3)
    if any(note.refuses for note in found.notes):
        yield "A solve is refused until what has a ! is settled."
    for warning in found.warnings:
        yield wrapped(warning)


def _row(column: "Described", notes: str) -> tuple[str, ...]:
    """The texts of a line."""
    from extbnsl.drawing.markup import shown

    treated = "; ".join(filter(None, (column.read, column.cut)))
    texts = (_short(column.name, WIDEST_NAME), column.kind, f"{column.distinct:,}", _content(column))
    return (*map(shown, texts), f"{column.missing:,}" if column.missing else "", shown(treated), notes)


def _content(column: "Described") -> str:
    """The range of numbers that are not cut, or the first states with how many records have each."""
    if column.states:
        return _short(", ".join(f"{label} ({count:,})" for label, count in column.states.items()), WIDEST_STATES)
    return "" if column.smallest is None else f"{column.smallest:.6g} to {column.largest:.6g}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
