"""Ranked networks: a sequence, best first, whose members are made when they are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import unpack
from extbnsl.networks.network import Network


@dataclass(frozen=True)
class Between:
    """Between which values a share of all networks there are lies, or a probability given the data.

    Attributes
    ----------
    at_least : float
        The lower end.
    at_most : float
        The upper end: the same but for rounding, where the weight of all networks is known.
    """

    at_least: float
    at_most: float

    def times(self, share: float) -> "Between":
        """The same of such a share of it."""
        return Between(share * self.at_least, share * self.at_most)


@dataclass(frozen=True)
class CostedNetwork:
    """One of the best networks; cost in nats. rank: one more than there are cheaper ones."""

    rank: int
    cost: float
    network: Network

    @property
    def parents(self) -> dict[str, list[str]]:
        """The names of each variable's parents."""
        return self.network.parents_by_name()


@dataclass(frozen=True)
class RankedNetwork(CostedNetwork):
    """One of a list. share: of the weight of all that were found; equivalence_class: its number, in the order of the
    classes' best networks; probability: given the data, of it, or of its class where these are listed, as far as the
    networks of the class were found; None if nobody knows."""

    share: float
    equivalence_class: int
    probability: Between | None = None


def network_of(names: tuple[str, ...], parents: Sequence[NDArray[np.uint64]], row: NDArray[np.int32]) -> Network:
    """The network of which each child x has the parent set parents[x][row[x]]."""
    return Network(names, tuple(unpack(own[number]) for own, number in zip(parents, row, strict=True)))


def varsets_of(parents: Sequence[NDArray[np.uint64]], rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """The parents of each child of networks (m, n, words): network i has parents[x][rows[i, x]] for child x."""
    found = np.empty((*rows.shape, parents[0].shape[1]), np.uint64)
    for x, own in enumerate(parents):
        found[:, x] = own[rows[:, x]]
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RankedNetworks(Sequence[RankedNetwork]):
    """m networks over n variables, best first; each is made when it is asked for.

    parents[x] (k, words) uint64: the parent sets of child x, of which network i has number rows[i, x]; rows (m, n)
    int32. costs (m,) float64 in nats, ascending; ranks, classes (m,) int64; shares (m,) float64. of_all: what those
    that were found have of the weight of all there are, None if nobody knows.
    """

    names: tuple[str, ...]
    parents: tuple[NDArray[np.uint64], ...]
    rows: NDArray[np.int32]
    costs: NDArray[np.float64]
    ranks: NDArray[np.int64]
    classes: NDArray[np.int64]
    shares: NDArray[np.float64]
    of_all: Between | None = None

    def __len__(self) -> int:
        return self.costs.size

    @overload
    def __getitem__(self, i: int) -> RankedNetwork: ...

    @overload
    def __getitem__(self, i: slice) -> list[RankedNetwork]: ...

    def __getitem__(self, i: int | slice) -> RankedNetwork | list[RankedNetwork]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        k = range(len(self))[i]
        share = float(self.shares[k])
        return RankedNetwork(
            int(self.ranks[k]),
            float(self.costs[k]),
            network_of(self.names, self.parents, self.rows[k]),
            share,
            int(self.classes[k]),
            None if self.of_all is None else self.of_all.times(share),
        )

    def __repr__(self) -> str:
        return f"<RankedNetworks: {len(self):,}>"

    def used(self, x: int) -> NDArray[np.int64]:
        """The numbers of the parent sets of child x that a network has, ascending; O(m + k)."""
        return np.flatnonzero(np.bincount(self.rows[:, x]))

    def varsets(self, some: slice) -> NDArray[np.uint64]:
        """The parents of each child of some of the networks: (m, n, words)."""
        return varsets_of(self.parents, self.rows[some])

    def shared(self) -> tuple[tuple[int, int], ...]:
        """The arcs that all networks have, as (parent, child), sorted; O(m n)."""
        in_all = [np.bitwise_and.reduce(own[self.used(x)], axis=0) for x, own in enumerate(self.parents)]
        return tuple(sorted((p, x) for x, varset in enumerate(in_all) for p in unpack(varset)))
