"""Branching: it finds the cheapest network and proves it, whatever the threads and wherever it is stopped."""

import itertools
import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from fixed import ROOM
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_clusters import families_in, found, networks_below
from test_probing import wishful

from extbnsl.bounds.lp.branching import NODE_BYTES, allowed, branch
from extbnsl.bounds.lp.program import Program
from extbnsl.bounds.lp.tree import Tree
from extbnsl.core.codec import encode
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _by_clusters_alone(sizes):
    """Cuts of three clusters would leave little to branch on."""
    sizes({"TRIPLES": 0, "branching.TOLD": 1})


def branched(scores, limit=math.inf, *, tree=None, threads=1, room=ROOM, on_turn=lambda tree, support: True):
    """What branching makes of local scores."""
    families = families_in(scores)
    with Workers(threads) as workers:
        program = Program(families, found(scores, 1), None, 1.0, ROOM)
        return branch(program, tree or Tree(), limit, room, workers, on_turn)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_the_cheapest_network_is_found_and_proved(seed, n):
    scores = prune(scores_of(random_families(np.random.default_rng(seed), n, 10)))
    pairs = pairs_of(scores)
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, pairs)))
    bounds = []
    tree = branched(scores, on_turn=lambda tree, support: bounds.append(tree.bound) or True)
    assert tree.fits(n)
    assert not tree.open
    assert tree.cost == pytest.approx(optimum, abs=1e-9)
    assert best_along(tree.order, pairs) == pytest.approx(optimum, abs=1e-9)
    assert max(bounds, default=-math.inf) <= optimum + 1e-9
    above, below = branched(scores, optimum + 1e-6), branched(scores, optimum - 1e-6)
    assert above.cost == pytest.approx(optimum, abs=1e-9)
    assert (below.open, below.order) == ((), None)


def pairs_of(scores):
    """Per child its families as (parent varset, cost)."""
    return [
        list(zip(p[:, 0].tolist(), c.tolist(), strict=True)) for p, c in zip(scores.parents, scores.costs, strict=True)
    ]


def best_along(order, pairs):
    """The cost of the best network along an order."""
    total, before = 0.0, 0
    for x in order:
        total += min(cost for varset, cost in pairs[x] if not varset & ~before)
        before |= 1 << x
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_gap_at_the_root_is_closed(seed):
    scores, optimum = wishful(seed, 7)
    bounds = []
    tree = branched(scores, on_turn=lambda tree, support: bounds.append(tree.bound) or True)
    assert tree.looked > 10
    assert bounds[0] < optimum - 0.1
    assert max(bounds) <= optimum + 1e-9
    assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))


@pytest.mark.parametrize("nodes", [1, 5, 20])
def test_it_goes_on_from_where_it_was_stopped(nodes):
    scores, optimum = wishful(1, 7)
    first = branched(scores, on_turn=lambda tree, support: tree.looked < nodes)
    assert first.open
    assert first.looked >= nodes
    assert first.bound <= optimum + 1e-9
    whole = branched(scores, tree=first)
    assert not whole.open
    assert whole.looked > first.looked
    assert whole.cost == pytest.approx(optimum, abs=1e-9)


def test_threads_do_not_matter():
    kept = lambda tree: (encode(tree), tree.cuts.tolist())  # noqa: E731
    trees = []
    for threads in (1, 2):
        scores, _ = wishful(2, 6)
        trees.append([])
        branched(scores, threads=threads, on_turn=lambda tree, support: trees[-1].append(tree) or True)
    assert [kept(tree) for tree in trees[0]] == [kept(tree) for tree in trees[1]]


def test_it_ends_when_open_nodes_take_too_much_memory():
    scores, optimum = wishful(1, 7)
    tree = branched(scores, room=NODE_BYTES)
    assert tree.open
    assert tree.bound <= optimum


def test_without_solutions_of_programs_it_ends_nevertheless(sizes):
    sizes({"branching.EFFORT": 1})
    scores, optimum = wishful(0, 4)
    tree = branched(scores)
    assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))


def test_it_stops_when_it_is_time():
    scores, _ = wishful(1, 6)
    program = Program(families_in(scores), found(scores, 1), None, 1.0, ROOM)
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        branch(program, Tree(), math.inf, ROOM, workers, lambda tree, support: True)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
def test_choices_leave_every_network_that_makes_them(seed, n, count):
    rng = np.random.default_rng(seed)
    scores = prune(scores_of(random_families(rng, n, 10)))
    families, pairs = families_in(scores), pairs_of(scores)
    networks = list(networks_below(n, pairs, math.inf))
    made = networks[rng.integers(len(networks))] if rng.random() < 0.5 else rng.integers(0, 1 << n, n).tolist()
    arcs = rng.permutation(list(itertools.permutations(range(n), 2)))[:count].tolist()
    choices = tuple(2 * (x * n + y) + 1 - (made[x] >> y & 1) for x, y in arcs)  # as a network makes them, or any
    left = allowed(families, choices)
    rows = [set(families.parents[0, lo:hi][left[lo:hi]].tolist()) for lo, hi in itertools.pairwise(families.first)]
    making = [one for one in networks if all((one[c // 2 // n] >> c // 2 % n & 1) != c % 2 for c in choices)]
    assert making or made not in networks
    for network in making:
        assert all(p in rows[x] for x, p in enumerate(network))
    for c in choices:
        x, y = divmod(c // 2, n)
        assert all((p >> y & 1) != c % 2 for p in rows[x])
