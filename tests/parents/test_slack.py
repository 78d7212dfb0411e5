"""With a slack: all families that cost at most so much more than the cheapest of their subsets, and no others."""

import math

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, full_xor_rows, random_dataset, random_families, scores_of, shelf_of
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from soundness import check_problem

from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.scores.known import score_of

SLACKS = [1e-12, 0.01, 0.5, 3.0, 20.0, 200.0, 1e9, math.inf]
EVERYTHING = 1e9  # more than any family costs
CLOSE = 1e-7  # nats: what differs by less may be on either side of the rim
SETTINGS = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))


def found_families(dataset, slack, claim=Claim(), begun=None, threads=1, shelf=None, seen=None):
    """Per child {parent set: cost}, by level, or child by child if it goes on from a start."""
    begun = begun and begun(varying(dataset, score_of(claim)).size)
    tell = (lambda found: None) if seen is None else seen.append
    with Workers(threads) as workers:
        survivors = surviving_families(dataset, claim, Means(workers, shelf or shelf_of(), ignore), begun, tell, slack)
    assert survivors.stopped is None
    check_scores(survivors.scores)
    return as_dicts(survivors.scores), survivors


def as_dicts(scores):
    return [
        dict(zip(p[:, 0].tolist(), c.tolist(), strict=True)) for p, c in zip(scores.parents, scores.costs, strict=True)
    ]


def with_copies(seed, n, records):
    """Random data in which every other column is the copy of one, perhaps with its states renamed."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    codes, arities = dataset.codes.copy(), dataset.arities.copy()
    for v in range(1, n):
        if rng.random() < 0.3:
            of = int(rng.integers(v))
            codes[:, v], arities[v] = codes[:, of], arities[of]
    return dataset_of(codes, arities)


def much_alike(seed, n, records):
    """Two states each; every variable is like one or the other of two before it, now and then."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (records, n))
    for v in range(2, n):
        like = codes[np.arange(records), rng.choice([v - 1, v - 2], records)]
        codes[:, v] = np.where(rng.random(records) < 0.6, like, codes[:, v])
    return dataset_of(codes)


def allowed(dataset, claim):
    """Per child which parent sets have nothing that never varies: bool (n, 2^n)."""
    n, own = dataset.variables, set(varying(dataset, score_of(claim)).tolist())
    varsets = [all(v in own for v in naive.members(p)) for p in range(2**n)]
    return np.array([[p == 0 or (ok and x in own) for p, ok in enumerate(varsets)] for x in range(n)])


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 7),
    st.integers(2, 60),
    st.sampled_from([None, None, 0, 1, 2]),
    st.sampled_from(SLACKS),
    st.sampled_from([1, 3]),
)
def test_families_within_a_slack(begun, score, seed, n, records, limit, slack, threads):
    dataset = with_copies(seed, n, records)
    found, survivors = found_families(dataset, slack, claim_by(score, limit), begun, threads)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, limit, score)
    best = naive.best_scores(costs)
    may = allowed(dataset, claim_by(score))
    for x in range(n):
        for varset, cost in found[x].items():
            assert may[x, varset]
            assert cost == pytest.approx(costs[x, varset], rel=1e-10, abs=1e-9)
            assert cost <= best[x, varset] + slack + CLOSE
        within = np.flatnonzero(may[x] & (costs[x] <= np.minimum(best[x] + slack, 1e300)))
        assert set(within.tolist()) <= set(found[x])
    np.testing.assert_allclose(survivors.least, [best[x, 2**n - 1 ^ 1 << x] for x in range(n)], rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
@pytest.mark.parametrize("limit", [None, 0, 1, 2])
@pytest.mark.parametrize("slack", [EVERYTHING, math.inf])
def test_with_more_slack_than_costs_all_parent_sets_are_there(begun, limit, slack):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, [2, 2, 3, 4, 3, 2, 2], (30, 7))
    codes[:, 6] = codes[:, 0]
    found, _ = found_families(dataset_of(codes), slack, Claim(max_parents=limit), begun)
    each = sum(math.comb(6, size) for size in range(7 if limit is None else limit + 1))
    assert [len(own) for own in found] == [each] * 7


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(4, 80), st.sampled_from([1e-12, 1.0, 5.0, 30.0]))
def test_every_network_within_the_slack_is_made_of_them(begun, seed, n, records, slack):
    dataset = with_copies(seed, n, records)
    if varying(dataset).size < n:
        return
    found, _ = found_families(dataset, slack, begun=begun)
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    totals = {graph: sum(costs[x, graph[x]] for x in range(n)) for graph in naive.all_dags(n)}
    least = min(totals.values())
    for graph, total in totals.items():
        if total <= least + slack:
            assert all(graph[x] in found[x] for x in range(n))


# ---- at the rim


TIE = np.array([0] * 2 + [1] * 2 + [2] * 12), np.array([0] * 2 + [1] * 2 + [0, 1] * 6)


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
def test_with_the_least_slack_what_ties_with_its_subset_is_kept(begun):
    """Sixteen records: a parent of three states gains 4 ln 2 and adds 2 (3 - 1) ln 2 to the penalty."""
    dataset = dataset_of(np.column_stack(TIE))
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    assert costs[1, 0b01] == pytest.approx(costs[1, 0], rel=1e-14)
    assert set(found_families(dataset, 0.0, begun=begun)[0][1]) == {0}
    assert set(found_families(dataset, 1e-300, begun=begun)[0][1]) == {0, 0b01}


def halves():
    """Eight records; a child of four states, and each of its bits."""
    child = np.arange(8) % 4
    return dataset_of(np.column_stack([child, child >> 1, child & 1]))


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
def test_what_costs_more_by_the_slack_itself_is_kept(begun):
    """One bit costs 17 ln 2, both 18 ln 2."""
    dataset = halves()
    costs = naive.all_local_scores(dataset.codes, dataset.arities)[0]
    assert costs[[0b010, 0b110]] == pytest.approx([17 * math.log(2), 18 * math.log(2)], rel=1e-14)
    for slack, kept in ((math.log(2) * (1 - 1e-9), False), (math.log(2), True), (1.0, True)):
        assert (0b110 in found_families(dataset, slack, begun=begun)[0][0]) == kept


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
def test_a_family_is_found_though_its_subsets_are_not_wanted(begun):
    """Of an exclusive or one parent tells nothing, and so costs more than none by half the logarithm of 400."""
    found, _ = found_families(dataset_of(full_xor_rows(100)), 1.0, begun=begun)
    assert [set(own) for own in found] == [{0, 0b110}, {0, 0b101}, {0, 0b011}]


@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
def test_where_nothing_is_left_to_gain_the_penalty_alone_counts(begun):
    """The first column is the second; each other binary parent adds to the penalty as much as there is."""
    coins = np.random.default_rng(3).integers(0, 2, (64, 4))
    dataset = dataset_of(np.column_stack([coins[:, :1], coins]))
    own = math.log(64) / 2
    for parents in range(2, 5):
        more = (2**parents - 2) * own  # than with the copy alone
        for slack, kept in ((more - 0.01, False), (more, True)):
            found = found_families(dataset, slack, begun=begun)[0][0]
            assert (sum(1 << v for v in range(1, parents + 1)) in found) == kept


# ---- how it is found makes no difference


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
def test_threads_and_a_disk_change_nothing(begun, threads, tmp_path, sizes):
    dataset = much_alike(1, 12, 100)
    whole, counted = found_families(dataset, 4.0)
    sizes({"by_level.CHUNK": 16})
    shelf = shelf_of(1_000 if begun is None else 1 << 20, tmp_path)
    found, _ = found_families(dataset, 4.0, begun=begun, threads=threads, shelf=shelf)
    assert [set(own) for own in found] == [set(own) for own in whole]
    assert counted.scores.families > 4 * found_families(dataset, 0.0)[1].scores.families


@pytest.mark.slow
def test_where_memory_is_short_it_goes_on_child_by_child(sizes):
    dataset, seen = much_alike(1, 16, 400), []
    whole, _ = found_families(dataset, 4.0)
    sizes({"by_level.CHUNK": 16})
    found, _ = found_families(dataset, 4.0, shelf=shelf_of(300_000), seen=seen)
    assert seen[0].level is not None
    assert any(known.children for known in seen)
    assert [set(own) for own in found] == [set(own) for own in whole]


def test_the_more_slack_the_more_families():
    dataset = much_alike(2, 10, 100)
    before = [dict[int, float]()] * 10
    for slack in (0.0, 1e-9, 0.5, 2.0, 8.0, 32.0):
        found, _ = found_families(dataset, slack)
        assert all(set(few) <= set(more) for few, more in zip(before, found, strict=True))
        before = found
    assert sum(map(len, before)) > 1000


def test_a_problem_has_room_for_rounding_only_with_a_slack():
    dataset = halves()
    assert source_of(dataset, Claim()).problem(0.0).slack == 0.0
    problem = source_of(dataset, Claim()).problem(2.0)
    check_problem(problem)
    assert 2.0 < problem.slack < 2.0 + 1e-9
    with pytest.raises(AssertionError, match="not negative"):
        source_of(dataset, Claim()).problem(-1.0)


# ---- local scores that are given


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.0, 1e-12, 1.0, 2.5, 7.0, 100.0]))
def test_pruning_with_a_slack(seed, n, slack):
    families = random_families(np.random.default_rng(seed), n, most=30)
    kept = prune(scores_of(families), slack)
    kept.check()
    for own, found in zip(families, as_dicts(kept), strict=True):
        for varset, cost in own:
            subsets = [c for p, c in own if p & ~varset == 0 and p != varset]
            least = min(subsets, default=math.inf)
            assert (found.get(varset) == cost) == (cost < least or (slack > 0.0 and cost <= least + slack))


def test_pruning_is_up_to_rounding():
    """0.1 + 0.2 is more than 0.3 in floating point."""
    families = [[(0, 0.1)], [(0, 0.1), (1, 0.1 + 0.2)]]
    assert 0.1 + 0.2 > 0.1 + 0.2 * (1 - 1e-15)
    assert prune(scores_of(families), 0.2 * (1 - 1e-15)).families == 3
    assert prune(scores_of(families), 0.2 * (1 - 1e-9)).families == 2
