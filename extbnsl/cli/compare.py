"""`extbnsl compare`: what two networks have in common, and what data say of them."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from extbnsl.cli import judging, options
from extbnsl.cli.saying import say
from extbnsl.core.codec import json_text
from extbnsl.core.figures import counted, format_cost, wrapped

if TYPE_CHECKING:
    from extbnsl.networks.comparing import Comparison, Named

EPILOG = f"""\
Tells the arcs that both networks have, those that one of them has turned, and
those of one alone; the structural Hamming distance, which is how many pairs of
variables are joined in another way; and that of the equivalence classes, in
which arcs that may turn have no direction. With INPUT, which is data, local
scores or a run, also what each network costs.

{judging.NETWORKS}

example:
  extbnsl compare survey.run expert.bif survey.csv --score bdeu
  extbnsl compare survey.run '[smoke][lung|smoke][bronc|smoke]'
"""
HEADS = {
    "both": "in both",
    "reversed": "turned in B",
    "first_alone": "in A alone",
    "second_alone": "in B alone",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("first", metavar="A", help="a network, of a run or of a file, or a model string")
    parser.add_argument("second", metavar="B", help="another one of the same variables")
    judging.add_judge(parser, "INPUT", "data, local scores, or a run, by which to say what they cost", optional=True)
    parser.add_argument("--json", action="store_true", help=options.AS_JSON)


def run(given: argparse.Namespace) -> int:
    """Print how they differ; the exit code."""
    from extbnsl.networks.comparing import compared
    from extbnsl.networks.families import network_cost
    from extbnsl.results.structures import structure_given, together

    first, second = structure_given(given.first), structure_given(given.second)
    own, other = together(first, second)
    found, costs = compared(own, other), dict[str, Any]()
    if given.data is not None:
        judge = judging.judge_of(given)
        both = (structure.over(judge.problem.names, judge.source) for structure in (first, second))
        first_cost, second_cost = (network_cost(each, judge.problem, judge.claim).cost for each in both)
        costs = {"score": judge.claim.score, "first_cost": first_cost, "second_cost": second_cost, "log_base": "e"}
    if given.json:
        say(json_text({"first": first.source, "second": second.source, **found.document(), **costs}, indent=1))
        return 0
    say("\n".join((f"A: {first.source}", f"B: {second.source}", *_lines(found), *_of_costs(costs))))
    return 0


def _lines(found: "Comparison") -> Iterator[str]:
    """The arcs and the distances."""
    for key, head in HEADS.items():
        arcs: tuple[Named, ...] = getattr(found, key)
        listed = ": " + ", ".join(f"{parent} -> {child}" for parent, child in arcs) if arcs else ""
        yield wrapped(f"{head:12} {counted(len(arcs), 'arc')}{listed}", indent=13)
    yield f"{'distance':12} {found.distance} (pairs of variables that are joined in another way)"
    yield f"{'of classes':12} {found.class_distance} (the same of the equivalence classes)"


def _of_costs(costs: dict[str, Any]) -> Iterator[str]:
    """What the networks cost, if that was asked."""
    if costs:
        one, other = costs["first_cost"], costs["second_cost"]
        yield f"{'cost':12} A {judging.figure(one)}, B {judging.figure(other)} nats ({costs['score']})"
        if one is not None and other is not None:
            more = "A and B cost the same" if abs(one - other) < judging.SAME else ""
            cheaper, dearer = ("A", "B") if one < other else ("B", "A")
            yield f"{'':12} {more or f'{cheaper} costs {format_cost(abs(one - other), 6)} nats less than {dearer}'}"
