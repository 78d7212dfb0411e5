"""DOT for Graphviz."""

from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.networks.network import Network, cpdag


def dot_text(network: Network, knowledge: Knowledge = NOTHING, as_class: bool = False) -> str:
    """The network as a digraph, every variable a node in its order, arcs sorted; ends in a newline.

    Arcs that the class leaves open, and the knowledge, are dashed; or, with `as_class`, lines without a head.
    """
    compelled = set(cpdag(network, knowledge)[0])
    style = "dir=none" if as_class else "style=dashed"
    names, lines = [], ["digraph network {"]
    for name in network.names:  # a backslash is doubled, since it begins an escape in a label
        escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        names.append(f'"{escaped}"')
        lines.append(f"  {names[-1]};")
    for arc in network.arcs():
        attributes = "" if arc in compelled else f" [{style}]"
        lines.append(f"  {names[arc[0]]} -> {names[arc[1]]}{attributes};")
    return "\n".join([*lines, "}"]) + "\n"
