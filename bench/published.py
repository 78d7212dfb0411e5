"""`python -m bench.published`: networks found in a given time, beside published ones. See README.md."""

import argparse
import csv
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import measure
from bench.table import aligned
from extbnsl.data import Dataset, read_csv
from extbnsl.machine.budgets import parse_duration

# Scanagatta, Corani, de Campos, Zaffalon 2018, supplement: one hour each, by `score`; None where there is no figure
METHODS = ("OBS", "ASOBS", "ASOBS-ENT", "GOBNILP")
PUBLISHED: Mapping[str, Sequence[int | None]] = {
    "nltcs.train": (-99714, -99684, -99100, -98489),
    "plants.train": (-242552, -236006, -237775, -236190),
    "baudio.train": (-622988, -621080, -621815, -619672),
    "bnetflix.train": (-869062, -866212, -868012, -862308),
    "jester.train": (-497124, -494836, -493380, -491827),
    "accidents.train": (-362736, -360440, -356032, -357230),
    "pumsb_star.train": (-346132, -315260, -314762, -323609),
    "dna.train": (-130968, -130658, -130694, -129976),
    "kosarek.test": (-76758, -76216, -75821, -75671),
    "msweb.test": (-52722, -52301, -52150, -52160),
    "book.test": (-65049, -64132, -64056, -64174),
    "cwebkb.test": (-135724, -133862, -133858, -134238),
    "bbc.train": (-422139, -418164, -417891, None),
    "ad.test": (-17214, -16683, -16557, -17016),
}
ORDERS = slice(0, 3)  # of METHODS: those that search orders
SOLVER = 3  # GOBNILP, an exact solver
LEAST_ORDERS, LEAST_SOLVER = 12, 8  # on how many of the data sets these are to be beaten
KEYS = ("data", "time", "options", "variables", "score", "cost", "lower_bound", "cpu_seconds", "rss_bytes")

Row = dict[str, str]


@dataclass(frozen=True)
class Campaign:
    """Which data sets are run, for how long and with which other options; the CSV file that keeps the rows, if any."""

    folder: Path
    names: Sequence[str]
    time: str
    options: Sequence[str]
    out: Path | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if a run failed, or if of all data sets fewer are won than LEAST_ORDERS and LEAST_SOLVER."""
    given = _parser().parse_args(arguments)
    names = given.names.split(",")
    options = ["--threads", str(given.threads), "--seed", str(given.seed), *given.options.split()]
    campaign = Campaign(given.data / "large", names, given.time, options, given.out)
    rows = []
    for row in found(campaign):
        rows.append(row)
        print(aligned([HEAD, line_of(row)]).splitlines()[-1], flush=True)
    print(f"\n{aligned([HEAD, *map(line_of, rows)])}")
    orders, solver = (sum(beaten(row, which) for row in rows) for which in (ORDERS, slice(SOLVER, SOLVER + 1)))
    print(f"\nbetter than {', '.join(METHODS[ORDERS])}: {orders} of {len(rows)}; than {METHODS[SOLVER]}: {solver}")
    complete = set(names) == set(PUBLISHED)
    return int(len(rows) < len(names) or (complete and (orders < LEAST_ORDERS or solver < LEAST_SOLVER)))


def _parser() -> argparse.ArgumentParser:
    text = "Networks found in a given time, beside published ones."
    parser = argparse.ArgumentParser(prog="python -m bench.published", description=text)
    parser.add_argument("--data", metavar="DIR", type=Path, default=os.environ.get("EXTBNSL_DATA"))
    parser.add_argument("--names", metavar="LIST", default=",".join(PUBLISHED))
    parser.add_argument("--time", metavar="T", type=_duration, default="10m", help="of each (default: 10m)")
    parser.add_argument("--threads", metavar="T", type=int, default=2)
    parser.add_argument("--seed", metavar="S", type=int, default=0)
    parser.add_argument("--options", metavar="TEXT", default="", help="more options of approximate, as one argument")
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep the rows in a CSV file, and go on from those")
    return parser


def _duration(text: str) -> str:
    parse_duration(text, "--time")
    return text


def found(campaign: Campaign) -> Iterator[Row]:
    """A row for each data set: of the file if it has one of the same time and options; else of a run, which it gets."""
    kept = kept_rows(campaign.out)
    options = " ".join(campaign.options)
    for name in campaign.names:
        row = kept.get((name, campaign.time, options))
        if row is None:
            row = run(campaign, name)
            if row is not None and campaign.out is not None:
                keep(row, campaign.out)
        if row is not None:
            yield row


def kept_rows(path: Path | None) -> dict[tuple[str, str, str], Row]:
    """The rows of the file, none if there is no file yet, by data, time and options; of equals the last."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["data"], row["time"], row["options"]): row for row in csv.DictReader(file)}


def keep(row: Row, path: Path) -> None:
    """Add a row to the file; a new one gets a header."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, KEYS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def run(campaign: Campaign, name: str) -> Row | None:
    """The row of a data set; None, and its last words on standard error, if the run failed."""
    path = campaign.folder / f"{name}.data.gz"
    done = measure.run_once("approximate", path, ["--no-header", "--time", campaign.time, *campaign.options])
    if done.document is None:
        print(f"{name}: {done.message}", file=sys.stderr)
        return None
    dataset = read_csv(path, header=False)
    positions = {variable: i for i, variable in enumerate(done.document["variables"])}
    parents = [[positions[p] for p in done.document["parents"][child]] for child in positions]
    return {
        "data": name,
        "time": campaign.time,
        "options": " ".join(campaign.options),
        "variables": str(dataset.variables),
        "score": repr(score(dataset, parents)),
        "cost": repr(done.document["cost"]),
        "lower_bound": repr(done.document["lower_bound"]),
        "cpu_seconds": f"{done.cpu_seconds:.1f}",
        "rss_bytes": str(done.document["stats"]["peak_rss_bytes"]),
    }


def score(dataset: Dataset, parents: Sequence[Sequence[int]]) -> float:
    """The score of a network, given the parents of each child: the sum of those of its families."""
    arities, codes = dataset.arities.tolist(), dataset.codes
    return math.fsum(
        family_score(codes[:, child], codes[:, list(own)], arities[child], math.prod(arities[p] for p in own))
        for child, own in enumerate(parents)
    )


def family_score(child: NDArray, parents: NDArray, arity: int, configurations: int) -> float:
    """The published score of a family: the states of the child (N,), of its parents (N, k), how many states and parent
    configurations there can be. Larger is better; natural logarithms.

    With r and q for these, n for the records of a cell and m for those of its parent configuration, it is
    sum n (ln(n + 1 / (r q)) - ln(m + 1 / r)) - ln N (r - 1) floor(q / 2); without parents sum n ln((n + 1 / r) /
    (N + 1)) - ln N (r - 1) / 2. It is near BIC, and not BIC.
    """
    records, r, q = child.size, arity, configurations
    if parents.shape[1] == 0:
        _, n = np.unique(child, return_counts=True)
        fit = float(n @ np.log((n + 1 / r) / (records + 1)))
        return fit - math.log(records) * (r - 1) / 2
    _, m = np.unique(parents, axis=0, return_counts=True)
    _, n = np.unique(np.column_stack((parents, child)), axis=0, return_counts=True)
    fit = float(n @ np.log(n + 1 / (r * q)) - m @ np.log(m + 1 / r))
    return fit - math.log(records) * (r - 1) * (q // 2)


def beaten(row: Row, which: slice) -> bool:
    """Whether the score is better than the best of some methods, which have one."""
    theirs = [figure for figure in PUBLISHED[row["data"]][which] if figure is not None]
    return bool(theirs) and float(row["score"]) > max(theirs)


HEAD = ["data", "n", "time", "score", *METHODS, "- best order", f"- {METHODS[SOLVER]}", "cost", "CPU s", "RSS"]


def line_of(row: Row) -> list[str]:
    """A row as it is printed, with by how much it is better than the best search over orders, and than the solver."""
    own, theirs = float(row["score"]), PUBLISHED[row["data"]]
    best = max(figure for figure in theirs[ORDERS] if figure is not None)
    solver = theirs[SOLVER]
    return [
        row["data"],
        row["variables"],
        row["time"],
        f"{own:,.0f}",
        *("-" if figure is None else f"{figure:,}" for figure in theirs),
        f"{own - best:+,.0f}",
        "-" if solver is None else f"{own - solver:+,.0f}",
        f"{float(row['cost']):,.3f}",
        row["cpu_seconds"],
        f"{int(row['rss_bytes']) / 2**20:.0f} MiB",
    ]


if __name__ == "__main__":
    sys.exit(main())
