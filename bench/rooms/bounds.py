"""Lower bounds: multipliers, patterns, cuts for linear programs."""

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from bench import inputs
from bench.work import Benchmark, Work, of_run
from extbnsl.bounds import patterns
from extbnsl.bounds.ascent import ascend_nodes, find_multipliers, improve
from extbnsl.bounds.at_nodes import cluster_bound
from extbnsl.bounds.lp import program, triples
from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished
from extbnsl.bounds.multipliers import MEMBERS, UNIT, Multipliers, families_of, reduce
from extbnsl.bounds.patterns import group_families, pattern_table
from extbnsl.machine.workers import Workers

GroupFamilies = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]

ROUNDS = 20
CUTS = 1000  # that there is room for


@cache
def _multipliers(tiny: bool) -> Multipliers:
    with Workers(1) as workers:
        return find_multipliers(inputs.random_family_arrays(tiny), None, 10, 1, workers)


def _improve(tiny: bool) -> Work:
    families = inputs.random_family_arrays(tiny)
    cuts, weights = np.zeros((CUTS, MEMBERS, 1), np.uint64), np.zeros(CUTS)
    units = ROUNDS * families.costs.size
    return Work(improve, [(families, cuts, weights, 0, ROUNDS, 1, inputs.GO_ON)], units)


def _reduce(tiny: bool) -> Work:
    families, found = inputs.random_family_arrays(tiny), _multipliers(tiny)
    reduced, least = np.empty(families.costs.size), np.empty(families.first.size - 1)
    call = families, found.cuts, found.weights * UNIT, found.weights.size, reduced, least, inputs.GO_ON
    return Work(reduce, [call] * 10, 10 * found.weights.size * families.costs.size)


def _nodes(tiny: bool) -> Work:
    families = inputs.random_family_arrays(tiny)
    n = families.first.size - 1
    clusters = cluster_bound(_multipliers(tiny), np.arange(n))
    nodes = inputs.varsets(n, 5 if tiny else 20, 0.3)
    call = nodes, np.zeros(nodes.size), np.inf, families, clusters, np.empty(nodes.size, np.uint8), inputs.GO_ON
    return Work(ascend_nodes, [call], nodes.size)


def _group(tiny: bool) -> GroupFamilies:
    scores = inputs.random_scores(10, 20) if tiny else inputs.random_scores(40, 5000)
    return group_families(scores.parents, scores.costs, range(5 if tiny else 18))


def _tabled(backward: bool, tiny: bool) -> Work:
    group = _group(tiny)
    width = group[2].size - 1
    return Work(pattern_table, [(*group, backward)], width << (width - 1))


def _polished(tiny: bool) -> None:
    """Linear programs for the root, which look for all kinds of cuts."""
    scores = inputs.scores(10, 100) if tiny else inputs.scores(60, 1000, max_parents=2)
    families = families_of(scores.parents, scores.costs)
    with Workers(1) as workers:
        found = find_multipliers(families, None, 10, 1, workers)
        polished(families, Polished(found, found.cuts), Goal(np.inf, ROOT, inputs.MEMORY), 5000, workers)


BENCHMARKS = (
    Benchmark("bounds.ascent.improve", "family and round", _improve),
    Benchmark("bounds.ascent.ascend_nodes", "node", _nodes),
    Benchmark("bounds.multipliers.reduce", "family and cut", _reduce),
    of_run("bounds.patterns._cut_to_group", patterns, "member and family", lambda a, _: a[0].size * a[1].size, _group),
    Benchmark("bounds.patterns.pattern_table", "least cost", partial(_tabled, False)),
    Benchmark("bounds.patterns.pattern_table/backward", "least cost", partial(_tabled, True)),
    of_run(
        "bounds.lp.separation.counting_families",
        program,
        "family and cut",
        lambda a, _: a[1].size * a[2].shape[0],
        _polished,
    ),
    of_run(
        "bounds.lp.separation.grow_clusters",
        program,
        "start",
        lambda a, _: a[2][a[3][0] :: a[3][1]].shape[0],
        _polished,
    ),
    of_run("bounds.lp.separation.shrink_clusters", program, "cluster", lambda a, _: a[2].shape[0], _polished),
    of_run("bounds.lp.triples.grow_triples", program, "family", lambda _, got: got, _polished),
    of_run("bounds.lp.triples.find_triples", triples, "step", lambda a, got: a[3] - got, _polished),
)
