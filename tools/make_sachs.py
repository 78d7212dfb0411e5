"""Make `sachs.csv` of the records of Sachs et al. 2005 with their interventions, and the network that they published.

    git clone https://github.com/snarles/causal
    python tools/make_sachs.py causal/bnlearn_files sachs
    extbnsl solve sachs/sachs.csv --targets set --score bdeu
    extbnsl compare sachs.run sachs/published.csv

SOURCE is `sachs.interventional.txt`, perhaps with `.gz` behind it, or a folder that has it: 5,400 records of 11
proteins in three states each, which come with the book of Scutari and Denis 2021, at
https://www.bnlearn.com/book-crc/code/sachs.interventional.txt.gz and in public repositories. Its columns have blanks
between them; the last one, INT, is 0 where nothing was set, or else the number, from 1 on, of the column that was.
FOLDER gets `sachs.csv`, in which the column `set` has the name of that protein, and `published.csv`, the 17 arcs of the
network in the paper.
"""

import csv
import gzip
import sys
from collections.abc import Iterable
from pathlib import Path

FILE = "sachs.interventional.txt"
SET = "INT"
PUBLISHED = {
    "PKA": ("PKC",),
    "Raf": ("PKC", "PKA"),
    "Mek": ("PKC", "PKA", "Raf"),
    "Erk": ("Mek", "PKA"),
    "Akt": ("Erk", "PKA"),
    "P38": ("PKC", "PKA"),
    "Jnk": ("PKC", "PKA"),
    "PIP3": ("Plcg",),
    "PIP2": ("Plcg", "PIP3"),
}


def main(arguments: list[str]) -> int:
    """Exit code 0; 30 for what is not this table."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 30
    source, output = map(Path, arguments)
    files = [source, *(source / f"{FILE}{end}" for end in ("", ".gz"))]
    file = next((one for one in files if one.is_file()), None)
    if file is None:
        print(f"{source} is no file, and no folder that has {FILE}.", file=sys.stderr)
        return 30
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text:
        lines = [[value.strip('"') for value in line.split()] for line in text if line.strip()]
    names, rows = lines[0] if lines else [], lines[1:]
    if names[-1:] != [SET] or not rows:
        what = f"the first line should have names of columns, the last one {SET}, and has {' '.join(names)}"
        print(f"{file}: {what}.", file=sys.stderr)
        return 30
    proteins, told = names[:-1], ["", *names[:-1]]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names) or not row[-1].isdigit() or int(row[-1]) >= len(told):
            what = f"{len(names)} values, the last one from 0 to {len(proteins)}"
            print(f"{file}: record {number} is {' '.join(row)}, and should be {what}.", file=sys.stderr)
            return 30
    output.mkdir(parents=True, exist_ok=True)
    _write(output / "sachs.csv", [[*proteins, "set"], *([*row[:-1], told[int(row[-1])]] for row in rows)])
    arcs = [(parent, child) for child, parents in PUBLISHED.items() for parent in parents]
    _write(output / "published.csv", [("from", "to"), *arcs])
    print(f"{len(rows):,} records of {len(proteins)} proteins in {output / 'sachs.csv'}")
    return 0


def _write(file: Path, rows: Iterable[Iterable[object]]) -> None:
    with file.open("w", newline="") as to:
        csv.writer(to, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
