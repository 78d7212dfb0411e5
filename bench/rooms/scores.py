"""Counting joint entropies, and determinants."""

from collections.abc import Callable
from functools import partial

import numpy as np

from bench import inputs
from bench.work import Benchmark, Work, recorded
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.kernels.ranks import binomial_table
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.source import lattice_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores import tallies
from extbnsl.scores.counting import CountingTable, count, counting_space
from extbnsl.scores.determinants import Moments, determine, least_left, moments, unexplained


def _count(records: int, states: int, tiny: bool) -> Work:
    """T of the first varsets of four, of few distinct rows or of many."""
    dataset = inputs.dataset(24, 50 if tiny else records, states)
    table = lattice_of(dataset, Claim()).problem(0.0).table
    assert isinstance(table, CountingTable), "its columns are of states"
    n, size, most = table.arities.size, 4, 10 if tiny else 4000
    binomials = binomial_table(n, size)
    blocks = np.arange(-(-int(binomials[n, size]) // 64), dtype=np.uint64)
    places = np.stack((np.full(blocks.size, 2**64 - 1, np.uint64), 64 * blocks), axis=1)
    return Work(count, [(size, 0, places, binomials, counting_space(table, size), np.empty(most))], most)


def _fill(score: str, tiny: bool) -> Work:
    """The figures of varsets of up to five, of which many states have few records."""
    dataset, claim = inputs.dataset(10, 50) if tiny else inputs.dataset(22, 700), Claim(score, max_parents=4)

    def run() -> None:
        with Workers(1) as workers:
            surviving_families(dataset, claim, Means(workers, inputs.shelf(), ignore))

    return recorded(tallies, "fill", lambda a, _: len(a[-1]), run)


def _moments(variables: int) -> Moments:
    """The moments of variables of which each depends on the one before."""
    matrix = 0.5 ** np.abs(np.subtract.outer(np.arange(variables), np.arange(variables)))
    return moments(matrix, np.full(variables, -300.0), 1000)


def _determine(tiny: bool) -> Work:
    """T of the first varsets of five continuous variables."""
    n, size, most = 40, 5, 10 if tiny else 100_000
    binomials = binomial_table(n, size)
    blocks = np.arange(-(-int(binomials[n, size]) // 64), dtype=np.uint64)
    places = np.stack((np.full(blocks.size, 2**64 - 1, np.uint64), 64 * blocks), axis=1)
    return Work(determine, [(size, 0, places, binomials, _moments(n), np.empty(most))], most)


def _by_factor(kernel: Callable[..., None], tiny: bool) -> Work:
    """What sets of five parents leave of a continuous variable, or of each other too."""
    n, most = 40, 10 if tiny else 20_000
    rng = np.random.default_rng(0)
    varsets = np.array([pack(1 + rng.permutation(n - 1)[:5], n) for _ in range(most)])
    factor = np.ascontiguousarray(np.linalg.cholesky(_moments(n).matrix))
    return Work(kernel, [(0, varsets, factor, inputs.GO_ON, np.empty(most))], most)


BENCHMARKS = (
    Benchmark("scores.determinants.determine", "varset", _determine),
    Benchmark("scores.determinants.unexplained", "varset", partial(_by_factor, unexplained)),
    Benchmark("scores.determinants.least_left", "varset", partial(_by_factor, least_left)),
    Benchmark("scores.counting.count", "varset", lambda tiny: _count(2000, 2, tiny)),
    Benchmark("scores.counting.count/states", "varset", lambda tiny: _count(1000, 5, tiny)),
    Benchmark("scores.tallies.fill", "varset", lambda tiny: _fill("bdeu", tiny)),
    Benchmark("scores.tallies.fill/tables", "varset", lambda tiny: _fill("fnml", tiny)),
    Benchmark("scores.tallies.fill/occurring", "varset", lambda tiny: _fill("bds", tiny)),
)
