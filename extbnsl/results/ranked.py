"""The result of a search for the k best networks: that of the best one, the others, and what they say together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import Claim
from extbnsl.files.atomic import Content
from extbnsl.files.documents import json_text
from extbnsl.files.names import ARCS, RANKED, RESULT, TABLES, of_network
from extbnsl.results.listing import Arcs, arcs_table, json_list, networks_table
from extbnsl.results.networks import RankedNetworks
from extbnsl.results.outputs import encoded, networks
from extbnsl.results.reading import CLOSING, OPENING
from extbnsl.results.result import Result

if TYPE_CHECKING:
    from extbnsl.data import Data

TOP = 10  # networks that the head of result.json lists, and that have files of their own unless another number is given


@dataclass(frozen=True, eq=False, repr=False)
class KBestResult(Result):
    """The outcome of a search for the k best networks: the `Result` of the best network, and the others.

    Attributes
    ----------
    networks : sequence of RankedNetwork
        What was found, best first.
    within : float or None
        All networks that cost at most so much more than the best, in nats, are there, or as many of the cheapest as
        were asked for; None if nothing is known of others.
    arcs : ndarray of float64, (n, n)
        The share of each arc, parent by child: of the weight of the networks that were found, that of those with the
        arc. Only with `of_all` does it say anything of the probability of the arc.
    counted : int or None
        How many networks, or classes, there are within; None if nobody knows.
    share : float
        Of the weight of the networks that were found, that of the listed ones: less than one where others within the
        factor were counted.
    of_all : float or None
        What the networks that were found have of the weight of all there are, or of their probability given the data:
        so a share times this is the probability of a network. None if nobody knows, as beyond 14 variables.
    written : int
        So many of the best have files of their own, and the best in any case.
    """

    networks: RankedNetworks = field(kw_only=True)
    within: float | None = None
    arcs: NDArray[np.float64] = field(kw_only=True)
    counted: int | None = None
    share: float = 1.0
    of_all: float | None = None
    written: int = TOP

    @property
    def file_names(self) -> tuple[str, ...]:
        written = range(2, min(self.written, len(self.networks)) + 1)
        return (*super().file_names, *TABLES, *(name for place in written for name in of_network(place)))

    def document(self, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The content of result.json but for its last key, the networks."""
        return super().document(made) | {
            "within": self.within,
            "count": self._count(),
            "classes": _classes(self.networks),
            "top": _top(self.networks),
            "shared_arcs": [[self.networks.names[p], self.networks.names[x]] for p, x in self._shared()],
            "arc_shares": _by_child(self.networks.names, self.arcs),
        }

    def files(self, document: Mapping[str, Any]) -> Iterator[tuple[str, Content]]:
        """The files that tell the result with this document, as (name, content)."""
        yield RESULT, _whole(document, self.networks)
        yield from ranked_files(self.networks, Arcs(self.arcs, self.of_all), self.dataset, self.claim, self.written)

    def _shared(self) -> list[tuple[int, int]]:
        """The arcs that all listed networks have, and all others that were counted."""
        return [arc for arc in self.networks.shared() if self.arcs[arc] == 1.0]

    def _count(self) -> dict[str, Any]:
        """How many networks there are within, if that is known, what of them is listed and written, and how much they
        are."""
        listed = len(self.networks)
        return {
            "networks": self.counted,
            "listed": listed,
            "share": self.share,
            "of_all": self.of_all,
            "written": max(1, min(self.written, listed)),
        }


def ranked_files(
    ranked: RankedNetworks, arcs: Arcs, dataset: "Data | None", claim: Claim, written: int
) -> Iterator[tuple[str, Content]]:
    """The files that tell ranked networks, as (name, content): tables, and so many networks, the best one as the last,
    whose last file tells that the others have been written."""
    yield RANKED, networks_table(ranked)
    yield ARCS, arcs_table(ranked.names, arcs)
    for place in range(max(1, min(written, len(ranked))), 0, -1):
        own = ranked[place - 1]
        yield from networks(own.network, dataset, own.cost, claim, place)


def _whole(document: Mapping[str, Any], networks: RankedNetworks) -> Iterator[bytes]:
    """The text of result.json, in pieces: its head, which `read_result` can close, and a network a line."""
    yield encoded(json_text(document, indent=1).removesuffix("\n}")) + OPENING
    yield from json_list(networks)
    yield CLOSING


def _classes(networks: RankedNetworks) -> dict[str, Any]:
    """How many equivalence classes there are among the networks, and the one of the largest share."""
    shares = np.bincount(networks.classes, weights=networks.shares)
    best = int(np.argmax(shares))
    return {
        "listed": np.count_nonzero(np.bincount(networks.classes)),
        "heaviest": best,
        "share": min(1.0, float(shares[best])),
    }


def _top(networks: RankedNetworks) -> list[dict[str, Any]]:
    """What there is to tell of the first networks, but for their parents."""
    return [
        {
            "rank": one.rank,
            "cost": one.cost,
            "share": one.share,
            "equivalence_class": one.equivalence_class,
            "arcs": len(one.network.arcs()),
        }
        for one in networks[:TOP]
    ]


def _by_child(names: tuple[str, ...], arcs: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """The positive shares of the parents of each variable."""
    return {
        child: {names[p]: min(1.0, float(arcs[p, x])) for p in np.flatnonzero(arcs[:, x]).tolist()}
        for x, child in enumerate(names)
    }
