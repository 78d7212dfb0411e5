"""Networks that are drawn by orders and weighted, against sums over all networks, one by one."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from cases import scores_of, shelf_of
from naive import all_dags, members
from patching import sized
from summing import last, random_scores, sparse_scores, summed

from extbnsl.core.codec import Misfit
from extbnsl.core.events import ignore
from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.features import standard_error
from extbnsl.posteriors.layered_samples import sample_in_layers
from extbnsl.posteriors.layers import LayeredSum, Limits, sum_in_layers
from extbnsl.posteriors.networks import sum_over_networks
from extbnsl.posteriors.order_samples import sample_orders
from extbnsl.posteriors.orders import sum_over_orders
from extbnsl.posteriors.weighted import Annealing, OrderedNetworks, WeightedDraws, resampled, weigh_draws

DRAWS = 40_000
LIMITS = Limits(1e-6, 1 << 20)


def by_lattice(scores, means):
    """Draws by all sets of variables."""
    return OrderedNetworks(
        scores,
        partial(sum_over_orders, scores, means),
        lambda sums, seed, numbers: sample_orders(scores, sums, means, seed, numbers.start, len(numbers)),
    )


def by_layers(scores, means):
    """Draws by layers."""
    return OrderedNetworks(
        scores,
        partial(sum_in_layers, scores, means, LIMITS),
        lambda sums, seed, numbers: sample_in_layers(scores, sums, means, LIMITS, seed, numbers),
    )


def states_of(scores, draws=DRAWS, seed=3, begun=None, threads=1, engine=by_lattice):
    with Workers(threads) as workers:
        means = Means(workers, shelf_of(), ignore)
        yield from weigh_draws(engine(scores, means), means, seed, draws, begun)


def orders_along(dag):
    """The orders that a network keeps to."""
    for order in itertools.permutations(range(len(dag))):
        place = {x: at for at, x in enumerate(order)}
        if all(place[p] < place[x] for x in order for p in members(dag[x])):
            yield order


def shares_along(dag, orders):
    """q of each order, by the kernel."""
    scores = scores_of([[(own, 1.0)] for own in dag])
    with sized({"weighted.SWEEPS": 1}):
        _, logs = led(scores, np.array(orders, np.int32), np.zeros((len(orders), len(dag)), np.int32))
    return np.exp(logs)


def led(scores, orders, rows, powers=None):
    """To where pairs of an order and a network are led, and what they count."""
    with Workers(1) as workers:
        annealing = Annealing(scores, Means(workers, shelf_of(), ignore))
        return annealing.led(orders, rows, random_words(9, len(orders)), powers)


def share_by_hand(dag, order):
    """The probability that the order is drawn, one variable after the other, by how many wait for each."""
    n, placed, share = len(dag), set(), 1.0
    for x in order:
        free = [y for y in range(n) if y not in placed and set(members(dag[y])) <= placed]
        above = {y: {y} for y in range(n) if y not in placed}
        for y in order:
            if y in above:
                above[y] |= set().union(*(above[p] for p in members(dag[y]) if p not in placed))
        leads = {y: sum(1.0 / len(own & set(free)) for own in above.values() if y in own) for y in free}
        share *= leads[x] / sum(leads.values())
        placed.add(x)
    return share


def test_the_shares_of_the_orders_of_any_network_come_to_1():
    for dag in [*all_dags(4)][::7] + [*all_dags(5)][::997]:
        orders = list(orders_along(dag))
        shares = shares_along(dag, orders)
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        assert shares == pytest.approx([share_by_hand(dag, order) for order in orders], abs=1e-12)


def test_orders_of_forests_have_equal_shares():
    """No variable waits for two: the best shares that there are."""
    for dag in ((0, 0, 0, 0, 0), (0, 1, 1, 2, 2), (0, 0, 1, 2, 8), (0, 1, 2, 4, 8)):
        shares = shares_along(dag, list(orders_along(dag)))
        assert shares == pytest.approx(np.full(shares.size, 1.0 / shares.size), abs=1e-12)


def check(state, scores):
    """All estimates within five standard errors; most of them within two."""
    total, families, _ = summed(scores, "uniform")
    effective = 1.0 / (state.shares**2).sum()
    assert 20.0 < effective <= state.logs.size * (1.0 + 1e-9)
    assert abs(state.log_weight - total) <= 5.0 * effective**-0.5
    off = []
    for own, squares, true in zip(state.families, state.squares, families, strict=True):
        assert own.sum() == pytest.approx(1.0)
        off.extend((np.abs(own - true) / standard_error(own, squares, effective)).tolist())
    assert max(off) < 5.0
    assert np.mean(np.square(off)) < 2.0


@pytest.mark.parametrize("engine", [by_lattice, by_layers])
@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_near_the_sums(seed, engine):
    scores = random_scores(np.random.default_rng(seed), 4, [0.5, 1.0, 2.0, 400.0][seed], alone=seed % 2)
    check(last(states_of(scores, engine=engine)), scores)


def test_standard_errors_are_right_of_18_variables():
    """About two of three probabilities are within one of what the sum over all networks says."""
    scores = sparse_scores(18, spread=2.0)
    with Workers(1) as workers:
        exact = last(sum_over_networks(scores, Means(workers, shelf_of(), ignore)))
    state = last(states_of(scores, 2000))
    effective = 1.0 / (state.shares**2).sum()
    assert effective > 200.0
    own, squares, true = (np.concatenate(each) for each in (state.families, state.squares, exact.families))
    unsure = (true > 0.02) & (true < 0.98)
    off = np.abs(own - true)[unsure] / standard_error(own, squares, effective)[unsure]
    assert off.size > 50
    assert 0.55 < (off < 1.0).mean() < 0.8
    assert (off < 2.0).mean() > 0.9
    assert abs(state.log_weight - exact.log_weight) < 4.0 * effective**-0.5


def test_without_weights_they_would_not_be():
    """The draws by themselves have the prior of orders."""
    scores = random_scores(np.random.default_rng(0), 4, 0.5)
    with sized({"weighted.SWEEPS": 1}):
        state = last(states_of(scores))
    _, families, _ = summed(scores, "uniform")
    plain = [np.bincount(state.rows[:, x], minlength=own.size) / DRAWS for x, own in enumerate(families)]
    assert max(np.abs(own - true).max() for own, true in zip(plain, families, strict=True)) > 0.05


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_steps_leave_the_distribution_as_it_is(power, seed):
    """However many there are: each pair of an order and a network is as likely as before, by a power of its share."""
    scores = random_scores(np.random.default_rng(seed), 3 + seed % 2, [0.5, 1.0, 1.0, 2.0][seed], alone=seed % 2)
    row_of = [{int(varset[0]): row for row, varset in enumerate(parents)} for parents in scores.parents]
    weights = {
        (*order, *(row_of[x][v] for x, v in enumerate(dag))): share * share_by_hand(dag, order) ** power
        for dag, share in summed(scores, "uniform")[2].items()
        for order in orders_along(dag)
    }
    chances = np.array(list(weights.values())) / sum(weights.values())
    pairs = np.array(list(weights), np.int32)[np.random.default_rng(seed).choice(chances.size, DRAWS, p=chances)]
    orders, rows = np.split(pairs.copy(), 2, axis=1)
    rows, _ = led(scores, orders, rows, np.full(4, power))
    assert ((orders != pairs[:, : orders.shape[1]]).any(axis=1).mean()) > 0.1
    assert ((rows != pairs[:, orders.shape[1] :]).any(axis=1).mean()) > 0.1
    number_of = {pair: number for number, pair in enumerate(weights)}
    after = np.bincount([number_of[tuple(pair)] for pair in np.hstack([orders, rows]).tolist()], None, chances.size)
    likely = chances * DRAWS > 20.0
    off = (after - chances * DRAWS)[likely] / np.sqrt(chances * (1.0 - chances) * DRAWS)[likely]
    assert off.size > 20
    assert np.abs(off).max() < 5.0
    assert np.square(off).mean() < 1.0 + 5.0 * math.sqrt(2.0 / off.size)


def same(one, other):
    return one.log_weight == other.log_weight and (one.rows == other.rows).all() and (one.logs == other.logs).all()


@pytest.mark.parametrize("engine", [by_lattice, by_layers])
def test_draws_go_on_from_any_state_and_threads_change_nothing(engine):
    scores = sparse_scores(7)
    with sized({"weighted.TOGETHER": 30, "weighted.TASK": 7, "NODES_AT_FIRST": 4}):
        states = list(states_of(scores, 100, engine=engine))
        for begun in states[:: max(1, len(states) // 9)]:
            assert same(last([begun, *states_of(scores, 100, begun=begun, engine=engine)]), states[-1])
        assert same(last(states_of(scores, 100, threads=3, engine=engine)), states[-1])
    assert states[-1].logs.size == 100
    assert last(states_of(scores, 70, engine=engine)).rows.tolist() == states[-1].rows[:70].tolist()


def test_after_each_pass_networks_are_drawn_and_the_last_ones_stay_until_others_come():
    scores = sparse_scores(8)
    with sized({"weighted.TOGETHER": 30, "BETWEEN_PASSES": 50, "NODES_AT_FIRST": 4}):
        states = list(states_of(scores, 60, engine=by_layers))
    answered = [state.answers for state in states]
    assert answered == sorted(answered)
    turns = {(state.sums.turn, state.logs.size) for state in states if state.sums.reached == 0 and state.answers}
    passes = max(state.sums.turn for state in states) + 1
    assert passes > 1
    assert turns >= {(turn, draws) for turn in range(passes) for draws in (30, 50 if turn < passes - 1 else 60)}
    assert states[-1].log_ignored < states[-1].log_orders


def test_a_state_of_something_else_is_refused():
    scores = sparse_scores(6)
    state = last(states_of(scores, 50))
    few = sparse_scores(5)
    for begun in (
        WeightedDraws(tuple(costs.size for costs in few.costs)),
        WeightedDraws(state.children, state.sums, 0.0, -math.inf, state.rows[:, :5], state.logs),
        WeightedDraws(state.children, state.sums, 0.0, -math.inf, state.rows + 1000, state.logs),
        WeightedDraws(state.children, state.sums, 0.0, -math.inf, state.rows, state.logs + 100.0),
        WeightedDraws(state.children, state.sums, 0.0, -math.inf, state.rows[:3], state.logs),
    ):
        with pytest.raises(Misfit):
            next(states_of(scores, 99, begun=begun))
    other = WeightedDraws(state.children, LayeredSum(reached=99, turn=1))
    with pytest.raises(Misfit):
        next(states_of(scores, 99, begun=other, engine=by_layers))


@pytest.mark.parametrize("more", [-np.inf, -800.0, -2.0, 0.0, 3.0, 900.0])
def test_what_could_not_be_drawn_is_a_share_of_all(more):
    state = WeightedDraws((1,), None, 5.0, 5.0 + more)
    assert state.ignored_orders == pytest.approx(1.0 - 1.0 / (1.0 + np.exp(min(more, 600.0))), abs=1e-12)


def test_networks_come_again_as_often_as_they_count():
    state = last(states_of(random_scores(np.random.default_rng(1), 4, 1.0), 500))
    places = {tuple(row): k for k, row in enumerate(np.unique(state.rows, axis=0).tolist())}
    shares = np.zeros(len(places))
    for row, share in zip(state.rows.tolist(), state.shares.tolist(), strict=True):
        shares[places[tuple(row)]] += share
    rows = resampled(state, 5, range(20_000))
    counts = np.bincount([places[tuple(row)] for row in rows.tolist()], minlength=len(places))
    assert np.abs(counts / 20_000 - shares).max() < 5.0 * (shares.max() / 20_000) ** 0.5
    assert (resampled(state, 5, range(7, 30)) == rows[7:30]).all()
    assert (resampled(state, 6, range(100)) != rows[:100]).any()


def test_a_stop_is_heard():
    scores, states = sparse_scores(6), list[WeightedDraws]()
    with Workers(1, lambda: "time_limit" if states and states[-1].answers else None) as workers:
        means = Means(workers, shelf_of(), ignore)
        with sized({"weighted.TOGETHER": 30}), pytest.raises(Stopped):
            states.extend(weigh_draws(by_lattice(scores, means), means, 1, 1000))
    assert states[-1].logs.size == 30
