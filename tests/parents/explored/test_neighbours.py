"""Expanded families: the costs of all neighbours, which of them are kept, where walks go and end."""

import itertools

import numpy as np
import pytest
from cases import dataset_of
from naive import aic, mdl
from soundness import check_list

from extbnsl.core.claims import Claim
from extbnsl.parents.explored.candidates import find_candidates
from extbnsl.parents.explored.explore import Effort, exploration, explore_child
from extbnsl.parents.explored.misfit import new_splits
from extbnsl.parents.explored.neighbours import Chosen, extended, neighbour_costs

GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)
ARITIES = (2, 3, 2, 2, 3, 2, 2)
N = len(ARITIES)
FREE = np.ones(N, np.bool_)


@pytest.fixture(scope="module")
def dataset():
    """Each variable depends on the two before it."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, ARITIES, (400, N))
    for v in range(2, N):
        both = np.minimum(codes[:, v - 1] + codes[:, v - 2], ARITIES[v] - 1)
        codes[:, v] = np.where(rng.random(400) < 0.8, both, codes[:, v])
    return dataset_of(codes)


def begin(dataset, child, score="mdl", max_parents=None, sets=0):
    """The exploration, and what it knows of the child after few sets."""
    problem = exploration(dataset, claim=Claim(score, max_parents))
    return problem, explore_child(child, problem, Effort(sets=sets), 1 << 26, GO_ON).families


def neighbours_of(family, child):
    """With one more, with one less, with one exchanged."""
    others = [v for v in range(N) if v != child and v not in family]
    less = [set(family) - {p} for p in family]
    return {
        frozenset(one)
        for one in (*less, *({*family, v} for v in others), *(one | {v} for one in less for v in others))
    }  # fmt: skip


def costs_of(families):
    return {families.members(i): cost for i, cost in enumerate(families.costs.tolist())}


SCORES = pytest.mark.parametrize(("name", "cost"), [("mdl", mdl), ("aic", aic)])


@SCORES
@pytest.mark.parametrize("family", [(), (1,), (2, 5), (1, 2, 4)])
def test_neighbours_cost_what_the_formula_says(dataset, family, name, cost):
    seen = set()
    for own, without, found in neighbours_with_costs(dataset, 3, family, name):
        if np.isfinite(found):
            assert found == pytest.approx(cost(dataset.codes, ARITIES, 3, sorted(own)), rel=1e-9)
            seen.add(own)
        else:
            assert own in (without, set(family))  # no other set, or the same again
    assert {frozenset(family)} <= seen <= neighbours_of(family, 3) | {frozenset(family)}


@SCORES
def test_of_few_records_neighbours_that_cost_no_less_for_certain_are_passed(dataset, name, cost):
    few, family, passed = dataset_of(dataset.codes[:20], ARITIES), (1, 2, 4), 0
    for own, without, found in neighbours_with_costs(few, 3, family, name):
        exact = cost(few.codes, ARITIES, 3, sorted(own))
        if np.isfinite(found):
            assert found == pytest.approx(exact, rel=1e-9)
        elif own not in (without, set(family)):
            assert exact >= cost(few.codes, ARITIES, 3, sorted(without)) - 1e-9
            passed += 1
    assert passed > 5


def neighbours_with_costs(dataset, child, family, name):
    """What is made of a family without one parent, or with all, and with one more, or with none; what that is added to;
    and what it is said to cost."""
    problem, _ = begin(dataset, child, name)
    candidates = find_candidates(child, problem.data, problem.parameter, GO_ON, problem.constraints)
    place = {int(v): k for k, v in enumerate(candidates.variables)}
    places = np.array(sorted(place[p] for p in family), np.int32)
    m = candidates.variables.size
    splits = new_splits(child, 6, problem.data)
    found = neighbour_costs(places, np.arange(m), child, 6, candidates, problem.data, splits, GO_ON)
    for j, v in itertools.product(range(len(family) + 1), range(m + 1)):
        without = frozenset(int(candidates.variables[p]) for k, p in enumerate(places) if k != j)
        yield without | ({int(candidates.variables[v])} if v < m else set()), without, found[j, v]


@pytest.mark.parametrize("child", range(N))
def test_a_walk_ends_where_no_free_neighbour_is_better(dataset, child):
    problem, families = begin(dataset, child)
    free = FREE.copy()
    free[[(child + 1) % N, (child + 3) % N]] = False
    after, done = extended(child, families, [Chosen((), free)], set(), problem, GO_ON)
    check_list(after)
    allowed = {own: cost for own, cost in costs_of(after).items() if all(free[p] for p in own)}
    best = min(allowed, key=allowed.get)
    assert best in done
    exact = {one: mdl(dataset.codes, ARITIES, child, sorted(one)) for one in neighbours_of(best, child)}
    assert all(cost >= allowed[best] - 1e-9 for one, cost in exact.items() if all(free[p] for p in one))


def test_what_could_be_of_use_is_kept(dataset, sizes):
    """All that cost less than the expanded family; the family without each parent; the best of each exchange."""
    sizes(EXCHANGED=1)
    child, family = 5, (1, 2)
    problem, families = begin(dataset, child)
    nothing_free = np.zeros(N, np.bool_)
    after, done = extended(child, families, [Chosen(family, nothing_free)], set(), problem, GO_ON)
    kept = costs_of(after)
    assert done >= {family}
    assert {own: kept[own] for own in costs_of(families)} == costs_of(families)
    cost = {own: mdl(dataset.codes, ARITIES, child, sorted(own)) for own in neighbours_of(family, child)}
    own = mdl(dataset.codes, ARITIES, child, family)
    assert kept[family] == pytest.approx(own, rel=1e-9)
    assert {(1,), (2,)} <= set(kept)
    without = {one: cost.get(one & set(family), own) for one in cost}  # what is added to
    cheaper = [one for one in cost if cost[one] < min(own, without[one]) - 1e-9]
    assert cheaper
    for one in cheaper:
        assert kept[tuple(sorted(one))] == pytest.approx(cost[one], rel=1e-9)


def test_families_are_expanded_once_and_listed_once(dataset):
    child = 4
    problem, families = begin(dataset, child)
    chosen = [Chosen((), FREE), Chosen((2,), FREE)]
    after, done = extended(child, families, chosen, set(), problem, GO_ON)
    again, same = extended(child, after, chosen, done, problem, GO_ON)
    assert same == done
    assert costs_of(again) == costs_of(after)
    twice, _ = extended(child, after, chosen, set(), problem, GO_ON)
    assert twice.parents.tolist() == after.parents.tolist()
    assert twice.costs.tolist() == after.costs.tolist()


def test_no_set_is_larger_than_allowed(dataset):
    for most in (0, 1, 2):
        problem, families = begin(dataset, 6, max_parents=most)
        after, _ = extended(6, families, [Chosen((), FREE)], set(), problem, GO_ON)
        assert max(map(len, costs_of(after))) == most


def test_of_many_candidates_those_that_tell_most_are_tried(dataset, sizes):
    """One that is not tried can be kept all the same, as one of the family."""
    sizes({"neighbours.TRIED": 2})
    child, family = 4, (6,)
    problem, families = begin(dataset, child)
    alone = [mdl(dataset.codes, ARITIES, child, [v]) if v != child else np.inf for v in range(N)]
    after, _ = extended(child, families, [Chosen(family, FREE)], set(), problem, GO_ON)
    larger = {p for own in costs_of(after) if len(own) > 1 for p in own}
    assert {2, 3} < larger <= {*np.argsort(alone)[:2].tolist(), *family}


def test_a_stop_keeps_what_is_known(dataset):
    problem, families = begin(dataset, 6)
    after, done = extended(6, families, [Chosen((), FREE), Chosen((4,), FREE)], set(), problem, STOP)
    assert costs_of(after) == costs_of(families)
    assert done == set()
