"""The k best networks."""

from functools import partial

import numpy as np

from bench import inputs
from bench.work import Benchmark, Rise, Work, of_run
from extbnsl.kbest import below, halves, ranking
from extbnsl.kbest import walk as rest
from extbnsl.kbest.scope import ALL, Scope
from extbnsl.kbest.walk import rest_of
from extbnsl.lab.parent_limits import needed
from extbnsl.lab.parent_limits.needed import needed_scores
from extbnsl.solver.k_best import k_best_networks
from extbnsl.solver.opening import Request


def _ranked(scope: Scope, tiny: bool) -> None:
    dataset = inputs.dataset(6, 100) if tiny else inputs.dataset(12, 300)
    k_best_networks(Request(dataset, methods=ALL, budgets=inputs.BUDGETS, scope=scope))


_LISTED = partial(_ranked, Scope(k=20_000))
_WITHIN = partial(_ranked, Scope(k=100, within_factor=1e4))
_CLASSES = partial(_ranked, Scope(k=1000, classes=True))


def _put(tiny: bool) -> None:
    varsets = np.unique(inputs.varsets(60, 100 if tiny else 200_000))
    rest_of([(varsets, np.arange(varsets.size, dtype=float))], varsets.size)


def _costs(tiny: bool) -> Work:
    varsets = np.unique(inputs.varsets(60, 100 if tiny else 200_000))
    table = rest_of([(varsets, np.arange(varsets.size, dtype=float))], varsets.size)
    asked = np.random.default_rng(1).permutation(np.concatenate((varsets, varsets ^ np.uint64(1))))
    return Work(halves._rest_costs, [(asked, table)], asked.size)


def _needed(tiny: bool) -> None:
    needed_scores(inputs.random_scores(10, 50) if tiny else inputs.random_scores(40, 2000), 10)


BENCHMARKS = (
    of_run("kbest.walk.walk_on", below, "network", lambda _, got: got, _LISTED),
    of_run("kbest.halves._further", halves, "beginning", lambda _, got: got, _WITHIN),
    of_run("kbest.halves._end_on", halves, "step", Rise(lambda a: a[0].steps[0]), _WITHIN),
    of_run("kbest.halves._added_up", halves, "beginning", lambda a, _: a[0].size, _WITHIN),
    Benchmark("kbest.halves._rest_costs", "varset", _costs),
    of_run("kbest.walk._insert", rest, "varset", lambda a, _: a[0].size, _put),
    of_run("lab.parent_limits.needed._with_few_subsets", needed, "family", lambda a, _: a[0].shape[0], _needed),
    of_run("kbest.ranking._fill_keys", ranking, "network", lambda a, _: a[0].shape[0], _CLASSES),
)
