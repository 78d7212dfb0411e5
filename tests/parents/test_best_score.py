"""BestScore by byte tables against a linear scan of the families in score order."""

import naive
import numpy as np
import pytest
from calling import called
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import sized

from extbnsl.kernels.varsets import pack, sizes, words
from extbnsl.parents.best_score import (
    as_bytes,
    byte_tables,
    first_inside,
    first_inside_each,
    scratch,
)
from extbnsl.parents.pruning import FEW, merged, undominated
from extbnsl.scores.local import canonical_order

first_inside, scratch = map(called, (first_inside, scratch))
GO_ON = np.zeros(1, np.uint8)

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def random_families(rng, n, child, most):
    """One child's families in score order: small random parent sets, the empty set often among them."""
    count = int(rng.integers(1, most + 1))
    rows = []
    for k in range(count):
        size = 0 if k == 0 and rng.random() < 0.5 else int(rng.integers(0, min(n, 6)))
        others = [v for v in range(n) if v != child]
        rows.append(pack(rng.choice(others, size=min(size, len(others)), replace=False).tolist() if others else (), n))
    varsets = np.unique(np.stack(rows), axis=0)
    costs = np.sort(rng.integers(0, 30, len(varsets)).astype(float))
    rng.shuffle(varsets)
    order = canonical_order(varsets, costs)
    return np.ascontiguousarray(varsets[order]), costs[order]


def scan(parents, varset):
    """The first family inside a varset, -1 if there is none."""
    inside = np.flatnonzero(~(parents & ~varset).any(axis=1))
    return int(inside[0]) if inside.size else -1


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 130), st.sampled_from([1, 10, 64, 65, 300]), st.booleans())
def test_queries_equal_a_scan(seed, n, most, all_bytes):
    rng = np.random.default_rng(seed)
    children = range(min(n, 5))
    families = [random_families(rng, n, x, most) for x in children]
    tables = byte_tables(
        tuple(p for p, _ in families), tuple(c for _, c in families), bytes_of_all=-(-n // 8) if all_bytes else 0
    )
    density = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], 20)
    varsets = np.stack([pack(np.flatnonzero(rng.random(n) < d).tolist(), n) for d in density])
    for x in children:
        expected = [scan(families[x][0], varset) for varset in varsets]
        assert (
            first_inside_each(x, as_bytes(varsets), np.zeros(len(varsets), np.int64), tables, GO_ON).tolist()
            == expected
        )
        first = int(tables.first[x])
        for place in {e for e in expected if e >= 0}:
            assert tables.costs[first + place] == families[x][1][place]


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(8, 130))
def test_queries_in_a_range_of_words(seed, n):
    rng = np.random.default_rng(seed)
    parents, costs = random_families(rng, n, 0, 300)
    arrays = byte_tables((parents,), (costs,))
    rows = scratch(arrays)
    varset = pack(np.flatnonzero(rng.random(n) < 0.7).tolist(), n)
    inside = np.flatnonzero(~(parents & ~varset).any(axis=1))
    for begin in range(6):
        for end in range(begin, 7):
            wanted = inside[(inside >= 64 * begin) & (inside < 64 * end)]
            found = first_inside(0, as_bytes(varset), begin, end, arrays, rows)
            assert found == (wanted[0] if wanted.size else -1)


def test_bytes_are_little_endian():
    varset = pack((0, 9, 64, 129), 130)
    expected = np.zeros(24, np.uint8)
    expected[[0, 1, 8, 16]] = 1, 2, 1, 2
    assert as_bytes(varset).tolist() == expected.tolist()
    assert words(130) == 3


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(0, 90), st.sampled_from([0, FEW]))
def test_undominated_by_definition(seed, n, count, few):
    rng = np.random.default_rng(seed)
    varsets = np.unique(rng.integers(0, 2**n, count)).astype(np.uint64)[:, None]
    costs = rng.integers(0, 8, len(varsets)).astype(float)
    order = canonical_order(varsets, costs)
    varsets, costs = np.ascontiguousarray(varsets[order]), costs[order]
    pairs = list(zip(varsets[:, 0].tolist(), costs.tolist(), strict=True))
    expected = [not any(q != p and q & ~p == 0 and d <= c for q, d in pairs) for p, c in pairs]
    with sized({"pruning.FEW": few}):
        assert undominated(varsets, costs).tolist() == expected


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5]))
def test_comparing_within_reach_changes_nothing_but_the_work(seed, slack):
    """More parents cost less, mostly: the words of 64 families that are cheaper by more than the reach are passed."""
    rng = np.random.default_rng(seed)
    varsets = rng.permutation(2**9)[:400].astype(np.uint64)[:, None]
    costs = rng.uniform(0.0, 4.0, 400) - 3.0 * sizes(varsets)
    order = canonical_order(varsets, costs)
    varsets, costs = np.ascontiguousarray(varsets[order]), costs[order]
    inside = (varsets.T & ~varsets) == 0
    reach = float((costs[:, None] - costs)[inside].max())
    assert np.searchsorted(costs, costs[-1] - reach) > 64
    expected = undominated(varsets, costs, slack)
    assert 0 < expected.sum() < 400
    assert undominated(varsets, costs, slack, reach).tolist() == expected.tolist()


def test_a_halt_ends_the_comparison():
    tables = byte_tables((pack((), 3)[None, :],), (np.array([1.0]),))
    asked, begin = as_bytes(pack((), 3)[None, :].repeat(2, axis=0)), np.ones(2, np.int64)
    for halt, found in (0, -1), (1, 0):
        assert first_inside_each(0, asked, begin, tables, np.array([halt], np.uint8)).tolist() == [found] * 2


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_merged_keeps_best_scores(seed, n):
    rng = np.random.default_rng(seed)
    varsets = rng.permutation(2**n)[: int(rng.integers(2, 2**n + 1))].astype(np.uint64)[:, None]
    costs = rng.integers(0, 9, len(varsets)).astype(float)
    cut = int(rng.integers(0, len(varsets)))
    halves = []
    for part in (slice(0, cut), slice(cut, None)):
        order = canonical_order(varsets[part], costs[part])
        halves.append((np.ascontiguousarray(varsets[part][order]), costs[part][order]))
    parents, least = merged(*halves)
    assert undominated(parents, least).all()

    def table(p, c):
        rows = np.full((n, 2**n), np.inf)
        rows[0, p[:, 0].astype(int)] = c
        return naive.best_scores(rows)[0]

    np.testing.assert_array_equal(table(parents, least), table(varsets, costs))


@pytest.mark.parametrize("n", [1, 64, 65])
def test_a_child_with_the_empty_set_alone(n):
    tables = byte_tables((pack((), n)[None, :],), (np.array([1.0]),))
    asked = as_bytes(np.stack([pack((), n), pack(range(n), n)]))
    assert first_inside_each(0, asked, np.zeros(2, np.int64), tables, GO_ON).tolist() == [0, 0]
