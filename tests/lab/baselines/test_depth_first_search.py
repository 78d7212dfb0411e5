"""Depth-first branch and bound: better and better networks, honest bounds, and little memory if it must be."""

import contextlib
import itertools

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from contexts import context_of
from large import most_memory_of
from portions import first

from extbnsl.core.claims import INTERRUPTED, OPTIMAL, tolerance
from extbnsl.core.events import IncumbentFound
from extbnsl.lab.baselines.depth_first import find
from extbnsl.lab.baselines.order_graph import order_graph
from extbnsl.machine.workers import Stopped
from extbnsl.proof.methods import LOWER_BOUNDS

SMALL = 1 << 19  # bytes that something else takes for a moment, such as a page that is split


def found(scores, lower_bound="static", **how):
    with context_of(lower_bound, **how) as context:
        return find(scores, context)


def problem(seed, n):
    """Families, costs without ties in every second problem, and the cost of the optimum."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=30, costs=(lambda m: rng.normal(20, 10, m)) if seed % 2 else None)
    return scores_of(families), naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


def stop_after(polls):
    left = iter(range(polls))
    return lambda: None if next(left, None) is not None else INTERRUPTED


def cost_of(scores, rows):
    return sum(float(costs[row]) for costs, row in zip(scores.costs, rows.tolist(), strict=True))


@pytest.fixture
def few_nodes(sizes):
    """The table takes so many nodes at first, and many more at a time, for which a megabyte has no room."""
    sizes({"FIRST_NODES": 16, "nodes.SHARES": (1 << 12,)})
    return 16


@pytest.fixture(autouse=True)
def groups(sizes):
    """Of three variables, so that pattern databases are no more than bounds."""
    sizes(BESIDE_CLUSTERS=3)


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
@pytest.mark.parametrize("memory", [1 << 30, 1 << 19])
def test_the_optimum_whatever_the_memory(lower_bound, memory, few_nodes):
    for seed in range(12):
        scores, optimum = problem(seed, 8)
        outcome = found(scores, lower_bound, memory=memory)
        assert outcome.counts["nodes"] <= (1 << 8 if memory == 1 << 30 else few_nodes)
        assert outcome.status == OPTIMAL
        assert cost_of(scores, outcome.rows) == pytest.approx(optimum, abs=1e-6)
        assert optimum - 1e-6 <= outcome.lower_bound + 1e-6 <= optimum + 2e-6


def test_networks_get_better():
    for seed in range(6):
        scores, optimum = problem(seed, 11)
        events = []
        outcome = found(scores, observer=events.append)
        costs = [event.cost for event in events if isinstance(event, IncumbentFound)]
        assert all(better <= cost - tolerance(cost) for cost, better in itertools.pairwise(costs))
        assert costs[-1] == pytest.approx(optimum)
        assert cost_of(scores, outcome.rows) == pytest.approx(costs[-1])


def test_the_first_dive_is_a_network():
    """It goes down by the cheapest arc, with the bound behind it, and is there whatever stops it."""
    scores, _ = problem(1, 12)
    for polls in itertools.count():
        with contextlib.suppress(Stopped):  # while the bound was made
            outcome = found(scores, stop=stop_after(polls))
            break
    assert outcome.status == INTERRUPTED
    assert outcome.rows is not None
    assert outcome.counts["expanded"] == 12


@pytest.mark.slow
@pytest.mark.parametrize("lower_bound", first(1, LOWER_BOUNDS))
def test_a_stop_leaves_a_bound_and_a_network(lower_bound, sizes):
    """At every node. Bound and network never get worse."""
    sizes({"depth_first.EDGES": 1})
    most = 0
    for seed in range(4):
        scores, optimum = problem(seed, 6)
        bounds, costs, status = [], [], INTERRUPTED
        for polls in itertools.count():
            with contextlib.suppress(Stopped):  # while the bound was made
                outcome = found(scores, lower_bound, stop=stop_after(polls))
                bounds.append(outcome.lower_bound)
                costs.append(np.inf if outcome.rows is None else cost_of(scores, outcome.rows))
                status = outcome.status
            if status == OPTIMAL:
                break
            assert status == INTERRUPTED
        assert max(bounds) <= optimum + 1e-9
        assert (np.diff(bounds) >= -1e-9).all()
        assert costs == sorted(costs, reverse=True)
        assert bounds[-1] == pytest.approx(optimum, abs=1e-6)
        assert costs[-1] == pytest.approx(optimum)
        most = max(most, len(bounds))
    assert most > 20


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_what_is_proved_of_nodes_is_true(lower_bound, calls):
    """No varset costs less than the table has, and that of all variables costs just that."""
    made = calls("lab.baselines.nodes", "new_node_table")
    for seed in range(8):
        scores, optimum = problem(seed, 7)
        found(scores, lower_bound)
        with context_of(lower_bound) as context:
            order = order_graph(scores, context, backward=True).order
        whole = -np.inf
        table = made[-1].found
        for varset, proved in zip(table.varsets[: table.nodes], table.costs[:, 0], strict=False):
            members = order[naive.members(int(varset))]
            assert proved <= cost_over(scores, members) + 1e-9
            whole = proved if members.size == 7 else whole
        assert whole == pytest.approx(optimum)


def cost_over(scores, members):
    """The cost of an optimal network over these variables alone."""
    place = {int(v): i for i, v in enumerate(members)}
    families = [
        [
            (sum(1 << place[p] for p in naive.members(int(varset))), cost)
            for (varset,), cost in zip(scores.parents[v], scores.costs[v], strict=True)
            if all(p in place for p in naive.members(int(varset)))
        ]
        for v in place
    ]
    return naive.optimal_cost_dp(len(place), naive.best_scores(naive.cost_table(len(place), families)))


def test_a_stop_is_heard_between_a_few_expansions(sizes):
    sizes({"depth_first.EDGES": 20})
    scores, _ = problem(3, 10)
    polls = []
    outcome = found(scores, stop=lambda: polls.append(None))
    assert len(polls) >= outcome.counts["generated"] / 30


def test_what_is_proved_of_nodes_saves_expansions(few_nodes):
    """With a table hardly any varset is searched often; without one, the tree of orders is."""
    with_table = without = 0
    for seed in range(6):
        scores, _ = problem(2 * seed + 1, 9)
        outcome = found(scores)
        assert outcome.counts["nodes"] <= min(1 << 9, outcome.counts["expanded"] + 1)
        with_table += outcome.counts["expanded"]
        without += found(scores, memory=1 << 19).counts["expanded"]
    assert with_table <= 2 * 6 << 9
    assert without > 4 * with_table


@pytest.mark.slow
def test_better_bounds_expand_less():
    expanded = dict.fromkeys(LOWER_BOUNDS, 0)
    for seed in range(20):
        scores, _ = problem(2 * seed + 1, 10)
        for lower_bound in LOWER_BOUNDS:
            expanded[lower_bound] += found(scores, lower_bound).counts["expanded"]
    assert max(expanded["pattern"], expanded["clusters"], expanded["auto"]) <= expanded["static"]


def test_dead_ends():
    """Variables that need the one before them: backward, each may go, and all but the last lead nowhere."""
    n = 12
    scores = scores_of([[(0 if x == 0 else 1 << x - 1, 2.0)] for x in range(n)])
    outcome = found(scores)
    assert outcome.status == OPTIMAL
    assert cost_of(scores, outcome.rows) == 2.0 * n
    assert outcome.counts["nodes"] <= 1 << n


@pytest.mark.slow
def test_memory_is_told_and_kept_to():
    """A table that may not grow is full soon; the search goes on until it is stopped."""
    scores, optimum = problem(1, 17)
    whole = found(scores)
    told, peak = whole.counts["memory_bytes"], most_memory_of(lambda: found(scores))
    assert told <= peak <= told + SMALL
    less, seen = told // 2, []

    def run():
        seen.append(found(scores, memory=less, stop=stop_after(100)))

    peak = most_memory_of(run)
    (outcome,) = seen
    assert outcome.status == INTERRUPTED
    assert 0.8 * less <= outcome.counts["memory_bytes"] <= less
    assert outcome.counts["memory_bytes"] <= peak <= outcome.counts["memory_bytes"] + SMALL
    assert outcome.counts["nodes"] < whole.counts["nodes"]
    assert outcome.counts["expanded"] > 2 * outcome.counts["nodes"]
    assert outcome.lower_bound <= optimum + 1e-9 <= cost_of(scores, outcome.rows) + 2e-9
