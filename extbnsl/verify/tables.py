"""Do the tables of a ranked list in a run directory, networks.csv and arcs.csv, say what its result says?"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from extbnsl.core.errors import RunDirectoryError
from extbnsl.files.atomic import open_regular
from extbnsl.files.names import ARCS, RANKED
from extbnsl.formats.spelling import as_text

NETWORKS_HEAD = ["rank", "cost", "share_of_found", "equivalence_class", "arcs", "model"]
LONGEST = 1 << 28  # characters of a field: all arcs of a network are in one
ARCS_HEAD = ["from", "to", "share_of_found", "either_of_found", "found_of_all"]


def table_findings(
    folder: Path, head: Mapping[str, Any], networks: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[str]:
    """A sentence for each table that is there and says something else than a result of which `verify_networks` finds
    that all holds; networks: its items, which are read as the table is."""
    yield from _compared(folder / RANKED, NETWORKS_HEAD, (_network_row(one, names) for one in networks))
    yield from _compared(folder / ARCS, ARCS_HEAD, _arc_rows(head, names))


def _compared(path: Path, head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """A sentence if a table has another head or other rows than these; nothing if there is no table."""
    try:
        file = open(open_regular(path), encoding="utf-8", newline="")  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        return
    before = csv.field_size_limit(LONGEST)
    with file:
        try:
            told = csv.reader(file, strict=True)
            if next(told, None) != head:
                yield f"{path} has another head than such a table."
                return
            for at, row in enumerate(rows, start=1):
                if next(told, None) != row:
                    yield f"Row {at:,} of {path} is not what the result says, or is missing."
                    return
            if next(told, None) is not None:
                yield f"{path} has more rows than the result has to tell."
        except (csv.Error, UnicodeDecodeError) as error:
            raise RunDirectoryError(f"{path} is damaged ({error}).") from error
        finally:
            csv.field_size_limit(before)


def _network_row(network: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The row of a network, with its arcs as bnlearn's `modelstring` writes them."""
    parents = network["parents"]
    index = {name: i for i, name in enumerate(names)}
    depth: dict[str, int] = {}
    while len(depth) < len(names):  # it has no cycle
        for name in names:
            if name not in depth and all(parent in depth for parent in parents[name]):
                depth[name] = max((depth[parent] + 1 for parent in parents[name]), default=0)
    order = sorted(names, key=lambda name: (depth[name], index[name]))
    own = {name: ":".join(sorted(parents[name], key=index.__getitem__)) for name in names}
    model = "".join(f"[{name}|{own[name]}]" if own[name] else f"[{name}]" for name in order)
    arcs = sum(map(len, parents.values()))
    figures = (network["rank"], float(network["cost"]), float(network["share"]), network["equivalence_class"], arcs)
    return [*map(repr, figures), _written(model)]


def _arc_rows(head: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[str]]:
    """The rows of arcs, that of the largest share first."""
    shares, of_all = head["arc_shares"], head["count"]["of_all"]
    arcs = [(p, x, float(shares[x][p])) for p in names for x in names if p in shares.get(x, {})]
    for p, x, share in sorted(arcs, key=lambda arc: -arc[2]):
        either = min(1.0, share + shares.get(p, {}).get(x, 0.0))
        yield [
            as_text(_written(p)),
            as_text(_written(x)),
            repr(share),
            repr(either),
            "" if of_all is None else repr(of_all),
        ]


def _written(text: str) -> str:
    """A text as it is in a file: what is not Unicode as JSON writes it."""
    return text.encode("utf-8", "backslashreplace").decode()
