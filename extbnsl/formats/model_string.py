"""The structure as a model string of bnlearn, such as [A][C][B|A:C], for `model2network` in R.

A name in it may have any characters but the four that have a meaning there, and line ends.
"""

import re

from extbnsl.formats.described import Described, Written
from extbnsl.formats.spelling import Spelling, words

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
