"""GraphML: nodes with their states, arcs with their strengths, for networkx, igraph, Gephi, yEd and Cytoscape.

Nodes have numbers for identifiers, since those must be words (NMTOKEN); their names stand in the attribute `name`.
"""

import json
import xml.etree.ElementTree as ET

from extbnsl.formats.described import Described, Written
from extbnsl.formats.spelling import Spelling, fits_xml, words, xml_text
from extbnsl.networks.equivalence import cpdag

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
    spelling = Spelling(words(network.names, fits_xml, "X"), ((),) * len(network.names))
    root = ET.Element("graphml", xmlns=NAMESPACE)
    for of, name, kind in KEYS:
        ET.SubElement(root, "key", {"id": name, "for": of, "attr.name": name, "attr.type": kind})
    graph = ET.SubElement(root, "graph", id="network", edgedefault="directed")
    _say(graph, "cost", repr(described.cost))
    for x, name in enumerate(spelling.names):
        node = ET.SubElement(graph, "node", id=f"n{x}")
        _say(node, "name", name)
        if described.states is not None:
            _say(node, "states", json.dumps(list(described.states[x])))
    compelled = set(cpdag(network)[0])
    for number, arc in enumerate(network.arcs()):
        edge = ET.SubElement(graph, "edge", id=f"e{number}", source=f"n{arc[0]}", target=f"n{arc[1]}")
        _say(edge, "compelled", "true" if arc in compelled else "false")
        strength = None if described.strengths is None else described.strengths[number]
        for key in ("cost_of_removal", "cost_of_reversal"):
            cost = None if strength is None else getattr(strength, key)
            if cost is not None:
                _say(edge, key, repr(cost))
    return Written(xml_text(root), tuple(spelling.changes(network.names, spelling.labels)))


def _say(element: ET.Element, key: str, value: str) -> None:
    ET.SubElement(element, "data", key=key).text = value
