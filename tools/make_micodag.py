"""Make the data of `configs/micodag.yaml`: records of 12 Gaussian networks, and two super-structures for each data set.

    git clone https://github.com/AtomXT/MICP-NID
    python tools/make_micodag.py MICP-NID/Data/RealWorldDatasetsTXu_30 micodag
    MICODAG=$PWD/micodag extbnsl campaign configs/micodag.yaml

The first folder is that of the public repository of the program micodag (Xu, Taeb, Kucukyavuz and Shojaie 2025, MIT
licence): for each network NET of K variables `NET/data_NET_n_500_iter_I.csv`, records without a header;
`NET/Sparse_Moral_edges_K_500_*.txt`, the edges of its moral graph by numbers from 1 on; and
`NET/superstructure_glasso_iter_I.txt`, a matrix of zeros and ones that a graphical lasso estimated. A folder that has
them side by side will do too, as `NET_I.csv.gz`, `NET.moral.txt` and `NET_I.glasso.txt`. The second gets, for the first
two data sets of each network, `NET_I.csv` with the names c1, c2, ... of columns, and `NET_I.moral.csv` and
`NET_I.glasso.csv`, the pairs of columns between which there may be an arc.
"""

import csv
import gzip
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

NUMBERS = ("1", "2")  # of the data sets of a network
_RECORDS = re.compile(r"(?:data_)?(\w+?)_(?:n_\d+_iter_)?(\d+)\.csv(?:\.gz)?")


class Found(NamedTuple):
    """The files of a data set."""

    name: str
    records: Path
    moral: Path
    estimated: Path


def main(arguments: list[str]) -> int:
    """Exit code 0; 30 for a folder that has none of it."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 30
    source, output = map(Path, arguments)
    every = list(found_in(source))
    if not every:
        print(f"{source} has no records of a network; give the folder of the repository.", file=sys.stderr)
        return 30
    output.mkdir(parents=True, exist_ok=True)
    for own in every:
        opened = gzip.open if own.records.suffix == ".gz" else open
        with opened(own.records, "rt", newline="") as file:
            rows = list(csv.reader(file))
        names = [f"c{k + 1}" for k in range(len(rows[0]))]
        _write(output / f"{own.name}.csv", [names, *rows])
        pairs = [(names[a - 1], names[b - 1]) for a, b in _numbers(own.moral)]
        _write(output / f"{own.name}.moral.csv", [("from", "to"), *sorted(set(pairs))])
        matrix = list(_numbers(own.estimated))
        pairs = [(names[a], names[b]) for a, row in enumerate(matrix) for b, one in enumerate(row) if one and a != b]
        _write(output / f"{own.name}.glasso.csv", [("from", "to"), *pairs])
    print(f"{len(every)} data sets in {output}")
    return 0


def found_in(source: Path) -> Iterator[Found]:
    """The data sets of a folder, by the names of their files, in order."""
    for records in sorted(source.rglob("*.csv*")):
        named = _RECORDS.fullmatch(records.name)
        if named is None or named[2] not in NUMBERS:
            continue
        network, number = named.groups()
        own = records.parent
        moral = [*own.glob("Sparse_Moral_edges_*.txt"), own / f"{network}.moral.txt"]
        estimated = [own / f"superstructure_glasso_iter_{number}.txt", own / f"{network}_{number}.glasso.txt"]
        yield Found(f"{network}_{number}", records, _first(moral), _first(estimated))


def _first(files: Iterable[Path]) -> Path:
    """The first of these files that is there."""
    some = list(files)
    return next((file for file in some if file.is_file()), some[-1])


def _numbers(file: Path) -> Iterator[list[int]]:
    """The whole numbers of each line."""
    for line in file.read_text().splitlines():
        if found := re.findall(r"\d+", line):
            yield list(map(int, found))


def _write(file: Path, rows: Iterable[Iterable[object]]) -> None:
    with file.open("w", newline="") as to:
        csv.writer(to, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
