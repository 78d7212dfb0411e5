"""The layered search; runs in files too, which are no work for kernels, but for a search that memory does not hold."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench import inputs
from bench.work import Benchmark, Work, of_run
from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import Claim
from extbnsl.files.store import Store
from extbnsl.parents.components import Component
from extbnsl.proof import trials
from extbnsl.proof.guide import Guide, weighed_grouping
from extbnsl.proof.methods import Methods
from extbnsl.proof.trials import with_ancestors
from extbnsl.search import targets as blocks
from extbnsl.search import tasks
from extbnsl.search.problem import LOW_BITS
from extbnsl.search.runs import Nodes, Run, load_sources, run_in_memory, write_run
from extbnsl.solver.opening import Request
from extbnsl.solver.solve import solve

BARE = Methods("static", fixing=False, ancestral=False, path_extension=False, polish=False)
SPARSE, LAYERED = replace(BARE, lower_bound="pattern"), replace(BARE, lower_bound="pattern", parent_graph="layered")
CLOSELY = replace(BARE, lower_bound="auto", path_extension=True)


def _solved(methods: Methods, tiny: bool) -> None:
    """A search, which tiny problems take only with the static bound."""
    if tiny:
        solve(Request(inputs.random_scores(12, 20), Claim(), replace(methods, lower_bound="static"), inputs.BUDGETS))
    else:
        solve(Request(inputs.scores(24, 500), Claim(), methods, inputs.BUDGETS))


def _ancestral(tiny: bool) -> None:
    """As if a long search were to come."""
    scores = inputs.scores(10, 100) if tiny else inputs.scores(26, 300)
    families = families_of(scores.parents, scores.costs)
    limit = solve(Request(scores, budgets=inputs.BUDGETS)).cost * (1 + 1e-9)
    with inputs.context() as context:
        multipliers = find_multipliers(families, None, 10, 1, context.workers)
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs)
        guide = Guide(whole, multipliers, weighed_grouping(whole, context))
        with_ancestors(guide, limit, 1e9, context)


@cache
def _run(tiny: bool) -> Run:
    """A run in memory, of varsets of any sizes."""
    varsets = np.unique(inputs.varsets(30, 1000 if tiny else 500_000))
    highs, first = np.unique(varsets >> LOW_BITS, return_index=True)
    lows = (varsets & ((1 << LOW_BITS) - 1)).astype(np.uint16)
    leaf = np.zeros(lows.size, np.uint8)
    costs = np.random.default_rng(1).random(lows.size)
    return run_in_memory(Nodes(highs, np.append(first, lows.size), lows, leaf, costs, leaf, np.zeros((lows.size, 0))))


@cache
def _folder() -> TemporaryDirectory[str]:
    """A folder for runs, until the process ends."""
    return TemporaryDirectory(prefix="bench-")


def _filed(run: Run, stem: str) -> Run:
    """The run with its columns in files as well."""
    return write_run(run, stem, Store(Path(_folder().name), inputs.MEMORY))


def _written(tiny: bool) -> Work:
    return Work(_filed, [(_run(tiny), "written")], _run(tiny).size)


def _loaded(tiny: bool) -> Work:
    run = _filed(_run(tiny), "loaded").filed
    return Work(load_sources, [(run, run.first, run.last + 1, Path(_folder().name))], run.size)


def _planned(tiny: bool) -> Work:
    """Blocks of a layer with many fences."""
    bits, fences = (6, 10) if tiny else (24, 4000)
    rng = np.random.default_rng(1)
    highs = np.unique(rng.integers(0, 1 << bits, fences)).astype(np.uint64)
    weights = np.concatenate(([0], np.cumsum(rng.integers(1, 1000, highs.size - 1))))
    made = blocks._plan(highs, weights, bits, np.uint64(0), 5000)
    return Work(blocks._plan, [(highs, weights, bits, np.uint64(0), 5000)], made[0].size)


BENCHMARKS = (
    of_run("search.expand.expand", tasks, "edge", lambda _, got: got[0], partial(_solved, SPARSE)),
    of_run("search.expand.expand/clusters", tasks, "edge", lambda _, got: got[0], partial(_solved, CLOSELY)),
    of_run("search.expand.expand/rows", tasks, "edge", lambda _, got: got[0], partial(_solved, LAYERED)),
    of_run("search.rows.inherit", tasks, "node", lambda a, _: a[3].size, partial(_solved, LAYERED)),
    of_run("search.rows.improve", tasks, "node", lambda a, _: a[2].size, partial(_solved, LAYERED)),
    of_run("search.targets.next_targets", tasks, "target", lambda _, got: got[0], partial(_solved, SPARSE)),
    of_run("search.targets.group_by_leaf", tasks, "node", lambda a, _: a[1].size, partial(_solved, SPARSE)),
    of_run("search.problem.closed_sets_of", trials, "node", lambda a, _: a[0].size, _ancestral),
    Benchmark("search.targets._plan", "block", _planned),
    Benchmark("search.runs.write_run", "node", _written),
    Benchmark("search.runs.load_sources", "node", _loaded),
)
