"""`python -m bench.k_best`: Tables 1 and 2 of Chen, Darwiche and Choi 2018, beside the paper's. See README.md."""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import measure
from bench.k_best_cell import BN_GRAPH, SEARCH
from bench.measure import Row
from bench.table import aligned, csv_text
from extbnsl.claims import OPTIMAL, Claim, tolerance
from extbnsl.data import Dataset, read_csv
from extbnsl.events import ignore
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kbest.limits import limit_problem
from extbnsl.kbest.permutations import choices
from extbnsl.kbest.tightest import ParentLimits, limits_by_k, score_list_bytes
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.surviving import surviving_families

MEMORY = 2 << 30  # bytes that the families may take
SLACK = 8.0  # nats within which A* gets all families, or more if the k best need more
SLOW = ("sensors",)  # minutes each


@dataclass(frozen=True)
class Figures:
    """What the paper has for one k. Table 1: the limit p and the pruned score list, in GB. Table 2: calls of the black
    box, seconds in it, and seconds of A*."""

    p: int
    list_gb: float
    calls: int
    oracle_seconds: float
    search_seconds: float


@dataclass(frozen=True)
class Published:
    """A data set of the paper: our file, its variables there, its full score list in GB, and the figures for
    PAPER_KS."""

    file: str
    variables: int
    full_gb: float
    figures: Sequence[Figures]

    def at(self, k: int) -> Figures | None:
        """The figures for k, if the paper has them."""
        return self.figures[PAPER_KS.index(k)] if k in PAPER_KS else None


PAPER_KS = (10, 100, 1000)
PUBLISHED: Mapping[str, Published] = {
    "hepatitis": Published(
        "hepatitis.csv",
        20,
        0.16,
        (
            Figures(6, 0.01, 155, 1.71, 0.17),
            Figures(6, 0.01, 2188, 3.32, 0.80),
            Figures(7, 0.03, 6427, 5.13, 14.23),
        ),
    ),
    "imports": Published(
        "imports.csv",
        22,
        0.69,
        (
            Figures(6, 0.03, 111, 63.26, 0.16),
            Figures(6, 0.03, 232, 73.83, 0.20),
            Figures(7, 0.07, 1041, 134.97, 0.72),
        ),
    ),
    "sensors": Published(
        "sensorReadings.csv",
        25,
        6.25,
        (
            Figures(10, 1.69, 354, 10219.25, 3.65),
            Figures(10, 1.69, 482, 13991.11, 4.76),
            Figures(10, 1.69, 1342, 23237.06, 10.49),
        ),
    ),
    "autos": Published(
        "autos.csv",
        26,
        13.0,
        (
            Figures(6, 0.10, 1199, 2098.97, 6.46),
            Figures(6, 0.10, 2909, 3242.36, 8.96),
            Figures(8, 1.46, 9185, 4062.17, 13.78),
        ),
    ),
    "horse": Published(
        "horseColic.csv",
        28,
        56.0,
        (
            Figures(7, 0.53, 1095, 2045.58, 8.96),
            Figures(7, 0.53, 11653, 2449.30, 21.92),
            Figures(8, 0.70, 48069, 5908.90, 55.98),
        ),
    ),
    "flag": Published(
        "flag.csv",
        29,
        116.0,
        (
            Figures(6, 0.22, 1248, 4454.21, 19.79),
            Figures(6, 0.22, 26766, 11093.91, 45.22),
            Figures(7, 0.73, 110272, 21959.47, 257.27),
        ),
    ),
}


@dataclass(frozen=True)
class Options:
    """threads: of our search; baseline: seconds of A* for each cell, 0 for none."""

    threads: int
    baseline: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if a search failed or was not complete, or if A* finds other costs."""
    given = _parser().parse_args(arguments)
    ks = [int(k) for k in given.k.split(",")]
    options = Options(given.threads, given.baseline_time)
    rows: list[Row] = []
    sets = [(name, PUBLISHED[name], given.data / "uci" / PUBLISHED[name].file) for name in given.sets.split(",")]
    for name, paper, path in sets:
        for limits in parent_limits_of(read_csv(path), ks):
            row = limits_row(name, paper, limits)
            row |= searched(path, limits.k, options)
            rows.append(row)
            print(aligned([SECOND, second_line(row)]).splitlines()[-1], flush=True)
            if given.out:
                given.out.with_suffix(".csv").write_text(csv_text(rows))
    print(f"\nTable 1\n{aligned([FIRST, *map(first_line, rows)])}")
    print(f"\nTable 2\n{aligned([SECOND, *map(second_line, rows)])}")
    wrong = [f"{row['data']}, k = {row['k']}: {fault}" for row in rows if (fault := fault_of(row))]
    if wrong:
        print("", *wrong, sep="\n")
    return int(bool(wrong))


def _parser() -> argparse.ArgumentParser:
    text = "Tables 1 and 2 of Chen, Darwiche and Choi 2018."
    parser = argparse.ArgumentParser(prog="python -m bench.k_best", description=text)
    parser.add_argument("--data", metavar="DIR", type=Path, default=os.environ.get("EXTBNSL_DATA"))
    parser.add_argument("--sets", metavar="LIST", default=",".join(name for name in PUBLISHED if name not in SLOW))
    parser.add_argument("--k", metavar="LIST", default=",".join(map(str, PAPER_KS)))
    parser.add_argument("--threads", metavar="T", type=int, default=1, help="of our search (default: 1)")
    parser.add_argument("--baseline-time", metavar="S", type=float, default=60.0, help="of A* for each cell; 0: no A*")
    parser.add_argument("--out", metavar="NAME", type=Path, help="save NAME.csv")
    return parser


def parent_limits_of(dataset: Dataset, ks: Sequence[int]) -> tuple[ParentLimits, ...]:
    """The tightest parent limits that keep the k best networks, for each k."""
    with Workers(1) as workers:
        problem = limit_problem(dataset, Claim(), workers)
        found = surviving_families(dataset, Claim(), workers, Shelf(MEMORY, Store(Path(), 0)), ignore)
    return limits_by_k(problem, choices(problem, found.scores), ks)


def limits_row(name: str, paper: Published, limits: ParentLimits) -> Row:
    """Table 1 of a data set and k: p, the theorems that give the children with so many parents theirs, score lists in
    GB of 2^30 bytes, and the paper's."""
    n, theirs = int(limits.limits.size), paper.at(limits.k)
    largest = {by for by, limit in zip(limits.by, limits.limits.tolist(), strict=True) if limit == limits.most}
    return {
        "data": name,
        "n": n,
        "paper_n": paper.variables,
        "k": limits.k,
        "p": limits.most,
        "paper_p": theirs and theirs.p,
        "by": " / ".join(sorted(largest)),
        "full_gb": score_list_bytes(n) / 2**30,
        "paper_full_gb": paper.full_gb,
        "list_gb": score_list_bytes(n, limits.most) / 2**30,
        "paper_list_gb": theirs and theirs.list_gb,
        "paper_calls": theirs and theirs.calls,
        "paper_oracle_seconds": theirs and theirs.oracle_seconds,
        "paper_search_seconds": theirs and theirs.search_seconds,
    }


def searched(path: Path, k: int, options: Options) -> Row:
    """Table 2 of a data set and k: what our search took, and what A* does in its time."""
    arguments = ["--threads", str(options.threads)]
    run = cell(SEARCH, path, k, arguments)
    if run.document is not None and run.document["compiled"]:
        run = cell(SEARCH, path, k, arguments)  # what was compiled lies in a cache
    row: Row = {"cpu_seconds": run.cpu_seconds, "wall_seconds": run.wall_seconds}
    if run.document is None:
        return row | {"status": f"failed: {run.message}"}
    costs = run.document["costs"]
    row |= {"status": run.document["status"], "found": len(costs), "rss_bytes": run.document["rss_bytes"]}
    row |= {"nats": costs[-1] - costs[0]}
    return row | (bn_graph(path, k, costs, options.baseline) if options.baseline else {})


def bn_graph(path: Path, k: int, costs: Sequence[float], seconds: float) -> Row:
    """What A* does in so many seconds; `costs`: what the k best networks cost."""
    slack = max(SLACK, costs[-1] - costs[0])
    run = cell(BN_GRAPH, path, k, ["--seconds", str(seconds), "--slack", str(slack)])
    if run.document is None:
        return {"baseline_status": f"failed: {run.message}"}
    own, status = run.document["costs"], run.document["status"]
    same = all(abs(theirs - cost) <= 2.0 * tolerance(cost) for theirs, cost in zip(own, costs, strict=False))
    same &= len(own) == len(costs) or status != OPTIMAL
    figures = {key: value for key, value in run.document.items() if key not in ("costs", "compiled")}
    row = {f"baseline_{key}": value for key, value in figures.items()}
    return row | {"baseline_found": len(own), "baseline_same": same}


def cell(method: str, path: Path, k: int, options: Sequence[str]) -> measure.Run:
    """Run one method in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        result = Path(folder, "result.json")
        return measure.finished(["-m", "bench.k_best_cell", method, str(path), str(k), str(result), *options], result)


def fault_of(row: Row) -> str:
    """What is wrong with a row, nothing if it is as it should be."""
    if row["status"] != OPTIMAL:
        return f"not finished: {row['status']}"
    if row.get("baseline_same") is False:
        return "A* found other costs"
    status = row.get("baseline_status", "")
    return f"A* {status}" if status.startswith("failed") else ""


FIRST = ["data", "n", "paper", "k", "p", "paper", "by", "S GB", "paper", "s GB", "paper"]
THEIRS = ["E_h", "T_h s", "T_A* s"]
SECOND = ["data", "k", "CPU s", "RSS", "nats", "A* found", *THEIRS, "RSS", *(f"paper {head}" for head in THEIRS)]


def first_line(row: Row) -> list[str]:
    """A row of Table 1 as it is printed."""
    return [
        row["data"],
        str(row["n"]),
        str(row["paper_n"]),
        str(row["k"]),
        str(row["p"]),
        _figure(row["paper_p"], "d"),
        row["by"],
        f"{row['full_gb']:.2f}",
        f"{row['paper_full_gb']:.2f}",
        f"{row['list_gb']:.4f}",
        _figure(row["paper_list_gb"], ".2f"),
    ]


def second_line(row: Row) -> list[str]:
    """A row of Table 2 as it is printed; '>' where A* had to stop."""
    over = "" if row.get("baseline_status", OPTIMAL) == OPTIMAL else "> "
    return [
        row["data"],
        str(row["k"]),
        f"{row['cpu_seconds']:.2f}",
        _mebibytes(row.get("rss_bytes")),
        _figure(row.get("nats"), ".2f"),
        _figure(row.get("baseline_found"), ",d"),
        _figure(row.get("baseline_calls"), ",d", over),
        _figure(row.get("baseline_oracle_seconds"), ".2f", over),
        _figure(row.get("baseline_search_seconds"), ".2f", over),
        _mebibytes(row.get("baseline_rss_bytes")),
        _figure(row["paper_calls"], ",d"),
        _figure(row["paper_oracle_seconds"], ".2f"),
        _figure(row["paper_search_seconds"], ".2f"),
    ]


def _figure(value: float | None, form: str, before: str = "") -> str:
    return "-" if value is None else f"{before}{value:{form}}"


def _mebibytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 2**20:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
