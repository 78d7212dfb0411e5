"""The search that repeats another one: the least cost of any order, whatever multipliers, limits and threads."""

import time

import naive
import numpy as np
import pytest
from calling import called
from cases import random_families, scores_of, wishful
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import TIME_LIMIT
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify import order_search
from extbnsl.verify.certificate import MOST_UNITS, TooMuch, floor_units
from extbnsl.verify.order_nodes import _rest, expand
from extbnsl.verify.order_search import FIRST, least_cost, piece_of, within
from extbnsl.verify.passes import CLUSTERS, Families, weighted

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
ROOM = 1 << 30
rest = called(_rest)


def piece(families):
    """Families, (parents, cost) of each child, in the order in which they come."""
    own = [(np.array([own[0] for own in some], np.uint64), [own[1] for own in some]) for some in families]
    return Families.joined(range(len(families)), ((v.reshape(-1, 1), np.array(c, np.int64)) for v, c in own))


def cuts_of(cuts, multipliers):
    """Cuts, tuples of clusters as masks, with multipliers."""
    masks = [[*cut, *(0,) * (CLUSTERS - len(cut))] for cut in cuts]
    return weighted(np.array(masks, np.uint64).reshape(-1, CLUSTERS, 1), multipliers)


NO_CUTS = cuts_of((), ())


def optimum(families):
    """What the best order costs, by a dynamic program over all subsets; infinity if there is none."""
    n = len(families)
    costs = np.full((n, 1 << n), np.inf)
    for child, own in enumerate(families):
        for parents, cost in own:
            costs[child, parents] = min(costs[child, parents], cost)
    return naive.optimal_cost_dp(n, naive.best_scores(costs))


def found(families, limit, bound=NO_CUTS, threads=1, room=ROOM, tell=lambda size, sizes, nodes: None):
    with Workers(threads) as workers:
        return least_cost(piece(families), bound, limit, workers, room, tell)


def random_bound(rng, n, most=40):
    """Cuts of any clusters, of variables that there are not as well, with multipliers that help or do harm."""
    size = int(rng.integers(0, 12))
    cuts = [tuple(int(c) for c in rng.integers(0, 1 << n + 1, rng.choice([1, 3]))) for _ in range(size)]
    return cuts_of(cuts, [int(m) for m in rng.integers(1, most, size)])


def assert_found(families, bound, **how):
    """The optimum where it is below the limit, and else the limit."""
    best = optimum(families)
    least = sum(min((cost for _, cost in own), default=0) for own in families)
    limits = [least - 1, least, least + 1, 10**6]
    if np.isfinite(best):
        best = int(best)
        limits += [best - 5, best - 1, best, best + 1, best + 7]
    for limit in limits:
        assert found(families, limit, bound, **how) == min(limit, best)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([1, 3, 20]), st.booleans())
def test_the_least_cost_is_that_of_the_dynamic_program(seed, n, spread, threads):
    """With costs of either sign, often equal, families twice, and families with which there is no order."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 25, lambda m: rng.integers(-9, 9 * spread, m))
    for x, own in enumerate(families):
        own += [(own[i][0], int(rng.integers(-9, 9))) for i in rng.integers(0, len(own), 3)]
        if rng.random() < 0.2:  # always a parent
            families[x] = [(parents or int(1 << (x + 1) % n) & ~(1 << x), cost) for parents, cost in own]
        rng.shuffle(families[x])
    assert_found(families, random_bound(rng, n), threads=1 + threads)
    assert_found(families, NO_CUTS)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_the_bound_is_that_of_its_definition(seed, n):
    """h of every varset, and by how much the needs fall with each variable more."""
    rng = np.random.default_rng(seed)
    families, bound = random_families(rng, n, 12, lambda m: rng.integers(0, 99, m)), random_bound(rng, n)
    cheapest = [min(cost for _, cost in own) for own in families]
    with Workers(1) as workers:
        own = piece_of(*within(piece(families), bound), 1 << 20, workers)

    def ceil_half(clusters):
        return (len(clusters) + 1) // 2

    def cut_down(cut):
        return [cluster & (1 << n) - 1 for cluster in cut if cluster & (1 << n) - 1]

    cuts = [
        (cut_down(cut), multiplier)
        for cut, multiplier in zip(bound.cuts[:, :, 0].tolist(), bound.multipliers.tolist(), strict=True)
    ]

    def needs(varset):
        return sum(multiplier * ceil_half([c for c in cut if not c & varset]) for cut, multiplier in cuts)

    def reduced(x, parents, cost):
        return (
            cost
            - cheapest[x]
            - sum(m * ceil_half([c for c in cut if c >> x & 1 and not c & parents]) for cut, m in cuts)
        )

    least = [min(reduced(x, *one) for one in families[x]) for x in range(n)]
    for varset in range(1 << n):
        falls = np.full(n, -1)
        outside = [x for x in range(n) if not varset >> x & 1]
        assert rest(own, np.uint64(varset), falls) == needs(varset) + sum(least[x] for x in outside)
        assert [falls[x] for x in outside] == [needs(varset) - needs(varset | 1 << x) for x in outside]


def test_good_multipliers_leave_less_to_search():
    costs = wishful(0, 9)
    scores = scores_of(costs)
    with Workers(1) as workers:
        found_there = find_multipliers(families_of(scores.parents, scores.costs), None, 4, 0, workers)
    cuts = tuple((int(cut[0, 0]),) for cut in found_there.cuts)
    families = [[(parents, floor_units(cost)) for parents, cost in own] for own in costs]
    best, nodes = int(optimum(families)), []
    for bound in (NO_CUTS, cuts_of(cuts, found_there.weights.tolist())):
        told = []
        assert found(families, best, bound, tell=lambda size, sizes, own, told=told: told.append(own)) == best
        assert found(families, best + 1, bound) == best
        nodes.append(sum(told))
    assert nodes[1] < 0.6 * nodes[0]


def test_ties_by_the_hundred():
    """Many families of the same cost, and many orders."""
    n = 9
    sets = [[own for own in range(1 << n) if not own >> x & 1 and own.bit_count() == 2] for x in range(n)]
    families = [[(0, 5), *((own, 3) for own in sets[x])] for x in range(n)]
    assert len(families[0]) == 29
    best = int(optimum(families))
    assert best == 5 + 5 + 3 * (n - 2)
    for bound in (NO_CUTS, cuts_of((((1 << n) - 1,),), (2,)), cuts_of((((1 << n) - 1,),), (10**6,))):
        assert found(families, best + 1, bound) == best
        assert found(families, best, bound) == best
        assert found(families, best - 1, bound) == best - 1


def test_long_lists_are_looked_through():
    """More families than a block has, the cheapest of which are inside last."""
    n = 12
    rng = np.random.default_rng(4)
    families = []
    for x in range(n):
        sets = [own for own in range(1 << n) if not own >> x & 1]
        costs = rng.permutation(len(sets))
        families.append([(own, int(cost) + 50 * (n - own.bit_count())) for own, cost in zip(sets, costs, strict=True)])
    assert len(families[0]) > 4 * order_search.BLOCK
    best = int(optimum(families))
    assert found(families, best + 1) == best
    assert found(families, best) == best


def test_no_family_means_no_order():
    assert found([[(0, 1)], []], 100) == 100
    assert found([[(2, 1)], [(1, 1)]], 100) == 100


@pytest.mark.parametrize("n", [1, 63, 64])
def test_as_many_variables_as_a_mask_has(n):
    """A chain, in which each wants the next one as a parent, and the first two each other."""
    families = [[(0, 10), (1 << x + 1, 1)] if x + 1 < n else [(0, 10)] for x in range(n)]
    if n > 1:
        families[1] = [(0, 10), (1, 0)]
    best = 10 + (n - 1) * 1 + (n > 1) * 8
    bound = cuts_of(((3,),), (9,)) if n > 1 else NO_CUTS
    assert found(families, best + 100, bound) == best
    assert found(families, best, bound) == best


def test_each_layer_is_told_with_its_nodes():
    families = [[(0, 3)], [(0, 3)], [(0, 9), (3, 1)]]
    told = []
    assert found(families, 100, tell=lambda *own: told.append(own)) == 7
    assert [own[:2] for own in told] == [(0, 3), (1, 3), (2, 3)]
    assert told[0][2] == 1


def dense(n=12, seed=1):
    """Families of which everybody wants everybody."""
    rng = np.random.default_rng(seed)
    return random_families(rng, n, 300, lambda m: rng.integers(0, 1 << 40, m))


def test_threads_and_chunks_change_nothing(sizes):
    families = dense()
    best = int(optimum(families))
    layers = []
    for threads, chunk, fewest in ((1, 2048, 1 << 18), (3, 16, 40), (2, 1, 1)):
        sizes({"order_search.CHUNK": chunk, "order_search.FEWEST": fewest})
        told = []
        assert found(families, 2 * best, threads=threads, tell=lambda *own, told=told: told.append(own)) == best
        layers.append(told)
    assert layers[0] == layers[1] == layers[2]


def test_a_small_room_is_said_to_be_too_small():
    families = dense()
    best = int(optimum(families))
    for room in (10, 1000, 30_000):
        with pytest.raises(TooMuch, match=r"a search of 12 variables has [\d,]+ nodes of \d+ variables?, and those of"):
            found(families, 2 * best, room=room)
    assert found(families, 2 * best, room=1 << 20) == best


@pytest.mark.parametrize("cut", [0, 1])
def test_figures_without_measure_are_too_much(cut):
    bound = cuts_of(((3,),), (MOST_UNITS // 2,)) if cut else NO_CUTS
    limit = 100 if cut else MOST_UNITS + 3
    with pytest.raises(TooMuch, match="figures beyond"):
        found([[(0, 1)], [(0, 1)]], limit, bound)


def test_multipliers_that_add_up_to_too_much():
    """Each of many variables has much taken."""
    n = 60
    bound = cuts_of((((1 << n) - 1,),), (MOST_UNITS // 3,))
    with pytest.raises(TooMuch, match="figures beyond"):
        found([[(0, x)] for x in range(n)], 10**6, bound)


def test_a_stop_is_heard():
    with Workers(1, lambda: TIME_LIMIT) as workers, pytest.raises(Stopped) as stopped:
        least_cost(piece(dense()), NO_CUTS, 1 << 50, workers, ROOM, lambda size, sizes, nodes: None)
    assert stopped.value.reason == TIME_LIMIT


def test_a_stop_is_heard_within_a_layer(sizes):
    """The layer is one task, which takes long unless it looks at `halt`."""
    sizes({"order_search.CHUNK": 1 << 30})
    n = 23
    families = [[(own, -own.bit_count()) for own in range(1 << 8) if not own >> x & 1] for x in range(n)]
    reached, begun = [], time.process_time()
    stop = lambda: TIME_LIMIT if len(reached) > 9 else None  # noqa: E731
    with Workers(1, stop) as workers, pytest.raises(Stopped):
        least_cost(piece(families), NO_CUTS, 10, workers, ROOM, lambda size, sizes, nodes: reached.append(nodes))
    assert len(reached) == 10
    assert time.process_time() - begun < 60


def test_nodes_are_not_expanded_when_it_halts():
    with Workers(1) as workers:
        own = piece_of(*within(piece(dense()), NO_CUTS), 1 << 50, workers)
    halt = np.zeros(1, np.uint8)
    assert expand(own, *FIRST, 1 << 50, halt)[0].size > 0
    halt[0] = 1
    assert expand(own, *FIRST, 1 << 50, halt)[0].size == 0
