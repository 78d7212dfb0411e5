"""Networks as people give them to be judged: those of runs, and of files and texts of any kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.formats.structure_reader import Structure, acyclic, of_arcs, read_structure
from extbnsl.networks.network import Network
from extbnsl.results.exporting import described_in
from extbnsl.results.reading import read_result


@dataclass(frozen=True)
class Judged:
    """A network that is to be judged, and the document of its run; None if it is of none."""

    structure: Structure
    document: Mapping[str, Any] | None = None


def read_judged(text: str) -> Judged:
    """The network of a run directory, its result.json or a network.json, or whatever `read_structure` reads."""
    path = Path(text)
    if not (path.is_dir() or path.suffix.lower() == ".json"):
        return Judged(read_structure(text))
    document = read_result(path)
    if "status" not in document and isinstance(document.get("parents"), dict) and "variables" in document:
        network = Network.from_names(document["variables"], document["parents"])  # of a network.json
        return Judged(acyclic(Structure(network, text)))
    return Judged(Structure(described_in(path, document).network, text), document)


def structure_given(given: Any) -> Structure:
    """The network that a caller of Python gives: a result, a network, with or without tables, a dict of parents by
    child, pairs of parent and child, an object with nodes and edges such as a graph of networkx or pgmpy, or what
    `read_judged` reads. InputError for what is none."""
    own = getattr(given, "network", given)
    if isinstance(own, Network):
        return acyclic(Structure(own, "the network"))
    if isinstance(given, str | PathLike):
        return read_judged(str(given)).structure
    if isinstance(given, Mapping):
        parents = {str(child): list(map(str, own)) for child, own in given.items()}
        names = tuple(dict.fromkeys((*parents, *(parent for own in parents.values() for parent in own))))
        return acyclic(Structure(Network.from_names(names, parents), "the network"))
    edges, nodes = getattr(given, "edges", given), getattr(given, "nodes", None)
    try:
        arcs = [(str(parent), str(child)) for parent, child in (edges() if callable(edges) else edges)]
        named = () if nodes is None else tuple(map(str, nodes() if callable(nodes) else nodes))
    except (TypeError, ValueError):
        raise InputError(
            f"{type(given).__name__} is no network: give a result, a dict of parents by child, pairs of parent "
            "and child, a model string, or a file."
        ) from None
    over_arcs = of_arcs(arcs, "the network")
    names = tuple(dict.fromkeys((*named, *over_arcs.names)))
    return acyclic(Structure(Network.from_names(names, over_arcs.parents_by_name()), "the network", nodes is not None))


def together(first: Structure, second: Structure) -> tuple[Network, Network]:
    """Both networks over the same variables, in the order of the first one; InputError if they have others. A table of
    arcs has those of the other network too."""
    if first.whole or second.whole:
        names = first.network.names if first.whole else second.network.names
    else:
        names = tuple(dict.fromkeys((*first.network.names, *second.network.names)))
    return first.over(names, second.source), second.over(names, first.source)
