"""`extbnsl why`: why a network has an arc, or has it not."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import judging, options
from extbnsl.cli.saying import say
from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full, wrapped
from extbnsl.core.sentences import in_list

if TYPE_CHECKING:
    from extbnsl.cli.judging import Judge
    from extbnsl.networks.families import Reason
    from extbnsl.networks.network import Network

EPILOG = """\
An arc pays if it raises the likelihood of the data by more than the score
charges for the parameters that it adds. Prints for each direction of an arc
what it gains, what it would be charged, and by how much the network would cost
more, or less, with it, all else as it is; with X alone for the arcs that it has
and for those that would cost least. All figures are in nats. Whether the whole
network can be had with the arc for less, by changing others too, a solve tells:
the last line has its command.

example:
  extbnsl why asia.run asia tub
"""
MOST = 10  # arcs that are not there, of a variable
MOST_STATES = 6
# Options of a run that say where it writes and what it prints, with how many values each has.
OF_OUTPUT = {"--overwrite": 0, "--resume": 0, "--quiet": 0, "--json": 0, "--print": 0, "--run-dir": 1, "--plot": 1}


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "result")
    parser.add_argument("x", metavar="X", help="a variable")
    parser.add_argument("y", metavar="Y", nargs="?", help="another one (default: all others)")
    options.add_shared(parser, "--training")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print the reasons; the exit code."""
    from extbnsl.networks.families import figures_from, reasons
    from extbnsl.results.querying import place_of

    judge = judging.judge_in(given.result, given.training)
    network = judge.network
    assert network is not None, "there is a run"
    x = place_of(network.names, given.x)
    y = None if given.y is None else place_of(network.names, given.y)
    if x == y:
        raise InputError(f"{given.x!r} is given twice: give another variable, or one alone.")
    found = reasons(network, judge.claim, figures_from(judge.problem, judge.claim), x, y)
    if given.json:
        say(json_text({"run": str(given.result), "arcs": list(map(asdict, found)), "log_base": "e"}, indent=1))
        return 0
    pair = (x,) if y is None else (x, y)
    say("\n".join((*_counts(judge, pair), *_table(network, found, pair), *_way_on(judge, found))))
    return 0


def _counts(judge: "Judge", variables: Sequence[int]) -> Iterator[str]:
    """How many records have which states of a variable, in a line, or of two together, in a table, as far as their
    states are few."""
    import numpy as np

    from extbnsl.data import Dataset
    from extbnsl.drawing.markup import aligned, shown
    from extbnsl.scores.cells import cells_of

    data = judge.problem
    if not isinstance(data, Dataset):
        return
    x, *other = variables
    states = list(map(shown, data.states[x]))
    if not other:
        counts = data.in_records(cells_of(data, x).counts[0])
        each = [f"{state} {count:,}" for state, count in zip(states, counts, strict=True)]
        more = f", and {len(each) - MOST_STATES} more" if len(each) > MOST_STATES else ""
        yield wrapped(f"{data.names[x]}: {', '.join(each[:MOST_STATES])}{more} ({in_full(data.observed, 'record')})")
    elif max(len(states), len(data.states[other[0]])) <= MOST_STATES:
        counts = np.zeros((len(data.states[other[0]]), len(states)), np.int64)
        own = data.codes[(data.codes[:, [other[0], x]] < data.arities[[other[0], x]]).all(axis=1)]
        np.add.at(counts, (own[:, other[0]], own[:, x]), 1)
        head = [in_full(data.observed, "record"), *(f"{shown(data.names[x])}={state}" for state in states)]
        names = [f"{shown(data.names[other[0]])}={shown(state)}" for state in data.states[other[0]]]
        rows = (
            [name, *(f"{count:,}" for count in own)]
            for name, own in zip(names, data.in_records(counts).tolist(), strict=True)
        )
        yield from aligned([head, *rows], left=1)
        yield ""


def _table(network: "Network", found: Sequence["Reason"], pair: Sequence[int]) -> Iterator[str]:
    """The arcs that are there, then those that are not, the least dear first, a line each."""
    from extbnsl.drawing.markup import aligned, shown
    from extbnsl.networks.families import by_rise

    present = [one for one in found if one.present]
    absent = by_rise(one for one in found if not one.present)
    of_all = len(pair) == 1
    if of_all and not present:
        yield wrapped(f"No arc joins {network.names[pair[0]]} with another variable.")
    head = ("arc", "", "gain", "price", "with - without", "parameters", "")
    rows = [head]
    for one in (*present, *(absent[:MOST] if of_all else absent)):
        there = "there" if one.present else "not there"
        figures = (_signed(one.gain), _signed(one.price), _signed(one.rise))
        added = "" if one.parameters is None else f"{one.parameters:+,.0f}"
        rows.append((shown(f"{one.parent} -> {one.child}"), there, *figures, added, one.barred or ""))
    yield from aligned(rows, left=2)
    if of_all and len(absent) > MOST:
        yield f"and {len(absent) - MOST:,} arcs more that are not there, each for at least as much (--json lists them)"


def _way_on(judge: "Judge", found: Sequence["Reason"]) -> Iterator[str]:
    """The command that finds the best network with the arc that would cost least of those that may be there."""
    from extbnsl.drawing.markup import shown
    from extbnsl.networks.families import by_rise

    free = by_rise(one for one in found if not one.present and one.rise is not None and _may_be(one))
    document: Any = judge.document
    command = document.get("provenance", {}).get("command")
    if not free or not isinstance(command, str) or any(one.present for one in found if len(found) == 2):
        return
    arc, folder = in_list((free[0].parent, free[0].child)), f"{Path(judge.run or 'found').stem}-with.run"
    yield f"The best network with {shown(f'{free[0].parent} -> {free[0].child}')}, whatever else changes:"
    yield f"  {_asking(command)} --required {shlex.quote(arc)} --run-dir {shlex.quote(folder)}"


def _asking(command: str) -> str:
    """A command line without the options that say where its run writes, and what it prints."""
    words, kept = shlex.split(command), list[str]()
    while words:
        name, equals, _ = words[0].partition("=")
        if name in OF_OUTPUT:
            del words[: 1 if equals else 1 + OF_OUTPUT[name]]
        else:
            kept.append(words.pop(0))
    return shlex.join(kept)


def _may_be(one: "Reason") -> bool:
    from extbnsl.networks.families import CLOSES

    return one.barred in (None, CLOSES)


def _signed(nats: float | None) -> str:
    return "unknown" if nats is None else f"{nats:,.4f}"
