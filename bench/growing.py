"""`python -m bench.growing`: one search after the other, each larger, within budgets of memory. See README.md."""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import measure, table
from bench.measure import Row
from extbnsl.machine.budgets import parse_size

BUDGETS = "16MiB,64MiB,256MiB,1GiB,all"
METHODS = {"static": ["--lower-bound", "static", "--no-path-extension"], "pattern": []}
OVERHEAD = 350_000_000  # bytes of the interpreter and its libraries, which a memory budget does not count
NODE_BYTES, ANCESTOR_BYTES = 12, 3  # of a node of the two layers at work, and of any other
COUNTING_BYTES = 32 << 20  # of files that counting parent sets of these data takes, where memory is short
HEADERS = 1.05  # what files take, over the bytes of their nodes
PANELS = (
    ("search_cpu_seconds", "search, CPU s", 1),
    ("disk_bytes", "files, MiB", 2**20),
    ("rss_bytes", "peak RSS, MiB", 2**20),
)
STYLES = {"static": "o-", "pattern": "s"}


@dataclass(frozen=True)
class Point:
    """One search: the first `columns` of a data set, by a method of METHODS, within a budget ("all" is the default)."""

    columns: int
    method: str
    budget: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 if a search was not finished or took more memory or disk than was promised."""
    options = _parser().parse_args(arguments)
    budgets = options.budgets.split(",")
    points = [
        Point(columns, method, budget)
        for method, numbers in (("static", options.static), ("pattern", options.pattern))
        for columns in numbers
        for budget in budgets
    ]
    rows = list(_rows(options.data, points, ["--threads", str(options.threads)]))
    print(markdown(rows))
    if options.out:
        options.out.with_name(f"{options.out.name}.csv").write_text(table.csv_text(rows))
        options.out.with_name(f"{options.out.name}.md").write_text(markdown(rows) + "\n")
    if options.plot:
        draw(rows, options.plot)
    for row in rows:
        for fault in faults(row):
            print(f"{row['columns']} columns, {row['method']}, {row['budget']}: {fault}", file=sys.stderr)
    return int(any(faults(row) for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.growing", description="Growing searches, measured.")
    parser.add_argument("data", metavar="DATA", type=Path, help="a CSV file whose first columns are taken")
    parser.add_argument(
        "--static", metavar="N-M", type=_numbers, default=[], help="columns searched with the static bound alone"
    )
    parser.add_argument(
        "--pattern", metavar="N-M", type=_numbers, default=[], help="columns searched as solve does by default"
    )
    parser.add_argument("--budgets", metavar="LIST", default=BUDGETS, help=f"memory budgets (default: {BUDGETS})")
    parser.add_argument("--threads", metavar="T", type=int, default=1, help="threads of a solve (default: 1)")
    parser.add_argument("--out", metavar="NAME", type=Path, help="save NAME.csv and NAME.md")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw it: .png, .svg or .pdf (needs matplotlib)")
    return parser


def _numbers(text: str) -> list[int]:
    """Column numbers: '18-26', or '18-26/2' for every second one."""
    ends, _, step = text.partition("/")
    first, _, last = ends.partition("-")
    return list(range(int(first), int(last or first) + 1, int(step or 1)))


def _rows(data: Path, points: Sequence[Point], solving: list[str]) -> Iterator[Row]:
    """Solve all points, say so, and yield their rows."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for point in points:
            path = Path(folder, f"{point.columns}.csv")
            if not path.exists():
                _cut(data, path, point.columns)
            memory = [] if point.budget == "all" else ["--memory", point.budget]
            row = measured(point, measure.solve(path, [*solving, *memory, *METHODS[point.method]]))
            print(f"{point}: {row['status']} {row['message']}", file=sys.stderr, flush=True)
            yield row


def _cut(data: Path, path: Path, columns: int) -> None:
    """Write the first columns of a comma-separated file."""
    with data.open(newline="") as source, path.open("w", newline="") as target:
        csv.writer(target).writerows(record[:columns] for record in csv.reader(source))


def measured(point: Point, run: measure.Run) -> Row:
    """The figures of one search; `promised` bytes are those that its nodes take in files at most."""
    row: Row = {"columns": point.columns, "method": point.method, "budget": point.budget}
    row |= {"status": "failed", "message": run.message}
    if run.document is None:
        return row
    stats = run.document["stats"]
    search = stats["stages"].get("search", {"seconds": 0.0, "cpu_seconds": 0.0})
    frontier, kept = 2 * NODE_BYTES * stats["peak_layer"], stats["nodes_kept"]
    return row | {
        "status": run.document["status"],
        "message": "",
        "nodes": kept,
        "edges": stats["nodes_generated"],
        "largest_layer": stats["peak_layer"],
        "search_cpu_seconds": search["cpu_seconds"],
        "search_wall_seconds": search["seconds"],
        "cpu_ns_per_node": 1e9 * search["cpu_seconds"] / max(1, kept),
        "disk_bytes": stats["peak_disk_bytes"],
        "disk_promised_bytes": COUNTING_BYTES + HEADERS * (frontier + ANCESTOR_BYTES * kept),
        "rss_bytes": stats["peak_rss_bytes"],
        "rss_promised_bytes": None if point.budget == "all" else parse_size(point.budget, "memory") + OVERHEAD,
    }


def faults(row: Row) -> list[str]:
    """What is not as promised."""
    if row["status"] != "optimal":
        return [f"not finished: {row['status']} {row['message']}"]
    found = []
    for name, what in (("disk", "files"), ("rss", "memory")):
        taken, promised = row[f"{name}_bytes"], row[f"{name}_promised_bytes"]
        if promised is not None and taken > promised:
            found.append(f"{taken / 2**20:.0f} MiB of {what}, {promised / 2**20:.0f} MiB promised")
    return found


def markdown(rows: Sequence[Row]) -> str:
    """A table of the rows."""
    head = [
        "bound",
        "n",
        "budget",
        "nodes",
        "edges",
        "CPU s",
        "wall s",
        "ns/node",
        "disk",
        "promised",
        "RSS",
        "promised",
    ]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row) -> list[str]:
    name = [row["method"], str(row["columns"]), row["budget"]]
    if "nodes" not in row:
        return [*name, row["status"], *["-"] * 8]
    promised = row["rss_promised_bytes"]
    return [
        *name,
        f"{row['nodes']:,}",
        f"{row['edges']:,}",
        f"{row['search_cpu_seconds']:.2f}",
        f"{row['search_wall_seconds']:.2f}",
        f"{row['cpu_ns_per_node']:.0f}",
        *(f"{row[key] / 2**20:.0f} MiB" for key in ("disk_bytes", "disk_promised_bytes", "rss_bytes")),
        "-" if promised is None else f"{promised / 2**20:.0f} MiB",
    ]


def draw(rows: Sequence[Row], output: Path) -> None:
    """Time, disk and memory against the nodes, a colour for each budget; dotted: straight growth."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    done = sorted((row for row in rows if row["status"] == "optimal"), key=lambda row: row["nodes"])
    budgets = list(dict.fromkeys(row["budget"] for row in rows))
    for axes, (key, label, unit) in zip(figure.subplots(1, 3), PANELS, strict=True):
        for colour, budget in enumerate(budgets):
            for method, style in STYLES.items():
                line = [row for row in done if (row["budget"], row["method"]) == (budget, method) and row[key] > 0]
                nodes, values = [row["nodes"] for row in line], [row[key] / unit for row in line]
                axes.plot(nodes, values, style, color=f"C{colour}", markersize=4, label=f"{budget}, {method}")
        if key == "search_cpu_seconds" and done:
            each = max(row["cpu_ns_per_node"] for row in done) * 1e-9
            ends = [done[0]["nodes"], done[-1]["nodes"]]
            axes.plot(ends, [each * count for count in ends], "k:", label="straight growth")
        axes.set(xscale="log", yscale="log", xlabel="nodes kept", ylabel=label)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, which="both", alpha=0.3)
    figure.axes[0].legend(fontsize=7)
    figure.savefig(output)


if __name__ == "__main__":
    sys.exit(main())
