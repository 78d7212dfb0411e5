"""The search over orders."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench import inputs
from bench.work import Benchmark, Kernel, Work, of_run
from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.core.claims import Claim
from extbnsl.lab.baselines.swaps import climb_by_swaps
from extbnsl.machine.workers import Workers
from extbnsl.orders import local_search
from extbnsl.orders.acyclic import acyclic_choices, settle, topological_order
from extbnsl.orders.fitted.fit import NOBODY
from extbnsl.orders.fitted.kicks import improve_fitted, new_search
from extbnsl.orders.fitted.search import KICKS, fitting
from extbnsl.orders.kicks import Kicks, improve_by_kicks
from extbnsl.orders.line import best_along, random_order
from extbnsl.orders.local_search import USUAL, search_orders
from extbnsl.orders.parent_lists import ParentLists, lists_of_varsets
from extbnsl.parents.best_score import byte_tables
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.measured import standardised


def _lists(tiny: bool) -> ParentLists:
    scores = inputs.random_scores(12, 20) if tiny else inputs.random_scores(300, 300)
    return lists_of_varsets(scores.parents, scores.costs)


def _orders(count: int, lists: ParentLists) -> NDArray[np.int32]:
    rng = np.random.default_rng(1)
    return rng.permuted(np.tile(np.arange(lists.variables, dtype=np.int32), (count, 1)), axis=1)


def _along(kernel: Kernel, count: int, tiny: bool) -> Work:
    """A kernel that goes along an order."""
    lists = _lists(tiny)
    return Work(kernel, [(order, lists) for order in _orders(count, lists)], count * lists.variables)


def _towards(kernel: Kernel, count: int, tiny: bool) -> Work:
    """A kernel that goes on from an order until it is told to stop."""
    lists = _lists(tiny)
    calls = [(order, inputs.GO_ON, lists) for order in _orders(count, lists)]
    return Work(kernel, calls, count * lists.variables)


def _topological(tiny: bool) -> Work:
    lists = _lists(tiny)
    orders = _orders(100, lists)
    calls = [(order, acyclic_choices(order, inputs.GO_ON, lists), lists) for order in orders]
    return Work(topological_order, calls, orders.size)


def _random(tiny: bool) -> Work:
    lists = _lists(tiny)
    return Work(random_order, [(np.full(1, seed, np.uint64), lists) for seed in range(1, 21)], 20 * lists.variables)


def _kicks(tiny: bool) -> Work:
    """Kicks from an order that as many of them have found, with others beside it."""
    scores = inputs.scores(10, 100) if tiny else inputs.scores(100, 2000, max_parents=2)
    lists = lists_of_varsets(scores.parents, scores.costs)
    orders, state = _orders(4, lists), np.ones(1, np.uint64)
    elsewhere = np.argsort(orders[1:], axis=1).astype(np.int32)
    kicks = Kicks(1, 50, 20, number=10 if tiny else 300)
    improve_by_kicks(orders[0], state, kicks, elsewhere[:0], inputs.GO_ON, lists)
    return Work(improve_by_kicks, [(orders[0], state, kicks, elsewhere, inputs.GO_ON, lists)], kicks.number)


def _fitted(tiny: bool) -> Work:
    """The same of columns of numbers, whose parents are chosen within."""
    columns = inputs.numbers(10, 100) if tiny else inputs.numbers(100, 1000)
    problem = fitting(standardised(columns), constraints_of(Claim(), columns.names), 3.0)
    n, number = columns.variables, 5 if tiny else 50
    order, state = np.random.default_rng(1).permutation(n).astype(np.int32), np.ones(1, np.uint64)
    parents, elsewhere = np.full((n, problem.most), NOBODY, np.int32), np.zeros((0, n), np.int32)
    search = new_search(problem.gram, problem.most)
    improve_fitted(order, parents, state, KICKS._replace(number=0), elsewhere, inputs.GO_ON, search)
    kicks = KICKS._replace(number=number)
    return Work(improve_fitted, [(order, parents, state, kicks, elsewhere, inputs.GO_ON, search)], number)


def _searched(tiny: bool) -> None:
    scores = inputs.random_scores(8, 20) if tiny else inputs.random_scores(30, 300)
    with Workers(1) as workers:
        tables = byte_tables(scores.parents, scores.costs)
        search_orders(tables, scores.variables, workers, 1, USUAL, lambda cost: None)


def _sinks(tiny: bool) -> Work:
    scores = inputs.random_scores(12, 20) if tiny else inputs.random_scores(100, 200)
    parents = np.ascontiguousarray(np.concatenate(scores.parents).T)
    child = np.repeat(np.arange(scores.variables), [costs.size for costs in scores.costs])
    values = np.random.default_rng(1).random(child.size)
    return Work(order_of_solution, [(parents, child, values, scores.variables)], child.size)


BENCHMARKS = (
    Benchmark("orders.line.best_along", "variable", partial(_along, best_along, 100)),
    Benchmark("orders.line.random_order", "variable", _random),
    Benchmark("lab.baselines.swaps.climb_by_swaps", "variable", partial(_towards, climb_by_swaps, 4)),
    Benchmark("orders.acyclic.acyclic_choices", "variable", partial(_towards, acyclic_choices, 20)),
    Benchmark("orders.acyclic.topological_order", "variable", _topological),
    Benchmark("orders.acyclic.settle", "variable", partial(_towards, settle, 4)),
    Benchmark("orders.kicks.improve_by_kicks", "kick", _kicks),
    Benchmark("orders.fitted.kicks.improve_fitted", "kick", _fitted),
    of_run("orders.local_search.improve_order", local_search, "kick", lambda a, _: a[2] + 1, _searched),
    Benchmark("bounds.lp.separation.order_of_solution", "family", _sinks),
)
