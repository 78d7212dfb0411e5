"""Lists that grow while orders are searched: the optimum from few families, on any threads, within limits, stopped."""

import itertools

import numpy as np
import pytest
from cases import dataset_of, random_dataset
from naive import network_cost, optimal_cost
from portions import first

from extbnsl.core.claims import Claim
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.orders.growing import GrowingLists, descendants, lists_of_families
from extbnsl.orders.population import Population, search_lists
from extbnsl.parents.explored.explore import Effort, exploration, explored_families

PLENTY = 1 << 28


def growing(dataset, sets=0, families=None, most=1 << 20, **how):
    """Lists of what an exploration of few parent sets has found."""
    problem = exploration(dataset, claim=Claim(**how))
    with Workers(1) as workers:
        explored = explored_families(problem, Effort(sets=sets, families=families), workers, PLENTY)
    return GrowingLists(problem, [own.families for own in explored], most)


def search(lists, threads=1, seed=0, stop=None, rounds=6, **how):
    with Workers(threads, **({} if stop is None else {"stop": stop})) as workers:
        return search_lists(lists, workers, seed, lambda cost: None, rounds=rounds, **how)


@pytest.fixture(scope="module")
def dataset():
    """Each variable depends on the two before it."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (300, 9))
    for v in range(2, 9):
        codes[:, v] = np.where(rng.random(300) < 0.8, codes[:, v - 1] & codes[:, v - 2], codes[:, v])
    return dataset_of(codes)


@pytest.mark.parametrize("score", ["mdl", "aic"])
def test_the_optimum_from_single_parents(dataset, score):
    exact = optimal_cost(dataset.codes, dataset.arities, score=score)
    lists = growing(dataset, score=score)
    assert search(lists.lists).cost > exact + 1
    best = search(lists)
    assert best.cost == pytest.approx(exact, rel=1e-9)
    assert network_cost(dataset.codes, dataset.arities, best.parents, score) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_what_grows_is_never_worse(seed):
    dataset = random_dataset(np.random.default_rng(seed), n=6, records=200)
    best = search(growing(dataset, families=2))
    assert network_cost(dataset.codes, dataset.arities, best.parents) == pytest.approx(best.cost, rel=1e-9)
    assert best.cost <= search(growing(dataset, families=2).lists).cost + 1e-9


def test_repeats_exactly_on_any_number_of_threads(dataset):
    first = growing(dataset)
    best = search(first)
    again = growing(dataset)
    found = search(again, threads=3)
    assert (found.cost, found.parents, found.order.tolist()) == (best.cost, best.parents, best.order.tolist())
    assert first.expanded == again.expanded
    assert [own.costs.tolist() for own in first.families] == [own.costs.tolist() for own in again.families]


def test_lists_grow_up_to_a_limit(dataset):
    free, bound = growing(dataset), growing(dataset, most=1)
    before = bound.lists.costs.size
    search(free)
    search(bound)
    assert bound.lists.costs.size == before < free.lists.costs.size
    assert not any(bound.expanded)
    assert free.variables == 9


def test_children_take_turns_where_all_at_once_would_take_long(dataset, sizes):
    sizes({"growing.SETS": 27})  # of nine for an empty set: three children
    lists = growing(dataset)
    networks = [((),) * 9, tuple((x - 1,) if x else () for x in range(9))]
    with Workers(2) as workers:
        for turn in range(3):
            lists.grow(networks, workers)
            assert [bool(own) for own in lists.expanded] == [x < 3 * turn + 3 for x in range(9)]
        for _ in range(9):
            lists.grow(networks, workers)
    assert all((x - 1,) in lists.expanded[x] for x in range(1, 9))
    assert search(lists).cost == search(growing(dataset)).cost


def test_the_best_network_alone_is_expanded_first(dataset):
    lists = growing(dataset)
    networks = [((),) * 9, tuple((x - 1,) if x else () for x in range(9))]
    with Workers(1) as workers:
        assert lists.grow(networks, workers)
        assert all(() in own for own in lists.expanded)
        assert not all((x - 1,) in lists.expanded[x] for x in range(1, 9))
        lists.grow(networks, workers)
        assert all((x - 1,) in lists.expanded[x] for x in range(1, 9))
        assert not lists.grow(networks, workers)


def test_a_stop_keeps_what_was_found(dataset):
    lists = growing(dataset)
    before = lists.lists.costs.size
    asked = itertools.count()
    stop = lambda: "interrupted" if next(asked) >= 8 else None  # noqa: E731
    with Workers(1, stop) as workers, pytest.raises(Stopped):
        lists.grow([((),) * 9], workers)
    assert lists.lists.costs.size == lists_of_families(lists.families).costs.size > before


@pytest.mark.parametrize("polls", first(2, range(0, 60, 12)))
def test_a_stopped_search_has_a_network_of_its_cost(dataset, polls):
    asked = itertools.count()
    best = search(growing(dataset), stop=lambda: "interrupted" if next(asked) >= polls else None, rounds=None)
    assert network_cost(dataset.codes, dataset.arities, best.parents) == pytest.approx(best.cost, rel=1e-9)


def test_a_search_that_goes_on_finds_the_families_of_its_best_network(dataset):
    """They are not in the lists that an exploration has."""
    kept = []
    best = search(growing(dataset), on_round=kept.append)
    again = growing(dataset)
    assert isinstance(kept[-1], Population)
    found = search(again, seed=kept[-1], rounds=1)
    assert found.cost <= best.cost
    listed = [{own.members(i) for i in range(own.families)} for own in again.families]
    assert all(mine in own for mine, own in zip(best.parents, listed, strict=True))


def test_descendants():
    below = descendants([(), (0,), (0, 3), (1,), ()])
    found = [[y for y in range(5) if int(row[0]) >> y & 1] for row in below]
    assert found == [[0, 1, 2, 3], [1, 2, 3], [2], [2, 3], [4]]
    chain = descendants([(x - 1,) if x else () for x in range(130)])
    assert np.bitwise_count(chain).sum(axis=1).tolist() == list(range(130, 0, -1))
