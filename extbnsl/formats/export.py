"""A network in any of the formats of kinds.py; those of a few lines are written here: a table of the arcs in CSV, DOT
for Graphviz, and a model string of bnlearn, such as [A][C][B|A:C], for `model2network` in R.
"""

import json
import re
from collections.abc import Callable, Mapping

from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError
from extbnsl.formats.bif import bif_text, other_words
from extbnsl.formats.csv_text import csv_text
from extbnsl.formats.described import Described, Written
from extbnsl.formats.graphml import graphml_written
from extbnsl.formats.kinds import MADE_OF_PARAMETERS
from extbnsl.formats.net import net_written
from extbnsl.formats.network_json import network_document
from extbnsl.formats.spelling import Change, Spelling, words
from extbnsl.formats.xdsl import xdsl_written
from extbnsl.networks.equivalence import cpdag
from extbnsl.networks.network import Network

NAME = re.compile(r"[^\[\]|:\x00-\x1f\x7f\x85\u2028\u2029]+")


def bnlearn_written(described: Described) -> Written:
    """The network as one line, each variable behind its parents: by the length of the longest path from a root, as
    bnlearn has them, then by number."""
    network = described.network
    spelling = Spelling(words(network.names, _fits, "X"), ((),) * len(network.names))
    depth = [0] * len(network.names)
    for x in network.order():
        depth[x] = max((depth[p] + 1 for p in network.parents[x]), default=0)
    names = spelling.names
    nodes = []
    for x in sorted(range(len(names)), key=lambda x: depth[x]):
        parents = ":".join(names[p] for p in network.parents[x])
        nodes.append(f"[{names[x]}|{parents}]" if parents else f"[{names[x]}]")
    return Written("".join(nodes) + "\n", tuple(spelling.changes(network.names, spelling.labels)))


def _fits(name: str) -> bool:
    return NAME.fullmatch(name) is not None and name == name.strip()


def dot_text(network: Network, as_class: bool = False) -> str:
    """The network as a digraph, every variable a node in its order, arcs sorted; ends in a newline.

    Arcs whose direction the equivalence class leaves open are dashed; or, with `as_class`, lines without a head.
    """
    names = [_quoted(name) for name in network.names]
    compelled = set(cpdag(network)[0])
    style = "dir=none" if as_class else "style=dashed"
    lines = ["digraph network {"]
    lines += [f"  {name};" for name in names]
    for arc in network.arcs():
        attributes = "" if arc in compelled else f" [{style}]"
        lines.append(f"  {names[arc[0]]} -> {names[arc[1]]}{attributes};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    """A name as a quoted DOT identifier; a backslash is doubled, since it begins an escape in a label."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


HEADER = ("from", "to", "compelled", "cost_of_removal", "cost_of_reversal")


def csv_written(described: Described) -> Written:
    """The arcs of the network, sorted by the places of their variables; costs in nats, empty where they are not known
    or there is no such network."""
    network = described.network
    compelled = set(cpdag(network)[0])
    strengths = described.strengths or (None,) * len(network.arcs())
    rows = []
    for arc, strength in zip(network.arcs(), strengths, strict=True):
        names = [network.names[x] for x in arc]
        costs = (None, None) if strength is None else (strength.cost_of_removal, strength.cost_of_reversal)
        rows.append((*names, "true" if arc in compelled else "false", *costs))
    return Written(csv_text(HEADER, rows))


def written(described: Described, kind: str, cpdag: bool = False) -> Written:
    """The network in the format `kind`; with `cpdag` its equivalence class. Raises InputError if the format is made of
    parameters, and there are none."""
    if kind in MADE_OF_PARAMETERS and described.regressions is not None:
        raise InputError(f"{kind} has tables of states, and these variables are continuous; take json.")
    if kind in MADE_OF_PARAMETERS and described.tables is None:
        raise InputError(
            f"{kind} has parameters, which need data, and this network was learned from local scores alone."
        )
    if kind == "dot":
        return Written(dot_text(described.network, cpdag))
    return _WRITERS[kind](described)


def names_text(spelled: tuple[Change, ...]) -> str:
    """What a file spells in another way, as JSON: a list with an object for each, a line each."""
    return "[\n" + ",\n".join(" " + json.dumps(change) for change in spelled) + "\n]\n"


def _bif_written(described: Described) -> Written:
    states, tables = described.states, described.tables
    assert states is not None
    assert tables is not None
    return Written(bif_text(described.network, states, tables), told=other_words(described.network.names, states))


def _json_written(described: Described) -> Written:
    return Written(json_text(network_document(described)) + "\n")


_WRITERS: Mapping[str, Callable[[Described], Written]] = {
    "bif": _bif_written,
    "xdsl": xdsl_written,
    "net": net_written,
    "graphml": graphml_written,
    "json": _json_written,
    "csv": csv_written,
    "bnlearn": bnlearn_written,
}
