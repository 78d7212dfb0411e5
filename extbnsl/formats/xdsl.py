"""XDSL: the format of GeNIe and SMILE, in XML.

Identifiers of nodes and states begin with a letter and have letters of ASCII, digits and underscores, both as the
manual of GeNIe says ("Identifiers"). A node follows its parents. Probabilities stand in a line, the state of the child
changing fastest and the first parent slowest, as in the networks that GeNIe comes with. pgmpy reads them so; pyAgrum
3.3 writes and reads the first parent as the fastest.
"""

import re
import xml.etree.ElementTree as ET

from extbnsl.formats.described import Described, Written
from extbnsl.formats.spelling import Spelling, fits_xml, words, xml_text

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def xdsl_written(described: Described) -> Written:
    """The network as XDSL; needs states and tables. GeNIe shows the original names, where XML can hold them."""
    states, tables = described.states, described.tables
    assert states is not None
    assert tables is not None
    network = described.network
    spelling = Spelling(words(network.names, _fits, "X"), tuple(words(row, _fits, "s") for row in states))
    root = ET.Element("smile", version="1.0", id="network", numsamples="10000", discsamples="10000")
    nodes = ET.SubElement(root, "nodes")
    genie = ET.SubElement(ET.SubElement(root, "extensions"), "genie", version="1.0", app="extbnsl", name="network")
    for x in network.order():
        node = ET.SubElement(nodes, "cpt", id=spelling.names[x])
        for label in spelling.labels[x]:
            ET.SubElement(node, "state", id=label)
        if network.parents[x]:
            ET.SubElement(node, "parents").text = " ".join(spelling.names[p] for p in network.parents[x])
        ET.SubElement(node, "probabilities").text = " ".join(map(repr, tables[x].ravel().tolist()))
        _show(genie, spelling.names[x], _shown(network.names[x], spelling.names[x]), x)
    return Written(xml_text(root), tuple(spelling.changes(network.names, states)))


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
    """The name that people see: readers make one blank of all white space, and pyAgrum takes this for the name."""
    return name if fits_xml(name) and name == " ".join(name.split()) and name else identifier


def _fits(word: str) -> bool:
    return IDENTIFIER.fullmatch(word) is not None
