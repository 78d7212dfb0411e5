"""DOT: the structure of a network, for Graphviz to draw."""

from extbnsl.networks.network import Network


def dot_text(network: Network) -> str:
    """The network as a digraph, every variable a node in its order, arcs sorted; ends in a newline."""
    names = [_quoted(name) for name in network.names]
    lines = ["digraph network {"]
    lines += [f"  {name};" for name in names]
    lines += [f"  {names[parent]} -> {names[child]};" for parent, child in network.arcs()]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    """A name as a quoted DOT identifier; a backslash is doubled, since it begins an escape in a label."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
