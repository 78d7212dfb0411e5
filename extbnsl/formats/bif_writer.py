"""BIF, the Bayesian Interchange Format 0.15, written so that bnlearn and pgmpy read it.

Both readers are looser than the format in places and stricter in others, so names keep to what both take:
letters of ASCII, digits and underscores, no digit first, and no word that either of them takes for a
keyword. State labels may also begin with a digit or a sign and have points, as in published networks.
"""

import json
import re
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from extbnsl.formats.spelling import spelled
from extbnsl.networks.network import Network

# pgmpy looks for these anywhere in the text, and takes 'table1' for a table that begins with 1.
MISREAD = re.compile(r"variable|probability|network|(table|default)[0-9eE]")
NAME = re.compile(rf"(?!.*({MISREAD.pattern})|(type|discrete|property|table|default)$)[A-Za-z_][A-Za-z0-9_]*")
LABEL = re.compile(rf"(?!.*({MISREAD.pattern}))[A-Za-z0-9_.+-]+")


def bif_text(network: Network, states: Sequence[Sequence[str]], tables: Sequence[NDArray[np.float64]]) -> str:
    """The network with its parameters as BIF, in ASCII, ending in a newline.

    `states[i]` are the labels of variable i; `tables[i]` has shape (*arities of its parents, its arity),
    rows along the last axis, as `network.fit` returns it. Probabilities have the digits that give back the
    same float64. A name or label that BIF cannot hold is replaced by a similar one, and a comment at the
    top of the file gives the original, as JSON: {"variable": as written, "name": original} for a name,
    {"variable": as written, "state": as written, "label": original} for a label.
    """
    names, labels, changes = spelled(network.names, NAME.fullmatch, states, LABEL.fullmatch, MISREAD)
    lines = []
    for change in changes:
        lines.append(f"// {json.dumps(change)}")
    lines += ["network unknown {", "}"]
    for name, own in zip(names, labels, strict=True):
        lines += [f"variable {name} {{", f"  type discrete [ {len(own)} ] {{ {', '.join(own)} }};", "}"]
    for name, parents, table in zip(names, network.parents, tables, strict=True):
        if not parents:
            lines += [f"probability ( {name} ) {{", f"  table {', '.join(map(repr, table.tolist()))};"]
        else:
            lines.append(f"probability ( {name} | {', '.join(map(names.__getitem__, parents))} ) {{")
            configurations = product(*map(labels.__getitem__, parents))  # the last parent changes fastest
            for given, row in zip(configurations, table.reshape(-1, table.shape[-1]), strict=True):
                lines.append(f"  ({', '.join(given)}) {', '.join(map(repr, row.tolist()))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def other_words(names: Sequence[str], states: Sequence[Sequence[str]]) -> int:
    """How many of these names and labels `bif_text` replaces, because BIF cannot hold them."""
    replaced = len(names) - len(list(filter(NAME.fullmatch, names)))
    for row in states:
        replaced += len(row) - len(list(filter(LABEL.fullmatch, row)))
    return replaced
