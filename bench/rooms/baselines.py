"""Published methods, and in loops of the benchmarks' own what their kernels are made of."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench import inputs
from bench.work import Benchmark, Rise, Work, of_run, recorded
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.lab.baselines import a_star, cycle_graph, cycles, depth_first, dynamic, layered, nodes
from extbnsl.lab.baselines.methods import BaselineMethods
from extbnsl.lab.baselines.nodes import (
    NodeTable,
    grow_nodes,
    has_room,
    insert,
    look_up,
    new_node_table,
    new_queue,
    pop,
    push,
    wanted_capacity,
)
from extbnsl.lab.baselines.order_graph import OrderGraph, best_score, bound_backward, bound_onward, order_graph
from extbnsl.lab.baselines.solving import solve_by
from extbnsl.solver.opening import Request


@njit
def _insert(varsets, begin, table):
    """Insert the varsets from this one on that are not there, as long as there is room; the number of the next."""
    for i in range(begin, varsets.size):
        if not has_room(1, table):
            return i
        if look_up(varsets[i], table) < 0:
            table.costs[insert(varsets[i], table), 0] = 0.0
    return varsets.size


@njit
def _look_up(varsets, table):
    """Look these varsets up."""
    total = 0
    for varset in varsets:
        total += look_up(varset, table)
    return total


@njit
def _through_queue(keys, held, queue):
    """Put these keys in; from some number of them on take the first out for each that comes in."""
    total = 0.0
    for i in range(keys.size):
        push(keys[i], u64(i), queue)
        if i >= held:
            total += pop(queue)[0]
    return total


@njit
def _scored(varsets, graph):
    """BestScore of each member of these varsets in the others."""
    varsets, graph = borrowed((varsets, graph))
    total = 0.0
    for varset in varsets:
        rest = varset
        while rest:
            x = lowest(rest)
            rest &= rest - u64(1)
            total += best_score(x, varset ^ (u64(1) << x), graph.tables)
    return total


@njit
def _bounded_onward(varsets, graph):
    """The bound of these varsets onward."""
    varsets, graph = borrowed((varsets, graph))
    total = 0.0
    for varset in varsets:
        total += bound_onward(varset, graph.groups, graph.clusters)
    return total


@njit
def _bounded_backward(varsets, graph):
    """The bound of these varsets backward."""
    varsets, graph = borrowed((varsets, graph))
    total = 0.0
    for varset in varsets:
        total += bound_backward(varset, graph.groups, graph.clusters)
    return total


def _solved(method: str, bound: str, variables: int, tiny: bool) -> None:
    scores = inputs.scores(10, 100) if tiny else inputs.scores(variables, 500)
    solve_by(Request(scores, methods=BaselineMethods(method, bound), budgets=inputs.BUDGETS))


_BY_TABLES = partial(_solved, "dp", "auto", 18)
_BY_LAYERS = partial(_solved, "layered-dp", "auto", 18)
_BEST_FIRST = partial(_solved, "astar", "static", 18)
_DEPTH_FIRST = partial(_solved, "dfbnb", "static", 18)
_BY_CYCLES = partial(_solved, "cycles", "auto", 14)


def _filled(varsets: NDArray[np.uint64]) -> NodeTable:
    """A table of these varsets, which grows as it must."""
    table, done = new_node_table(1), 0
    while done < varsets.size:
        done = _insert(varsets, done, table)
        if done < varsets.size:
            grow_nodes(table, wanted_capacity(table, 1, 0.2))
    return table


def _nodes(tiny: bool) -> NDArray[np.uint64]:
    return inputs.varsets(40, 60_000 if tiny else 1_000_000)


def _tabled(tiny: bool) -> Work:
    varsets = _nodes(tiny)
    asked = np.concatenate((varsets[::10], varsets[::10] ^ u64(1)))
    return Work(_look_up, [(asked, _filled(varsets))], asked.size)


def _slotted(tiny: bool) -> Work:
    return recorded(nodes, "_fill_slots", lambda a, _: a[0].nodes, lambda: _filled(_nodes(tiny)))


def _queued(tiny: bool) -> Work:
    held, keys = (10, 100) if tiny else (100_000, 300_000)
    return Work(_through_queue, [(np.random.default_rng(1).random(keys), held, new_queue(held + 1))], keys)


def _graph(tiny: bool, backward: bool = False) -> OrderGraph:
    with inputs.context() as context:
        return order_graph(inputs.scores(10, 100) if tiny else inputs.scores(24, 500), context, backward)


def _best_scored(tiny: bool) -> Work:
    graph = _graph(tiny)
    varsets = inputs.varsets(graph.variables, 100 if tiny else 20_000)
    return Work(_scored, [(varsets, graph)], int(np.bitwise_count(varsets).sum()))


def _bounded(backward: bool, tiny: bool) -> Work:
    graph = _graph(tiny, backward)
    varsets = inputs.varsets(graph.variables, 100 if tiny else 100_000)
    return Work(_bounded_backward if backward else _bounded_onward, [(varsets, graph)], varsets.size)


def _having(tiny: bool) -> None:
    cycle_graph.having_of(inputs.random_family_arrays(tiny))


BENCHMARKS = (
    of_run("lab.baselines.dynamic._spread", dynamic, "entry", lambda a, _: a[0].size, _BY_TABLES),
    of_run("lab.baselines.dynamic._sinks_of_block", dynamic, "varset", lambda a, _: 1 << a[1], _BY_TABLES),
    of_run("lab.baselines.layered._expand_chunk", layered, "varset", lambda a, _: a[3].size, _BY_LAYERS),
    Benchmark("lab.baselines.order_graph/best_score", "member and varset", _best_scored),
    Benchmark("lab.baselines.order_graph/onward", "varset", partial(_bounded, False)),
    Benchmark("lab.baselines.order_graph/backward", "varset", partial(_bounded, True)),
    Benchmark("lab.baselines.nodes/table", "varset", _tabled),
    Benchmark("lab.baselines.nodes._fill_slots", "node", _slotted),
    Benchmark("lab.baselines.nodes/queue", "entry", _queued),
    of_run("lab.baselines.a_star._expand", a_star, "edge", Rise(lambda a: a[4][a_star.GENERATED]), _BEST_FIRST),
    of_run(
        *("lab.baselines.depth_first._search", depth_first, "edge"),
        *(Rise(lambda a: a[4][depth_first.GENERATED]), _DEPTH_FIRST),
    ),
    of_run("lab.baselines.cycles.expand", cycles, "node", Rise(lambda a: a[5][2].expanded[0]), _BY_CYCLES),
    of_run("lab.baselines.cycle_graph._fill", cycle_graph, "family", lambda a, _: a[2].costs.size, _having),
)
