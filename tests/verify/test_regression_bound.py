"""What sets of some of many candidates cost at least, as the checker bounds it: against all sets, in exact numbers."""

import itertools
import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from cases import collinear_numbers, numbers_of, random_numbers
from certified import below, checked, leads, no_cuts, reduced_by
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import sized

from extbnsl import learn
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import DataOptions
from extbnsl.core.knowledge import NOTHING
from extbnsl.data import measured
from extbnsl.data.given import given as columns_of
from extbnsl.machine.workers import Workers
from extbnsl.verify import regression_bound
from extbnsl.verify.certificate import MOST_UNITS, ceil_units, floor_units
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import taken_by
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.regression_bound import IN_QUESTION, new_relaxation, rule_out
from extbnsl.verify.regression_families import _Asked, _begin, families_by_regressions
from extbnsl.verify.steps import Pass

SETTINGS = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
NEAR = 1e-7  # nats: more than what the costs of some hundred records are off in the oracle
ALWAYS = {"regression_bound.FEWEST": 1}


def source_of(numbers, workers, max_parents=None, knowledge=NOTHING, every=False):
    demands = demands_of(numbers.names, max_parents, knowledge)
    return families_by_regressions(numbers, Claim("gaussian-bic"), demands, workers, leads(numbers, every))


def begun(source, child, base, candidates, threshold, depth=100):
    """The search of these candidates by place, with these parents part of all sets, at its root."""
    n = source.numbers.variables
    units = MOST_UNITS if math.isinf(threshold) else floor_units(threshold)
    asked = _Asked(child, sorted(base), depth, math.inf, units, taken_by(no_cuts(n), n).of(child))
    return _begin(source, asked, np.array(candidates[::-1], np.int64))


def nearly_determined(rng, n, records, noise):
    """Columns of which one is the sum of two others but for noise, one a copy but for noise."""
    values = rng.normal(size=(records, n))
    values[:, 1] += values[:, 0]
    values[:, 2] = values[:, 0] - values[:, 1] + noise * values[:, 2]
    values[:, n - 1] = values[:, 3] + noise * values[:, n - 1]
    return numbers_of(values[:, rng.permutation(n)] + rng.integers(-1000, 1000, n))


def drawn_numbers(rng, kind):
    if kind == "plain":
        return random_numbers(rng, 7, int(rng.integers(9, 60)))
    if kind == "many":
        return random_numbers(rng, 7, 1000)
    if kind == "singular":
        return collinear_numbers(rng, 7)
    return nearly_determined(rng, 7, 50, float(kind))


def check_node(rng, source, costs, child):
    """At a random node, with random weights and some candidates out: none is ruled out that matters."""
    n = source.numbers.variables
    others = rng.permutation([v for v in range(n) if v != child]).tolist()
    size, depth = int(rng.integers(0, 3)), int(rng.integers(1, 6))
    base, candidates = others[:size], others[size:]
    of_base = sum(1 << v for v in base)
    if not math.isfinite(costs[of_base]):
        return 0
    threshold = costs[of_base] + rng.normal() * 10.0 ** rng.integers(-2, 3)
    child_of, frames, relaxed = begun(source, child, base, candidates, threshold, depth)
    spread = np.abs(np.linalg.solve(frames.triangle[0], frames.goal[0])) if relaxed.shares[0] > 0.0 else 0.0
    relaxed.weights[:] = rng.normal(size=len(candidates)) * rng.choice([0.0, 1.0]) * spread
    relaxed.level[0] = 10.0 ** rng.integers(-2, 3)
    p, places = int(rng.integers(0, len(candidates))), range(len(candidates))
    gone = {q for q in places if q != p and rng.random() < 0.2}
    frames.out[0, list(gone)] = True
    any_left = rule_out(0, p, child_of, frames, relaxed)
    free = [q for q in range(p + 1) if q not in gone]
    room = threshold + source.margin(child)
    for k in range(1, min(depth, len(free)) + 1):
        for some in itertools.combinations(free, k):
            if not any_left or frames.out[0, list(some)].any():
                assert costs[of_base | sum(1 << candidates[q] for q in some)] >= room - NEAR
    return len(free) if not any_left else int(frames.out[0, : p + 1].sum()) - sum(q <= p for q in gone)


@pytest.mark.parametrize("kind", ["plain", "many", "singular", "0.1", "1e-3", "1e-5"])
@SETTINGS
@given(st.integers(0, 2**32))
def test_no_candidate_is_ruled_out_that_is_in_a_set_that_matters(kind, seed):
    rng = np.random.default_rng(seed)
    numbers = drawn_numbers(rng, kind)
    child = int(rng.integers(7))
    costs = naive.all_gaussian_costs(numbers.values, lambda x, u: x == child)[child]
    with Workers(1) as workers, sized(ALWAYS):
        source = source_of(numbers, workers)
        for _ in range(20):
            check_node(rng, source, costs, child)


def test_most_of_what_does_not_matter_is_ruled_out():
    """Of ten columns one depends on two; at the cost of its best family all others are ruled out, as they are where
    the best one has to be beaten; where all sets matter none is."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(400, 10))
    values[:, 9] += values[:, 2] + values[:, 5]
    numbers = numbers_of(values)
    best = naive.gaussian_cost(values, 9, [2, 5])
    with Workers(1) as workers, sized(ALWAYS):
        source = source_of(numbers, workers, every=True)
        ruled_out = []
        for threshold in (best + 1e-3, best - 1e-3, math.inf):
            child, frames, relaxed = begun(source, 9, [], list(range(9)), threshold)
            left = [rule_out(0, 8, child, frames, relaxed) for _ in range(60)]
            ruled_out.append((all(left), np.flatnonzero(~frames.out[0]).tolist()))
    assert ruled_out[0] == (True, [2, 5])
    assert not ruled_out[1][0]
    assert ruled_out[2] == (True, list(range(9)))


def exact(value):
    return Fraction(float(value))


def left_by(triangle, goal, rest, members):
    """What these columns of a triangle leave of the goal and the rest, in exact numbers."""
    columns = [[exact(v) for v in triangle[:, q]] for q in members] + [[exact(v) for v in goal]]
    done = []
    for column in columns:
        for other in done:
            part = sum(a * b for a, b in zip(column, other, strict=True)) / sum(b * b for b in other)
            column = [a - part * b for a, b in zip(column, other, strict=True)]
        done.append(column)
    return exact(rest) + sum(v * v for v in done[-1])


def settled(triangle, goal, rest, relaxed):
    """The bound of each number of members, as fractions: a lower end of the root's square."""
    relaxed.kinds[:] = IN_QUESTION
    left, off = regression_bound._settle.py_func(len(goal) - 1, triangle, goal, rest, relaxed)
    bounds = []
    for most in sorted(relaxed.taken.tolist(), reverse=True):
        left -= most
        bounds.append((max(left, 0.0), off))
    return bounds


def is_below(bound, squares):
    """Whether sqrt(left) - off <= sqrt(squares), in exact numbers."""
    left, off = map(exact, bound)
    excess = left - squares - off * off  # <= 2 off sqrt(squares)
    return excess <= 0 or excess * excess <= 4 * off * off * squares


@pytest.mark.parametrize("far", [0.0, 1.0, 1e6])
def test_the_bound_is_below_in_exact_numbers_where_it_is_tight(far):
    """Of columns that are orthogonal any weights say what sets leave, so that rounding decides."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        m = 6
        triangle, goal, rest = np.diag(2.0 ** rng.integers(-3, 4, m)), rng.normal(size=m), rng.random()
        relaxed = new_relaxation(triangle, goal, 0.0)._replace(shares=np.diag(triangle) ** 2)
        relaxed.weights[:] = goal / np.diag(triangle) + far * rng.normal(size=m)
        squares = sorted((exact(v) ** 2 for v in goal), reverse=True)
        left = exact(rest) + sum(squares)
        for part, bound in zip(squares, settled(triangle, goal, rest, relaxed), strict=True):
            left -= part
            assert is_below(bound, left)
            assert bound[0] > float(left) - 1e-10 * (1.0 + far * far)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0.0, 1.0, 1e4]))
def test_the_bound_is_below_in_exact_numbers(seed, m, far):
    """Of all sets, by any weights."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m + 3, m))
    for q in range(1, m):
        values[:, q] += rng.choice([0.0, 1.0, 100.0]) * values[:, q - 1]
    triangle, goal, rest = np.triu(np.linalg.qr(values)[1]), rng.normal(size=m), float(rng.choice([0.0, 1e-9, 1.0]))
    relaxed = new_relaxation(triangle, goal, 0.0)
    relaxed.weights[:] = np.linalg.solve(triangle, goal) * rng.choice([0.0, 1.0], m) + far * rng.normal(size=m)
    for k, bound in enumerate(settled(triangle, goal, rest, relaxed), 1):
        for some in itertools.combinations(range(m), k):
            assert is_below(bound, left_by(triangle, goal, rest, some))


def is_definite(matrix):
    """Whether a matrix of fractions has no negative eigenvalue: elimination, in exact numbers."""
    m = len(matrix)
    for j in range(m):
        if matrix[j][j] <= 0:
            return all(v == 0 for v in matrix[j][j:]) and matrix[j][j] == 0
        for i in range(j + 1, m):
            factor = matrix[i][j] / matrix[j][j]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[j], strict=True)]
    return True


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_shares_leave_no_negative_eigenvalue(seed, noise):
    """In exact numbers; and a little more than is said would, but where columns nearly determine each other."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(12, 6))
    values[:, 2] = (values[:, 0] + values[:, 1]) + noise * values[:, 2]
    triangle = np.triu(np.linalg.qr(values * 10.0 ** rng.integers(-3, 4, 6))[1])
    shares = new_relaxation(triangle, np.ones(6), 0.0).shares

    def definite(times):
        rows = [list(map(exact, column)) for column in triangle.T]
        squares = [[sum(a * b for a, b in zip(x, y, strict=True)) for x in rows] for y in rows]
        for i in range(6):
            squares[i][i] -= exact(shares[i]) * exact(times)
        return is_definite(squares)

    assert (shares >= 0.0).all()
    assert definite(1.0)
    if noise >= 1e-4:
        assert not definite(1.08)


def test_nothing_is_said_where_nobody_knows_how_far_norms_are_off():
    triangle = np.eye(3)
    assert (new_relaxation(triangle, np.ones(3), 1.0).shares == 0.0).all()
    assert (new_relaxation(triangle, np.ones(3), 1e-3).shares < 0.997).all()


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(2, 6),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 3.0, 100.0]),
    st.booleans(),
)
def test_families_that_matter_are_the_oracles_where_all_is_bounded(seed, n, max_parents, beyond, knowing):
    """All admitted sets that no subset beats are found, if c' is below the threshold."""
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 2, 80)))
    knowledge = random_knowledge(rng, numbers.names, max_parents) if knowing else NOTHING
    allowed = admitted(knowledge, numbers.names, max_parents)
    costs = naive.all_gaussian_costs(numbers.values, lambda x, u: allowed[x, u])
    masks = [rng.integers(1, 1 << n, size).tolist() for size in (1, 3, 1, 3, 1)]
    cuts = tuple(tuple(tuple(numbers.names[i] for i in naive.members(m)) for m in some) for some in masks)
    one = Pass(cuts, tuple(map(ceil_units, rng.uniform(0.1, 8.0, 5).tolist())))
    reduced = reduced_by(one, numbers.names, costs)
    with Workers(1) as workers, sized(ALWAYS):
        source = source_of(numbers, workers, max_parents, knowledge)
        for x in range(n):
            threshold = reduced[x].min() + beyond + 1e-6
            varsets, found = below(source, x, floor_units(threshold), cuts_of(one, numbers.names))
            listed = dict(zip(varsets[:, 0].tolist(), found.tolist(), strict=True))
            assert listed == pytest.approx({v: costs[x, v] for v in listed}, rel=1e-12, abs=NEAR)
            for varset in range(1 << n):
                if reduced[x, varset] < threshold - NEAR and varset not in listed:
                    assert any(s & varset == s and costs[x, s] <= costs[x, varset] + NEAR for s in range(varset))


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_many_candidates_changes_no_family(seed):
    """Of twelve columns, each by itself, with it everywhere, as it is, and nowhere; at the best cost and above."""
    numbers = random_numbers(np.random.default_rng(seed), 12, 200)
    with Workers(1) as workers:
        for child in range(12):
            least = below(source_of(numbers, workers), child, MOST_UNITS, no_cuts(12)).costs.min()
            for more in (1e-6, 2.0, 20.0):
                worth = []
                for fewest in (1, 8, 100):
                    with sized({"regression_bound.FEWEST": fewest}):
                        found = below(source_of(numbers, workers), child, floor_units(least + more), no_cuts(12))
                    worth.append(minimal(found.varsets[:, 0], found.costs))
                assert len(worth[0]) >= 1
                assert worth[0] == worth[1] == worth[2]


def minimal(varsets, costs):
    """The families that no subset among these beats."""
    kept = dict(zip(varsets.tolist(), costs.tolist(), strict=True))
    return {v for v, c in kept.items() if not any(s & v == s and s != v and kept[s] <= c for s in kept)}


def slow_series(seed, n, records):
    """A series of columns that change slowly, each by some of the others a time before."""
    rng = np.random.default_rng(seed)
    step = np.zeros((n, n))
    for row in step:
        row[rng.choice(n, 4, replace=False)] = rng.uniform(0.3, 1.0, 4) * rng.choice([-1.0, 1.0], 4)
    step *= 0.95 / np.abs(np.linalg.eigvals(step)).max()
    values = np.zeros((records, n))
    for t in range(1, records):
        values[t] = step @ values[t - 1] + rng.normal(size=n)
    return values


def test_slow_columns_of_a_series_are_proved():
    """All that are left of sixty columns a time before leave hardly anything, so bounds by all say little."""
    values = slow_series(2, 60, 500)
    columns = {"t": range(500)} | {f"x{v}": values[:, v] for v in range(60)}
    data = columns_of(columns).made(measured, DataOptions(time_column="t", lags=1, instant=False))
    result = learn(data, score="gaussian-bic")
    optimality = checked(result)
    assert optimality.complete
    forged = result.document()
    component = next(c for c in forged["certificate"]["components"] if c["variables"] == ["x0"])
    component["least"]["x0"] += ceil_units(1e-3)
    component["lower_bound"] += 1e-3
    assert checked(result, forged).findings
