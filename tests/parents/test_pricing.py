"""Families by price: the search of a child below thresholds, climbs, and rounds until nothing else can matter."""

import itertools
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import claim_by, dataset_of, random_dataset, shelf_of
from kept import enumeration
from patching import SMALL_TASKS
from pricing import UNIT, as_sets, cost_of, counted, families_by_price, prices_of, random_cuts

from extbnsl.core.events import ignore
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import as_varsets, unpack
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.exhaustive import cells_by_child
from extbnsl.parents.exhaustive.cells_by_child import CellSearches
from extbnsl.parents.exhaustive.children import ANY_NUMBER, child_of
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.stored import read_enumeration, write_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.priced import rounds, shown, sweeps
from extbnsl.parents.priced.cells import RoundOfCells
from extbnsl.parents.priced.prices import reduced_costs
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.proof.priced import KnownNetworks
from extbnsl.scores.local import in_order

SCORES = ("bdeu:0.1", "bdeu", "bdeu:10", "bdeu:1000", "bds:0.1", "bds:5", "bds:100", "k2", "fnml")


@pytest.fixture(autouse=True)
def few_by_level(sizes):
    """Small parent sets alone are counted by level and swept, the search of each child is cut into many tasks, and
    climbs are few, so that full rounds have something to find."""
    few = {"cells_by_child.MANY": 20, "cells_by_child.FEW": 40, "rounds.FEW": 8, "rounds.MANY": 8, "MOST_SWEPT": 8_000}
    sizes({**SMALL_TASKS, **few})


def dependent(rng, n, records):
    """Columns that follow from others but for noise; some tell the same."""
    arities = np.sort(rng.integers(2, 5, n))
    codes = np.zeros((records, n), np.int64)
    for v in range(n):
        base = codes[:, rng.integers(0, v)] if v else rng.integers(0, 4, records)
        noise = rng.random(records) < rng.random()
        codes[:, v] = np.where(noise, rng.integers(0, arities[v], records), base % arities[v])
    if rng.random() < 0.3:
        codes[:, 1] = codes[:, 2] % arities[1]
    return dataset_of(codes, arities.tolist())


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(12))
def test_a_child_gives_all_undominated_families_below_the_threshold_and_no_others(score, seed):
    rng = np.random.default_rng((seed, len(score)))
    check_a_child(score, rng, dependent(rng, int(rng.integers(4, 9)), int(rng.integers(5, 120))))


@pytest.mark.parametrize("score", ["k2", "fnml"])
@pytest.mark.parametrize("seed", range(6))
def test_a_child_of_eleven_columns_of_which_one_is_constant_and_records_are_the_same(score, seed):
    rng = np.random.default_rng((seed, 2))
    dataset = dependent(rng, 10, int(rng.integers(20, 60)))
    codes = np.insert(dataset.codes[rng.integers(0, dataset.records, 150)], 0, 0, axis=1)
    check_a_child(score, rng, dataset_of(codes, [2, *dataset.arities.tolist()]))


def check_a_child(score, rng, dataset):
    """What is found of a child is what scoring all of its parent sets finds."""
    n, arities = dataset.variables, dataset.arities.tolist()
    child, most, cuts = int(rng.integers(0, n)), int(rng.integers(1, n + 1)), random_cuts(rng, n)
    complete_to, slack = int(rng.integers(0, most)), float(rng.choice([0.0, 0.0, 2.0]))
    others = [v for v in range(n) if v != child]
    sets = [own for size in range(min(most, n - 1) + 1) for own in itertools.combinations(others, size)]
    costs = {own: naive.family_cost(score, dataset.codes, arities, child, own) for own in sets}
    reduced = sorted(cost - counted(child, own, cuts) for own, cost in costs.items())
    gap = float(rng.choice([math.inf, 20 * rng.random(), reduced[len(reduced) // 2] - reduced[0], -2 * rng.random()]))
    least = reduced[0] if gap >= 0.0 else reduced[len(reduced) // 2]
    problem = source_of(dataset, claim_by(score, most)).problem(slack)
    small = [own for own in sets if len(own) <= complete_to]
    there = np.array([np.isin(np.arange(n), own) for own in small])
    known = in_order(as_varsets(there), np.array([costs[own] for own in small]))
    prices = prices_of(cuts, n, np.full(n, least), gap)
    searches = CellSearches(problem, rng.permutation(n), complete_to, prices)
    one, halt, found = child_of(problem, child), unhalted(), {}
    parts, task = cells_by_child.parts_of(one, searches, known, halt), cells_by_child.task_of(one, searches, known)
    for number, nodes in enumerate(parts.nodes):
        own = task if number else task._replace(deepest=cells_by_child._levels(task))
        part = cells_by_child.search_part(nodes, own, one, problem, ANY_NUMBER, halt)
        few = [unpack(varset) for varset in part.varsets]
        if few:
            assert min(costs[own] - counted(child, own, cuts) for own in few) >= parts.least[number] - 1e-9
        assert not found.keys() & set(few)
        found |= zip(few, part.costs.tolist(), strict=True)
    for own, cost in costs.items():
        inside = min((costs[other] for other in sets if set(other) < set(own)), default=math.inf)
        limit = least + gap + counted(child, own, cuts)
        if len(own) > complete_to and cost < inside + slack - 1e-9 and cost < limit - 1e-9:
            assert own in found
    for own, cost in found.items():
        assert complete_to < len(own) <= most
        assert cost == pytest.approx(costs[own], rel=1e-9)
        assert cost < least + gap + counted(child, own, cuts) + 1e-6


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_finds_all_families_below_the_threshold_at_what_they_cost(score, seed):
    rng = np.random.default_rng((seed, 3))
    dataset = dependent(rng, int(rng.integers(4, 8)), int(rng.integers(5, 120)))
    n, arities, cuts = dataset.variables, dataset.arities.tolist(), random_cuts(rng, dataset.variables)
    required, forbidden = ((dataset.names[0], dataset.names[1]),), ((dataset.names[3], dataset.names[2]),)
    knowledge = Knowledge(required=required, forbidden=forbidden) if seed % 2 else Knowledge()
    source = source_of(dataset, claim_by(score, int(rng.integers(2, n)), knowledge=knowledge))
    problem, fewest, most = source.problem(0.0), int(rng.integers(0, 2)), int(rng.integers(2, n))
    costs = {
        (x, own): naive.family_cost(score, dataset.codes, arities, x, own)
        for x in range(n)
        for size in range(fewest + 1, most + 1)
        for own in itertools.combinations([v for v in range(n) if v != x], size)
    }
    reduced = {key: cost - counted(*key, cuts) for key, cost in costs.items()}
    least = np.array([np.median([value for (x, _), value in reduced.items() if x == child]) for child in range(n)])
    searches = CellSearches(problem, np.arange(n), fewest, prices_of(cuts, n, least + 1.0, -1.0))
    task, found = sweeps.sweep_task(searches, most), {}
    for one, two in sweeps.beginnings(n, most):
        part = sweeps.part_swept(one, two, task, 8, unhalted())
        given = zip(part.children.tolist(), map(unpack, part.parents), strict=True)
        some = dict(zip(given, part.costs.tolist(), strict=True))
        assert not found.keys() & some.keys()
        found |= some
    assert found
    for (x, own), cost in costs.items():
        parents = np.isin(np.arange(n), own)
        may = (problem.allowed[parents, x]).all() and not (problem.required[:, x] & ~parents).any()
        wanted = may and len(own) <= problem.limits[x] and reduced[x, own] < least[x]
        if wanted and reduced[x, own] < least[x] - 1e-9:
            assert found[x, own] == pytest.approx(cost, rel=1e-9)
        if not may or len(own) > problem.limits[x]:
            assert (x, own) not in found


def test_a_sweep_hands_over_more_than_there_is_room_for(sizes):
    sizes({"SWEPT_ROOM": 1})
    test_a_sweep_finds_all_families_below_the_threshold_at_what_they_cost("bdeu:10", 0)


@pytest.mark.parametrize("score", ["bdeu", "bdeu:100", "bds:5", "k2", "fnml"])
@pytest.mark.parametrize("seed", range(6))
def test_climbs_find_families_below_the_least_known_at_what_they_cost(score, seed):
    rng = np.random.default_rng(seed)
    dataset = dependent(rng, 8, 60)
    n, cuts = dataset.variables, random_cuts(rng, dataset.variables)
    problem, child = source_of(dataset, claim_by(score)).problem(0.0), int(rng.integers(0, n))
    alone = naive.family_cost(score, dataset.codes, dataset.arities, child, ())
    known = np.zeros((1, 1), np.uint64), np.array([alone])
    prices = prices_of(cuts, n, np.full(n, alone - counted(child, (), cuts)), 0.0)
    prices = replace(prices, stage=replace(prices.stage, starts=16))
    searches = RoundOfCells(CellSearches(problem, rng.permutation(n), 0, prices))
    varsets, costs = rounds.climbed(child_of(problem, child), searches, prices, known, unhalted())
    sets = [unpack(varset) for varset in varsets]
    assert len(set(sets)) == len(sets) <= rounds.KEPT
    for own, cost in zip(sets, costs.tolist(), strict=True):
        assert child not in own
        assert cost == pytest.approx(naive.family_cost(score, dataset.codes, dataset.arities, child, own), rel=1e-9)
        assert cost - counted(child, own, cuts) < prices.least[child]
    others = [v for v in range(n) if v != child]
    everything = (own for size in range(n) for own in itertools.combinations(others, size))
    least = min(
        naive.family_cost(score, dataset.codes, dataset.arities, child, own) - counted(child, own, cuts)
        for own in everything
    )
    assert (len(sets) > 0) == (least < prices.least[child] - 1e-6)


def test_reduced_costs_are_those_of_counting_by_hand():
    rng = np.random.default_rng(5)
    n, cuts = 7, random_cuts(rng, 7) + random_cuts(rng, 7)
    prices = prices_of(cuts, n, np.zeros(n), 0.0)
    sets = [own for size in range(n) for own in itertools.combinations([0, 1, 2, 4, 5, 6], size)]
    varsets, costs = as_varsets(np.array([np.isin(np.arange(n), own) for own in sets])), rng.random(len(sets))
    expected = [cost - counted(3, own, cuts) for own, cost in zip(sets, costs.tolist(), strict=True)]
    assert reduced_costs(3, varsets, costs, prices) == pytest.approx(expected)


def priced(dataset, score, knowledge=NOTHING, max_parents=None, **given):
    return families_by_price(dataset, claim_by(score, max_parents, knowledge), **given)


def optimum(dataset, score, allowed=lambda child, varset: True, max_parents=None):
    costs = naive.all_local_scores(dataset.codes, dataset.arities, max_parents, score)
    for child in range(len(costs)):
        for varset in range(costs.shape[1]):
            if not allowed(child, varset):
                costs[child, varset] = math.inf
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(2))
def test_rounds_keep_the_optimum_and_never_show_more(score, seed):
    rng = np.random.default_rng((seed, 1))
    dataset, seen = dependent(rng, 8, int(rng.integers(20, 150))), []
    found, best = priced(dataset, score, seen=seen), optimum(dataset, score)
    assert found.stopped is None
    assert found.priced is not None
    assert cost_of(found.scores) == pytest.approx(best, rel=1e-9)
    stages = [known.prices for known in seen if known.prices is not None]
    assert any(not prices.stage.starts for prices in stages)
    for prices in stages:
        assert prices.bound <= best + 1e-9 * abs(best)
        assert prices.stage.cost >= best - 1e-9 * abs(best)
    assert stages[-1].stage.cost - stages[-1].root <= stages[-1].stage.gap
    assert found.priced.bound > -math.inf


@pytest.mark.parametrize("score", ["bdeu", "bdeu:100", "bds:5", "k2", "fnml"])
def test_all_families_are_there_that_a_cheaper_network_can_have(score):
    dataset = dependent(np.random.default_rng(8), 7, 60)
    n, seen = dataset.variables, []
    found = priced(dataset, score, seen=seen)
    prices, best = seen[-1].prices, optimum(dataset, score)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, score=score)
    source = source_of(dataset, claim_by(score)).order.tolist()
    cuts = [
        ([{source[i] for i in unpack(cluster)} for cluster in cut if cluster.any()], weight)
        for cut, weight in zip(prices.cuts, prices.weights.tolist(), strict=True)
    ]
    needed = sum(weight * ((len(clusters) + 1) // 2) for clusters, weight in cuts) * UNIT
    least = [
        min(costs[x, s] - counted(x, naive.members(s), cuts) for s in range(1 << n) if math.isfinite(costs[x, s]))
        for x in range(n)
    ]
    assert prices.root == pytest.approx(needed + sum(least), rel=1e-9)
    above = prices.stage.cost - prices.root
    assert prices.stage.cost >= best - 1e-9
    for x in range(n):
        there = set(found.scores.parents[x][:, 0].tolist())
        for s in range(1 << n):
            inside = min((costs[x, t] for t in range(s) if not t & ~s), default=math.inf)
            if (
                costs[x, s] < inside - 1e-9
                and costs[x, s] - counted(x, naive.members(s), cuts) < least[x] + above - 1e-9
            ):
                assert s in there


def test_limits_and_knowledge_hold():
    dataset = dependent(np.random.default_rng(4), 8, 80)
    names = dataset.names
    knowledge = Knowledge(required=((names[0], names[1]),), forbidden=((names[3], names[4]),))
    found = priced(dataset, "bdeu:10", knowledge=knowledge)

    def allowed(child, varset):
        return (child != 1 or varset & 1) and (child != 4 or not varset >> 3 & 1)

    assert cost_of(found.scores) == pytest.approx(optimum(dataset, "bdeu:10", allowed), rel=1e-9)
    required = tuple((names[v], names[1]) for v in (0, 2, 3))
    seen = []
    found = priced(dataset, "bdeu:10", knowledge=Knowledge(required=required), seen=seen)
    best = optimum(dataset, "bdeu:10", lambda child, varset: child != 1 or varset & 0b1101 == 0b1101)
    assert cost_of(found.scores) == pytest.approx(best, rel=1e-9)
    assert all(known.prices.bound <= best + 1e-9 for known in seen if known.prices is not None)
    found = priced(dataset, "bdeu:10", max_parents=4)
    assert cost_of(found.scores) == pytest.approx(optimum(dataset, "bdeu:10", max_parents=4), rel=1e-9)


def assert_goes_on(dataset, score, begun, whole, folder):
    """From some of what was stored, by one thread or two, one comes to what came out of the whole."""
    for number, known in enumerate(begun[:: max(1, len(begun) // 10)]):
        own = folder / str(number)
        own.mkdir()
        stored = write_enumeration(known, Store(own, 1 << 30), lambda: False, lambda size: None)
        again = read_enumeration(enumeration(stored), own, shelf_of())
        assert again.prices.stage == known.prices.stage
        found = priced(dataset, score, begun=again, threads=1 + number % 2)
        assert as_sets(found.scores) == as_sets(whole.scores)


def test_goes_on_from_whatever_was_stored_with_any_threads(tmp_path):
    dataset, seen = dependent(np.random.default_rng(11), 8, 100), []
    whole = priced(dataset, "bdeu:10", seen=seen)
    begun = [known for known in seen[:-1] if known.prices is not None]
    assert {known.prices.stage.starts > 0 for known in begun} == {True, False}
    assert_goes_on(dataset, "bdeu:10", begun, whole, tmp_path)


@pytest.mark.parametrize("nodes", [4, 1 << 16])
def test_rough_rounds_go_on_from_whatever_was_stored(nodes, sizes, tmp_path):
    """Whoever goes on gives up the same children, and sweeps no less."""
    sizes({"rounds.FAR": -1.0, "LEAST_OPEN": 0.05, "CHILD_NODES": nodes})
    dataset, seen = dependent(np.random.default_rng(11), 8, 100), []
    whole = priced(dataset, "bdeu:100", seen=seen)
    begun = [known for known in seen[:-1] if known.prices is not None and known.prices.stage.rough]
    assert all(known.prices.stage.swept > known.complete_to for known in begun)
    assert_goes_on(dataset, "bdeu:100", begun, whole, tmp_path)


def test_what_a_rough_round_shows_of_a_child_is_true_whether_or_not_it_was_given_up(sizes):
    sizes({"rounds.FAR": -1.0, "LEAST_OPEN": 0.05, "CHILD_NODES": 8})
    given_up = 0
    for seed in range(4):
        dataset, seen = dependent(np.random.default_rng(seed), 7, 100), []
        priced(dataset, "bdeu:100", seen=seen)
        costs = naive.all_local_scores(dataset.codes, dataset.arities, score="bdeu:100")
        rough = [one for one in seen if one.prices is not None and one.prices.stage.rough]
        for one, after in itertools.pairwise(seen):
            if shown.is_dear(one):
                given_up += 1
                assert np.array_equal(after.prices.shown, one.prices.shown)
                assert after.children == one.children[1:]
        for one in rough[:1]:
            searches = CellSearches(None, np.arange(7), one.complete_to, one.prices)
            assert searches.searched_to == one.prices.stage.swept
        for one in rough[:: max(1, len(rough) // 8)]:
            cuts = [
                ([set(unpack(cluster)) for cluster in cut if cluster.any()], weight)
                for cut, weight in zip(one.prices.cuts, one.prices.weights.tolist(), strict=True)
            ]
            for x in range(dataset.variables):
                sets = [s for s in range(1 << dataset.variables) if math.isfinite(costs[x, s])]
                least = min(costs[x, s] - counted(x, naive.members(s), cuts) for s in sets)
                assert min(one.prices.least[x], one.prices.shown[x]) <= least + 1e-6
    assert given_up


@pytest.mark.parametrize("after", [1, 3, 20, 60])
def test_a_stop_leaves_what_was_shown(after):
    dataset = dependent(np.random.default_rng(13), 8, 100)
    best, calls = optimum(dataset, "bdeu"), itertools.count()

    def stop(known):
        if known.prices is not None and next(calls) == after:
            raise Stopped("time_limit")

    part = priced(dataset, "bdeu", hear=stop)
    assert part.stopped in ("time_limit", None)
    assert part.priced.bound <= best + 1e-9
    assert part.least.sum() <= best + 1e-9


@pytest.mark.parametrize("codes", [np.array([[0, 1], [1, 0], [0, 0]] * 9), np.eye(4, dtype=int), np.zeros((5, 3), int)])
def test_odd_data(codes):
    dataset = dataset_of(codes, [2] * codes.shape[1])
    assert cost_of(priced(dataset, "bdeu").scores) == pytest.approx(optimum(dataset, "bdeu"), rel=1e-9)


def test_ties_and_doubled_columns():
    rng = np.random.default_rng(3)
    half = rng.integers(0, 2, (40, 4))
    dataset = dataset_of(np.concatenate([half, half], axis=1), [2] * 8)
    found = priced(dataset, "bdeu:5")
    assert cost_of(found.scores) == pytest.approx(optimum(dataset, "bdeu:5"), rel=1e-9)


def test_random_tables_are_solved_alike():
    for seed in range(8):
        dataset = random_dataset(np.random.default_rng(seed), 7, 50, 3)
        assert cost_of(priced(dataset, "bdeu:10").scores) == pytest.approx(optimum(dataset, "bdeu:10"), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_where_a_full_round_would_take_too_long_rougher_ones_come_first(seed, sizes):
    """They show what all networks cost but for what they leave, and the proof follows."""
    sizes({"NODES_TRIED": 0, "NODES_EXPECTED": 1, "LEAST_OPEN": 0.05, "CHILD_NODES": 1 << (2 * seed)})
    dataset, seen = dependent(np.random.default_rng(seed), 8, 100), []
    found, best = priced(dataset, "bdeu:10", seen=seen), optimum(dataset, "bdeu:10")
    assert cost_of(found.scores) == pytest.approx(best, rel=1e-9)
    stages = [(one.prices, one.children) for one in seen if one.prices is not None]
    assert all(prices.bound <= best + 1e-9 for prices, _ in stages)
    for prices, _ in stages:
        if prices.stage.gap < 0.0:  # whether children are open or through, what lies between is not shown
            assert (prices.shown <= prices.least + prices.gaps + 1e-9).all()
    rough = [prices for prices, children in stages if prices.stage.gap < 0.0 and not children]
    assert len({gap for prices in rough for gap in prices.gaps.tolist()}) > 2
    for prices in rough:
        assert prices.root >= prices.root_before - prices.short - 1e-9
        assert prices.short >= -prices.stage.gap * dataset.variables - 1e-9  # nothing is known of what lies between


@pytest.mark.parametrize("score", ["bdeu:10", "bdeu:100", "bds:5"])
@pytest.mark.parametrize("tried", [1, 16, 1 << 16])
def test_what_rough_rounds_show_rises_child_by_child_while_they_find_nothing(score, tried, sizes):
    sizes({"rounds.FAR": -1.0, "LEAST_OPEN": 0.05, "CHILD_NODES": tried})
    stayed = 0
    for seed in range(2):
        dataset, seen = dependent(np.random.default_rng(seed), 8, 100), []
        found, best = priced(dataset, score, seen=seen), optimum(dataset, score)
        assert cost_of(found.scores) == pytest.approx(best, rel=1e-9)
        rough = [one for one in seen if one.prices is not None and one.prices.stage.gap < 0.0]
        assert all(one.prices.bound <= best + 1e-9 for one in rough)
        assert rough[0].prices.gaps == pytest.approx(-0.25 * rough[0].prices.stage.cost / dataset.variables)
        for one, after in itertools.pairwise(rough):
            if one.children or one.families == one.prices.stage.found:
                assert after.prices.root >= one.prices.root - 1e-9
                assert np.array_equal(after.prices.cuts, one.prices.cuts)
                stayed += not one.children
    assert stayed


def test_a_round_with_too_many_finds_is_given_up_whoever_goes_on(sizes, tmp_path):
    """What its searches have left is neither taken for known nor for shown."""
    sizes({"MANY_FOUND": 3, "LEAST_GAP": 30.0})
    for seed in range(6):
        dataset, seen = dependent(np.random.default_rng(seed), 8, 100), []
        found, best = priced(dataset, "bdeu:10", seen=seen), optimum(dataset, "bdeu:10")
        assert cost_of(found.scores) == pytest.approx(best, rel=1e-9)
        given_up = [one for one in seen if one.children and shown.is_given_up(one)]
        assert all(one.prices.bound <= best + 1e-9 for one in seen if one.prices is not None)
        for number, known in enumerate(given_up):
            folder = tmp_path / f"{seed}-{number}"
            folder.mkdir()
            stored = write_enumeration(known, Store(folder, 1 << 30), lambda: False, lambda size: None)
            again = priced(dataset, "bdeu:10", begun=read_enumeration(enumeration(stored), folder, shelf_of()))
            assert as_sets(again.scores) == as_sets(found.scores)
        if given_up:
            return
    raise AssertionError("no round was given up")


def test_the_best_network_is_left_where_not_all_families_can_be_named(sizes):
    """Of each child the cheapest families are named, among which those of a network need not be."""
    sizes(MOST_NAMED=8)
    dataset = dependent(np.random.default_rng(13), 8, 100)

    costs = []

    def follow(known):
        if known.prices is not None:
            costs.append(known.prices.stage.cost)

    with Workers(1, lambda: "time_limit" if costs else None) as workers:
        context = Context(workers, Stages(ignore, {}), 1 << 30, Methods(), Store(Path(), 0), shelf_of())
        means = Means(workers, context.shelf, ignore)
        part = surviving_families(
            dataset, claim_by("bdeu:10"), means, on_progress=follow, networks=partial(KnownNetworks, context)
        )
    assert part.stopped == "time_limit"
    assert part.scores.families <= 3 * dataset.variables
    assert cost_of(part.scores) <= costs[-1] + 1e-9


def test_a_stop_in_a_full_round_does_not_take_what_is_dear_for_judged():
    """Of a child that is through, families above its threshold may cost less than those that are known."""
    for seed in range(6):
        dataset, seen = dependent(np.random.default_rng(seed), 8, 100), []
        costs = naive.all_local_scores(dataset.codes, dataset.arities, score="bdeu:10")
        priced(dataset, "bdeu:10", seen=seen)
        for known in seen[:: max(1, len(seen) // 8)]:
            if known.prices is None:
                continue

            def stop(found):
                raise Stopped("time_limit")

            with Workers(1) as workers:
                context = Context(workers, Stages(ignore, {}), 1 << 30, Methods(), Store(Path(), 0), shelf_of())
                means, claim = Means(workers, context.shelf, ignore), claim_by("bdeu:10")
                part = surviving_families(dataset, claim, means, known, stop, networks=partial(KnownNetworks, context))
            if part.stopped is not None:
                assert (part.least <= np.min(costs, axis=1) + 1e-9).all()
