"""NET: the format of Hugin, as pgmpy and pyAgrum read it too.

pgmpy looks for keywords anywhere in the text, so no name has one in it; and it takes commas, brackets and blanks for
ends of labels, so labels keep to characters that all readers take, though Hugin would take any. The probabilities of a
row stand together, the last parent changing fastest.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.formats.described import Described, Written
from extbnsl.formats.spelling import Spelling, words

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LABEL = re.compile(r"[A-Za-z0-9_.<>=+-]+")
KEYWORDS = re.compile(
    r"node|potential|states|data|net|class|inherit|discrete|continuous|utility|decision|function|normal|label|any|"
    r"position|model_|true|false"
)


def net_written(described: Described) -> Written:
    """The network as NET, in ASCII; needs states and tables."""
    states, tables = described.states, described.tables
    assert states is not None
    assert tables is not None
    network = described.network
    spelling = Spelling(
        words(network.names, _fits_name, "X", KEYWORDS), tuple(words(row, _fits_label, "s", KEYWORDS) for row in states)
    )
    lines = ["net", "{", "}"]
    for name, labels in zip(spelling.names, spelling.labels, strict=True):
        listed = " ".join(f'"{label}"' for label in labels)
        lines += ["", f"node {name}", "{", f"    states = ({listed});", "}"]
    for child, table in enumerate(tables):
        lines += _potential(spelling.names, child, network.parents[child], table)
    return Written("\n".join(lines) + "\n", tuple(spelling.changes(network.names, states)))


def _potential(names: Sequence[str], child: int, parents: tuple[int, ...], table: NDArray[np.float64]) -> Iterator[str]:
    """The lines of one table: a row for each joint state of the parents, in as many brackets as begin and end there."""
    given = f" | {' '.join(names[p] for p in parents)}" if parents else ""
    yield from ("", f"potential ( {names[child]}{given} )", "{")
    opening, sizes, rows = "    data = ", table.shape[:-1], table.reshape(-1, table.shape[-1])
    for number, row in enumerate(rows.tolist()):
        first, last = _ends(number, sizes), _ends(number + 1, sizes)
        end = ";" if number + 1 == len(rows) else ""
        yield f"{opening}{'(' * first}({' '.join(map(repr, row))}){')' * last}{end}"
        opening = " " * len("    data = ")
    yield "}"


def _ends(number: int, sizes: tuple[int, ...]) -> int:
    """How many of the axes of these sizes, the last one fastest, are at their beginning after so many steps."""
    count = 0
    for size in reversed(sizes):
        if number % size:
            break
        number //= size
        count += 1
    return count


def _fits_name(name: str) -> bool:
    return bool(NAME.fullmatch(name)) and not KEYWORDS.search(name.lower())


def _fits_label(label: str) -> bool:
    return bool(LABEL.fullmatch(label)) and not KEYWORDS.search(label.lower())
