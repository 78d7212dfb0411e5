"""Which families can win: by level, by child, explored, under an order; and BestScore."""

import itertools
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench import inputs
from bench.work import Benchmark, Work, of_run, recorded
from extbnsl.bounds.multipliers import no_cuts
from extbnsl.core.claims import INTERRUPTED, Claim
from extbnsl.core.events import Event, ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Dataset, Numbers
from extbnsl.data.beside import Slices
from extbnsl.kernels.varsets import pack
from extbnsl.lab.baselines import suzuki
from extbnsl.machine.workers import Workers, unhalted
from extbnsl.parents import best_score
from extbnsl.parents.best_score import as_bytes, byte_tables, first_inside_each
from extbnsl.parents.exhaustive import (
    alone_numbers,
    alone_states,
    averaged,
    averaged_numbers,
    by_child,
    by_level,
    cells_by_child,
    conditional,
    degenerate,
    problem,
    regressed,
    single_parents,
    surviving,
)
from extbnsl.parents.exhaustive.by_child import judge_by_child
from extbnsl.parents.exhaustive.children import child_of
from extbnsl.parents.exhaustive.measured import Measured, standardised
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.regressed import Regressed
from extbnsl.parents.exhaustive.source import lattice_of, source_of
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.explored import explore, misfit, neighbours
from extbnsl.parents.explored.explore import Effort, Explored, exploration, explored_families
from extbnsl.parents.explored.misfit import bit_columns, correlated_columns
from extbnsl.parents.explored.neighbours import Chosen, extended
from extbnsl.parents.ordered import choosing
from extbnsl.parents.ordered.choosing import choose_parents, order_problem
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.parents.priced import cells, rounds, sweeps
from extbnsl.parents.priced.cells import RoundOfCells
from extbnsl.parents.priced.numbers import PricedNumbers, RoundOfNumbers
from extbnsl.parents.priced.prices import Prices, Stage
from extbnsl.scores.gaussian import GAUSSIAN_BIC
from extbnsl.solver.opening import Request

BY_CELLS = Claim("bdeu", max_parents=4)


def _counted_by_level(tiny: bool, claim: Claim = Claim()) -> None:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(22, 700)
    with Workers(1) as workers:
        surviving_families(dataset, claim, Means(workers, inputs.shelf(), ignore))


_cells_by_level = partial(_counted_by_level, claim=BY_CELLS)
_counted_to_a_limit = partial(_counted_by_level, claim=Claim(max_parents=4))  # so that there are many of the last size


def _counted_with_required(tiny: bool) -> None:
    """Each variable but the first must have the one before it as a parent."""
    names = (inputs.dataset(10, 100) if tiny else inputs.dataset(22, 700)).names
    _counted_by_level(tiny, Claim(knowledge=Knowledge(required=tuple(itertools.pairwise(names)))))


def _interrupted(tiny: bool, claim: Claim = Claim(), level: int = 5) -> None:
    """Counting that stops between two sizes, with many sets alive."""
    dataset, last = (inputs.dataset(10, 100), 2) if tiny else (inputs.dataset(22, 700), level)
    done = set[int | None]()

    def observe(event: Event) -> None:
        done.add(getattr(event, "level", None))

    with Workers(1, lambda: INTERRUPTED if last in done else None) as workers:
        surviving_families(dataset, claim, Means(workers, inputs.shelf(), observe))


def _prepared_for_counting(tiny: bool, claim: Claim = Claim()) -> None:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(100, 10_000)
    source = lattice_of(dataset, claim)
    with Workers(1) as workers:
        counting = source.with_floors(source.problem(0.0), workers)
        single_parents.with_single_parents(counting, workers, inputs.shelf())


def _counted_by_child(dataset: Dataset, claim: Claim) -> None:
    source = lattice_of(dataset, claim)
    with Workers(1) as workers:
        counting = source.with_limits(source.with_floors(source.problem(0.0), workers), workers)
        shelf = inputs.shelf()
        begun = single_parents.with_single_parents(counting, workers, shelf)
        deque(judge_by_child(counting, replace(begun, complete_to=0), Means(workers, shelf, ignore)), maxlen=0)


def _alone(tiny: bool, numbers: bool) -> None:
    """Children whose parents are all given: twelve columns of a time, and these a step before."""
    columns = inputs.numbers(6, 300) if tiny else inputs.numbers(24, 1000)
    past = replace(columns, slices=Slices("t", "", 1, False, "1", np.array([columns.records]), 0))
    data = past if numbers else _cut(past)
    asked = Request(data, Claim("gaussian-bic" if numbers else "mdl"))
    with Workers(1) as workers:
        surviving_families(data, asked.claim, Means(workers, inputs.shelf(), ignore))


def _cut(numbers: Numbers) -> Dataset:
    """The same, cut into three states each."""
    edges = np.quantile(numbers.values, [1 / 3, 2 / 3], axis=0)
    codes = (numbers.values[None] > edges[:, None]).sum(axis=0).astype(np.uint16)
    states = (("0", "1", "2"),) * numbers.variables
    return Dataset(numbers.names, states, codes, "made", slices=numbers.slices)


def _cells_by_child(tiny: bool) -> None:
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(14, 500)
    order = varying(dataset)
    with Workers(1) as workers:
        counting = lattice_of(dataset, BY_CELLS).problem(0.0)
        means = Means(workers, inputs.shelf(), ignore)
        deque(cells_by_child.judge_between(counting, start_enumeration(order.size), means), maxlen=0)


def _climbed(tiny: bool) -> None:
    """From 64 parent sets of each child, without cuts."""
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(25, 500)
    counting, halt = lattice_of(dataset, Claim("bdeu")).problem(0.0), unhalted()
    n, empty = counting.limits.size, (np.zeros((1, 1), np.uint64), np.zeros(1))
    stage = Stage(0, 64, math.inf, math.inf, -math.inf, 0, 0)
    prices = _without_cuts(stage, np.full(n, math.inf))
    searches = RoundOfCells(cells_by_child.CellSearches(counting, np.arange(n), 0, prices))
    for x in range(n):
        rounds.climbed(child_of(counting, x), searches, prices, empty, halt)


def _without_cuts(stage: Stage, gaps: NDArray[np.float64]) -> Prices:
    """The prices of a round without cuts, with these gaps."""
    cuts, weights, nothing = no_cuts(1), np.zeros(0, np.int64), np.zeros(gaps.size)
    return Prices(stage, cuts, weights, nothing, nothing, np.arange(gaps.size), gaps, cuts, weights)


def _climbed_numbers(tiny: bool) -> None:
    """From 64 parent sets of each child, without cuts."""
    numbers = inputs.numbers(8, 100) if tiny else inputs.numbers(25, 500)
    with Workers(1) as workers:
        measured = source_of(numbers, Claim("gaussian-bic"))
        assert isinstance(measured, Measured)
        source = Regressed.of(measured)
        found = start_enumeration(numbers.variables)
        prices = _without_cuts(Stage(0, 64, math.inf, math.inf, -math.inf, 0, 0), np.full(numbers.variables, math.inf))
        priced = PricedNumbers(source)
        found = replace(priced.with_few_parents(found, Means(workers, inputs.shelf(), ignore)), prices=prices)
        searches, empty = RoundOfNumbers(source, prices), (np.zeros((1, 1), np.uint64), np.zeros(1))
        for child in priced.children(found):
            rounds.climbed(child, searches, prices, empty, unhalted())


def _swept(tiny: bool) -> None:
    """All parent sets of at most four variables, without cuts, for families that there are not."""
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(20, 500)
    counting = lattice_of(dataset, Claim("bdeu")).problem(0.0)
    n = counting.limits.size
    stage, nothing = Stage(0, 0, -math.inf, math.inf, -math.inf, 0, 0), np.zeros(n)
    prices = _without_cuts(stage, nothing)
    task = sweeps.sweep_task(cells_by_child.CellSearches(counting, np.arange(n), 0, prices), 4)
    for one, two in sweeps.beginnings(n, 4):
        sweeps.part_swept(one, two, task, 8, unhalted())


def _averaged(tiny: bool) -> None:
    """All families of a few parents, over records of their own."""
    dataset, claim = inputs.with_gaps(8, 100) if tiny else inputs.with_gaps(20, 1000), Claim(max_parents=3)
    with Workers(1) as workers:
        surviving_families(dataset, claim, Means(workers, inputs.shelf(), ignore))


def _averaged_numbers(tiny: bool) -> None:
    """The same of columns of numbers."""
    numbers = inputs.numbers_with_gaps(6, 100) if tiny else inputs.numbers_with_gaps(12, 1000)
    with Workers(1) as workers:
        claim = Claim(GAUSSIAN_BIC.name, max_parents=3)
        surviving_families(numbers, claim, Means(workers, inputs.shelf(), ignore))


def _counted_deeply(tiny: bool) -> None:
    _counted_by_child(inputs.dataset(8, 100) if tiny else inputs.dataset(17, 500), Claim())


def _counted_broadly(tiny: bool) -> None:
    _counted_by_child(inputs.dataset(8, 100) if tiny else inputs.dataset(40, 2000), Claim(max_parents=2))


def _explored(selection: str, tiny: bool, first: float = 0.0) -> None:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(60, 1000)
    with Workers(1) as workers:
        effort = Effort(sets=20 if tiny else 3000)
        explored_families(exploration(dataset, selection, first=first), effort, workers, inputs.MEMORY)


def _begun(tiny: bool) -> Sequence[Explored]:
    """What is known of many variables before anything is explored."""
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(200, 5000)
    with Workers(1) as workers:
        return explored_families(exploration(dataset), Effort(sets=0), workers, inputs.MEMORY)


def _neighbours(tiny: bool) -> None:
    """A walk for each tenth child from two parents."""
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(200, 5000)
    n, known = dataset.variables, _begun(tiny)
    for child in range(0, n, 10):
        start = tuple(sorted(((child + 1) % n, (child + 2) % n)))
        chosen = Chosen(start, np.arange(n) != child)
        extended(child, known[child].families, [chosen], [], exploration(dataset), inputs.GO_ON)


def _ordered(method: str, variables: int, tiny: bool) -> None:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(variables, 2000)
    asked = order_problem(dataset, tuple(range(dataset.variables)), Claim(), OrderMethods(method))
    with Workers(1) as workers:
        choose_parents(asked, workers, inputs.MEMORY, ignore)


def _ordered_by_suzuki(tiny: bool) -> None:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(17, 2000)
    asked = Request(dataset, methods=OrderMethods("suzuki"), budgets=inputs.BUDGETS)
    suzuki.order_by_suzuki(asked, tuple(range(dataset.variables)))


def _single_misfits(tiny: bool) -> Work:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(200, 5000)
    data = bit_columns(dataset)
    base = np.zeros(0, np.int32)
    calls = [(child, base, data, None, inputs.GO_ON) for child in range(0, dataset.variables, 10)]
    return Work(misfit.single_misfits, calls, len(calls) * dataset.variables)


def _misfits(tiny: bool) -> Work:
    dataset = inputs.dataset(10, 100) if tiny else inputs.dataset(60, 4000, 3)
    data, rng = bit_columns(dataset), np.random.default_rng(1)
    sets = np.sort(rng.permuted(np.tile(np.arange(1, 10), (20 if tiny else 3000, 1)), axis=1)[:, :3], axis=1)
    splits = misfit.new_splits(0, 3, data)
    return Work(misfit.misfits, [(0, sets.astype(np.int32), data, splits)], sets.shape[0])


def _regressions(tiny: bool) -> Work:
    """Of sets of five continuous parents."""
    n, rng = 40, np.random.default_rng(1)
    columns = standardised(Numbers(tuple(f"v{v}" for v in range(n)), rng.normal(size=(200, n)), "bench"))
    data = correlated_columns(columns)
    sets = np.sort(rng.permuted(np.tile(np.arange(1, n), (20 if tiny else 20_000, 1)), axis=1)[:, :5], axis=1)
    splits = misfit.new_splits(0, 5, data)
    return Work(misfit.misfits, [(0, sets.astype(np.int32), data, splits)], sets.shape[0])


def _families(tiny: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    scores = inputs.random_scores(12, 20) if tiny else inputs.random_scores(40, 2000)
    return list(scores.parents), list(scores.costs)


def _dominated(tiny: bool) -> Work:
    """The cheapest family inside each family of a child, all cheaper ones being looked at."""
    (parents, *_), (costs, *_) = _families(tiny)
    begin = np.zeros(costs.size, np.int64)
    calls = [(0, as_bytes(parents), begin, byte_tables((parents,), (costs,)), inputs.GO_ON)]
    return Work(first_inside_each, calls, costs.size)


def _subsets(tiny: bool) -> Work:
    parents = inputs.varsets(60, 20 if tiny else 2_000, 0.1)[:, None]
    return Work(best_score.first_subsets, [(parents,)], parents.size)


def _counted_in_configurations(tiny: bool) -> None:
    """All families of columns of both kinds."""
    data = inputs.mixed(6, 60) if tiny else inputs.mixed(20, 1_000)
    with Workers(1) as workers:
        surviving_families(data, Claim("cg-bic"), Means(workers, inputs.shelf(), ignore))


def _counted_by_regressions(tiny: bool) -> None:
    """All families of columns of numbers with few candidates each, child by child."""
    data = inputs.numbers(8, 60) if tiny else inputs.numbers(60, 1_000)
    near = tuple((p, c) for k, c in enumerate(data.names) for p in data.names[max(0, k - 10) : k])
    source = source_of(data, Claim("gaussian-bic", knowledge=Knowledge(allowed=near)))
    assert isinstance(source, Measured)
    with Workers(1) as workers:
        for child in range(data.variables):
            Regressed.of(source).families_of(child, 0, 0.0, workers.halt)


def _searched_blocks(tiny: bool) -> None:
    """The same as Gaussian columns."""
    data = inputs.mixed(6, 60) if tiny else inputs.mixed(16, 1_000)
    with Workers(1) as workers:
        surviving_families(data, Claim("dg-bic"), Means(workers, inputs.shelf(), ignore))


def _least_of_blocks(tiny: bool) -> None:
    """What a search of blocks leaves at least, of each child."""
    data = inputs.mixed(6, 60) if tiny else inputs.mixed(40, 1_000)
    with Workers(1) as workers:
        source_of(data, Claim("dg-bic")).least_costs(workers)


def _best_scores(tiny: bool) -> Work:
    parents, costs = _families(tiny)
    tables, n = byte_tables(parents, costs), len(costs)
    asked = as_bytes(inputs.varsets(n, 100 if tiny else 50_000)[:, None])
    begin = np.zeros(asked.shape[0], np.int64)
    calls = [(x, asked & ~as_bytes(pack((x,), n)[None, :]), begin, tables, inputs.GO_ON) for x in range(4)]
    return Work(first_inside_each, calls, 4 * asked.shape[0])


def _byte_tables(tiny: bool) -> Work:
    parents, costs = _families(tiny)
    return recorded(best_score, "_fill_blocks", lambda given, _: given[1].size, lambda: byte_tables(parents, costs))


BENCHMARKS = (
    of_run("parents.exhaustive.averaged_search.search_averaged", averaged, "parent set", lambda _, r: r[2], _averaged),
    of_run(
        "parents.exhaustive.averaged_search.standardise",
        averaged_numbers,
        "product",
        lambda a, r: r * a[1].size ** 2,
        _averaged_numbers,
    ),
    of_run("parents.exhaustive.problem._row_hashes", problem, "cell", lambda a, _: a[0].size, _prepared_for_counting),
    of_run(
        "parents.exhaustive.problem._unexplained",
        problem,
        "child and row",
        lambda a, _: (a[1] - a[0]) * a[3].size,
        _prepared_for_counting,
    ),
    of_run(
        "parents.exhaustive.alone_states.search_rows",
        alone_states,
        "set",
        lambda a, _: int(a[3].counted[0]),
        partial(_alone, numbers=False),
    ),
    of_run(
        "parents.exhaustive.alone_numbers.search_numbers",
        alone_numbers,
        "node",
        lambda a, _: int(a[2].counted[0]),
        partial(_alone, numbers=True),
    ),
    of_run(
        "parents.exhaustive.single_parents._costs_by_counts",
        single_parents,
        "cell",
        lambda a, _: a[2].states.size,
        _prepared_for_counting,
    ),
    of_run(
        "parents.exhaustive.single_parents._costs_by_counts/figures",
        single_parents,
        "cell",
        lambda a, _: a[2].states.size,
        partial(_prepared_for_counting, claim=BY_CELLS),
    ),
    of_run("parents.exhaustive.marking.mark_needed", by_level, "varset", lambda a, _: a[1] - a[0], _counted_by_level),
    of_run(
        "parents.exhaustive.marking.needed_by_children",
        by_level,
        "varset",
        lambda a, _: a[1] - a[0],
        _counted_with_required,
    ),
    of_run("parents.exhaustive.marking.set_ranks", by_level, "rank", lambda a, _: a[0].size, _counted_with_required),
    of_run(
        "parents.exhaustive.lattice.judge_families", by_level, "parent set", lambda a, _: a[1] - a[0], _counted_by_level
    ),
    of_run("parents.exhaustive.lattice.next_alive", by_level, "varset", lambda a, _: a[1] - a[0], _counted_by_level),
    of_run(
        "parents.exhaustive.hopeless.drop_hopeless", by_level, "varset", lambda a, _: a[1] - a[0], _counted_by_level
    ),
    of_run("parents.exhaustive.lattice.judge_last", by_level, "varset", lambda a, _: a[1] - a[0], _counted_to_a_limit),
    of_run(
        "parents.exhaustive.lattice.judge_families/figures",
        by_level,
        "parent set",
        lambda a, _: a[1] - a[0],
        _cells_by_level,
    ),
    of_run(
        "parents.exhaustive.lattice.next_alive/figures", by_level, "varset", lambda a, _: a[1] - a[0], _cells_by_level
    ),
    of_run(
        "parents.exhaustive.hopeless.drop_hopeless/figures",
        by_level,
        "varset",
        lambda a, _: a[1] - a[0],
        _cells_by_level,
    ),
    of_run(
        "parents.exhaustive.lattice.judge_last/figures", by_level, "varset", lambda a, _: a[1] - a[0], _cells_by_level
    ),
    of_run(
        "parents.exhaustive.lattice.alive_together/figures",
        surviving,
        "varset",
        lambda a, _: a[2].shape[0],
        partial(_interrupted, claim=BY_CELLS, level=3),
    ),
    of_run("parents.exhaustive.lattice.alive_together", surviving, "varset", lambda a, _: a[2].shape[0], _interrupted),
    of_run("parents.exhaustive.refinement.fill_columns", by_child, "cell", lambda a, _: a[0].size, _counted_broadly),
    of_run("parents.exhaustive.refinement.pair", by_child, "pair", lambda a, _: a[5].size, _counted_broadly),
    of_run("parents.exhaustive.between.search_between", cells_by_child, "node", lambda _, got: got[3], _cells_by_child),
    of_run(
        "parents.exhaustive.configurations.search_numbers",
        conditional,
        "family",
        lambda a, _: max(1, a[6].counts[1]),
        _counted_in_configurations,
    ),
    of_run(
        "parents.exhaustive.regressions.search_regressions",
        regressed,
        "family",
        lambda a, _: max(1, a[6].counts[1]),
        _counted_by_regressions,
    ),
    of_run(
        "parents.exhaustive.configurations.search_states",
        conditional,
        "family",
        lambda a, _: max(1, a[6].counts[1]),
        _counted_in_configurations,
    ),
    of_run(
        "parents.exhaustive.blocks.search_blocks",
        degenerate,
        "family",
        lambda a, _: max(1, a[3].counts[1]),
        _searched_blocks,
    ),
    of_run("parents.exhaustive.blocks.least_left", degenerate, "child", lambda a, _: 1, _least_of_blocks),
    of_run("parents.priced.climbing.climb", cells, "start", lambda a, _: len(a[0]), _climbed),
    of_run(
        "parents.priced.climbing_numbers.climb_regressions",
        regressed,
        "start",
        lambda a, _: len(a[0]),
        _climbed_numbers,
    ),
    of_run("parents.priced.sweep.sweep", sweeps, "parent set", lambda _, got: got[1], _swept),
    of_run("parents.exhaustive.refinement.search", by_child, "family", lambda _, got: got[2], _counted_deeply),
    Benchmark("parents.best_score.first_inside_each", "varset", _best_scores),
    Benchmark("parents.best_score.first_subsets", "parent set", _subsets),
    Benchmark("parents.best_score.first_inside_each/dominated", "varset", _dominated),
    Benchmark("parents.best_score._fill_blocks", "word", _byte_tables),
    Benchmark("parents.explored.misfit.single_misfits", "pair", _single_misfits),
    Benchmark("parents.explored.misfit.misfits", "parent set", _misfits),
    Benchmark("parents.explored.misfit.misfits/numbers", "parent set", _regressions),
    *(
        of_run(
            f"parents.explored.selection.explore/{selection}",
            explore,
            "parent set",
            lambda _, got: got,
            partial(_explored, selection),
        )
        for selection in explore.SELECTIONS
    ),
    of_run(
        "parents.explored.selection.begin",
        explore,
        "candidate",
        lambda a, _: a[0].variables.size,
        _begun,
    ),
    of_run(
        "parents.explored.selection.select",
        explore,
        "stream",
        lambda a, _: a[2].used[0],
        partial(_explored, "independence", first=0.3),
    ),
    of_run(
        "parents.explored.closed.undominated",
        explore,
        "parent set",
        lambda a, _: a[0].used[0],
        partial(_explored, "independence"),
    ),
    of_run(
        "parents.explored.neighbours.neighbour_costs", neighbours, "parent set", lambda _, got: got.size, _neighbours
    ),
    of_run(
        "parents.ordered.searches.find_greedily", choosing, "term", lambda _, got: got[2], partial(_ordered, "k3", 60)
    ),
    of_run(
        "lab.baselines.suzuki.find_by_suzuki",
        suzuki,
        "state",
        lambda _, got: got[2],
        _ordered_by_suzuki,
    ),
    of_run(
        "parents.ordered.searches.branch_and_bound",
        choosing,
        "term",
        lambda _, got: got[2],
        partial(_ordered, "dfbnb-k3", 17),
    ),
)
