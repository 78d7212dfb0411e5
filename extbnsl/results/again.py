"""The files of a result that has been written already, for a run that was killed before it had written them all."""

from array import array
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import RunDirectoryError
from extbnsl.files.atomic import Content
from extbnsl.kernels.varsets import pack
from extbnsl.networks.network import Network
from extbnsl.results.bootstrap import frequency_files
from extbnsl.results.networks import RankedNetworks
from extbnsl.results.outputs import claim_in, networks
from extbnsl.results.ranked import Arcs, ranked_files
from extbnsl.results.reading import read_networks

if TYPE_CHECKING:
    from extbnsl.data import Data


def other_files(folder: Path, document: Mapping[str, Any], dataset: "Data | None") -> Iterator[tuple[str, Content]]:
    """All files of the result with this document in a folder but for result.json, as (name, content).

    Raises KeyError, TypeError or ValueError where the document is no result, as far as that is seen, and otherwise as
    `read_ranked`.
    """
    if "count" in document:
        names = document["variables"]
        ranked = read_ranked(folder, names)
        arcs = Arcs(_arcs(names, document["arc_shares"]), document["count"]["of_all"])
        written = document["count"]["written"]
        return ranked_files(ranked, arcs, dataset, claim_in(document), written)
    network = Network.from_names(document["variables"], document["parents"])
    return chain(frequency_files(document), networks(network, dataset, float(document["cost"]), claim_in(document)))


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
