"""DOT: the structure of a network, for Graphviz to draw."""

from extbnsl.networks.equivalence import cpdag
from extbnsl.networks.network import Network


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
