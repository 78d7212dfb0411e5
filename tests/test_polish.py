"""Multipliers by linear programming: against the whole LP, over all clusters and families, and their definition."""

import itertools
import sys

import numpy as np
import pytest
from cases import random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_clusters import cost_to_go, families_in, found, random_problem

import extbnsl.bounds.polish
from extbnsl.bounds.clusters import families_of, multipliers_of
from extbnsl.bounds.fixing import fix_families
from extbnsl.bounds.polish import LACKING, Polish, least_sums, load_highs, mean_value
from extbnsl.bounds.separation import counting_families, grow_clusters
from extbnsl.errors import InputError
from extbnsl.parents.pruning import prune
from extbnsl.workers import Stopped, Workers

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
ROOM = 1 << 28


@pytest.fixture(scope="module")
def highspy():
    return pytest.importorskip("highspy")


def no_multipliers(families):
    words = families.parents.shape[0]
    return multipliers_of(families, np.zeros((0, words), np.uint64), np.zeros(0, np.int64))


def polished(families, start, threads=1, room=ROOM, limit=np.inf):
    """What is best at the root, and in the mean over nodes."""
    polish = Polish(room)
    with Workers(threads) as workers:
        best = polish.improved(families, start, limit, 1, workers)
        return best, polish.spread(families, best, limit, 1, workers)


def whole_program(highspy, scores, n, share):
    """The optimum of the LP with a variable for each family and a constraint for each cluster."""
    families = [
        (x, int(p), float(c)) for x in range(n) for p, c in zip(scores.parents[x][:, 0], scores.costs[x], strict=True)
    ]
    h = highspy.Highs()
    h.silent()
    x = [h.addVariable(lb=0, obj=cost) for _, _, cost in families]
    for child in range(n):
        h.addConstr(sum(x[j] for j, family in enumerate(families) if family[0] == child) == 1)
    for size in range(2, n + 1):
        for members in itertools.combinations(range(n), size):
            cluster = sum(1 << y for y in members)
            counting = [x[j] for j, (y, p, _) in enumerate(families) if y in members and not p & cluster]
            if not counting:
                return None  # no network at all
            h.addConstr(sum(counting) >= share ** (size - 1))
    h.minimize()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getObjectiveValue()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_it_is_the_optimum_over_all_clusters_and_families(highspy, seed, n):
    scores, _ = random_problem(seed, n)
    families = families_in(scores)
    best, spread = polished(families, no_multipliers(families))
    assert best.root == pytest.approx(whole_program(highspy, scores, n, 1.0), abs=1e-4)
    assert mean_value(best, 1.0) == pytest.approx(best.root, abs=1e-9)
    assert mean_value(spread, LACKING) == pytest.approx(whole_program(highspy, scores, n, LACKING), abs=n * 1e-3)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8), st.booleans())
def test_it_is_a_bound_and_no_worse_than_before(highspy, seed, n, begun):
    scores, best = random_problem(seed, n)
    families, rest = families_in(scores), cost_to_go(n, best)
    start = found(scores, 2, seed % 100) if begun else no_multipliers(families)
    root, spread = polished(families, start)
    assert start.root <= root.root <= rest[0] + 1e-9
    assert mean_value(root, LACKING) <= mean_value(spread, LACKING)
    for multipliers in (root, spread):
        assert (multipliers.weights > 0).all()
        again = multipliers_of(families, multipliers.clusters, multipliers.weights)
        assert again.root == multipliers.root
        for varset in range(1 << n):
            assert multipliers.value(varset) <= rest[varset] + 1e-9


def test_the_mean_over_nodes_is_what_it_is_said_to_be(highspy):
    scores, _ = random_problem(3, 6, 40)
    multipliers, _ = polished(families_in(scores), found(scores))
    assert multipliers.weights.size
    mean = 0.0
    for varset in range(1 << 6):
        lacking = 6 - varset.bit_count()
        mean += LACKING**lacking * (1.0 - LACKING) ** (6 - lacking) * multipliers.value(varset)
    assert mean / LACKING == pytest.approx(mean_value(multipliers, LACKING))


def test_few_columns_and_clusters_at_a_time_are_enough(highspy, monkeypatch):
    """Columns and rows come and go, and the optimum is the same."""
    scores, _ = random_problem(11, 9, 60)
    families = families_in(scores)
    at_once, _ = polished(families, no_multipliers(families))
    for name, few in (("COLUMNS", 2), ("ROWS", 3), ("SLACK", 1), ("FEWEST", 0)):
        monkeypatch.setattr(extbnsl.bounds.polish, name, few)
    monkeypatch.setattr(extbnsl.bounds.polish, "WINDOW", 1000)
    slowly, _ = polished(families, no_multipliers(families))
    assert slowly.root == pytest.approx(at_once.root, abs=1e-4)


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_many_variables(highspy, n):
    """Two words and more: a long cycle of strong wishes, which a single cluster resolves."""
    words = -(-n // 64)
    sets = [[0, 1 << (x + 1) % n] for x in range(n)]
    parents = [np.array([[v >> 64 * w & (1 << 64) - 1 for w in range(words)] for v in own], np.uint64) for own in sets]
    families = families_of(parents, [np.array([10.0, 1.0])] * n)
    best, spread = polished(families, no_multipliers(families))
    assert best.root == pytest.approx(n + 9, abs=1e-4)
    assert spread.root <= n + 9


def test_fixing_has_what_the_program_found(highspy):
    better = 0
    for seed in range(10):
        scores, best = random_problem(seed, 8, 40)
        limit = cost_to_go(8, best)[0] + 5.0
        with Workers(1) as workers:
            plain = fix_families(scores.parents, scores.costs, None, limit, True, 0, 0, workers)
            fixed = fix_families(scores.parents, scores.costs, None, limit, True, 0, 0, workers, Polish(ROOM))
        assert fixed.multipliers.root >= plain.passes[0].root
        assert fixed.passes[0].root <= limit - 5.0 + 1e-9
        better += fixed.families < plain.families
    assert better


def test_neither_threads_nor_chance_matter(highspy):
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), found(scores)
    for one, two in zip(polished(families, start), polished(families, start, threads=2), strict=True):
        assert (one.clusters == two.clusters).all()
        assert (one.weights == two.weights).all()


def test_effort_and_room_end_it_with_what_there_is(highspy, monkeypatch):
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), no_multipliers(families_in(scores))
    best, _ = polished(families, start)
    assert best.root > start.root + 1.0
    assert polished(families, start, room=0)[0] is start
    assert polished(families, start, limit=start.root)[0] is start
    monkeypatch.setattr(extbnsl.bounds.polish, "EFFORT", 1)
    assert start.root <= polished(families, start)[0].root < best.root
    polish = Polish(ROOM)
    with Workers(1) as workers:
        assert polish.improved(families, start, np.inf, 1, workers).root < best.root
        again = polish.improved(families, start, np.inf, 10_000, workers)
        assert again.root == pytest.approx(best.root, abs=1e-4)
        polish.spread(families, again, np.inf, 10_000, workers)
        assert polish.optimal
        assert polish.improved(families, start, np.inf, 1, workers) is start


def test_it_stops_when_it_is_time(highspy):
    scores, _ = random_problem(5, 9, 40)
    families = families_in(scores)
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        Polish(ROOM).improved(families, no_multipliers(families), np.inf, 1, workers)


def test_a_program_under_way_is_interrupted(highspy, monkeypatch):
    """The time comes while HiGHS is at work, which it notices at its next iteration."""
    scores, _ = random_problem(5, 9, 40)
    families = families_in(scores)
    statuses = []

    class Highs(highspy.Highs):
        def run(self):
            workers.halt[0] = 1
            statuses.append((super().run(), self.getModelStatus())[1])

    monkeypatch.setattr(highspy, "Highs", Highs)
    with Workers(1) as workers:
        Polish(ROOM).improved(families, no_multipliers(families), np.inf, 1, workers)
    assert statuses[-1] == highspy.HighsModelStatus.kInterrupt  # those before needed no iteration


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.sampled_from([1.0, 0.8]))
def test_clusters_are_violated_by_as_much_as_is_said(seed, n, share):
    rng = np.random.default_rng(seed)
    scores = prune(scores_of(random_families(rng, n, 12)))
    families = families_in(scores)
    child = np.repeat(np.arange(n), np.diff(families.first))
    x = rng.random(child.size)
    pairs = [(a, b) for a in range(n) for b in range(-1, n) if a != b]
    starts = np.array(pairs)
    clusters, violations = np.zeros((len(starts), 1), np.uint64), np.empty(len(starts))
    grow_clusters(families.parents, child, x, n, share, starts, clusters, violations)
    begins, counting = counting_families(families.parents, child, clusters)
    for k, (start, cluster) in enumerate(zip(pairs, clusters[:, 0].tolist(), strict=True)):
        own = [
            j for j, p in enumerate(families.parents[0].tolist()) if cluster >> int(child[j]) & 1 and not p & cluster
        ]
        assert counting[begins[k] : begins[k + 1]].tolist() == own
        assert all(cluster >> v & 1 for v in start if v >= 0)
        assert cluster.bit_count() >= 2
        assert violations[k] == pytest.approx(least_sums(clusters[k : k + 1], share)[0] - x[own].sum(), abs=1e-9)


def test_without_its_library_it_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(InputError, match=r"needs highspy: pip install 'extbnsl\[lp\]'"):
        load_highs()
