"""Ranked networks as text, in pieces: the list in result.json, and tables. No more than a piece is in memory.

The text of a family is made once; that of a network is put together from those of its families.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.errors import VerificationError
from extbnsl.formats.csv_text import csv_text
from extbnsl.kernels.varsets import sizes, unpack, words
from extbnsl.results.networks import RankedNetworks
from extbnsl.results.outputs import encoded

FAMILIES = 1 << 17  # of networks that are written together
NETWORKS_HEADER = "rank,cost,share_of_found,equivalence_class,arcs,model"
ARCS_HEADER = ("from", "to", "share_of_found", "either_of_found", "found_of_all")

Texts = list[dict[int, str]]  # of each child the texts of its parent sets by their numbers


class Arcs(NamedTuple):
    """shares (n, n): of each arc, parent by child, in the weight of the networks that were found; of_all: what these
    have of the weight of all networks there are, None if that is not known."""

    shares: NDArray[np.float64]
    of_all: float | None


def json_list(networks: RankedNetworks) -> Iterator[bytes]:
    """The networks as the elements of a list in JSON, one a line, in pieces."""
    names = [json.dumps(name, ensure_ascii=False) for name in networks.names]
    texts = _texts(networks, lambda x, parents: f"{names[x]}: [{', '.join(names[p] for p in parents)}]")
    for some in _portions(networks):
        lines = [
            f'  {{"cost": {cost!r}, "share": {share!r}, "rank": {rank}, '
            f'"equivalence_class": {number}, "parents": {{{", ".join(families)}}}}}'
            for (rank, cost, share, number), families in zip(
                _figures(networks, some), _families(networks, texts, some).tolist(), strict=True
            )
        ]
        yield encoded((",\n" if some.start else "") + ",\n".join(lines))


def networks_table(networks: RankedNetworks) -> Iterator[bytes]:
    """The networks as a table in CSV, in pieces: with the number of arcs, and as bnlearn's `modelstring` writes them,
    each variable behind its parents."""
    names, quote = _in_csv(networks.names)
    texts = _texts(
        networks, lambda x, parents: f"[{names[x]}{'|' if parents else ''}{':'.join(names[p] for p in parents)}]"
    )
    yield encoded(f"{NETWORKS_HEADER}\n")
    for some in _portions(networks):
        varsets = networks.varsets(some)
        models = np.take_along_axis(_families(networks, texts, some), orders(varsets), axis=1).tolist()
        arcs = sizes(varsets).sum(axis=1).tolist()
        lines = [
            f"{rank},{cost!r},{share!r},{number},{count},{quote}{''.join(model)}{quote}\n"
            for (rank, cost, share, number), count, model in zip(_figures(networks, some), arcs, models, strict=True)
        ]
        yield encoded("".join(lines))


def arcs_table(names: Sequence[str], arcs: Arcs) -> bytes:
    """The arcs that a network may have as a table in CSV, that of the largest share first.

    "either" is the share of the networks in which the two variables are joined, in one direction or the other; the last
    column is the same in each line, and empty if that is not known.
    """
    rows = []
    shares, of_all = arcs
    order = np.argsort(-shares, axis=None, kind="stable")[: np.count_nonzero(shares > 0.0)]
    for p, x in zip(*np.unravel_index(order, shares.shape), strict=True):
        either = shares[p, x] + shares[x, p]
        figures = [min(1.0, float(value)) for value in (shares[p, x], either)]
        rows.append((names[p], names[x], *figures, of_all))
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
        placed |= _packed(ready)
    if (level == n).any():
        raise VerificationError("One of the networks has a cycle.")
    return np.argsort(level, axis=1, kind="stable")


def _packed(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The varsets (m, 1, words) of the members (m, n)."""
    m, n = members.shape
    bits = np.zeros((m, 1, 64 * words(n)), np.uint8)
    bits[:, 0, :n] = members
    return np.packbits(bits, axis=2, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def _texts(networks: RankedNetworks, text: Callable[[int, tuple[int, ...]], str]) -> Texts:
    """The texts of each child's parent sets that networks have."""
    return [
        {row: text(x, unpack(own[row])) for row in networks.used(x).tolist()} for x, own in enumerate(networks.parents)
    ]


def _portions(networks: RankedNetworks) -> Iterator[slice]:
    """The networks that are written together."""
    step = max(1, FAMILIES // len(networks.names))
    return (slice(begin, min(begin + step, len(networks))) for begin in range(0, len(networks), step))


def _families(networks: RankedNetworks, texts: Texts, some: slice) -> NDArray[np.object_]:
    """The texts of the families of some of the networks: (m, n)."""
    rows = networks.rows[some]
    found = np.empty(rows.shape, object)
    for x, own in enumerate(texts):
        found[:, x] = [own[row] for row in rows[:, x].tolist()]
    return found


def _figures(networks: RankedNetworks, some: slice) -> Iterator[tuple[int, float, float, int]]:
    """Rank, cost, share and number of the class of some of the networks."""
    kinds = (networks.ranks, networks.costs, networks.shares, networks.classes)
    return zip(*(kind[some].tolist() for kind in kinds), strict=True)


def _in_csv(names: Sequence[str]) -> tuple[list[str], str]:
    """The names as they are inside a field, and what stands before and behind the field."""
    quote = '"' if any(mark in name for name in names for mark in ',"\r\n') else ""
    return [name.replace('"', '""') for name in names], quote
