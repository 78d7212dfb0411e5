"""The enumeration of families: each rule that drops families leaves BestScore(X | U) as it is, for every U."""

import itertools
import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import (
    EVERY_SCORE,
    PRICED,
    claim_by,
    dataset_of,
    full_xor_rows,
    places_of,
    random_dataset,
    shelf_of,
    xor_rows,
)
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.core.events import ignore
from extbnsl.data import distinct_rows
from extbnsl.kernels.ranks import BLOCK, binomial_table
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive import by_level
from extbnsl.parents.exhaustive import problem as problem_module
from extbnsl.parents.exhaustive.by_level import judge_by_level
from extbnsl.parents.exhaustive.lattice import Counts, Rules, judge_families, judge_last, next_alive
from extbnsl.parents.exhaustive.marking import mark_needed
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.surviving import last_known, surviving_families
from extbnsl.scores.cells import Cells
from extbnsl.scores.counting import counting_table
from extbnsl.scores.known import score_named, score_of
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import most_parents

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def level(n, size):
    """All varsets of `size` of n variables as integers, in numeric order."""
    return sorted(sum(1 << v for v in chosen) for chosen in itertools.combinations(range(n), size))


def rank_of(members):
    return sum(math.comb(p, i + 1) for i, p in enumerate(members))


def ranks_in(places):
    """The ranks that are present, ascending."""
    return np.flatnonzero(np.unpackbits(places[:, 0].copy().view(np.uint8), bitorder="little")).tolist()


NUMBERS = {8: range(8), 63: range(55, 63), 130: (0, 1, 62, 63, 64, 65, 127, 128)}


@SETTINGS
@given(
    st.integers(0, 2**32), st.integers(2, 8), st.sampled_from(sorted(NUMBERS)), st.sampled_from([0, 0.5, 1]), st.data()
)
def test_mark_needed(seed, n, variables, share, data):
    """n variables, numbered as NUMBERS says; of the others nothing is present."""
    rng = np.random.default_rng(seed)
    within = sum(1 << y for y in range(n) if rng.random() < share)
    size = data.draw(st.integers(1 if n == variables else 2, min(n, 4)))
    below, varsets = level(n, size - 1), level(n, size)
    everyone = (1 << n) - 1
    present = {v for v in below if rng.random() < 0.95} or set(below)
    some = rng.integers(0, 1 << n, len(below)) & (rng.integers(0, 1 << n, len(below)) | -int(rng.integers(2)))
    alive = {v: int(a) & everyone & ~v if v in present else 0 for v, a in zip(below, some, strict=True)}
    for v in varsets:
        if not all(v ^ 1 << y in present for y in naive.members(v)):
            for y in naive.members(v):
                alive[v ^ 1 << y] &= ~(1 << y)

    def rank(varset):
        return rank_of([NUMBERS[variables][y] for y in naive.members(varset)])

    total = math.comb(variables, size)
    there = np.zeros(math.comb(variables, size - 1), bool)
    there[[rank(v) for v in present]] = True
    column = np.stack(
        [pack([NUMBERS[variables][y] for y in naive.members(alive[v])], variables) for v in sorted(present)]
    )
    lo = data.draw(st.integers(0, (total - 1) // BLOCK)) * BLOCK
    hi = data.draw(st.integers(lo + 1, total))
    limited = pack([NUMBERS[variables][y] for y in naive.members(within)], variables)
    anyway = sorted(rng.choice(hi, int(rng.integers(0, min(hi, 4) + 1)), replace=False).tolist())
    more = places_of(np.isin(np.arange(total), anyway))[:, 0].copy() if anyway else None
    marked = mark_needed(lo, hi, size, column, places_of(there), limited, more, binomial_table(variables))
    needed = [r for r in anyway if lo <= r < hi]
    for v in varsets:
        common = within & ~v
        for y in naive.members(v):
            common &= alive[v ^ 1 << y]
        family = any(alive[v ^ 1 << y] >> y & 1 for y in naive.members(v))
        if family or common:
            needed.append(rank(v))
    wanted = np.zeros(hi - lo, bool)
    wanted[[r - lo for r in needed if lo <= r < hi]] = True
    assert np.array_equal(marked, places_of(wanted))


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([(1, 1), (2, 1), (2, 2), (5, 3), (6, 4), (6, 6), (66, 2)]), st.data())
def test_the_last_level_has_the_families_that_any_level_has(seed, shape, data):
    n, size = shape
    rng = np.random.default_rng(seed)

    def counts(size):
        """Any T that grows with the varset would do, and so does this."""
        return Counts(places_of(np.ones(math.comb(n, size), bool)), rng.integers(0, 40, math.comb(n, size)) / 4)

    below, here, above = counts(max(0, size - 2)), counts(size - 1), counts(size)
    arities, table, width = np.sort(rng.integers(2, 5, n)), binomial_table(n, size), -(-n // 64)
    everyone = np.full((n, width), 2**64 - 1, np.uint64)
    free = np.zeros((n, width), np.uint64), np.zeros(n, np.int64), False  # nobody must have parents
    step = float(rng.integers(0, 2))
    rules = Rules(0.25, arities, np.full(n, n), np.zeros(n), table, 0.0, everyone, *free, arities, step)
    total = here.joint.size
    alive = np.stack([pack([x for x in range(n) if rng.random() < 0.7], n) for _ in range(total)])
    for i, members in enumerate(sorted(itertools.combinations(range(n), size - 1), key=rank_of)):
        alive[i] &= ~pack(members, n)

    def listed(varsets, children, costs):
        return list(zip(varsets.tolist(), children, costs, strict=True))

    _, families = judge_families(0, total, size - 1, alive, (below, here, above), rules)
    cut = data.draw(st.integers(0, above.joint.size))
    found = []
    for lo, hi in ((0, cut), (cut, above.joint.size)):
        tables = below, here, Counts(above.places, above.joint[lo:hi])
        if lo < hi:
            found += listed(*judge_last(lo, hi, size, alive, tables, rules))
    assert sorted(found) == sorted(listed(*families))


# ---- rules


def counted(n, size, places):
    """The varsets of one size that are counted, in numeric order."""
    varsets = level(n, size)
    return [varsets[rank] for rank in ranks_in(places)]


def everything_alive(lo, hi, size, extend, below, level, rules, form):
    """In place of next_alive: no rule but the limits."""
    n = rules.arities.size
    within = sum(1 << x for x in range(n) if size <= rules.limits[x])
    alive = [within & ~varset for varset in counted(n, size, level.places)[lo:hi]]
    return np.array(alive, np.uint64).reshape(-1, 1)


def extension_alone(lo, hi, size, extend, below, level, rules, form):
    """In place of next_alive: only what judge_families extends."""
    n = rules.arities.size
    alive = everything_alive(lo, hi, size, extend, below, level, rules, form)
    place = {v: i for i, v in enumerate(counted(n, size - 1, below.places))}
    for i, varset in enumerate(counted(n, size, level.places)[lo:hi]):
        for y in naive.members(varset):
            alive[i] &= extend[place[varset ^ 1 << y]]
    return alive


def gains_alone():
    """In place of next_alive: whatever is alive was extended, only its own rules stay."""
    below = {0: np.full((1, 1), ~np.uint64(0))}

    def following(lo, hi, size, extend, *rest):
        assert lo == 0, "one chunk"
        below[size] = next_alive(lo, hi, size, below[size - 1], *rest)
        return below[size]

    return following


def nothing_dropped(lo, hi, size, children, counts, rules, tables, alive):
    """In place of drop_hopeless: whatever is alive stays."""
    return alive[lo:hi].copy()


RULES = {
    "none": (everything_alive, False, False),
    "limits": (everything_alive, True, False),
    "hopeless": (everything_alive, False, True),
    "others": (everything_alive, True, False),
    "extension": (extension_alone, False, False),
    "gains": (None, False, False),
    "entropies": (next_alive, False, False),
    "all": (next_alive, True, True),
}


def counting_problem(codes, arities, limits, floors, score=MDL):
    """The problem of data whose arities ascend, with all parent sets allowed and no floors unless asked for."""
    rows, weights = distinct_rows(codes)
    n, records = len(arities), len(codes)
    largest, least = np.full(n, n - 1, dtype=np.int64), np.full(n, -math.inf)
    misfits = naive.joint_misfits(codes)
    for x in range(n):
        if limits:
            alone = Cells(np.bincount(codes[:, x])[None, :], int(arities[x]), 1.0)
            largest[x] = most_parents(score, alone, 0.0, np.delete(arities, x).tolist())
        if floors:
            least[x] = max(0.0, misfits[-1] - misfits[2**n - 1 ^ 1 << x] - 1e-9)
    table, allowed = counting_table(rows, weights, arities), ~np.eye(n, dtype=bool)
    return CountingProblem(table, largest, least, score.parameter(records), 0.0, None, allowed, np.zeros((n, n), bool))


def varying(seed, n, records):
    """Codes and ascending arities of data without constant columns, or None."""
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    keep = [v for v in range(n) if len(set(dataset.codes[:, v])) > 1]
    keep = np.array(sorted(keep, key=lambda v: dataset.arities[v]), dtype=int)
    return np.ascontiguousarray(dataset.codes[:, keep]), dataset.arities[keep]


def found_scores(found, n):
    """BestScore of every child and varset by the families of an enumeration, as a table (n, 2^n)."""
    pairs = [
        list(zip(p[:, 0].tolist(), c.tolist(), strict=True)) for p, c in zip(found.parents, found.costs, strict=True)
    ]
    return naive.best_scores(naive.cost_table(n, pairs))


def judged(problem, workers, shelf, on_progress=lambda found: None):
    """What judging a problem level by level finds."""
    begun = start_enumeration(problem.limits.size)
    return last_known(judge_by_level(problem, begun, Means(workers, shelf, ignore)), begun, on_progress)


def outside(n):
    """Which entries of a table (n, 2^n) are of varsets without the child."""
    return (np.arange(2**n) >> np.arange(n)[:, None]) & 1 == 0


def take_only(rule, monkeypatch):
    """Let the enumeration have this rule alone; what `counting_problem` takes for it: whether it has limits, and
    floors. Without floors a rule by them, but for what others tell, says nothing."""
    following, limits, floors = RULES[rule]
    monkeypatch.setattr(by_level, "next_alive", following or gains_alone())
    if not floors and rule != "others":
        monkeypatch.setattr(by_level, "drop_hopeless", nothing_dropped)
    return limits, floors


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("block", range(3))
def test_a_rule_changes_no_best_score(rule, block, monkeypatch):
    limits, floors = take_only(rule, monkeypatch)
    counted = 0
    for seed in range(12 * block, 12 * block + 12):
        codes, arities = varying(seed, 2 + seed % 5, int(np.random.default_rng(seed).integers(2, 80)))
        n = len(arities)
        if n < 2:
            continue
        problem = counting_problem(codes, arities, limits, floors)
        found = judged(problem, Workers(1), shelf_of())
        assert found.done
        assert found.stopped is None
        best = naive.best_scores(naive.all_local_scores(codes, arities))
        where = outside(n)
        np.testing.assert_allclose(found_scores(found, n)[where], best[where], rtol=1e-10, atol=1e-8)
        counted += found.varsets
        if rule == "none":
            assert found.varsets == 2**n - 1
    assert counted > 0


@pytest.mark.parametrize("rule", ["limits", "hopeless", "others", "extension", "gains", "entropies", "all"])
def test_a_rule_drops_something(rule, monkeypatch):
    codes, arities = varying(1, 6, 60)
    assert len(arities) == 6
    limits, floors = take_only(rule, monkeypatch)
    found = judged(counting_problem(codes, arities, limits, floors), Workers(1), shelf_of())
    assert found.varsets < 2**6 - 1


@pytest.mark.parametrize("score", PRICED)
@pytest.mark.parametrize("seed", range(4))
def test_families_are_the_undominated_ones(seed, score):
    codes, arities = varying(seed, 6, 100)
    n = len(arities)
    problem = counting_problem(codes, arities, True, True, score_named(score))
    found = judged(problem, Workers(1), shelf_of())
    costs = naive.all_local_scores(codes, arities, score=score)
    best = naive.best_scores(costs)
    for x in range(n):
        listed = dict(zip(found.parents[x][:, 0].tolist(), found.costs[x].tolist(), strict=True))
        for varset, cost in listed.items():
            assert cost == pytest.approx(costs[x, varset], rel=1e-10, abs=1e-9)
            assert all(cost < best[x, varset ^ 1 << y] + 1e-9 for y in naive.members(varset))
        without = [varset for varset in range(2**n) if not varset >> x & 1]
        first_rate = {v for v in without if all(costs[x, v] < best[x, v ^ 1 << y] - 1e-7 for y in naive.members(v))}
        assert first_rate <= listed.keys()


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("begun", [None, start_enumeration])
@settings(SETTINGS, max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 60), st.sampled_from([None, 0, 1, 2]))
def test_surviving_families_answer_best_score(begun, score, seed, n, records, limit):
    """By level, and child by child."""
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    begun = begun and begun(problem_module.varying(dataset, score_of(claim_by(score))).size)
    survivors = surviving_families(dataset, claim_by(score, limit), Means(Workers(1), shelf_of(), ignore), begun)
    assert survivors.stopped is None
    assert survivors.scores.score == score.partition(":")[0]
    check_scores(survivors.scores)
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities, limit, score))
    found = naive.best_scores(
        naive.cost_table(
            n,
            [
                list(zip(p[:, 0].tolist(), c.tolist(), strict=True))
                for p, c in zip(survivors.scores.parents, survivors.scores.costs, strict=True)
            ],
        )
    )
    np.testing.assert_allclose(found[outside(n)], best[outside(n)], rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(survivors.least, [best[x, 2**n - 1 ^ 1 << x] for x in range(n)], rtol=1e-10, atol=1e-8)


# ---- blocks, chunks, limits


def as_values(found):
    return [p.tolist() for p in found.parents], [c.tolist() for c in found.costs]


def of_limit(codes, arities, limit):
    problem = counting_problem(codes, arities, False, True)
    return replace(problem, limits=np.full(len(arities), limit))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_without_room_for_a_level_what_is_complete_is_known(limit):
    codes, arities = varying(5, 9, 120)
    n = len(arities)
    assert n >= 6
    problem = of_limit(codes, arities, limit)
    whole = judged(problem, Workers(1), shelf_of())
    assert whole.done
    costs = naive.all_local_scores(codes, arities)
    ends = set()
    for memory in range(0, 12_000, 150):
        found = judged(problem, Workers(1), shelf_of(memory))
        ends.add((found.stopped, found.complete_to))
        if found.done:
            assert as_values(found) == as_values(whole)
        else:
            few = np.bitwise_count(np.arange(2**n)) <= found.complete_to
            complete = naive.best_scores(np.where(few, costs, np.inf))[outside(n)]
            best, known = naive.best_scores(costs)[outside(n)], found_scores(found, n)[outside(n)]
            assert (known <= complete + 1e-8).all()  # the cheapest single parents may be known beyond that
            assert (known >= best - 1e-8).all()
    assert {size for reason, size in ends if reason is not None} >= set(range(limit - 1))
    assert (None, limit) in ends


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", [0, 500, 1_000])
def test_levels_and_families_on_disk_change_nothing(threads, memory, tmp_path, sizes):
    codes, arities = varying(5, 9, 120)
    problem = of_limit(codes, arities, 4)
    sizes({"by_level.CHUNK": 16, "PAGES_HELD": 100})
    whole = judged(problem, Workers(1), shelf_of())
    room = shelf_of(memory, tmp_path)
    seen = []
    with Workers(threads) as workers:
        found = judged(problem, workers, room, lambda found: seen.append(room.on_disk))
    assert as_values(found) == as_values(whole)
    assert found.varsets == whole.varsets
    assert max(seen) >= 2_000 - memory
    assert not list(tmp_path.iterdir())
    del found
    assert room.held == room.on_disk == 0


@pytest.mark.parametrize("few", [0.0, math.inf])
@pytest.mark.parametrize("chunk", [1, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_and_threads_and_ways_to_mark_change_nothing(few, chunk, threads, sizes):
    codes, arities = varying(8, 8, 90)
    problem = counting_problem(codes, arities, True, True)
    whole = judged(problem, Workers(1), shelf_of())
    sizes({"by_level.CHUNK": chunk, "by_level.FEW": few})
    with Workers(threads) as workers:
        cut = judged(problem, workers, shelf_of())
    assert as_values(cut) == as_values(whole)
    assert cut.varsets == whole.varsets


def alone_of(dataset, x):
    """A variable without parents."""
    return Cells(np.bincount(dataset.codes[:, x])[None, :], int(dataset.arities[x]), 1.0)


@pytest.mark.parametrize("score", PRICED)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 40), st.booleans())
def test_no_larger_parent_set_than_the_limit_wins(score, seed, n, records, floors):
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, score=score)
    misfits = naive.joint_misfits(dataset.codes)
    for x in range(n):
        others = [r for y, r in enumerate(dataset.arities.tolist()) if y != x]
        floor = misfits[-1] - misfits[2**n - 1 ^ 1 << x] if floors else 0.0
        limit = most_parents(score_named(score), alone_of(dataset, x), floor, sorted(others))
        assert 0 <= limit <= n - 1
        for varset in range(2**n):
            if varset.bit_count() > limit and not varset >> x & 1:
                assert costs[x, varset] >= costs[x, 0] - 1e-9


def test_aic_takes_more_parents_than_mdl_would():
    """A thousand records and a fair coin: 2^d < 1 + 1000 ln 2 for AIC, 2^d < 1 + 2000 ln 2 / ln 1000 for MDL."""
    alone = Cells(np.array([[500, 500]]), 2, 1.0)
    assert most_parents(score_named("aic"), alone, 0.0, [2] * 20) == 9
    assert most_parents(MDL, alone, 0.0, [2] * 20) == 7


def test_the_limit_as_printed_is_too_small():
    """Tian 2000, Theorem 1, allows log2(2 N / log2 N) parents: one for three records, where two are best."""
    dataset = dataset_of(xor_rows(1))
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    assert math.floor(math.log2(2 * 3 / math.log2(3))) == 1
    assert costs[2, 0b011] < costs[2, [0b000, 0b001, 0b010]].min() - 0.1
    assert most_parents(MDL, alone_of(dataset, 2), 0.0, [2, 2]) == 2


def test_the_limit_is_no_larger_than_it_must_be():
    alone = alone_of(dataset_of(full_xor_rows(2)), 0)
    # eight records: penalty of d binary parents is 2^d ln 8 / 2, below 8 ln 2 + ln 8 / 2 for d <= 2 alone
    assert most_parents(MDL, alone, 0.0, [2, 2, 2, 2]) == 2
    assert most_parents(MDL, alone, 0.0, [2]) == 1
    assert most_parents(MDL, alone, 0.0, [8]) == 0
    assert most_parents(MDL, alone, 4.2, [2, 2, 2, 2]) == 1  # 8 ln 2 - 3 ln 8 / 2 = 2.43, and - ln 8 / 2 = 4.51
    constant = Cells(np.array([[8]]), 2, 1.0)
    assert most_parents(MDL, constant, 0.0, [2]) == 0
    assert most_parents(MDL, Cells(np.array([[1]]), 1, 1.0), 0.0, [2]) == 0
