"""`python -m bench.k_best_cell`: one cell of Table 2 of `bench.k_best`, by one of the two methods, in this process."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from extbnsl.baselines.bn_graph import Limits, best_by_bn_graph, needed_families_within
from extbnsl.compiling import so_far
from extbnsl.data import read_csv
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets, peak_rss
from extbnsl.solver.k_best import k_best_networks


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what was found, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.k_best_cell")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument("k", type=int)
    parser.add_argument("result", metavar="FILE", type=Path)
    parser.add_argument("--threads", type=int, default=1, help="of search")
    parser.add_argument("--seconds", type=float, default=60.0, help="of bn-graph")
    parser.add_argument("--slack", type=float, default=8.0, help="nats within which bn-graph has all families")
    given = parser.parse_args(arguments)
    found = METHODS[given.method](given) | {"rss_bytes": peak_rss(), "compiled": so_far().done}
    given.result.write_text(json.dumps(found))
    return 0


def _search(given: argparse.Namespace) -> dict[str, Any]:
    """The k best by extbnsl."""
    result = k_best_networks(read_csv(given.data), Scope(k=given.k), budgets=Budgets(threads=given.threads))
    assert result.networks is not None, "the best is one of them"
    return {"status": result.status, "costs": result.networks.costs.tolist()}


def _bn_graph(given: argparse.Namespace) -> dict[str, Any]:
    """The k best by A* over the BN graph."""
    scores = needed_families_within(read_csv(given.data), given.k, given.slack)
    result = best_by_bn_graph(scores, given.k, Limits(seconds=given.seconds))
    counts = {"families": scores.families, **asdict(result.effort)}
    return {"status": result.status, "costs": result.networks.costs.tolist(), **counts}


SEARCH, BN_GRAPH = "search", "bn-graph"
METHODS: Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]] = {SEARCH: _search, BN_GRAPH: _bn_graph}


if __name__ == "__main__":
    sys.exit(main())
