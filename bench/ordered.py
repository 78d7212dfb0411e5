"""`python -m bench.ordered`: the tables of Tian 2000 on samples of networks, beside the paper's. See README.md."""

import argparse
import gzip
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.table import aligned
from extbnsl.claims import HEURISTIC
from extbnsl.data import Dataset, read_csv
from extbnsl.machine.budgets import Budgets, parse_duration
from extbnsl.networks.network import Network
from extbnsl.parents.ordered.methods import DFBNB, SUZUKI, OrderMethods
from extbnsl.results.result import Result
from extbnsl.solver.ordered import order_network

NETWORKS = ("alarm", "boerlage92", "car_diagnosis", "hailfinder")
SIZES = (250, 500, 1000, 2000, 4000, 8000)
FIRST = (10, 15, 20, 25, 30, 31, 32, 33, 34, 35, 36, 37)  # k of Table 1: how many variables of the order
RECORDS = 10_000
LEAST_RATIO = 8.0  # of the states of B&B_D to those of DFBnB_K3, for all of ALARM at RATIO_SIZE records
RATIO_SIZE = 1000

# Tian 2000, Table 1: states of B&B_D and DFBnB_K3 for the first k variables of ALARM, by records
PAPER_FIRST: Mapping[int, tuple[Sequence[int], Sequence[int]]] = {
    250: (
        (649, 6317, 26760, 57928, 104129, 154298, 165052, 197883, 215289, 236506, 264405, 324472),
        (190, 704, 2401, 4843, 6760, 9134, 11373, 13357, 13879, 14695, 15990, 17660),
    ),
    500: (
        (807, 10350, 54841, 123138, 241565, 374421, 416052, 498796, 547686, 601752, 695805, 920851),
        (220, 782, 3153, 6489, 9091, 12215, 19350, 21244, 21988, 23410, 25582, 29142),
    ),
    1000: (
        (908, 14397, 101555, 259142, 532494, 808540, 946658, 1208414, 1372767, 1567279, 1780786, 2423177),
        (230, 1114, 3929, 8649, 11358, 15177, 28374, 29912, 30596, 32406, 35674, 39382),
    ),
}
# Table 2: states of DFBnB_K3; Table 3: extra and missing arcs; by network, for SIZES as far as they go
PAPER_STATES: Mapping[str, Sequence[int]] = {
    "alarm": (17660, 29142, 39382, 52047, 75113, 112599),
    "boerlage92": (81695, 111076, 169320, 272136, 320038, 429900),
    "car_diagnosis": (1954, 1724, 2731, 2913, 4026, 4144),
    "hailfinder": (277492, 621488, 1876046),
}
PAPER_ARCS: Mapping[str, Sequence[str]] = {
    "alarm": ("2 / 15", "0 / 7", "1 / 5", "1 / 4", "0 / 3", "0 / 1"),
    "boerlage92": ("1 / 11", "0 / 12", "0 / 9", "0 / 8", "0 / 8", "0 / 8"),
    "car_diagnosis": ("0 / 10", "0 / 8", "0 / 6", "0 / 5", "0 / 3", "0 / 1"),
    "hailfinder": ("9 / 33", "7 / 26", "6 / 18"),
}


@dataclass(frozen=True)
class Sample:
    """Records of a network, and the network."""

    name: str
    dataset: Dataset
    truth: Network

    def first(self, records: int) -> Dataset:
        """The first so many records; all states stay declared."""
        return replace(self.dataset, codes=np.ascontiguousarray(self.dataset.codes[:records]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if DFBnB_K3 does not visit far fewer states than B&B_D where the paper says so."""
    options = _parser().parse_args(arguments)
    samples = [read_sample(options.data, name) for name in options.networks.split(",")]
    sizes = [int(size) for size in options.records.split(",")]
    for sample in samples:
        order = sample.truth.order()
        print(f"\n{sample.name}: {len(order)} variables, {len(sample.truth.arcs())} arcs; the order:")
        print(" ".join(sample.truth.names[v] for v in order))
        small = sample.first(sizes[0])
        order_network(small, order, methods=OrderMethods(DFBNB, options.bound))  # compiles the kernels if need be
        rows = list(found(sample, sizes, options.bound, options.time_limit))
        print(aligned([HEAD, *rows]), flush=True)
    ratios = [
        compare(sample, size, options.bound, options.suzuki)
        for sample in samples
        for size in sizes
        if sample.name == "alarm"
    ]
    return int(any(ratio < LEAST_RATIO for ratio, size in zip(ratios, sizes, strict=False) if size == RATIO_SIZE))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.ordered", description="The tables of Tian 2000.")
    parser.add_argument("--data", metavar="DIR", type=Path, default=os.environ.get("EXTBNSL_DATA"))
    parser.add_argument("--networks", metavar="LIST", default=",".join(NETWORKS))
    parser.add_argument("--records", metavar="LIST", default=",".join(map(str, (*SIZES, RECORDS))))
    parser.add_argument("--bound", default="own", help="of DFBnB_K3 (default: own)")
    parser.add_argument(
        "--time-limit", metavar="T", type=parse_duration, default=600.0, help="of DFBnB_K3 (default: 10m)"
    )
    parser.add_argument("--suzuki", metavar="T", type=parse_duration, default=60.0, help="of B&B_D (default: 1m)")
    return parser


def read_sample(folder: Path, name: str) -> Sample:
    """The sample of RECORDS records, and the network that it is of."""
    sampled = folder / "sampled"
    dataset = read_csv(sampled / f"{name}_{RECORDS}.csv.gz", arities=str(sampled / f"{name}.arities.txt"))
    plain = folder / "networks" / f"{name}.bif"
    text = plain.read_text() if plain.exists() else gzip.decompress(plain.with_suffix(".bif.gz").read_bytes()).decode()
    return Sample(name, dataset, structure(text, dataset.names))


def structure(bif: str, names: Sequence[str]) -> Network:
    """The network in a BIF text, over these names."""
    families = re.findall(r"probability\s*\(\s*([^\s|)]+)\s*(?:\|([^)]*))?\)", bif)
    return Network.from_names(names, {child: re.findall(r"[^\s,]+", parents) for child, parents in families})


HEAD = ["N", "states", "paper", "extra / missing", "paper", "K3 trapped", "CPU s"]


def found(sample: Sample, sizes: Sequence[int], bound: str, limit: float) -> Iterator[list[str]]:
    """Tables 2 and 3: a row for each number of records."""
    for size in sizes:
        result, seconds = solved(sample, size, OrderMethods(DFBNB, bound), limit)
        over = "" if result.status == HEURISTIC else "> "
        yield [
            f"{size}",
            f"{over}{sum(result.stats['states'].values()):,}",
            _paper(PAPER_STATES.get(sample.name, ()), size),
            arcs(result.network, sample.truth),
            _paper(PAPER_ARCS.get(sample.name, ()), size),
            f"{len(result.stats['trapped'])}",
            f"{seconds:.2f}",
        ]


def compare(sample: Sample, size: int, bound: str, limit: float) -> float:
    """Table 1: states of B&B_D and DFBnB_K3 for the first k variables of the order; '>' where the time was up. Returns
    the ratio for all variables."""
    suzuki, seconds = solved(sample, size, OrderMethods(SUZUKI), limit)
    tian, own_seconds = solved(sample, size, OrderMethods(DFBNB, bound), limit)
    head = ["k", "B&B_D", "paper", "DFBnB_K3", "paper", "ratio", "paper"]
    print(f"\n{sample.name}, {size} records: B&B_D {seconds:.2f} CPU s, DFBnB_K3 {own_seconds:.2f} CPU s")
    print(aligned([head, *_first(suzuki, tian, size)]), flush=True)
    many, few = (sum(result.stats["states"].values()) for result in (suzuki, tian))
    return float(many / few)


def _first(suzuki: Result, tian: Result, size: int) -> Iterator[list[str]]:
    many, few = (list(result.stats["states"].values()) for result in (suzuki, tian))
    unfinished = set(suzuki.stats["unfinished"])
    for row, k in enumerate(FIRST):
        over = "> " if unfinished & set(list(suzuki.stats["states"])[:k]) else ""
        paper = PAPER_FIRST.get(size)
        theirs = ["-", "-", "-"]
        if paper is not None:
            theirs = [f"{paper[0][row]:,}", f"{paper[1][row]:,}", f"{paper[0][row] / paper[1][row]:.1f}"]
        a, b = sum(many[:k]), sum(few[:k])
        yield [f"{k}", f"{over}{a:,}", theirs[0], f"{b:,}", theirs[1], f"{over}{a / b:.1f}", theirs[2]]


def solved(sample: Sample, size: int, methods: OrderMethods, limit: float) -> tuple[Result, float]:
    """The result for the first records in the order of the network, on one thread, and its CPU seconds."""
    began = time.process_time()
    budgets = Budgets(threads=1, time_limit=limit)
    result = order_network(sample.first(size), sample.truth.order(), methods=methods, budgets=budgets)
    return result, time.process_time() - began


def arcs(network: Network, truth: Network) -> str:
    """How many arcs are extra and how many are missing, such as '2 / 15'."""
    own, true = set(network.arcs()), set(truth.arcs())
    return f"{len(own - true)} / {len(true - own)}"


def _paper(figures: Sequence[int | str], size: int) -> str:
    """What the paper has for so many records; a dash if it has nothing."""
    at = SIZES.index(size) if size in SIZES else len(figures)
    if at >= len(figures):
        return "-"
    figure = figures[at]
    return figure if isinstance(figure, str) else f"{figure:,}"


if __name__ == "__main__":
    sys.exit(main())
