"""A table of the arcs, in CSV."""

from extbnsl.formats.described import Described, Written
from extbnsl.networks.equivalence import cpdag

HEADER = ("from", "to", "compelled", "cost_of_removal", "cost_of_reversal")


def csv_written(described: Described) -> Written:
    """The arcs of the network, sorted by the places of their variables; costs in nats, empty where they are not known
    or there is no such network."""
    network = described.network
    compelled = set(cpdag(network)[0])
    strengths = described.strengths or (None,) * len(network.arcs())
    lines = [",".join(HEADER)]
    for arc, strength in zip(network.arcs(), strengths, strict=True):
        names = [_quoted(network.names[x]) for x in arc]
        costs = (None, None) if strength is None else (strength.cost_of_removal, strength.cost_of_reversal)
        figures = ("" if cost is None else repr(cost) for cost in costs)
        lines.append(",".join((*names, "true" if arc in compelled else "false", *figures)))
    return Written("\n".join(lines) + "\n")


def _quoted(name: str) -> str:
    """A name as a field, in quotes where it would end otherwise; the csv module leaves carriage returns without."""
    return '"' + name.replace('"', '""') + '"' if any(end in name for end in ',"\r\n') else name
