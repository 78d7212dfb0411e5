"""`python -m bench.flop`: `approximate` beside flopsearch on columns of numbers, at equal CPU time. See README.md."""

import argparse
import importlib
import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import extbnsl
from extbnsl.data import Numbers
from extbnsl.kernels.varsets import pack
from extbnsl.parents.exhaustive.measured import standardised
from extbnsl.scores.gaussian import GAUSSIAN_BIC

MISSING = 32  # the exit code, as of the command line
DIRECTED, UNDIRECTED = 1, 2  # in what flopsearch returns
LEAST_SECONDS = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or MISSING if flopsearch is not installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.flop", description="Beside flopsearch.")
    parser.add_argument("--variables", type=int, default=200)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--arcs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1, help="of the data")
    parser.add_argument("--restarts", type=int, nargs="*", default=[0, 20], help="of flopsearch (default: 0 20)")
    given = parser.parse_args(arguments)
    try:
        flop = importlib.import_module("flopsearch").flop
    except ImportError:
        print("flopsearch is not installed here: pip install flopsearch", file=sys.stderr)
        return MISSING
    numbers, truth = random_network(given.variables, given.records, given.arcs, given.seed)
    print(f"the network that made the data costs {cost(truth, numbers):.2f}")
    extbnsl.approximate(numbers, score="gaussian-bic", time="1s", threads=1)  # compiles the kernels if need be
    for restarts in given.restarts:
        before = time.process_time()
        found = parents_of(np.asarray(flop(numbers.values, 1.0, restarts=restarts)))
        seconds = time.process_time() - before
        print(f"flopsearch, {restarts:3} restarts  {seconds:6.1f} CPU s  {cost(found, numbers):.2f}", flush=True)
        before = time.process_time()
        limit = f"{max(seconds, LEAST_SECONDS):.1f}s"
        own = extbnsl.approximate(numbers, score="gaussian-bic", time=limit, threads=1)
        print(f"extbnsl, --time {limit:>7}   {time.process_time() - before:6.1f} CPU s  {own.cost:.2f}", flush=True)
    return 0


def random_network(variables: int, records: int, arcs: int, seed: int) -> tuple[Numbers, list[list[int]]]:
    """Records of a linear Gaussian network with so many random arcs, and its parents: coefficients from 0.25 to 1 of
    either sign, variances of the noise from 0.5 to 1.5."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(variables).tolist()
    pairs = [(a, b) for b in range(variables) for a in range(b)]
    parents: list[list[int]] = [[] for _ in range(variables)]
    for a, b in (pairs[at] for at in rng.choice(len(pairs), arcs, replace=False)):
        parents[order[b]].append(order[a])
    values = np.zeros((records, variables))
    for x in order:
        weights = rng.uniform(0.25, 1.0, len(parents[x])) * rng.choice([-1.0, 1.0], len(parents[x]))
        noise = rng.normal(size=records) * math.sqrt(rng.uniform(0.5, 1.5))
        values[:, x] = values[:, parents[x]] @ weights + noise
    return Numbers(tuple(f"v{x}" for x in range(variables)), values, "generated"), parents


def cost(parents: Sequence[Sequence[int]], numbers: Numbers) -> float:
    """What a network costs, in nats."""
    columns, n, price = standardised(numbers), numbers.variables, GAUSSIAN_BIC.parameter(numbers.records)
    return math.fsum(float(columns.costs(x, pack(own, n)[None], price)[0]) for x, own in enumerate(parents))


def parents_of(graph: NDArray[Any]) -> list[list[int]]:
    """The parents in a network of a class, given as a matrix: variables without children but undirected ones, of which
    all are next to its other neighbours, come last, one after the other (Dor and Tarsi 1992)."""
    directed, undirected = graph == DIRECTED, graph == UNDIRECTED
    near, left = directed | directed.T | undirected, set(range(len(graph)))
    parents: list[list[int]] = [np.flatnonzero(column).tolist() for column in directed.T]
    while left:
        rest = sorted(left)
        for x in rest:
            own = [y for y in rest if undirected[x, y]]
            others = [z for z in rest if near[x, z]]
            if not directed[x, rest].any() and all(near[y, z] or y == z for y in own for z in others):
                break
        else:
            raise ValueError("the graph is no class of networks")
        parents[x] += own
        left.remove(x)
    return parents


if __name__ == "__main__":
    sys.exit(main())
