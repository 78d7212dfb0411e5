"""What the k best networks are handed over as: a sequence of networks, best first, and what they say together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import unpack
from extbnsl.networks.network import Network
from extbnsl.results.result import Result


@dataclass(frozen=True)
class RankedNetwork:
    """One of the best networks. rank: one more than there are cheaper ones; probability: among all that were found;
    equivalence_class: its number, in the order of the classes' best networks."""

    rank: int
    cost: float
    probability: float
    equivalence_class: int
    network: Network

    @property
    def parents(self) -> dict[str, list[str]]:
        """The names of each variable's parents."""
        return self.network.parents_by_name()

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "cost": self.cost,
            "probability": self.probability,
            "rank": self.rank,
            "equivalence_class": self.equivalence_class,
            "parents": self.parents,
        }


@dataclass(frozen=True, eq=False, repr=False)
class RankedNetworks(Sequence[RankedNetwork]):
    """m networks over n variables, best first; each is made when it is asked for.

    parents[x] (k, words) uint64: the parent sets of child x, of which network i has number rows[i, x]; rows (m, n)
    int32. costs (m,) float64 in nats, ascending; ranks, classes (m,) int64; probabilities (m,) float64.
    """

    names: tuple[str, ...]
    parents: tuple[NDArray[np.uint64], ...]
    rows: NDArray[np.int32]
    costs: NDArray[np.float64]
    ranks: NDArray[np.int64]
    classes: NDArray[np.int64]
    probabilities: NDArray[np.float64]

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
        return RankedNetwork(
            int(self.ranks[k]),
            float(self.costs[k]),
            float(self.probabilities[k]),
            int(self.classes[k]),
            Network(self.names, tuple(unpack(own[row]) for own, row in zip(self.parents, self.rows[k], strict=True))),
        )

    def __iter__(self) -> Iterator[RankedNetwork]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<RankedNetworks: {len(self):,}>"


@dataclass(frozen=True, eq=False, repr=False)
class KBestResult(Result):
    """The outcome of a search for the k best networks, that of the best network among them.

    networks: what was found. within: all networks that cost at most so much more than the best, in nats, are there, or
    as many of the cheapest as were asked for; None if nothing is known of others. arcs (n, n) float64: the probability
    of each arc, parent by child, among the networks that were found.
    """

    networks: RankedNetworks | None = None
    within: float | None = None
    arcs: NDArray[np.float64] | None = None

    def document(self, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The content of result.json."""
        assert self.networks is not None, "the best is one of them"
        found = [network.document() for network in self.networks]
        return super().document(made) | {"within": self.within, "networks": found}
