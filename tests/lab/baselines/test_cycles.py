"""Breaking cycles: the children of a node are a partition, the bounds are true, budgets are kept."""

import itertools

import naive
import numpy as np
import pytest
from asking import solve
from cases import random_families, scores_of, wishful
from finding import begun_along, context_of, cost_of, needy, optimum_of, outcome_of, scores_of_threes
from portions import first

from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL, tolerance
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.lab.baselines.cycles import CLOSED, FOUND, FULL, MORE, NODE_BYTES, Search, find
from extbnsl.machine.workers import Workers


def constraints(search, node):
    """The arcs (parent, child) that a node of the tree forbids, and those that it requires."""
    tree, forbidden, required = search.tree, set(), set()
    while node:
        forbidden.add((int(tree.parent[node]), int(tree.child[node])))
        before = [k for k in range(1, node) if tree.above[k] == tree.above[node]]
        required |= {(int(tree.parent[k]), int(tree.child[k])) for k in before}
        node = int(tree.above[node])
    return forbidden, required


def arcs_of(network):
    return {(p, child) for child, varset in enumerate(network) for p in naive.members(varset)}


@pytest.mark.parametrize("seed", first(2, range(8)))
def test_every_network_is_below_one_leaf_that_bounds_it(seed):
    """At every moment: below one of the open nodes or of those whose graph was a network."""
    rng = np.random.default_rng(seed)
    families = needy(rng, random_families(rng, 4, most=10)) if seed % 3 else wishful(seed, 4)
    costs = naive.cost_table(4, families)
    networks = [dag for dag in naive.all_dags(4) if np.isfinite(sum(costs[x, p] for x, p in enumerate(dag)))]
    if not networks:
        return
    outcome, complete, least = MORE, {}, -np.inf
    with Workers(1) as workers:
        search = Search(scores_of(families), context_of(workers))
        while outcome != CLOSED:
            node = int(~search.open.item[0])
            outcome = search.expand(1, np.inf)
            if outcome in (MORE, FOUND):
                no, must = constraints(search, node)
                own = arcs_of([varset_of(search, families, x) for x in range(4)])
                assert must <= own
                assert not no & own
            if outcome == FULL:
                search._grow()
            elif outcome == FOUND:
                complete[node] = sum(costs[x, varset_of(search, families, x)] for x in range(4))
            search.open.check()
            size = int(search.open.size[0])
            nodes = (~search.open.item[:size]).tolist()
            leaves = dict(zip(nodes, search.open.key[:size].tolist(), strict=True))
            leaves |= complete
            assert least <= search.least
            least = search.least
            limits = {leaf: constraints(search, leaf) for leaf in leaves}
            for network in networks:
                arcs = arcs_of(network)
                above = [leaf for leaf, (no, must) in limits.items() if must <= arcs and not no & arcs]
                assert len(above) == 1
                assert leaves[above[0]] <= sum(costs[x, p] for x, p in enumerate(network)) + 1e-9
    assert min(complete.values()) == pytest.approx(optimum_of(families))


def varset_of(search, families, x):
    return int(search._scores.parents[x][search.graph.rows[x], 0])


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum(seed):
    rng = np.random.default_rng(seed)
    families = needy(rng, random_families(rng, int(rng.integers(1, 9))))
    if not np.isfinite(optimum_of(families)):
        return
    outcome = outcome_of(find, scores_of(families))
    assert outcome.status == OPTIMAL
    assert cost_of(outcome, scores_of(families)) == pytest.approx(optimum_of(families))


@pytest.fixture
def misled(until_it_ends, sizes):
    """The search begins with the network of six variables as they stand, and looks up after each node."""
    until_it_ends(begun_along)(range(6))
    sizes({"cycles.STEPS": 1})


@pytest.mark.slow
@pytest.mark.usefixtures("misled")
def test_the_optimum_without_a_good_beginning():
    told = []
    for seed in range(5):
        outcome = outcome_of(find, scores_of(wishful(seed, 6)), observer=told.append)
        assert outcome.status == OPTIMAL
        assert cost_of(outcome, scores_of(wishful(seed, 6))) == pytest.approx(optimum_of(wishful(seed, 6)))
        assert outcome.counts["expanded"] <= outcome.counts["generated"] >= outcome.counts["queue"]
    assert sum(isinstance(event, IncumbentFound) for event in told) > 5
    assert any(isinstance(event, StageAdvanced) and event.total == 0 for event in told)


@pytest.mark.slow
@pytest.mark.usefixtures("misled")
@pytest.mark.parametrize("seed", range(2))
def test_bounds_are_true_wherever_it_stops(seed):
    optimum, bounds = optimum_of(wishful(seed, 6)), []
    for polls in (1 << k for k in itertools.count()):
        left = iter(range(polls))
        outcome = outcome_of(
            find, scores_of(wishful(seed, 6)), lambda left=left: None if next(left, None) is not None else INTERRUPTED
        )
        assert outcome.lower_bound <= optimum + tolerance(optimum)
        bounds.append(outcome.lower_bound)
        if outcome.status == OPTIMAL:
            break
        assert outcome.status == INTERRUPTED
    assert len(bounds) > 10
    assert bounds == sorted(bounds)


@pytest.mark.slow
@pytest.mark.usefixtures("misled")
def test_the_tree_keeps_to_its_memory(sizes):
    sizes({"cycles.BEGINNING": 8})
    scores, optimum, sizes = scores_of(wishful(2, 6)), optimum_of(wishful(2, 6)), []
    most = outcome_of(find, scores).counts["generated"]
    for memory in (20_000, 22_000, 25_000, 30_000):
        outcome = outcome_of(find, scores, memory=memory)
        assert outcome.status == MEMORY_LIMIT
        assert outcome.counts["generated"] * NODE_BYTES < memory
        assert outcome.lower_bound <= optimum
        sizes.append(outcome.counts["generated"])
    assert 0 < sizes[0] < sizes[-1] < most


def test_more_variables_than_a_word_has_bits():
    scores = scores_of_threes(4)
    outcome = outcome_of(find, scores)
    assert outcome.status == OPTIMAL
    assert cost_of(outcome, scores) == pytest.approx(solve(scores).cost)
    assert outcome.counts["expanded"] > 1
