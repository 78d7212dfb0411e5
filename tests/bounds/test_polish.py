"""Multipliers by linear programming: against the whole LP, over all clusters and families, and their definition."""

import itertools
import math

import highspy
import naive
import numpy as np
import pytest
from cases import scores_of
from fixed import ROOM, best_at_root, best_spread, count, rooted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import sized
from search_invariants import cluster_value
from test_clusters import cost_to_go, families_in, found, random_cuts, random_problem

from extbnsl.bounds.lp.polish import LACKING, ROOT, Goal, Polished, mean_value, polished
from extbnsl.bounds.lp.program import least_sums
from extbnsl.bounds.multipliers import families_of, multipliers_of, no_multipliers
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def best_two(families, start, threads=1, room=ROOM, limit=np.inf):
    """What is best at the root, and in the mean over nodes."""
    with Workers(threads) as workers:
        best = best_at_root(families, start, workers, limit=limit, room=room)
        return best, best_spread(families, best, workers, limit=limit, room=room)


def whole_program(scores, n, share):
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


@pytest.fixture
def clusters_alone(sizes):
    """Cuts of three clusters are never looked for."""
    sizes(TRIPLES=0)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_it_is_the_optimum_over_all_clusters_and_families(clusters_alone, seed, n):
    scores, _ = random_problem(seed, n)
    families = families_in(scores)
    best, spread = best_two(families, no_multipliers(families))
    assert best.root == pytest.approx(whole_program(scores, n, 1.0), abs=1e-4)
    assert mean_value(best, 1.0) == pytest.approx(best.root, abs=1e-9)
    assert mean_value(spread, LACKING) == pytest.approx(whole_program(scores, n, LACKING), abs=n * 1e-3)


@pytest.mark.slow
def test_three_clusters_close_what_clusters_leave():
    """Children that all want many parents: never worse than clusters alone, nor beyond the optimum; most gaps close."""
    gaps, left = [], []
    for seed in range(24):
        rng, n = np.random.default_rng(seed), 6
        sets = [[p for p in range(1 << n) if p.bit_count() <= 3 and not p >> x & 1] for x in range(n)]
        costs = [[(p, 9.0 - 3.0 * p.bit_count() + rng.uniform(0, 4)) for p in own] for own in sets]
        scores, best = prune(scores_of(costs)), naive.best_scores(naive.cost_table(n, costs))
        families, optimum = families_in(scores), cost_to_go(n, best)[0]
        with sized(TRIPLES=0):
            alone, _ = best_two(families, no_multipliers(families))
        both, _ = best_two(families, no_multipliers(families))
        assert alone.root - 1e-6 <= both.root <= optimum + 1e-6
        gaps.append(optimum - alone.root)
        left.append(optimum - both.root)
    assert sum(gaps) > 5.0
    assert sum(left) < 0.5 * sum(gaps)


def test_a_triangle_needs_three_clusters(sizes):
    """Each of three variables wants both others as parents: no cluster says that a second one must do without."""
    others = [[0, 0b110], [0, 0b101], [0, 0b011]]
    families = families_of([np.array(own, np.uint64)[:, None] for own in others], [np.array([1.0, 0.0])] * 3)
    best, _ = best_two(families, no_multipliers(families))
    assert best.root == pytest.approx(2.0, abs=1e-6)
    sizes(TRIPLES=0)
    assert best_two(families, no_multipliers(families))[0].root == pytest.approx(1.5, abs=1e-6)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8), st.booleans())
def test_it_is_a_bound_and_no_worse_than_before(seed, n, begun):
    scores, best = random_problem(seed, n)
    families, rest = families_in(scores), cost_to_go(n, best)
    start = found(scores, 2, seed % 100) if begun else no_multipliers(families)
    root, spread = best_two(families, start)
    assert start.root <= root.root <= rest[0] + 1e-9
    assert mean_value(root, LACKING) <= mean_value(spread, LACKING)
    for multipliers in (root, spread):
        assert (multipliers.weights > 0).all()
        again = multipliers_of(families, multipliers.cuts, multipliers.weights)
        assert again.root == multipliers.root
        for varset in range(1 << n):
            assert cluster_value(multipliers, varset) <= rest[varset] + 1e-9


def test_the_mean_over_nodes_is_what_it_is_said_to_be():
    scores, _ = random_problem(3, 6, 40)
    multipliers, _ = best_two(families_in(scores), found(scores))
    assert multipliers.weights.size
    mean = 0.0
    for varset in range(1 << 6):
        lacking = 6 - varset.bit_count()
        mean += LACKING**lacking * (1.0 - LACKING) ** (6 - lacking) * cluster_value(multipliers, varset)
    assert mean / LACKING == pytest.approx(mean_value(multipliers, LACKING))


@pytest.mark.slow
def test_few_columns_and_clusters_at_a_time_are_enough(sizes):
    """Columns and rows come and go, and the optimum is the same."""
    scores, _ = random_problem(11, 9, 60)
    families = families_in(scores)
    at_once, _ = best_two(families, no_multipliers(families))
    sizes({"program.COLUMNS": 2, "program.ROWS": 3, "program.SLACK": 1, "program.FEWEST": 0, "WINDOW": 1000})
    slowly, _ = best_two(families, no_multipliers(families))
    assert slowly.root == pytest.approx(at_once.root, abs=1e-4)


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_many_variables(n):
    """Two words and more: a long cycle of strong wishes, which a single cluster resolves."""
    words = -(-n // 64)
    sets = [[0, 1 << (x + 1) % n] for x in range(n)]
    parents = [np.array([[v >> 64 * w & (1 << 64) - 1 for w in range(words)] for v in own], np.uint64) for own in sets]
    families = families_of(parents, [np.array([10.0, 1.0])] * n)
    best, spread = best_two(families, no_multipliers(families))
    assert best.root == pytest.approx(n + 9, abs=1e-4)
    assert spread.root <= n + 9


def test_fixing_has_what_the_program_found():
    better = 0
    for seed in range(10):
        scores, best = random_problem(seed, 8, 40)
        limit = cost_to_go(8, best)[0] + 5.0
        with Workers(1) as workers:
            plain = rooted(scores, limit, workers)
            fixed = rooted(scores, limit, workers, polish=True)
        assert fixed.multipliers.root >= plain.passes[0].root
        assert fixed.passes[0].root <= limit - 5.0 + 1e-9
        better += count(fixed) < count(plain)
    assert better


def test_neither_threads_nor_chance_matter():
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), found(scores)
    for one, two in zip(best_two(families, start), best_two(families, start, threads=2), strict=True):
        assert (one.cuts == two.cuts).all()
        assert (one.weights == two.weights).all()


def test_effort_and_room_end_it_with_what_there_is():
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), no_multipliers(families_in(scores))
    best, _ = best_two(families, start)
    assert best.root > start.root + 1.0
    assert best_two(families, start, room=0)[0] is start
    assert best_two(families, start, limit=start.root)[0] is start
    goal = Goal(np.inf, ROOT, ROOM)
    with Workers(1) as workers:
        little = polished(families, Polished(start), goal, 1, workers)
        assert start.root <= little.multipliers.root < best.root
        assert not little.optimal
        rest = polished(families, little, goal, 10_000, workers)
        assert rest.optimal
        assert rest.multipliers.root == pytest.approx(best.root, abs=1e-4)
        assert polished(families, rest, goal, rest.iterations, workers).multipliers is rest.multipliers


def test_a_lower_limit_is_the_goal_from_then_on():
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), no_multipliers(families_in(scores))
    goal, turns = Goal(np.inf, ROOT, ROOM), []

    def on_turn(reached):
        turns.append(reached)
        return reached.multipliers.root if len(turns) == 2 else None

    with Workers(1) as workers:
        whole = polished(families, Polished(start), goal, 10_000, workers)
        ended = polished(families, Polished(start), goal, 10_000, workers, on_turn)
    assert len(turns) == 2
    assert ended.multipliers.root < whole.multipliers.root


def test_it_goes_on_from_any_turn():
    """What each turn tells is all that it takes to go on, with what is left of the effort."""
    scores, _ = random_problem(5, 9, 40)
    families, start = families_in(scores), no_multipliers(families_in(scores))
    goal, turns = Goal(np.inf, ROOT, ROOM), []
    with Workers(1) as workers:
        whole = polished(families, Polished(start), goal, 10_000, workers, turns.append)
        assert len(turns) > 2
        assert [turn.iterations for turn in turns] == sorted(turn.iterations for turn in turns)
        for turn in turns[:-1]:
            resumed = polished(families, turn, goal, 10_000, workers)
            assert resumed.optimal
            assert resumed.iterations >= turn.iterations
            assert resumed.multipliers.root == pytest.approx(whole.multipliers.root, abs=1e-4)


def test_it_stops_when_it_is_time():
    scores, _ = random_problem(5, 9, 40)
    families = families_in(scores)
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        best_at_root(families, no_multipliers(families), workers)


def test_a_program_under_way_is_interrupted(monkeypatch):
    """The time comes while HiGHS is at work, which it notices at its next iteration."""
    scores, _ = random_problem(5, 9, 40)
    families = families_in(scores)
    statuses = []

    class Highs(highspy.Highs):
        def run(self):
            workers.halt[0] = bool(statuses)  # the first program needs no iteration
            statuses.append((super().run(), self.getModelStatus())[1])

    monkeypatch.setattr(highspy, "Highs", Highs)
    with Workers(1) as workers:
        best_at_root(families, no_multipliers(families), workers)
    assert statuses == [highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInterrupt]


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_the_right_side_is_the_mean_over_nodes(share):
    """What a node leaves of a cut, over all nodes by their probability, given that one variable is lacking."""
    cuts = random_cuts(np.random.default_rng(8), 5, 12)
    for cut, value in zip(cuts, least_sums(cuts, share), strict=True):
        masks = [int(m) for m in cut[:, 0] if m]
        mean = 0.0
        for node in range(1 << 5):
            lacking = 5 - node.bit_count()
            probability = share**lacking * (1.0 - share) ** (5 - lacking)
            mean += probability * math.ceil(sum(not m & node for m in masks) / 2)
        assert value == pytest.approx(mean / share)
