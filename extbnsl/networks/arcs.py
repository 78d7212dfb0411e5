"""How much each arc of a network counts: what the network costs more without it, and with it turned."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.networks.kinds import figures_of
from extbnsl.networks.network import Network
from extbnsl.scores.charges import charges_of

if TYPE_CHECKING:
    from extbnsl.data import Data
    from extbnsl.scores.local import LocalScores

FamilyCost = Callable[[int, tuple[int, ...]], float | None]  # of a child and its parents, in nats; None: not known


@dataclass(frozen=True)
class ArcStrength:
    """By how many nats the cost of a network rises when an arc is removed, or turned, and all else is kept.

    None where there is no such network: knowledge or a limit on parents rules it out, or it has a cycle; and where what
    it costs is not known, since given local scores do not list a family. Below 0 if the network becomes cheaper.

    Attributes
    ----------
    parent : str
        The name of the variable that the arc leaves.
    child : str
        The name of the variable that the arc enters.
    cost_of_removal : float or None
        What the network costs more without the arc, in nats.
    cost_of_reversal : float or None
        What it costs more with the arc turned, in nats.
    """

    parent: str
    child: str
    cost_of_removal: float | None
    cost_of_reversal: float | None


def arc_strengths(network: Network, claim: Claim, cost: FamilyCost) -> tuple[ArcStrength, ...]:
    """The strength of each arc of an acyclic network among those that `claim` allows, in the order of `network.arcs()`.

    Asks for the costs of up to three families an arc, each once; O(arcs of all paths) words besides.
    """
    once = functools.cache(cost)
    above = network.above()
    required = set(claim.knowledge.required)
    ruled_out = claim.knowledge.ruling_out()
    most = len(network.names) if claim.max_parents is None else claim.max_parents
    limits = claim.knowledge.limits()
    found = []
    for parent, child in network.arcs():
        names = network.names[parent], network.names[child]
        own = network.parents[child]
        at = own.index(parent)
        others = own[:at] + own[at + 1 :]
        more = tuple(sorted((*network.parents[parent], child)))
        removal = reversal = None
        if names not in required:
            removal = _rise([(child, own, others)], once)
            fits = ruled_out(*names[::-1]) is None and len(more) <= min(most, limits.get(names[0], most))
            if fits and not any(above[other] >> parent & 1 for other in others):
                reversal = _rise([(child, own, others), (parent, network.parents[parent], more)], once)
        found.append(ArcStrength(*names, removal, reversal))
    return tuple(found)


def costs_from(problem: "Data | LocalScores", claim: Claim) -> FamilyCost:
    """What families cost by a claim, their arcs included, None for those that are not allowed, or not known; each as in
    `figures_of`, of local scores linear in those of the child."""
    from extbnsl.data import Data

    if isinstance(problem, Data):
        figures = figures_of(problem, claim)
        return lambda child, parents: None if (own := figures(child, parents)).misfit is None else own.cost
    charges, listed = charges_of(claim, problem.names), costs_in(problem)

    def cost(child: int, parents: tuple[int, ...]) -> float | None:
        own = listed(child, parents)
        return None if own is None else own + charges.cost(child, parents)

    return cost


def costs_in(scores: "LocalScores") -> FamilyCost:
    """What families cost that local scores list, and None for others; each linear in those of the child."""
    from extbnsl.kernels.varsets import pack

    def cost(child: int, parents: tuple[int, ...]) -> float | None:
        at = np.flatnonzero((scores.parents[child] == pack(parents, scores.variables)).all(axis=1))
        return float(scores.costs[child][at[0]]) if at.size else None

    return cost


def _rise(changes: list[tuple[int, tuple[int, ...], tuple[int, ...]]], cost: FamilyCost) -> float | None:
    """What it costs more that each of these children has the second parents in place of the first; None if that is not
    known, or not a number, since both cost more than a float can hold."""
    terms = []
    for child, before, after in changes:
        old, new = cost(child, before), cost(child, after)
        if old is None or new is None or not math.isfinite(old):
            return None
        terms += [new, -old]
    return math.fsum(terms)
