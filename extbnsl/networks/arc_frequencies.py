"""How often arcs occur in several networks over the same variables, and a network of those that most of them have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.networks.network import Arc, Network, cpdag, with_targets


@dataclass(frozen=True)
class ArcFrequency:
    """How often an arc occurs in several networks, and so how sure it is, as shares from 0 to 1.

    The first two shares are those of bnlearn's `boot.strength` (with cpdag = TRUE). The class of a network has those of
    its equivalence class that the knowledge allows.

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


def count_arcs(
    networks: Iterable[Network], variables: int, knowledge: Knowledge = NOTHING, targets: Sequence[Sequence[str]] = ()
) -> Counts:
    """The counts of acyclic networks over so many variables, which keep to the knowledge; costs what `cpdag` does, for
    each, and raises as that. targets: see `with_targets`."""
    arcs, compelled, reversible = (np.zeros((variables, variables), np.int64) for _ in range(3))
    count = 0
    for network in networks:
        count += 1
        directed, undirected = cpdag(network, with_targets(network, knowledge, targets))
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
