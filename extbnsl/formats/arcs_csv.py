"""A table of the arcs, in CSV."""

from extbnsl.formats.csv_text import csv_text
from extbnsl.formats.described import Described, Written
from extbnsl.networks.equivalence import cpdag

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
