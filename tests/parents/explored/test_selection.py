"""What the selections score, in which order, and what they prune: against slow twins and all parent sets."""

import itertools
import math

import naive
import numpy as np
import pytest
from calling import called
from cases import dataset_of, random_dataset, xor_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slow_selection import SLOW, SlowSelection
from soundness import check_list

from extbnsl.core.claims import Claim
from extbnsl.parents.explored import explore
from extbnsl.parents.explored.candidates import find_candidates
from extbnsl.parents.explored.closed import new_closed, undominated
from extbnsl.parents.explored.explore import MEMORY, SETS, Effort, exploration, explore_child
from extbnsl.parents.explored.misfit import new_splits
from extbnsl.parents.explored.selection import Streams, approximate_cost, begin, new_streams, select
from extbnsl.parents.explored.selection import explore as explore_sets

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
GO_ON = np.zeros(1, np.uint8)
PLENTY = 1 << 28
APPROXIMATE = called(approximate_cost)


def scored(dataset, child, selection, max_parents=None, sets=10**6, slice_=10**6, whole=1, first=10**6):
    """The parent sets that a selection scores after the single ones, in their order."""
    problem = exploration(dataset, selection, Claim(max_parents=max_parents))
    candidates = find_candidates(child, problem.data, problem.parameter, GO_ON, problem.constraints)
    rule = explore._rule(child, problem, candidates)._replace(whole=whole)
    closed, streams = new_closed(4096, rule.parents), new_streams(4096 * rule.first.size)
    begin(candidates, closed, streams, rule)
    splits = new_splits(child, rule.parents, problem.data)
    alone = int(closed.used[0])
    for part in (min(first, sets), sets - min(first, sets)):
        while part and streams.used[0]:
            part -= explore_sets(min(part, slice_), candidates, closed, streams, rule, problem.data, splits, GO_ON)
        rule = rule._replace(whole=1)
        select(candidates, closed, streams, rule)
    rows = [closed.members[i, : closed.sizes[i]] for i in range(alone, int(closed.used[0]))]
    return [frozenset(candidates.variables[row].tolist()) for row in rows], problem, closed


def tied_dataset(seed, n, records):
    """Random data in which some columns are copies of others, so that many parent sets tie."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    copied = rng.integers(0, n, n) if rng.random() < 0.4 else np.arange(n)
    return dataset_of(dataset.codes[:, copied], dataset.arities[copied].tolist())


@pytest.mark.parametrize("selection", SLOW)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 250), st.integers(1, 4), st.data())
def test_sets_are_scored_in_the_order_of_the_slow_twin(selection, seed, n, records, max_parents, data):
    dataset = tied_dataset(seed, n, records)
    child, small = seed % n, {"whole": data.draw(st.integers(1, 3)), "first": data.draw(st.integers(1, 30))}
    found, problem, closed = scored(dataset, child, selection, max_parents, slice_=1 + seed % 9, **small)
    slow = SlowSelection(problem.data, child, problem.parameter, max_parents, **small)
    SLOW[selection](slow)
    assert found == slow.scored
    assert len(set(found)) == len(found)
    for number in range(closed.used[0]):
        assert (np.diff(closed.members[number, : closed.sizes[number]]) > 0).all()


@pytest.mark.parametrize("selection", SLOW)
def test_a_budget_of_sets_takes_the_first_ones(selection):
    dataset = random_dataset(np.random.default_rng(5), 9, 400)
    everything, *_ = scored(dataset, 3, selection)
    assert len(everything) > 20
    for sets in (0, 1, 7, 20):
        assert scored(dataset, 3, selection, sets=sets)[0] == everything[:sets]


@pytest.mark.parametrize("selection", SLOW)
def test_small_sets_come_first_by_size_if_asked_for(selection):
    dataset = random_dataset(np.random.default_rng(5), 9, 400)
    sizes = [len(own) for own in scored(dataset, 3, selection, whole=3)[0]]
    pairs, small = (len(scored(dataset, 3, selection, max_parents=d)[0]) for d in (2, 3))
    assert 0 < pairs < small < len(sizes)
    assert sizes[:small] == sorted(sizes[:small])
    assert sizes[small - 1] == 3 < min(sizes[small:])


@pytest.mark.parametrize("selection", ["independence", "greedy"])
def test_small_sets_come_first_for_a_share_of_the_sets(selection):
    dataset = random_dataset(np.random.default_rng(5), 12, 400)
    by_size, *_ = scored(dataset, 3, selection, whole=3)
    problem, orders = exploration(dataset, selection, first=0.5), []
    candidates = find_candidates(3, problem.data, problem.parameter, GO_ON, problem.constraints)
    for sets in (1, 7, 60, len(by_size) - 1):
        found = explore_child(3, problem, Effort(sets=sets), PLENTY, GO_ON)
        assert (found.scored, found.ended) == (sets, SETS)
        expected, _, closed = scored(dataset, 3, selection, whole=3, first=sets // 2, sets=sets)
        _, costs = explore._undominated(closed, candidates, GO_ON)
        assert found.families.costs.tolist() == sorted(costs.tolist())
        assert expected[: sets // 2] == by_size[: sets // 2]
        orders.append(expected == by_size[:sets])
    assert not all(orders)


def entropy(codes):
    """N H of the joint states of the columns."""
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    return -(counts * np.log(counts / counts.sum())).sum()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 6), st.integers(2, 200), st.sampled_from(["mdl", "aic"]))
def test_approximate_costs_are_the_papers_formula_within_its_bound(seed, n, records, score):
    """Equation 1, Theorem 1 and Corollary 1 of the paper, as costs; `first` and `second` are disjoint sets."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    codes, arities = dataset.codes, dataset.arities
    child, second, *first = rng.permutation(n)[: int(rng.integers(3, n + 1))].tolist()

    def cost(parents):
        return naive.family_cost(score, codes, arities, child, parents)

    unit = naive.PARAMETER[score](records) * (int(arities[child]) - 1)
    q, r = math.prod(arities[first].tolist()), int(arities[second])
    by_paper = cost(first) + cost([second]) - (unit * (q + r - q * r - 1) + cost([]))
    gain = (cost([]) - unit) - (cost([second]) - unit * r)
    ours = APPROXIMATE(cost(first) - unit * q, gain, unit * q * r)
    assert ours == pytest.approx(by_paper, rel=1e-9, abs=1e-7)
    exact = cost([*first, second])
    together, apart = [*first, second, child], [*first, second]
    given_child = entropy(codes[:, [*first, child]]) + entropy(codes[:, [second, child]]) - entropy(codes[:, together])
    information = given_child - entropy(codes[:, [child]])  # N I(first; second | child)
    information -= entropy(codes[:, first]) + entropy(codes[:, [second]]) - entropy(codes[:, apart])
    assert exact == pytest.approx(ours - information, rel=1e-9, abs=1e-7)
    bound = min(entropy(codes[:, [child]]), entropy(codes[:, first]), entropy(codes[:, [second]]))
    assert abs(exact - ours) <= bound + 1e-7


@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 6), st.integers(2, 120))
def test_what_theorem_2_prunes_the_ceiling_prunes_and_both_rightly(seed, n, records):
    dataset = random_dataset(np.random.default_rng(seed), n, records, 3)
    codes, arities = dataset.codes, dataset.arities
    child, others = 0, range(1, n)
    sets = [frozenset(own) for size in range(n) for own in itertools.combinations(others, size)]
    cost = {own: naive.mdl(codes, arities, child, sorted(own)) for own in sets}
    unit = naive.PARAMETER["mdl"](records) * (int(arities[child]) - 1)
    penalty = {own: unit * math.prod(arities[sorted(own)].tolist()) for own in sets}
    misfit = {own: cost[own] - penalty[own] for own in sets}
    entropies = {own: entropy(codes[:, sorted(own)]) for own in sets[1:]}
    alone = entropy(codes[:, [child]])
    for first, second in itertools.product(sets[1:], sets[1:]):
        if first & second:
            continue
        bound = min(alone, entropies[first], entropies[second])
        most = misfit[first] + misfit[second] - misfit[sets[0]] + penalty[first | second] + bound
        assert most >= min(cost[first], cost[second]) - 1e-7
        for larger in (own for own in sets if own > first | second):
            if most <= penalty[larger]:
                assert min(cost[first], cost[second]) <= penalty[larger] + 1e-7
                assert min(cost[own] for own in sets if own < larger) <= cost[larger] + 1e-7


@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 7), st.integers(2, 150))
def test_the_cap_of_a_candidate_prunes_nothing_that_wins(seed, n, records):
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    problem = exploration(dataset)
    table = naive.all_local_scores(dataset.codes, dataset.arities)
    best = naive.best_scores(table)
    for child in range(n):
        candidates = find_candidates(child, problem.data, problem.parameter, GO_ON, problem.constraints)
        caps = dict(zip(candidates.variables.tolist(), candidates.caps.tolist(), strict=True))
        unit = problem.parameter * (int(dataset.arities[child]) - 1)
        for varset in range(1, 2**n):
            parents = naive.members(varset)
            if child in parents or any(best[child, varset ^ 1 << p] <= table[child, varset] + 1e-9 for p in parents):
                continue
            assert unit * math.prod(dataset.arities[parents].tolist()) < min(caps[p] for p in parents)


def all_undominated(dataset, score, max_parents):
    """Per child the undominated families by brute force, {parents: cost}, and those that nearly tie with a subset."""
    table = naive.all_local_scores(dataset.codes, dataset.arities, max_parents, score)
    best = naive.best_scores(table)
    for child, costs in enumerate(table):
        clear, close = {}, set()
        for varset in np.flatnonzero(np.isfinite(costs)).tolist():
            parents = naive.members(varset)
            margin = min([best[child, varset ^ 1 << p] - costs[varset] for p in parents], default=1.0)
            if margin > 1e-9:
                clear[tuple(parents)] = costs[varset]
            elif margin > -1e-9:
                close.add(tuple(parents))
        yield clear, close


@pytest.mark.parametrize("selection", SLOW)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 250), st.sampled_from([None, 0, 1, 2, 3]))
def test_without_a_budget_all_undominated_families_are_found(selection, seed, n, records, max_parents):
    dataset = tied_dataset(seed, n, records)
    score = ("mdl", "aic")[seed % 2]
    problem = exploration(dataset, selection, Claim(score, max_parents))
    for child, (clear, close) in enumerate(all_undominated(dataset, score, max_parents)):
        own = explore_child(child, problem, Effort(), PLENTY, GO_ON)
        check_list(own.families)
        assert own.ended == explore.ALL
        found = {own.families.members(i): float(own.families.costs[i]) for i in range(own.families.families)}
        assert clear.keys() <= found.keys() <= clear.keys() | close
        assert [found[parents] for parents in clear] == pytest.approx(list(clear.values()), abs=1e-8)


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from(list(SLOW)), st.integers(0, 25))
def test_no_kept_set_has_a_kept_subset_that_costs_no_more(seed, selection, sets):
    dataset = tied_dataset(seed, 8, 150)
    own = explore_child(0, exploration(dataset, selection, Claim("aic")), Effort(sets=sets), PLENTY, GO_ON).families
    kept = [set(own.members(i)) for i in range(own.families)]
    assert set() in kept
    for i, j in itertools.permutations(range(own.families), 2):
        assert not (kept[i] < kept[j] and own.costs[i] <= own.costs[j])


@pytest.mark.parametrize("sets", [0, 3, 40])
def test_dominated_sets_are_told_by_all_closed_subsets(sets):
    """A subset may be closed where none between it and the set is."""
    dataset = random_dataset(np.random.default_rng(2), 9, 300, 3)
    _, _, closed = scored(dataset, 1, "greedy", sets=sets)
    members = [frozenset(closed.members[i, : closed.sizes[i]].tolist()) for i in range(int(closed.used[0]))]
    expected = [
        i
        for i, own in enumerate(members)
        if not any(other < own and closed.costs[j] <= closed.costs[i] for j, other in enumerate(members))
    ]
    assert undominated(closed, GO_ON).tolist() == expected


def test_two_parents_that_tell_something_only_together_are_found():
    codes = np.concatenate([xor_rows(40), 1 - xor_rows(40)])
    for selection in SLOW:
        own = explore_child(2, exploration(dataset_of(codes), selection), Effort(), PLENTY, GO_ON).families
        assert own.members(0) == (0, 1)


@pytest.mark.parametrize("selection", SLOW)
def test_the_room_for_sets_is_a_budget_and_holds_the_first_ones(selection):
    dataset = random_dataset(np.random.default_rng(5), 9, 400)
    problem = exploration(dataset, selection)
    by_sets = explore_child(3, problem, Effort(sets=12), PLENTY, GO_ON)
    rule = explore._rule(3, problem, find_candidates(3, problem.data, problem.parameter, GO_ON, problem.constraints))
    most = 1 + rule.ends.size + by_sets.scored
    streams = rule.first.size - 1
    memory = explore.splits_bytes(rule.parents, problem.data) + most * explore._set_bytes(rule.parents, streams)
    within = explore_child(3, problem, Effort(), memory, GO_ON)
    assert (by_sets.ended, within.ended, within.scored) == (SETS, MEMORY, by_sets.scored)
    assert within.families.costs.tolist() == by_sets.families.costs.tolist()
    closed, heap = new_closed(most, rule.parents), new_streams(most * streams)
    assert isinstance(heap, Streams)
    assert sum(array.nbytes for array in (*closed, *heap)) <= memory


def test_the_largest_size_is_what_a_penalty_allows():
    dataset = dataset_of(np.random.default_rng(0).integers(0, 2, (400, 12)))
    problem = exploration(dataset)
    candidates = find_candidates(0, problem.data, problem.parameter, GO_ON, problem.constraints)
    empty = candidates.alone + problem.parameter
    limit = explore.most_parents(0, problem, candidates)
    assert problem.parameter * 2**limit < empty <= problem.parameter * 2 ** (limit + 1)
    assert explore.most_parents(0, exploration(dataset, claim=Claim(max_parents=3)), candidates) == 3
