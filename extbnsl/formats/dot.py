"""DOT for Graphviz."""

from extbnsl.networks.network import Network, cpdag


def dot_text(network: Network, as_class: bool = False) -> str:
    """The network as a digraph, every variable a node in its order, arcs sorted; ends in a newline.

    Arcs whose direction the equivalence class leaves open are dashed; or, with `as_class`, lines without a head.
    """
    compelled = set(cpdag(network)[0])
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
