"""Families of numbers by price: the search of a child below thresholds, climbs, and rounds until nothing else can
matter."""

import itertools
import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import chained_numbers, collinear_numbers, random_numbers, random_series, shelf_of
from cases_of_records import numbers_with_targets
from charging import naive_costs
from kept import enumeration
from pricing import as_sets, cost_of, counted, families_by_price, prices_of, random_cuts

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Stopped, unhalted
from extbnsl.parents.exhaustive.regressed import Regressed, by_child
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import start_enumeration
from extbnsl.parents.exhaustive.stored import read_enumeration, write_enumeration
from extbnsl.parents.priced import rounds
from extbnsl.parents.priced.numbers import PricedNumbers, RoundOfNumbers, search_child

SCORE = "gaussian-bic"


@pytest.fixture(autouse=True)
def by_price(sizes):
    """All columns of numbers are searched child by child, and given up at once."""
    sizes({"MOST_RANKS": 0, "SETS_TRIED": 0, "rounds.FEW": 8, "rounds.MANY": 8})


def made(rng, n, records, kind):
    if kind == "collinear":
        return collinear_numbers(rng, n)
    return random_numbers(rng, n, records) if kind == "random" else chained_numbers(rng, n, records)


def children_of(source):
    """All children, by their numbers."""
    alone = [np.array([source.cost(x, source.constraints.parents_required(x))]) for x in range(source.order.size)]
    found = replace(start_enumeration(source.order.size), costs=tuple(alone))
    return {child.index: child for child in PricedNumbers(source).children(found)}


def source_by_child(data, claim):
    source = by_child(source_of(data, claim))
    assert isinstance(source, Regressed)
    return source


@pytest.mark.parametrize("kind", ["random", "chained", "collinear", "required"])
@pytest.mark.parametrize("seed", range(12))
def test_a_child_gives_all_undominated_families_below_the_threshold_and_no_others(kind, seed):
    rng = np.random.default_rng((seed, len(kind)))
    n = int(rng.integers(2, 8))
    data, must = made(rng, n, int(rng.integers(8, 120)), "random" if kind == "required" else kind), ()
    if kind == "required" and n > 2:
        must = (("v1", "v0"),)
    claim = Claim(SCORE, knowledge=Knowledge(required=must))
    costs, source, cuts = naive_costs(data, claim), source_by_child(data, claim), random_cuts(rng, n)
    for child, one in children_of(source).items():
        allowed = [s for s in range(1 << n) if math.isfinite(costs[child, s])]
        reduced = {s: costs[child, s] - counted(child, naive.members(s), cuts) for s in allowed}
        some = sorted(reduced.values())
        gap = float(rng.choice([math.inf, 20 * rng.random(), 0.0, -2.0 * rng.random()]))
        least = some[0] if gap >= 0.0 else some[len(some) // 2]
        prices = prices_of(cuts, n, np.full(n, least), gap)
        prices = replace(prices, stage=replace(prices.stage, most=1 << 40))
        found = search_child(RoundOfNumbers(source, prices), one, unhalted())
        there = dict(zip(found.varsets[:, 0].tolist(), found.costs.tolist(), strict=True))
        for s in allowed:
            near = 1e-6 * (1.0 + abs(costs[child, s]))
            below = min((costs[child, t] for t in range(s) if not t & ~s), default=math.inf)
            if costs[child, s] < below - near and reduced[s] < least + gap - near:
                assert there[s] == pytest.approx(costs[child, s], rel=1e-8, abs=1e-6)
        for s in there:
            assert reduced[s] < least + gap + 1e-6 * (1.0 + abs(costs[child, s]))


@pytest.mark.parametrize("kind", ["random", "chained", "collinear"])
@pytest.mark.parametrize("seed", range(8))
def test_climbs_find_families_below_the_least_known_at_what_they_cost(kind, seed):
    rng = np.random.default_rng((seed, 1))
    data = made(rng, 7, 80, kind)
    n, claim = data.variables, Claim(SCORE)
    costs, source, cuts = naive_costs(data, claim), source_by_child(data, claim), random_cuts(rng, n)
    child = int(rng.integers(0, n))
    alone = costs[child, 0]
    known = np.zeros((1, 1), np.uint64), np.array([alone])
    prices = prices_of(cuts, n, np.full(n, alone - counted(child, (), cuts)), 0.0)
    prices = replace(prices, stage=replace(prices.stage, starts=32))
    searches = RoundOfNumbers(source, prices)
    varsets, found = rounds.climbed(children_of(source)[child], searches, prices, known, unhalted())
    assert len(set(varsets[:, 0].tolist())) == len(varsets) <= rounds.KEPT
    for s, cost in zip(varsets[:, 0].tolist(), found.tolist(), strict=True):
        assert cost == pytest.approx(costs[child, s], rel=1e-8, abs=1e-6)
        assert cost - counted(child, naive.members(s), cuts) < prices.least[child] + 1e-6
    allowed = [s for s in range(1 << n) if math.isfinite(costs[child, s])]
    least = min(costs[child, s] - counted(child, naive.members(s), cuts) for s in allowed)
    if kind != "collinear":  # there most sets are left out
        assert any(s != 0 for s in varsets[:, 0].tolist()) == (least < prices.least[child] - 1e-6)


def optimum(costs):
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def check_whole(data, claim, seen):
    """The families by price have the optimum, and no bound on the way is above it."""
    found, best = families_by_price(data, claim, seen=seen), optimum(naive_costs(data, claim))
    near = 1e-8 * (1.0 + abs(best))
    assert found.stopped is None
    assert found.priced is not None
    assert cost_of(found.scores) == pytest.approx(best, abs=near)
    for known in seen:
        if known.prices is not None:
            assert known.prices.bound <= best + near
            assert known.prices.stage.cost >= best - near
    return found


@pytest.mark.parametrize("kind", ["random", "chained", "collinear"])
@pytest.mark.parametrize("seed", range(8))
def test_rounds_keep_the_optimum_and_never_show_more(kind, seed):
    rng = np.random.default_rng((seed, 2))
    seen = []
    data = made(rng, int(rng.integers(2, 9)), int(rng.integers(8, 150)), kind)
    check_whole(data, Claim(SCORE, max_parents=3 if seed % 4 == 3 else None), seen)
    assert any(known.prices is not None and not known.prices.stage.starts for known in seen)


@pytest.mark.parametrize("seed", range(4))
def test_knowledge_targets_and_penalties_hold(seed):
    rng = np.random.default_rng((seed, 3))
    data = random_numbers(rng, 6, 60)
    knowledge = Knowledge(required=(("v0", "v1"),), forbidden=(("v2", "v3"), ("v4", "v5")))
    found = check_whole(data, Claim(SCORE, knowledge=knowledge, penalty=1.5), [])
    assert all(own[:, 0].tolist() == [s for s in own[:, 0].tolist() if s & 1] for own in found.scores.parents[1:2])
    targets, seen = numbers_with_targets(seed, 5, 60), []
    families_by_price(targets, Claim(SCORE), seen=seen)
    assert seen[-1].done


def far(sizes):
    """Multipliers are off at first, as what is known before has no large sets."""
    sizes({"rounds.FEW": 4, "rounds.MANY": 4, "MOST_AT_FIRST": 0, "MOST_SHORT": 0.0, "LEAST_GAP": 1e-3})


def test_where_rounds_fall_short_the_next_are_nearer_to_what_has_shown_most(sizes):
    far(sizes)
    nearer = 0
    for seed in range(3):
        seen = []
        check_whole(chained_numbers(np.random.default_rng((seed, 4)), 9, 200), Claim(SCORE), seen)
        prices = [known.prices for known in seen if known.prices is not None and not known.prices.stage.starts]
        for before, after in itertools.pairwise(prices):
            assert after.bound >= before.bound - 1e-9
            nearer += after.stage.round > before.stage.round and len(after.leading) > 0
    assert nearer


def test_goes_on_from_whatever_was_stored_with_any_threads(sizes, tmp_path):
    far(sizes)
    data, seen = chained_numbers(np.random.default_rng(3), 9, 200), []
    whole = families_by_price(data, Claim(SCORE), seen=seen)
    begun = [known for known in seen[:-1] if known.prices is not None]
    for number, known in enumerate(begun[:: max(1, len(begun) // 10)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        stored = write_enumeration(known, Store(folder, 1 << 30), lambda: False, lambda size: None)
        again = read_enumeration(enumeration(stored), folder, shelf_of())
        assert again.prices.stage == known.prices.stage
        found = families_by_price(data, Claim(SCORE), begun=again, threads=1 + number % 2)
        assert as_sets(found.scores) == as_sets(whole.scores)


@pytest.mark.parametrize("given", [{"MANY_FOUND": 1}, {"NODES_TRIED": 0, "NODES_EXPECTED": 1, "CHILD_NODES": 2}])
def test_rounds_that_are_given_up_are_neither_taken_for_known_nor_for_shown(given, sizes):
    sizes({"LEAST_OPEN": 0.05, "LEAST_GAP": 5.0, **given})
    for seed in range(2):
        check_whole(random_numbers(np.random.default_rng((seed, 5)), 8, 100), Claim(SCORE), [])
        check_whole(collinear_numbers(np.random.default_rng((seed, 5)), 7), Claim(SCORE), [])


@pytest.mark.parametrize("after", [0, 1, 3, 10, 30])
def test_a_stop_leaves_what_was_shown(after):
    data = chained_numbers(np.random.default_rng(13), 8, 100)
    best, calls = optimum(naive_costs(data, Claim(SCORE))), itertools.count()

    def stop(known):
        if next(calls) == after:
            raise Stopped("time_limit")

    part = families_by_price(data, Claim(SCORE), hear=stop)
    assert part.stopped in ("time_limit", None)
    assert part.priced is None or part.priced.bound <= best + 1e-6
    assert part.least.sum() <= best + 1e-6


def test_what_the_plain_search_has_found_stays(sizes):
    """It is given up at the first child with too many sets; what the others have is known."""
    checked = 0
    for seed, tried in itertools.product(range(4), (20, 40)):
        sizes(SETS_TRIED=tried)
        seen = []
        found = families_by_price(random_numbers(np.random.default_rng((seed, 6)), 8, 100), Claim(SCORE), seen=seen)
        plain = [known for known in seen if known.prices is None]
        if found.priced is None or not plain:
            continue
        kept = next(known for known in seen if known.prices is not None)
        for x, parents in enumerate(plain[-1].parents):
            assert {unpack(own) for own in parents} <= {unpack(own) for own in kept.parents[x]}
            checked += len(parents)
    assert checked


def test_lagged_columns_without_a_limit_have_the_optimum_of_the_plain_search(sizes):
    data = random_series(5, 4, 1, states=0, records=200)
    found = families_by_price(data, Claim(SCORE))
    sizes(SETS_TRIED=1 << 60)
    plain = families_by_price(data, Claim(SCORE))
    assert plain.priced is None
    assert found.priced is not None
    assert cost_of(found.scores) == pytest.approx(cost_of(plain.scores), rel=1e-10)
