"""The arcs of networks: how often they occur in several over the same variables, with a network of those that most of
them have; and how much each counts in one: what the network costs more without it, and with it turned.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.networks.network import Arc, Network, cpdag
from extbnsl.scores.cells import cells_of
from extbnsl.scores.gaussian import GAUSSIAN_BIC
from extbnsl.scores.known import score_of

if TYPE_CHECKING:
    from extbnsl.data import Data
    from extbnsl.scores.local import LocalScores

FamilyCost = Callable[[int, tuple[int, ...]], float | None]  # of a child and its parents, in nats; None: not known


@dataclass(frozen=True)
class ArcFrequency:
    """How often an arc occurs in several networks, and so how sure it is, as shares from 0 to 1.

    The first two shares are those of bnlearn's `boot.strength` (with cpdag = TRUE).

    Attributes
    ----------
    parent : str
        The name of the variable that the arc leaves.
    child : str
        The name of the variable that the arc enters.
    strength : float
        The share of the networks that join the two, in either direction.
    direction : float
        Of these, the share that point to the child, as their equivalence classes tell; an arc that the class leaves
        open counts half.
    arc : float
        The share of the networks that have the arc itself.
    compelled : float
        The share whose class has it in all members.
    reversible : float
        The share whose class joins the two and leaves the direction open.
    """

    parent: str
    child: str
    strength: float
    direction: float
    arc: float
    compelled: float
    reversible: float


@dataclass(frozen=True, eq=False)
class Counts:
    """How many of `networks` networks over n variables have each arc: `arcs`, `compelled` and `reversible` (n, n)
    int64, parent by child, as `ArcFrequency` has them; reversible is symmetric."""

    networks: int
    arcs: NDArray[np.int64]
    compelled: NDArray[np.int64]
    reversible: NDArray[np.int64]

    @property
    def joined(self) -> NDArray[np.int64]:
        """How many join each pair, in either direction: (n, n), symmetric."""
        return self.arcs + self.arcs.T

    @property
    def twice_towards(self) -> NDArray[np.int64]:
        """Twice how many point from parent to child, where an arc that is open counts half: (n, n)."""
        return 2 * self.compelled + self.reversible


def count_arcs(networks: Iterable[Network], variables: int) -> Counts:
    """The counts of acyclic networks over so many variables; costs what `cpdag` does, for each."""
    arcs, compelled, reversible = (np.zeros((variables, variables), np.int64) for _ in range(3))
    count = 0
    for network in networks:
        count += 1
        directed, undirected = cpdag(network)
        for table, own in ((arcs, network.arcs()), (compelled, directed), (reversible, undirected)):
            for arc in own:
                table[arc] += 1
    return Counts(count, arcs, compelled, reversible + reversible.T)


def arc_frequencies(counts: Counts, names: Sequence[str]) -> tuple[ArcFrequency, ...]:
    """Both arcs of each pair that any network joins: the strongest pair first, and of a pair the likelier arc."""
    with np.errstate(invalid="ignore"):  # where no network joins a pair
        of_joined = counts.twice_towards / (2 * counts.joined)
        joined, arcs, compelled, reversible = (
            table / counts.networks for table in (counts.joined, counts.arcs, counts.compelled, counts.reversible)
        )
    shares = np.stack((joined, of_joined, arcs, compelled, reversible), axis=2)
    return tuple(ArcFrequency(names[p], names[x], *shares[p, x].tolist()) for p, x in _strongest_first(counts))


def consensus(counts: Counts, threshold: float, first: Iterable[Arc] = ()) -> tuple[Arc, ...]:
    """The arcs of an acyclic network of the pairs that at least the share `threshold` of the networks join, sorted.

    A pair gets the direction that most of the classes have, or else most of the networks, or else the one from the
    earlier variable. The arcs are taken with those of `first` before others and the strongest pair first; one that
    would close a cycle with those before it is left out, as in bnlearn's `averaged.network`. O(arcs n) words.
    """
    before, enough = set(first), counts.joined >= threshold * counts.networks
    taken: list[Arc] = []
    above = [1 << x for x in range(len(counts.arcs))]  # each variable and its ancestors, as bits
    pairs: set[Arc] = set()
    for parent, child in sorted(_strongest_first(counts), key=lambda arc: arc not in before):
        if (child, parent) in pairs or not enough[parent, child]:
            continue
        pairs.add((parent, child))
        if not above[parent] >> child & 1:
            taken.append((parent, child))
            above = [own | above[parent] if own >> child & 1 else own for own in above]
    return tuple(sorted(taken))


def _strongest_first(counts: Counts) -> list[Arc]:
    """Both arcs of each pair that is joined: by strength, then pair by pair, the likelier arc of each first."""
    joined, towards, arcs = counts.joined.tolist(), counts.twice_towards.tolist(), counts.arcs.tolist()

    def key(arc: Arc) -> tuple[int, int, Arc, int, int, Arc]:
        p, x = arc
        return -joined[p][x], -max(towards[p][x], towards[x][p]), (min(arc), max(arc)), -towards[p][x], -arcs[p][x], arc

    return sorted(((int(p), int(x)) for p, x in np.argwhere(counts.joined)), key=key)


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
    above = _ancestors(network)
    required = set(claim.knowledge.required)
    ruled_out = claim.knowledge.ruling_out()
    most = len(network.names) if claim.max_parents is None else claim.max_parents
    limits = claim.knowledge.limits()
    found = []
    for parent, child in network.arcs():
        names = network.names[parent], network.names[child]
        others = tuple(p for p in network.parents[child] if p != parent)
        more = tuple(sorted((*network.parents[parent], child)))
        removal = reversal = None
        if names not in required:
            removal = _rise([(child, network.parents[child], others)], once)
            fits = ruled_out(*names[::-1]) is None and len(more) <= min(most, limits.get(names[0], most))
            if fits and not any(above[other] >> parent & 1 for other in others):
                reversal = _rise(
                    [(child, network.parents[child], others), (parent, network.parents[parent], more)], once
                )
        found.append(ArcStrength(*names, removal, reversal))
    return tuple(found)


def costs_from(data: "Data", claim: Claim) -> FamilyCost:
    """What families cost by the score of a claim; each O(N parents), or O(N log N) for very many joint states, and for
    numbers O(N parents^2)."""
    from extbnsl.data import Numbers
    from extbnsl.networks.gaussian import gaussian_cost

    if isinstance(data, Numbers):
        return lambda child, parents: gaussian_cost(data, child, parents, GAUSSIAN_BIC)
    score = score_of(claim)
    return lambda child, parents: float(score.cost(cells_of(data, child, parents)))


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


def _ancestors(network: Network) -> list[int]:
    """Each variable and its ancestors, as the bits of an int."""
    above = [0] * len(network.names)
    for x in network.order():
        above[x] = 1 << x
        for parent in network.parents[x]:
            above[x] |= above[parent]
    return above
