"""Networks without their parameters: a model string of bnlearn, a table of arcs, or a file that has more than these."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.errors import InputError, VerificationError
from extbnsl.data.column import clean_name, listed
from extbnsl.data.text import read_text
from extbnsl.formats.kinds import OF_ARCS
from extbnsl.formats.network_reader import is_network_file, read_network, renamed, told_beside
from extbnsl.networks.network import Network

_NODE = re.compile(r"\s*\[([^\[\]|:]+)(?:\|([^\[\]|]+))?\]\s*")


@dataclass(frozen=True)
class Structure:
    """A network as somebody gives it.

    network: its variables and arcs, which make no cycle.
    source: what sentences call it.
    whole: whether variables that it does not name are none of it; a table of arcs tells of no others.
    """

    network: Network
    source: str
    whole: bool = True

    def over(self, names: tuple[str, ...], source: str) -> Network:
        """The same network over these variables, which `source` has, in their order; InputError if they are others."""
        unknown = [name for name in self.network.names if name not in set(names)]
        lacking = [name for name in names if name not in set(self.network.names)] if self.whole else []
        alone = "; a table of arcs (.csv) need not name those without arcs"
        for own, one, other, more in ((unknown, self.source, source, ""), (lacking, source, self.source, alone)):
            if own:
                told = f"the variable{'s' if len(own) > 1 else ''} {listed(own)}"
                raise InputError(
                    f"{one} has {told}, which {other} lacks: networks and data have the same variables{more}.",
                    names=own,
                )
        return Network.from_names(names, self.network.parents_by_name())


def read_structure(text: str) -> Structure:
    """The network that a text gives: a model string such as [a][b|a], or a file that has one (.txt), a table of arcs
    (.csv .tsv .txt), or a network with tables, as `read_network` reads it. Names that extbnsl has spelled in another
    way in a model string come back from the file beside, as there.

    Raises InputError for what is none of these, for cycles, and for names that occur twice.
    """
    path = Path(text)
    if text.lstrip().startswith("["):
        return acyclic(Structure(_of_model_string(text, "the model string"), "the model string"))
    if is_network_file(path):
        return acyclic(Structure(read_network(path).network, text))
    if not path.name.lower().endswith(OF_ARCS):
        raise InputError(
            f"{text} is no network: give a run, a network.json, a file of a network (.bif .bifxml .xdsl .net), a table "
            "of arcs (.csv), or a model string such as '[a][b|a]'."
        )
    content = read_text(path)
    if content.lstrip().startswith("["):
        return acyclic(Structure(renamed(_of_model_string(content, text), told_beside(text)), text))
    from extbnsl.formats.knowledge_lines import read_arcs

    return acyclic(Structure(of_arcs(read_arcs(path, more_columns=True), text), text, whole=False))


def acyclic(structure: Structure) -> Structure:
    """The structure; InputError if its arcs make a cycle."""
    try:
        structure.network.order()
    except VerificationError as error:
        raise InputError(f"{structure.source}: {error}") from error
    return structure


def of_arcs(arcs: Iterable[tuple[str, str]], source: str) -> Network:
    """The network of arcs (parent, child), over the variables that they name, in order; InputError if one is there
    twice."""
    parents: dict[str, list[str]] = {}
    for given in arcs:
        parent, child = map(clean_name, given)
        parents.setdefault(parent, [])
        if parent in parents.setdefault(child, []):
            raise InputError(f"{source} has the arc from {parent!r} to {child!r} twice: leave one out.")
        parents[child].append(parent)
    return Network.from_names(tuple(parents), parents)


def _of_model_string(text: str, source: str) -> Network:
    """The network of a model string; InputError with the place of what is none."""
    parents, at = dict[str, list[str]](), 0
    while node := _NODE.match(text, at):
        child = clean_name(node[1])
        if child in parents:
            raise InputError(f"{source} has {child!r} twice: leave one out.")
        parents[child] = [clean_name(name) for name in node[2].split(":")] if node[2] else []
        at = node.end()
    if at < len(text) or not parents:
        raise InputError(
            f"{source} is no model string from {text[at : at + 20]!r} on: write [a][b|a][c|a:b], each variable once."
        )
    return Network.from_names(tuple(parents), parents)
