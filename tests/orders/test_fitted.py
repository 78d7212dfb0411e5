"""Parents that are chosen within the moves of an order: each step against regressions by numpy, whole searches against
all networks."""

import math
import time

import naive
import numpy as np
import pytest
from calling import called
from cases import collinear_numbers, numbers_of, random_numbers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.workers import Workers, unhalted
from extbnsl.orders.fitted import fit as fits
from extbnsl.orders.fitted import kicks, moves
from extbnsl.orders.fitted.fit import NOBODY, new_fit
from extbnsl.orders.fitted.kicks import improve_fitted, new_search
from extbnsl.orders.fitted.search import KICKS, fitting, search_fitted
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.measured import standardised

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
SCORE = "gaussian-bic"

add, drop, choose, clear, among, cost_of_fit = map(
    called, (fits.add, fits.drop, fits.choose, fits.clear, fits.among, fits.cost_of_fit)
)
refit, best_place, shift, load, keep = map(called, (moves.refit, moves.best_place, moves.shift, moves.load, moves.keep))
connect, exchanged = called(kicks._connect), called(kicks._exchanged)


@pytest.fixture(autouse=True)
def _short(sizes):
    """Rounds of few kicks."""
    sizes(WORK=1500)


def problem_of(numbers, **claim):
    constraints = constraints_of(Claim(SCORE, **claim), numbers.names)
    return fitting(standardised(numbers), constraints, math.log(numbers.records) / 2)


def cost(numbers, child, parents):
    """By a regression of numpy."""
    values = numbers.values - numbers.values.mean(axis=0)
    values = values / np.abs(values).max(axis=0)
    design, records = values[:, list(parents)], len(values)
    error = values[:, child] - design @ np.linalg.lstsq(design, values[:, child], rcond=None)[0]
    return records / 2 * math.log(error @ error) + math.log(records) / 2 * len(parents)


def chosen(numbers, child, parents, candidates, most):
    """The same steps, each by regressions of all that can be added, dropped or exchanged."""
    parents = list(parents)

    def best(of):
        own = [(cost(numbers, child, [*parents, z]), z) for z in of if z not in parents]
        return min(own, default=(math.inf, NOBODY))

    while True:
        begun = sorted(parents)
        while len(parents) < most and best(candidates)[0] < cost(numbers, child, parents):
            parents.append(best(candidates)[1])
        while parents:
            own, z = min((cost(numbers, child, [p for p in parents if p != z]), z) for z in parents)
            if own >= cost(numbers, child, parents):
                break
            parents.remove(z)
        if sorted(parents) != begun:
            continue
        if len(parents) < most:
            return parents
        now = cost(numbers, child, parents)
        for _ in range(most):
            z = parents.pop(0)
            lower, w = best([w for w in candidates if w != z])
            parents.append(w if lower < now else z)
            if lower < now:
                break
        else:
            return parents


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 12), st.sampled_from([None, 1, 2, 3]))
def test_the_steps_are_those_of_regressions(seed, n, most):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 8, 90)))
    problem = problem_of(numbers, max_parents=most)
    place, fit = rng.permutation(n).astype(np.int32), new_fit(n, problem.most)
    for child in range(n):
        before = [z for z in range(n) if place[z] < place[child]]
        begun = rng.permutation(before)[: problem.gram.limits[child] // 2].tolist()
        clear(child, problem.gram, fit)
        for z in begun:
            add(z, child, problem.gram, fit)
        choose(child, among(place, place[child], NOBODY, NOBODY), problem.gram, fit)
        own = fit.parents[: fit.size[0]].tolist()
        assert own == chosen(numbers, child, begun, before, int(problem.gram.limits[child]))
        alone = cost(numbers, child, [])
        saved = cost_of_fit(child, fit, problem.gram)
        assert saved == pytest.approx(cost(numbers, child, own) - alone, rel=1e-7, abs=1e-6)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 10))
def test_steps_back_leave_what_fewer_parents_do(seed, n):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, 60)
    gram, fit, fresh = problem_of(numbers).gram, new_fit(n, n), new_fit(n, n)
    child, *others = rng.permutation(n).tolist()
    clear(child, gram, fit)
    for z in others:
        add(z, child, gram, fit)
    while fit.size[0]:
        drop(int(rng.integers(fit.size[0])), child, fit)
        clear(child, gram, fresh)
        for z in fit.parents[: fit.size[0]].tolist():
            add(z, child, gram, fresh)
        np.testing.assert_allclose(fit.covariances, fresh.covariances, atol=1e-10)
        np.testing.assert_allclose(fit.variances, fresh.variances, atol=1e-10)


def line_of(order, search, gram):
    """The line of a search, with an order and the parents that all choose."""
    line, n = search.line, len(order)
    line.order[:], line.place[order] = order, np.arange(n)
    for y in range(n):
        refit(y, line, gram, search.sweep.others)
    return line


def families_of(line):
    return [line.chosen.parents[x, : line.chosen.sizes[x]].tolist() for x in range(line.order.size)]


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 12), st.booleans())
def test_a_sweep_says_what_its_move_makes_of_the_cost(seed, n, limited):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, 80)
    problem = problem_of(numbers, max_parents=2 if limited else None)
    search = new_search(problem.gram, problem.most)
    moved = 0
    for x in range(n):
        line, sweep = line_of(rng.permutation(n).astype(np.int32), search, problem.gram), search.sweep
        before, at = families_of(line), int(line.place[x])
        sweep.used[0] = 0
        target, change = best_place(x, line, problem.gram, sweep, unhalted())
        if target == at:
            assert change == 0.0
            continue
        moved += 1
        shift(x, target, line)
        after = list(before)
        low, high = min(at, target), max(at, target)
        for y in [x, *sweep.touched[: sweep.used[0]].tolist()]:
            if low <= line.place[y] <= high:
                after[y] = sweep.families.parents[y, : sweep.families.sizes[y]].tolist()
        assert all(line.place[p] < line.place[y] for y, own in enumerate(after) for p in own)
        costs = [sum(cost(numbers, y, own) for y, own in enumerate(some)) for some in (before, after)]
        assert change == pytest.approx(costs[1] - costs[0], abs=1e-5)
        assert change < 0
    assert moved or n < 10


@pytest.mark.parametrize("seed", range(10))
def test_exchanges_say_what_they_make_of_the_cost(seed):
    rng = np.random.default_rng(seed)
    n = 12
    problem = problem_of(random_numbers(rng, n, 80), max_parents=3)
    search, gone = new_search(problem.gram, problem.most), 0
    for _ in range(20):
        line = line_of(rng.permutation(n).astype(np.int32), search, problem.gram)
        for k, x in enumerate(line.order.tolist()):
            own = rng.permutation(line.order[:k])[:3]
            line.chosen.parents[x, : own.size], line.chosen.sizes[x] = own, own.size
            load(x, among(line.place, k, NOBODY, NOBODY), line.chosen, problem.gram, search.sweep.fit)
            keep(x, search.sweep.fit, problem.gram, line.chosen)
        before = line.chosen.costs.sum()
        change = exchanged(search, unhalted())
        assert change == pytest.approx(line.chosen.costs.sum() - before, abs=1e-9)
        gone += change < 0
    assert gone > 10


def total(numbers, parents):
    return sum(naive.gaussian_cost(numbers.values, x, own) for x, own in enumerate(parents))


@pytest.mark.parametrize("number", [0, 30])
@pytest.mark.parametrize("seed", range(6))
def test_a_network_never_gets_worse(seed, number):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, 15, 120)
    problem, n = problem_of(numbers), 15
    order = rng.permutation(n).astype(np.int32)
    parents, begun = np.full((n, problem.most), NOBODY, np.int32), [[] for _ in range(n)]
    for k, x in enumerate(order.tolist()):
        begun[x] = rng.permutation(order[:k])[: int(rng.integers(0, 5))].tolist()
        parents[x, : len(begun[x])] = begun[x]
    elsewhere = np.argsort(rng.permuted(np.tile(np.arange(n), (3, 1)), axis=1)).astype(np.int32)
    given = np.full(1, seed + 1, np.uint64), KICKS._replace(number=number), elsewhere, unhalted()
    improve_fitted(order, parents, *given, new_search(problem.gram, problem.most))
    network = problem.network(order, parents)
    assert network.is_sound()
    assert network.cost <= total(numbers, begun) + 1e-9
    assert network.cost == pytest.approx(total(numbers, network.parents), rel=1e-9)


def found(numbers, seed=0, threads=1, rounds=3, told=None, **claim):
    problem = problem_of(numbers, **claim)
    with Workers(threads) as workers:
        told = [] if told is None else told
        return search_fitted(problem, workers, seed, told.append, rounds=rounds)


@pytest.mark.parametrize("seed", range(8))
def test_of_few_columns_the_best_network_is_found(seed):
    numbers, told = random_numbers(np.random.default_rng(seed), 5, 60), []
    most = None if seed % 2 else 2
    network = found(numbers, max_parents=most, told=told)
    best = naive.optimal_gaussian_cost(numbers.values, lambda _, u: most is None or u.bit_count() <= most)
    assert network.cost == pytest.approx(best, rel=1e-9)
    assert told == sorted(told, reverse=True)
    assert told[-1] == network.cost


@pytest.mark.parametrize("seed", range(24))
def test_knowledge_is_kept(seed):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, 5, 60)
    knowledge = random_knowledge(rng, numbers.names)
    allowed = admitted(knowledge, numbers.names, None)
    network = found(numbers, seed, knowledge=knowledge)
    assert network.is_sound()
    assert network.cost == pytest.approx(total(numbers, network.parents), rel=1e-9)
    best = naive.optimal_gaussian_cost(numbers.values, lambda x, u: allowed[x, u])
    assert network.cost >= best - 1e-6
    assert all(allowed[x, sum(1 << p for p in own)] for x, own in enumerate(network.parents))


def test_required_arcs_of_many_columns_are_there():
    rng = np.random.default_rng(5)
    numbers = random_numbers(rng, 20, 100)
    order = rng.permutation(20).tolist()
    required = tuple((f"v{order[a]}", f"v{order[b]}") for a, b in ((0, 3), (1, 3), (3, 9), (9, 19), (2, 4)))
    network = found(numbers, knowledge=Knowledge(required))
    arcs = {(f"v{p}", f"v{x}") for x, own in enumerate(network.parents) for p in own}
    assert set(required) <= arcs
    assert network.is_sound()


@pytest.mark.parametrize("seed", range(20))
def test_no_family_is_singular(seed):
    rng = np.random.default_rng(seed)
    numbers = collinear_numbers(rng, int(rng.integers(2, 6)))
    network = found(numbers, seed)
    assert math.isfinite(network.cost)
    for child, parents in enumerate(network.parents):
        assert not naive.is_singular(numbers.values, sum(1 << v for v in (child, *parents)))


def test_more_columns_than_records_and_copies_of_columns():
    values = np.random.default_rng(2).normal(size=(20, 30))
    values = np.column_stack([values, values[:, :3], values[:, 3] + 1e-7 * values[:, 4]])
    numbers = numbers_of(values)
    network = found(numbers, rounds=2)
    assert network.is_sound()
    assert math.isfinite(network.cost)
    assert network.cost < total(numbers, [[]] * 34)
    assert max(map(len, network.parents)) < standardised(numbers).largest
    for copy, column in ((30, 0), (31, 1), (32, 2), (33, 3)):
        assert column not in network.parents[copy]
        assert copy not in network.parents[column]


def test_the_threads_make_no_difference():
    numbers = random_numbers(np.random.default_rng(9), 25, 100)
    one, two, other = found(numbers, 3), found(numbers, 3, threads=2), found(numbers, 4, rounds=1)
    assert one.parents == two.parents
    assert one.order.tolist() == two.order.tolist()
    assert other.order.tolist() != one.order.tolist()


def test_a_search_that_is_halted_at_once_changes_nothing():
    numbers = random_numbers(np.random.default_rng(1), 8, 50)
    problem = problem_of(numbers)
    order, parents = np.arange(8, dtype=np.int32)[::-1].copy(), np.full((8, problem.most), NOBODY, np.int32)
    given = np.ones(1, np.uint64), KICKS, np.zeros((0, 8), np.int32), np.ones(1, np.uint8)
    assert math.isinf(improve_fitted(order, parents, *given, new_search(problem.gram, problem.most)))
    assert order.tolist() == list(range(7, -1, -1))
    assert (parents == NOBODY).all()


@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_a_stop_is_heard_soon(sizes, seconds):
    """Of more columns than records, whose families take long."""
    sizes(WORK=1_000_000)
    numbers, clock = numbers_of(np.random.default_rng(1).normal(size=(150, 300))), time.process_time
    problem = problem_of(numbers)
    began = clock()
    with Workers(1, lambda: "interrupted" if clock() > began + seconds else None) as workers:
        network = search_fitted(problem, workers, 1, lambda cost: None)
    assert clock() - began < seconds + 10.0
    assert network.is_sound()
    assert math.isfinite(network.cost)


def test_a_search_goes_on_from_its_population():
    numbers, populations = random_numbers(np.random.default_rng(7), 20, 80), []
    problem = problem_of(numbers)
    with Workers(1) as workers:
        search_fitted(problem, workers, 1, lambda cost: None, rounds=5, on_round=populations.append)
        told = []
        again = [search_fitted(problem, workers, populations[3], told.append, rounds=3).cost for _ in range(2)]
    assert told[0] == populations[3].best.cost
    assert again[0] == again[1] < populations[3].best.cost
    assert populations[5].orders.tolist() != populations[3].orders.tolist()


def test_one_column():
    assert found(random_numbers(np.random.default_rng(1), 1, 10)).parents == ((),)


def test_neighbours_are_parents_and_children():
    numbers = random_numbers(np.random.default_rng(3), 8, 60)
    problem = problem_of(numbers)
    search = new_search(problem.gram, problem.most)
    line = line_of(np.arange(8, dtype=np.int32), search, problem.gram)
    connect(line.chosen, search.network)
    families, (first, members) = families_of(line), search.network
    for x in range(8):
        children = [y for y, own in enumerate(families) if x in own]
        assert sorted(members[first[x] : first[x + 1]].tolist()) == sorted(families[x] + children)
