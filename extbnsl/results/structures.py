"""Networks as people give them to be judged: those of runs, and of files and texts of any kind."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

from extbnsl.core.codec import Misfit, decode
from extbnsl.core.errors import InputError
from extbnsl.formats.structure_reader import Structure, acyclic, of_arcs, read_structure
from extbnsl.networks.network import Network
from extbnsl.results.exporting import described_in
from extbnsl.results.reading import read_result


def structure_given(given: Any) -> Structure:
    """The network that somebody gives: a run directory, its result.json or a network.json, or what else
    `read_structure` reads; in Python also a result, a network, with or without tables, a dict of parents by child,
    pairs of parent and child, or an object with nodes and edges such as a graph of networkx or pgmpy. InputError for
    what is none."""
    own = getattr(given, "network", given)
    if isinstance(own, Network):
        return acyclic(Structure(own, "the network"))
    if isinstance(given, str | PathLike):
        return _read(str(given))
    if isinstance(given, Mapping):
        parents = {str(child): _names(child, own) for child, own in given.items()}
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


def _names(child: Any, parents: Any) -> list[str]:
    if isinstance(parents, str) or not isinstance(parents, Iterable):
        raise InputError(f"The network gives {child!r} the parents {parents!r}: give a list of names.")
    return list(map(str, parents))


class _Listed(TypedDict):
    """What network.json says of arcs."""

    variables: list[str]
    parents: dict[str, list[str]]


def _read(text: str) -> Structure:
    path = Path(text)
    if not (path.is_dir() or path.suffix.lower() == ".json"):
        return read_structure(text)
    document = read_result(path)
    if "status" not in document and "variables" in document:  # a network.json
        try:
            found: _Listed = decode(_Listed, {key: document.get(key) for key in get_type_hints(_Listed)})
            return acyclic(Structure(Network.from_names(found["variables"], found["parents"]), text))
        except Misfit as misfit:
            raise InputError(f"{text} is no network.json, by its {misfit.place}: correct it.") from None
        except InputError as error:
            raise InputError(f"{text}: {str(error).removeprefix(f'{text}: ')}") from error
    return Structure(described_in(path, document).network, text)
