"""BIF: the Bayesian Interchange Format 0.15, as bnlearn and pgmpy read it.

Both readers are looser than the format in places and stricter in others, so names keep to what both take:
letters of ASCII, digits and underscores, no digit first, and no word that either of them takes for a
keyword. State labels may also begin with a digit or a sign and have points, as in published networks.
"""

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.formats.spelling import Spelling, words
from extbnsl.networks.network import Network

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LABEL = re.compile(r"[A-Za-z0-9_.+-]+")
# pgmpy looks for these anywhere in the text, and takes 'table1' for a table that begins with 1.
MISREAD = re.compile(r"variable|probability|network|(table|default)[0-9eE]")
KEYWORDS = {"type", "discrete", "property", "table", "default"}


def bif_text(network: Network, states: Sequence[Sequence[str]], tables: Sequence[NDArray[np.float64]]) -> str:
    """The network with its parameters as BIF, in ASCII, ending in a newline.

    `states[i]` are the labels of variable i; `tables[i]` has shape (*arities of its parents, its arity),
    rows along the last axis, as `network.fit` returns it. Probabilities have the digits that give back the
    same float64. A name or label that BIF cannot hold is replaced by a similar one, and a comment at the
    top of the file gives the original, as JSON: {"variable": as written, "name": original} for a name,
    {"variable": as written, "state": as written, "label": original} for a label.
    """
    spelling = Spelling(
        words(network.names, _fits_name, "X", MISREAD), tuple(words(row, _fits_label, "s", MISREAD) for row in states)
    )
    names, labels = spelling.names, spelling.labels
    comments = ("// " + json.dumps(change) for change in spelling.changes(network.names, states))
    lines = [*comments, "network unknown {", "}"]
    for name, row in zip(names, labels, strict=True):
        lines += [
            f"variable {name} {{",
            f"  type discrete [ {len(row)} ] {{ {', '.join(row)} }};",
            "}",
        ]
    for child, table in enumerate(tables):
        lines += _probability(network.parents[child], child, names, labels, table)
    return "\n".join(lines) + "\n"


def other_words(names: Sequence[str], states: Sequence[Sequence[str]]) -> int:
    """How many of these names and labels `bif_text` replaces, because BIF cannot hold them."""
    labels = sum(not _fits_label(label) for row in states for label in row)
    return labels + sum(not _fits_name(name) for name in names)


def _probability(
    parents: tuple[int, ...],
    child: int,
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    table: NDArray[np.float64],
) -> Iterator[str]:
    """The lines of one probability table, the last parent changing fastest."""
    if not parents:
        yield f"probability ( {names[child]} ) {{"
        yield f"  table {_row(table)};"
    else:
        yield f"probability ( {names[child]} | {', '.join(names[p] for p in parents)} ) {{"
        for configuration in np.ndindex(table.shape[:-1]):
            given = ", ".join(labels[p][code] for p, code in zip(parents, configuration, strict=True))
            yield f"  ({given}) {_row(table[configuration])};"
    yield "}"


def _row(probabilities: NDArray[np.float64]) -> str:
    """The probabilities of one configuration."""
    return ", ".join(repr(p) for p in probabilities.tolist())


def _fits_name(name: str) -> bool:
    """Whether both readers take `name` for the name of a variable."""
    return bool(NAME.fullmatch(name)) and name not in KEYWORDS and not MISREAD.search(name)


def _fits_label(label: str) -> bool:
    """Whether both readers take `label` for a state."""
    return bool(LABEL.fullmatch(label)) and not MISREAD.search(label)
