"""The check of a certificate."""

import math

import numpy as np

from bench import inputs
from bench.work import Benchmark, Work, of_run
from extbnsl.knowledge.knowledge import NOTHING
from extbnsl.machine.workers import Workers
from extbnsl.verify import cell_families, families, regression_families
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import Taken, families_of_data
from extbnsl.verify.recount import _disjoint_sum
from extbnsl.verify.regression_search import triangulate
from extbnsl.verify.subsets import enter, least_excess, spread
from extbnsl.verify.units import MOST_UNITS


def _searched(tiny: bool) -> None:
    """All families of each fourth child that matter, whatever they cost."""
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(16, 500)
    everything = demands_of(dataset.names, None, NOTHING)
    nothing = Taken(np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    with Workers(1) as workers:
        source = families_of_data(dataset, math.log(dataset.records) / 2, everything, workers)
        for child in range(0, dataset.variables, 4):
            source.below(child, MOST_UNITS, nothing)


def _searched_by_cells(tiny: bool) -> None:
    """The same by BDeu, of few parents."""
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(16, 500)
    demands = demands_of(dataset.names, 3, NOTHING)
    nothing = Taken(np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    with Workers(1) as workers:
        source = cell_families.families_by_cells(dataset, "bdeu", 1.0, demands, workers)
        for child in range(0, dataset.variables, 4):
            source.below(child, MOST_UNITS, nothing)


def _searched_by_regressions(tiny: bool) -> None:
    """The same of columns of numbers."""
    numbers = inputs.numbers(8, 100) if tiny else inputs.numbers(20, 500)
    demands = demands_of(numbers.names, None, NOTHING)
    nothing = Taken(np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    with Workers(1) as workers:
        source = regression_families.families_by_regressions(numbers, demands, workers)
        for child in range(0, numbers.variables, 4):
            source.below(child, MOST_UNITS, nothing)


def _triangle(tiny: bool) -> Work:
    rows = np.random.default_rng(1).normal(size=(64, 32))
    return Work(triangulate, [(rows,)] * (2 if tiny else 100), 64 * (2 if tiny else 100))


def _disjoint(tiny: bool) -> Work:
    varsets = inputs.varsets(60, 100 if tiny else 20_000, 0.1)[:, None]
    clusters = inputs.varsets(60, 50, 0.1)[:, None]
    return Work(_disjoint_sum, [(varsets, clusters, np.arange(1, 51))], 50 * varsets.size)


def _enter(tiny: bool) -> Work:
    varsets = inputs.varsets(16, 100 if tiny else 20_000, 0.3)[:, None] & ~np.uint64(1)
    costs = np.arange(varsets.size, dtype=np.int64)
    row = np.full(1 << 15, 1 << 40, np.int64)
    return Work(enter, [(row, varsets, costs, np.arange(1, 16))], 15 * varsets.size)


def _spread(tiny: bool) -> Work:
    variables = 8 if tiny else 16
    row = np.random.default_rng(1).integers(0, 1 << 40, 1 << variables)
    return Work(spread, [(row, 0, 1 << 40)], variables << variables)


def _excess(tiny: bool) -> Work:
    variables = 8 if tiny else 16
    table = np.random.default_rng(1).integers(0, 1 << 40, (variables, 1 << variables - 1))
    return Work(least_excess, [(table, 1 << 50, np.zeros(1, np.uint8))], variables << variables)


BENCHMARKS = (
    of_run("verify.child_search.search", families, "child", lambda a, _: 1, _searched),
    of_run("verify.cell_search.search_cells", cell_families, "child", lambda a, _: 1, _searched_by_cells),
    of_run(
        "verify.regression_search.search_regressions",
        regression_families,
        "child",
        lambda a, _: 1,
        _searched_by_regressions,
    ),
    Benchmark("verify.regression_search.triangulate", "row", _triangle),
    Benchmark("verify.recount._disjoint_sum", "family and cluster", _disjoint),
    Benchmark("verify.subsets.enter", "family and variable", _enter),
    Benchmark("verify.subsets.spread", "subset and variable", _spread),
    Benchmark("verify.subsets.least_excess", "subset and variable", _excess),
)
