"""`extbnsl cost`: what a given network costs, beside the network of a run if there is one."""

import argparse
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from extbnsl.cli import judging, options
from extbnsl.cli.saying import remark, say, say_sentence
from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError
from extbnsl.core.figures import format_cost

if TYPE_CHECKING:
    from extbnsl.cli.judging import Judge
    from extbnsl.networks.families import NetworkCost

EPILOG = f"""\
Prints the cost of each family of the network and their sum, in nats: less is
better. INPUT is data, with the data options and the score that solve would
have, or local scores, or a run: then its data and its score are taken, and its
own network stands beside.

{judging.NETWORKS}

example:
  extbnsl cost '[smoke][lung|smoke][bronc|smoke]' survey.csv --score bdeu
  extbnsl cost expert.bif survey.run
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("network", metavar="NETWORK", help="a network, of a run or of a file, or a model string")
    judging.add_judge(parser, "INPUT", "data, local scores, or a run")
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print what the network costs; the exit code."""
    from extbnsl.networks.families import network_cost
    from extbnsl.results.structures import structure_given

    structure = structure_given(given.network)
    judge = judging.judge_of(given)
    network = structure.over(judge.problem.names, judge.source)
    found = network_cost(network, judge.problem, judge.claim)
    best = None if judge.network is None else network_cost(judge.network, judge.problem, judge.claim)
    for own in (own for own in found.families if own.cost == math.inf):
        raise InputError(
            f"{structure.source} has no cost: {own.child!r} and its parents ({', '.join(own.parents)}) determine each "
            "other, so that no Gaussian fits the family best.",
            names=[own.child],
        )
    if given.json:
        beside = None if best is None or judge.document is None else judge.beside(best)
        told = {"network": structure.source, "data": judge.source, "log_base": "e", **found.document(), "run": beside}
        say(json_text(told, indent=1))
        return 0
    if best is not None and (why := judge.barred(network)) is not None:
        remark(f"warning: {judge.run} allows no such network: {why}.")
    say("\n".join(_lines(found, best)))
    _say_sum(structure.source, found, best, judge)
    return 0


def _lines(found: "NetworkCost", best: "NetworkCost | None") -> Iterator[str]:
    """The families, a line each; beside the cost of each that of the family that its child has in the best network."""
    from extbnsl.drawing.markup import aligned, shown

    head = ["family", "parameters", "cost"] + ([] if best is None else ["in the run", "difference"])
    rows = [head]
    for at, own in enumerate(found.families):
        name = shown(f"{own.child} | {', '.join(own.parents)}" if own.parents else own.child)
        row = [name, "" if own.parameters is None else f"{own.parameters:,}", judging.figure(own.cost)]
        if best is not None:
            other = best.families[at]
            same = own.parents == other.parents
            row += [judging.figure(other.cost), "" if same else judging.difference(own.cost, other.cost)]
        rows.append(row)
    yield from aligned(rows, left=1)


def _say_sum(source: str, found: "NetworkCost", best: "NetworkCost | None", judge: "Judge") -> None:
    """The sentence on the whole."""
    if found.cost is None:
        lacking = next(own for own in found.families if own.cost is None)
        family = f"{lacking.child!r} with the parents ({', '.join(lacking.parents)})"
        raise InputError(
            f"{judge.source} has no score of {family}, so that what {source} costs is not known: give the data.",
            names=[lacking.child],
        )
    size = "" if found.parameters is None else f", with {found.parameters:,} free parameters"
    called = f"The{source[3:]}" if source.startswith("the ") else source
    sentence = f"{called} costs {format_cost(found.cost, 6)} nats ({judge.score}){size}."
    if best is not None and best.cost is not None:
        more = found.cost - best.cost
        how = "as much as" if abs(more) < judging.SAME else f"{format_cost(abs(more), 6)} nats {_than(more)} than"
        sentence += f" That is {how} {judge.best()}."
    say_sentence(sentence)


def _than(difference: float) -> str:
    return "more" if difference > 0 else "less"
