"""`python -m bench`: solve data sets one by one, print and save what it cost. See README.md."""

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import measure, table
from bench.measure import Row
from bench.reference import reference_seconds
from bench.suite import known_cost, matches, read_optima, suite_paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 if a solve failed or found another optimum than is known."""
    parser = _parser()
    options = parser.parse_args(arguments)
    optima = read_optima(options.optima) if options.optima else {}
    paths = list(options.data_sets)
    if options.suite:
        if not options.optima:
            parser.error("--suite needs --optima")
        paths += suite_paths(optima, options.data or options.optima.parent)
    if not paths:
        parser.error("no data sets: give paths, or --suite uci31 with --optima")
    old = json.loads(options.compare.read_text())["rows"] if options.compare else None
    solving = ["--threads", str(options.threads)]
    if options.time_limit:
        solving += ["--time-limit", options.time_limit]
    reference = reference_seconds()
    rows = [_row(path, solving, optima, reference) for path in paths]
    print(f"\nSeconds, CPU / wall; reference loop {reference:.3f} s CPU\n{table.seconds_table(rows)}")
    print(f"\nCounts\n{table.counts_table(rows)}")
    if options.out:
        _save(options.out, rows, solving, reference)
    if old is not None:
        print(f"\n{table.comparison(rows, old)}")
    return int(any(row["status"] == "failed" or row["matches"] is False for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Solve data sets and measure it.")
    parser.add_argument("data_sets", metavar="PATH", nargs="*", type=Path, help="a data set")
    parser.add_argument("--suite", choices=["uci31"], help="all of --optima's data sets of up to 31 variables")
    parser.add_argument("--optima", metavar="FILE", type=Path, help="CSV: file, n, N, optimal_cost_nats, source")
    parser.add_argument("--data", metavar="DIR", type=Path, help="where the suite's files are (default: by --optima)")
    parser.add_argument("--threads", metavar="T", type=int, default=1, help="threads of a solve (default: 1)")
    parser.add_argument("--time-limit", metavar="T", help="of each solve, such as 10m (default: none)")
    parser.add_argument("--out", metavar="NAME", type=Path, help="save NAME.json and NAME.csv")
    parser.add_argument("--compare", metavar="OLD.json", type=Path, help="print the ratios to an earlier --out")
    return parser


def _row(path: Path, solving: list[str], optima: dict[str, tuple[int, float]], reference: float) -> Row:
    """Solve one data set, say so, and return its row."""
    run = measure.solve(path, solving)
    known = known_cost(path, optima)
    claims = run.document is not None and run.document["status"] == "optimal"
    same = matches(run.document["cost"], known) if claims and run.document and known is not None else None
    row = measure.measured(path.name, run, known, same, reference)
    print(f"{row['data']}: {row['status']} {row['message']} ({run.cpu_seconds:.1f} s CPU)", file=sys.stderr, flush=True)
    return row


def _save(out: Path, rows: list[Row], solving: list[str], reference: float) -> None:
    document = {
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        },
        "options": solving,
        "reference_seconds": reference,
        "rows": rows,
    }
    out.with_name(f"{out.name}.json").write_text(json.dumps(document, indent=1) + "\n")
    out.with_name(f"{out.name}.csv").write_text(table.csv_text(rows))


if __name__ == "__main__":
    sys.exit(main())
