"""The result of a search for the k best networks: that of the best one, the others, and what they say together.

The list is written as text in pieces, into result.json and into tables: no more than a piece is in memory. The text of
a family is made once; that of a network is put together from those of its families. It is read again for a run that was
killed before all files of its result were written.
"""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.codec import json_text
from extbnsl.core.errors import RunDirectoryError, VerificationError
from extbnsl.files.atomic import Content, encoded
from extbnsl.files.names import ARCS, RANKED, RESULT, TABLES, of_network
from extbnsl.formats.spelling import csv_text
from extbnsl.kernels.varsets import as_varsets, pack, sizes, unpack
from extbnsl.networks.network import Network
from extbnsl.results.networks import Between, RankedNetworks
from extbnsl.results.outputs import files_beside, networks
from extbnsl.results.reading import CLOSING, OPENING, read_networks
from extbnsl.results.result import Result

if TYPE_CHECKING:
    from extbnsl.data import Data

FAMILIES = 1 << 17  # of networks that are written together
NETWORKS_HEADER = "rank,cost,share_of_found,probability_at_least,probability_at_most,equivalence_class,arcs,model"
ARCS_HEADER = (
    *("from", "to", "share_of_found", "either_of_found"),
    *("found_of_all_at_least", "found_of_all_at_most"),
)


def json_list(networks: RankedNetworks) -> Iterator[bytes]:
    """The networks as the elements of a list in JSON, one a line, in pieces."""
    names = [json.dumps(name, ensure_ascii=False) for name in networks.names]

    def text(x: int, parents: tuple[int, ...]) -> str:
        return f"{names[x]}: [{', '.join(names[p] for p in parents)}]"

    for some, texts, figures in _portions(networks, text):
        lines = [
            f'  {{"cost": {cost!r}, "share": {share!r}, "rank": {rank}, '
            f'"equivalence_class": {number}, "parents": {{{", ".join(families)}}}}}'
            for (rank, cost, share, number), families in zip(figures, texts.tolist(), strict=True)
        ]
        yield encoded((",\n" if some.start else "") + ",\n".join(lines))


def networks_table(networks: RankedNetworks, of_all: Between | None) -> Iterator[bytes]:
    """The networks as a table in CSV, in pieces: with the number of arcs, and as bnlearn's `modelstring` writes them,
    each variable behind its parents. of_all: what those that were found have of the weight of all networks there are,
    from which the probability of each follows; None if that is not known."""
    names = [name.replace('"', '""') for name in networks.names]
    quote = '"' if any(mark in name for name in names for mark in ',"\r\n') else ""

    def text(x: int, parents: tuple[int, ...]) -> str:
        return f"[{names[x]}{'|' if parents else ''}{':'.join(names[p] for p in parents)}]"

    yield encoded(f"{NETWORKS_HEADER}\n")
    for some, texts, figures in _portions(networks, text):
        varsets = networks.varsets(some)
        models = np.take_along_axis(texts, orders(varsets), axis=1).tolist()
        arcs = sizes(varsets).sum(axis=1).tolist()
        lines = [
            f"{rank},{cost!r},{share!r},{_chance(share, of_all)},{number},{count},{quote}{''.join(model)}{quote}\n"
            for (rank, cost, share, number), count, model in zip(figures, arcs, models, strict=True)
        ]
        yield encoded("".join(lines))


def _chance(share: float, of_all: Between | None) -> str:
    """Two fields of a row: between which values the probability of a network with this share lies."""
    if of_all is None:
        return ","
    chance = of_all.times(share)
    return f"{chance.at_least!r},{chance.at_most!r}"


def arcs_table(names: Sequence[str], shares: NDArray[np.float64], of_all: Between | None) -> bytes:
    """The arcs that a network may have as a table in CSV, that of the largest share first.

    shares (n, n): of each arc, parent by child, in the weight of the networks that were found; of_all: what these have
    of the weight of all networks there are, None if that is not known, which each line repeats. "either" is the share
    of the networks in which the two variables are joined, in one direction or the other.
    """
    rows, ends = [], (None, None) if of_all is None else (of_all.at_least, of_all.at_most)
    order = np.argsort(-shares, axis=None, kind="stable")[: np.count_nonzero(shares > 0.0)]
    for p, x in zip(*np.unravel_index(order, shares.shape), strict=True):
        either = shares[p, x] + shares[x, p]
        figures = [min(1.0, float(value)) for value in (shares[p, x], either)]
        rows.append((names[p], names[x], *figures, *ends))
    return encoded(csv_text(ARCS_HEADER, rows))


def orders(varsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The variables of networks with these parents (m, n, words), parents first: (m, n).

    By the length of the longest path from a root, as bnlearn has them, then by number. O(m n words) for each step of
    the longest path. Raises VerificationError if there is a cycle.
    """
    m, n, width = varsets.shape
    level, placed = np.full((m, n), n), np.zeros((m, 1, width), np.uint64)
    for at in range(n):
        ready = (level == n) & ~(varsets & ~placed).any(axis=2)
        if not ready.any():
            break
        level[ready] = at
        placed |= as_varsets(ready)[:, None]
    if (level == n).any():
        raise VerificationError("One of the networks has a cycle.")
    return np.argsort(level, axis=1, kind="stable")


def _portions(
    networks: RankedNetworks, text: Callable[[int, tuple[int, ...]], str]
) -> Iterator[tuple[slice, NDArray[np.object_], Iterator[tuple[int, float, float, int]]]]:
    """The networks that are written together: which they are, the texts of their families (m, n), of a child and its
    parents each, and of each network the rank, the cost, the share and the number of the class."""
    texts = [
        {row: text(x, unpack(own[row])) for row in networks.used(x).tolist()} for x, own in enumerate(networks.parents)
    ]
    kinds = (networks.ranks, networks.costs, networks.shares, networks.classes)
    step = max(1, FAMILIES // len(networks.names))
    for begin in range(0, len(networks), step):
        some = slice(begin, begin + step)
        rows = networks.rows[some]
        families = np.empty(rows.shape, object)
        for x, own in enumerate(texts):
            families[:, x] = [own[row] for row in rows[:, x].tolist()]
        yield some, families, zip(*(kind[some].tolist() for kind in kinds), strict=True)


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
    written : int
        So many of the best have files of their own, and the best in any case.
    """

    networks: RankedNetworks = field(kw_only=True)
    within: float | None = None
    arcs: NDArray[np.float64] = field(kw_only=True)
    counted: int | None = None
    share: float = 1.0
    written: int = TOP

    @property
    def of_all(self) -> Between | None:
        """What the networks that were found have of the weight of all there are, or of their probability given the
        data: so a share times this is the probability of a network. None if nobody knows."""
        return self.networks.of_all

    @property
    def file_names(self) -> tuple[str, ...]:
        written = range(2, min(self.written, len(self.networks)) + 1)
        return (*super().file_names, *TABLES, *(name for place in written for name in of_network(place)))

    def document(self, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The content of result.json but for its last key, the networks."""
        names = self.networks.names
        return super().document(made) | {
            "within": self.within,
            "count": {
                "networks": self.counted,
                "listed": len(self.networks),
                "share": self.share,
                "of_all": None if self.of_all is None else asdict(self.of_all),
                "written": max(1, min(self.written, len(self.networks))),
            },
            "classes": _classes(self.networks),
            "top": _top(self.networks),
            "shared_arcs": [[names[p], names[x]] for p, x in self.networks.shared() if self.arcs[p, x] == 1.0],
            "arc_shares": _by_child(names, self.arcs),
        }

    def files(self, document: Mapping[str, Any]) -> Iterator[tuple[str, Content]]:
        """The files that tell the result with this document, as (name, content)."""
        yield RESULT, _whole(document, self.networks)
        yield from ranked_files(self.networks, self.arcs, self.dataset, document)


def ranked_files(
    ranked: RankedNetworks, arcs: NDArray[np.float64], dataset: "Data | None", document: Mapping[str, Any]
) -> Iterator[tuple[str, Content]]:
    """The files that tell ranked networks and shares of arcs (n, n) beside this document, as (name, content): tables,
    and the networks that have files of their own, the best one as the last, whose last file tells that the others have
    been written."""
    found = document["count"]["of_all"]
    of_all = None if found is None else Between(**found)
    yield RANKED, networks_table(ranked, of_all)
    yield ARCS, arcs_table(ranked.names, arcs, of_all)
    for place in range(max(1, min(document["count"]["written"], len(ranked))), 0, -1):
        own = ranked[place - 1]
        yield from networks(own.network, dataset, own.cost, Claim.of_result(document), place)


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
    keys = ("rank", "cost", "share", "equivalence_class")
    return [{key: getattr(one, key) for key in keys} | {"arcs": len(one.network.arcs())} for one in networks[:TOP]]


def _by_child(names: tuple[str, ...], arcs: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """The positive shares of the parents of each variable."""
    return {
        child: {names[p]: min(1.0, float(arcs[p, x])) for p in np.flatnonzero(arcs[:, x]).tolist()}
        for x, child in enumerate(names)
    }


def other_files(folder: Path, document: Mapping[str, Any], dataset: "Data | None") -> Iterator[tuple[str, Content]]:
    """All files of the result with this document in a folder but for result.json, as (name, content).

    Raises KeyError, TypeError or ValueError where the document is no result, as far as that is seen, and otherwise as
    `read_ranked`.
    """
    if "count" in document:
        names = document["variables"]
        return ranked_files(read_ranked(folder, names), _arcs(names, document["arc_shares"]), dataset, document)
    network = Network.from_names(document["variables"], document["parents"])
    return files_beside(document, network, dataset, Claim.of_result(document))


def read_ranked(folder: Path, names: list[str]) -> RankedNetworks:
    """The networks over these variables in the result.json of a folder; raises as `read_networks`, and
    RunDirectoryError if one is over others."""
    index = {name: x for x, name in enumerate(names)}
    numbers: list[dict[tuple[str, ...], int]] = [{} for _ in names]
    rows, figures = array("i"), array("d")
    for at, each in enumerate(read_networks(folder), start=1):
        parents = each["parents"]
        if list(parents) != names or not all(index.keys() >= set(own) for own in parents.values()):
            raise RunDirectoryError(f"{folder}: network {at} is damaged: it is not over the variables of the result.")
        rows.extend(
            known.setdefault(tuple(of), len(known)) for known, of in zip(numbers, parents.values(), strict=True)
        )
        figures.extend((each["cost"], each["rank"], each["equivalence_class"], each["share"]))
    costs, ranks, classes, shares = np.array(figures).reshape(-1, 4).T
    return RankedNetworks(
        tuple(names),
        tuple(np.stack([pack([index[p] for p in of], len(names)) for of in known]) for known in numbers),
        np.array(rows, np.int32).reshape(-1, len(names)),
        costs,
        ranks.astype(np.int64),
        classes.astype(np.int64),
        shares,
    )


def _arcs(names: list[str], shares: Mapping[str, Mapping[str, float]]) -> NDArray[np.float64]:
    """The shares of arcs (n, n), parent by child, from those of each child."""
    index = {name: x for x, name in enumerate(names)}
    arcs = np.zeros((len(names), len(names)))
    for child, own in shares.items():
        for parent, share in own.items():
            arcs[index[parent], index[child]] = share
    return arcs
