"""A network in any of the formats of kinds.py, a function for each.

A table of the arcs, and a matrix of them, in CSV; a model string of bnlearn, such as [A][C][B|A:C], for `model2network`
in R; GraphML for networkx, igraph, Gephi, yEd and Cytoscape; XMLBIF; XDSL of GeNIe and SMILE; NET of Hugin; BIF, DOT
and JSON from their own files.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError
from extbnsl.formats.bif_writer import bif_text, other_words
from extbnsl.formats.described import COSTS, Described, network_document
from extbnsl.formats.dot import dot_text
from extbnsl.formats.kinds import MADE_OF_PARAMETERS
from extbnsl.formats.spelling import Change, csv_text, spelled


@dataclass(frozen=True)
class Written:
    """The text of a file. spelled: the names and labels that it spells in another way, of which it does not tell the
    originals itself; told: how many such there are of which it does."""

    text: str
    spelled: tuple[Change, ...] = ()
    told: int = 0


BNLEARN_NAME = re.compile(r"(?!\s)[^\[\]|:\x00-\x1f\x7f\x85\u2028\u2029]+(?<!\s)")


def bnlearn_written(described: Described) -> Written:
    """The network as one line, each variable behind its parents: by the length of the longest path from a root, as
    bnlearn has them, then by number."""
    network = described.network
    names, _, changes = spelled(network.names, BNLEARN_NAME.fullmatch)
    depth = [0] * len(network.names)
    for x in network.order():
        depth[x] = max((depth[p] + 1 for p in network.parents[x]), default=0)
    nodes = []
    for x in sorted(range(len(names)), key=lambda x: depth[x]):
        parents = ":".join(names[p] for p in network.parents[x])
        nodes.append(f"[{names[x]}|{parents}]" if parents else f"[{names[x]}]")
    return Written("".join(nodes) + "\n", changes)


HEADER = ("from", "to", "compelled", *COSTS)


def csv_written(described: Described) -> Written:
    """The arcs of the network, sorted by the places of their variables; costs in nats, empty where they are not known
    or there is no such network."""
    names = described.network.names
    rows = [
        (*(names[x] for x in arc), "true" if compelled else "false", *costs.values())
        for arc, compelled, costs in described.arcs()
    ]
    return Written(csv_text(HEADER, rows))


def adjacency_written(described: Described) -> Written:
    """A line of names, and one for each variable: 1 in the columns of its children, 0 elsewhere, as Benchpress has
    graphs."""
    network = described.network
    matrix = [["0"] * len(network.names) for _ in network.names]
    for parent, child in network.arcs():
        matrix[parent][child] = "1"
    return Written(csv_text(network.names, matrix))


# Nodes have numbers for identifiers, since those must be words (NMTOKEN); their names stand in the attribute `name`.
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
KEYS = (
    ("graph", "cost", "double"),
    ("node", "name", "string"),
    ("node", "states", "string"),
    ("edge", "compelled", "boolean"),
    ("edge", "cost_of_removal", "double"),
    ("edge", "cost_of_reversal", "double"),
)


def graphml_written(described: Described) -> Written:
    """The network as GraphML. The `states` of a node are a JSON list of texts, if they are known, and so are the costs
    of an arc, in nats."""
    network = described.network
    names, _, changes = spelled(network.names, _fits_xml)
    root = ET.Element("graphml", xmlns=NAMESPACE)
    for of, name, kind in KEYS:
        ET.SubElement(root, "key", {"id": name, "for": of, "attr.name": name, "attr.type": kind})
    graph = ET.SubElement(root, "graph", id="network", edgedefault="directed")
    _say(graph, "cost", repr(described.cost))
    for x, name in enumerate(names):
        node = ET.SubElement(graph, "node", id=f"n{x}")
        _say(node, "name", name)
        if described.states and described.states[x]:
            _say(node, "states", json.dumps(list(described.states[x])))
    for number, (arc, compelled, costs) in enumerate(described.arcs()):
        edge = ET.SubElement(graph, "edge", id=f"e{number}", source=f"n{arc[0]}", target=f"n{arc[1]}")
        _say(edge, "compelled", "true" if compelled else "false")
        for key, cost in costs.items():
            if cost is not None:
                _say(edge, key, repr(cost))
    return Written(_xml_text(root), changes)


def _say(element: ET.Element, key: str, value: str) -> None:
    ET.SubElement(element, "data", key=key).text = value


# Identifiers of nodes and states begin with a letter and have letters of ASCII, digits and underscores, both as the
# manual of GeNIe says ("Identifiers"). A node follows its parents. Probabilities stand in a line, the state of the
# child changing fastest and the first parent slowest, as in the networks that GeNIe comes with. pgmpy reads them so;
# pyAgrum 3.3 writes and reads the first parent as the fastest.
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def xdsl_written(described: Described) -> Written:
    """The network as XDSL; needs states and tables. GeNIe shows the original names, where XML can hold them."""
    states, tables = described.parameters()
    network = described.network
    names, labels, changes = spelled(network.names, IDENTIFIER.fullmatch, states, IDENTIFIER.fullmatch)
    root = ET.Element("smile", version="1.0", id="network", numsamples="10000", discsamples="10000")
    nodes = ET.SubElement(root, "nodes")
    genie = ET.SubElement(ET.SubElement(root, "extensions"), "genie", version="1.0", app="extbnsl", name="network")
    for x in network.order():
        node = ET.SubElement(nodes, "cpt", id=names[x])
        for label in labels[x]:
            ET.SubElement(node, "state", id=label)
        if network.parents[x]:
            ET.SubElement(node, "parents").text = " ".join(names[p] for p in network.parents[x])
        ET.SubElement(node, "probabilities").text = " ".join(map(repr, tables[x].ravel().tolist()))
        _show(genie, names[x], _shown(network.names[x], names[x]), x)
    return Written(_xml_text(root), changes)


def _show(genie: ET.Element, identifier: str, name: str, x: int) -> None:
    """How GeNIe shows a node: without a place it would not show it at all; they stand in rows of ten."""
    shown = ET.SubElement(genie, "node", id=identifier)
    ET.SubElement(shown, "name").text = name
    ET.SubElement(shown, "interior", color="e5f6f7")
    ET.SubElement(shown, "outline", color="000080")
    ET.SubElement(shown, "font", color="000000", name="Arial", size="8")
    left, top = 40 + x % 10 * 120, 40 + x // 10 * 90
    ET.SubElement(shown, "position").text = f"{left} {top} {left + 90} {top + 50}"


def _shown(name: str, identifier: str) -> str:
    """The name that people see, and that pyAgrum takes for the name."""
    return name if _fits_element(name) else identifier


def xmlbif_written(described: Described) -> Written:
    """The network as XMLBIF 0.3, in UTF-8, the child changing fastest and then its last parent; needs states and
    tables."""
    states, tables = described.parameters()
    names, labels, changes = spelled(described.network.names, _fits_element, states, _fits_element)
    root = ET.Element("BIF", VERSION="0.3")
    network = ET.SubElement(root, "NETWORK")
    ET.SubElement(network, "NAME").text = "network"
    for name, row in zip(names, labels, strict=True):
        variable = ET.SubElement(network, "VARIABLE", TYPE="nature")
        ET.SubElement(variable, "NAME").text = name
        for label in row:
            ET.SubElement(variable, "OUTCOME").text = label
    for name, parents, table in zip(names, described.network.parents, tables, strict=True):
        definition = ET.SubElement(network, "DEFINITION")
        ET.SubElement(definition, "FOR").text = name
        for parent in parents:
            ET.SubElement(definition, "GIVEN").text = names[parent]
        ET.SubElement(definition, "TABLE").text = " ".join(map(repr, table.ravel().tolist()))
    return Written(_xml_text(root), changes)


_HELD = re.compile("[\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def _fits_xml(text: str) -> bool:
    """Whether a text comes back from XML 1.0: it has no place for most control characters (section 2.2), and readers
    take a carriage return for a line end (section 2.11)."""
    return _HELD.fullmatch(text) is not None


def _fits_element(text: str) -> bool:
    """Whether a text comes back from an element of XML: readers make one blank of all white space."""
    return _fits_xml(text) and text == " ".join(text.split()) != ""


def _xml_text(root: ET.Element) -> str:
    """The document as text in UTF-8, a line for each element, ending in a newline."""
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


# pgmpy looks for keywords anywhere in the text, so no name has one in it; and it takes commas, brackets and blanks for
# ends of labels, so labels keep to characters that all readers take, though Hugin would take any. The probabilities of
# a row stand together, the last parent changing fastest.
KEYWORDS = re.compile(
    r"node|potential|states|data|net|class|inherit|discrete|continuous|utility|decision|function|normal|label|any|"
    r"position|model_|true|false"
)
NET_NAME = re.compile(rf"(?!(?i:.*({KEYWORDS.pattern})))[A-Za-z_][A-Za-z0-9_]*")
NET_LABEL = re.compile(rf"(?!(?i:.*({KEYWORDS.pattern})))[A-Za-z0-9_.<>=+-]+")


def net_written(described: Described) -> Written:
    """The network as NET, in ASCII; needs states and tables."""
    states, tables = described.parameters()
    network = described.network
    names, labels, changes = spelled(network.names, NET_NAME.fullmatch, states, NET_LABEL.fullmatch, KEYWORDS)
    lines = ["net", "{", "}"]
    for name, own in zip(names, labels, strict=True):
        listed = " ".join(f'"{label}"' for label in own)
        lines += ["", f"node {name}", "{", f"    states = ({listed});", "}"]
    for child, table in enumerate(tables):
        lines += _potential(names, child, network.parents[child], table)
    return Written("\n".join(lines) + "\n", changes)


def _potential(names: Sequence[str], child: int, parents: tuple[int, ...], table: NDArray[np.float64]) -> Iterator[str]:
    """The lines of one table: a row for each joint state of the parents, in as many brackets as begin and end there."""
    given = f" | {' '.join(names[p] for p in parents)}" if parents else ""
    yield from ("", f"potential ( {names[child]}{given} )", "{")
    opening, sizes, rows = "    data = ", table.shape[:-1], table.reshape(-1, table.shape[-1])
    for number, row in enumerate(rows.tolist()):
        first, last = _ends(number, sizes), _ends(number + 1, sizes)
        end = ";" if number + 1 == len(rows) else ""
        yield f"{opening}{'(' * first}({' '.join(map(repr, row))}){')' * last}{end}"
        opening = " " * len("    data = ")
    yield "}"


def _ends(number: int, sizes: tuple[int, ...]) -> int:
    """How many of the axes of these sizes, the last one fastest, are at their beginning after so many steps."""
    count = 0
    for size in reversed(sizes):
        if number % size:
            break
        number //= size
        count += 1
    return count


def written(described: Described, kind: str, cpdag: bool = False) -> Written:
    """The network in the format `kind`; with `cpdag` its equivalence class. Raises InputError if the format is made of
    parameters, and there are none."""
    if kind in MADE_OF_PARAMETERS:
        described = _in_tables(described, kind)
    if kind in MADE_OF_PARAMETERS and described.tables is None:
        raise InputError(
            f"{kind} has parameters, which need data, and this network was learned from local scores alone."
        )
    if kind == "dot":
        return Written(dot_text(described.network, described.knowledge, cpdag))
    return _WRITERS[kind](described)


def _in_tables(described: Described, kind: str) -> Described:
    """The network with tables, also if it was learned as one of both kinds and all of its variables have states;
    InputError if its parameters are none."""
    known = described.conditionals
    if known is not None and all(known.of_states):
        return replace(described, tables=[family.table for family in known.families if family.table is not None])
    if described.has_numbers:
        are = "some of these" if described.states is not None else "these"
        why = f"{are} variables are continuous"
        if described.columns is not None and all(described.columns.states):
            why = "by this score states are Gaussian columns"
        raise InputError(f"{kind} has tables of states, and {why}; take json.")
    return described


def names_text(changes: tuple[Change, ...]) -> str:
    """What a file spells in another way, as JSON: a list with an object for each, a line each."""
    return "[\n" + ",\n".join(" " + json.dumps(change) for change in changes) + "\n]\n"


def _bif_written(described: Described) -> Written:
    states, tables = described.parameters()
    return Written(bif_text(described.network, states, tables), told=other_words(described.network.names, states))


_WRITERS: Mapping[str, Callable[[Described], Written]] = {
    "bif": _bif_written,
    "xmlbif": xmlbif_written,
    "xdsl": xdsl_written,
    "net": net_written,
    "graphml": graphml_written,
    "json": lambda described: Written(json_text(network_document(described)) + "\n"),
    "adjacency": adjacency_written,
    "csv": csv_written,
    "bnlearn": bnlearn_written,
}
