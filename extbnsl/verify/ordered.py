"""Does no network of an order cost less? Of each variable the families whose parents come before it, counted again."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from extbnsl.core.claims import tolerance
from extbnsl.data import Data
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import TooMuch, ceil_units, floors_of, nats_of
from extbnsl.verify.demands import demands_of
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import Asked, Taken
from extbnsl.verify.recount import reason_of
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.sources import family_source


@dataclass(frozen=True)
class OrderCheck:
    """findings: sentences, one for each variable that has a cheaper family under the order, if the network then costs
    less by more than the tolerance. why: for which reason it was given up, a stop reason or a clause. rounding: what it
    is exact but for, in nats, beside the tolerance."""

    findings: tuple[str, ...] = ()
    why: str = ""
    rounding: float = 0.0


def verify_order(
    claim: ClaimedResult,
    problem: Data | LocalScores,
    workers: Workers,
    tell: Callable[[int], None] = lambda done: None,
) -> OrderCheck:
    """Look for a cheaper network of the order of a result that `verify` found to hold; time as counting takes.

    `tell` hears about how many variables are counted.
    """
    names = problem.names
    network = Network.from_names(names, claim.parents)
    demands = demands_of(names, claim.max_parents, claim.knowledge).under([names.index(name) for name in claim.order])
    costs = family_costs(problem, network, claim.score, claim.ess)
    nothing = Taken(np.zeros((0, words(len(names))), np.uint64), np.zeros(0, np.int64))
    asked = [Asked(child, ceil_units(cost), nothing) for child, cost in enumerate(costs)]
    try:
        source = family_source(problem, claim, demands, workers)
        found = source.below(asked, lambda done, of: tell(len(names) * done // of))
    except (Stopped, TooMuch) as stop:
        return OrderCheck(why=reason_of(stop))
    least = (int(floors_of(own.costs).min(initial=one.threshold)) for one, own in zip(asked, found, strict=True))
    gains = [max(0.0, nats_of(one.threshold - own)) for one, own in zip(asked, least, strict=True)]
    rounding = math.fsum(map(source.rounding, range(len(names))))
    if math.fsum(gains) <= tolerance(math.fsum(costs)) + rounding:
        return OrderCheck(rounding=rounding)
    cheaper = [child for child, own in enumerate(gains) if own > source.rounding(child)]
    return OrderCheck(
        tuple(
            f"Under the order of the result {names[child]!r} could have parents that cost {gains[child]!r} nats less."
            for child in cheaper
        )
    )
