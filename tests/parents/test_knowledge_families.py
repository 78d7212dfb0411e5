"""Families under knowledge: what is left of all of them, by every score, against tables of all families."""

from unittest import mock

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, shelf_of
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import enumeration
from knowing import admitted, random_knowledge

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.store import Store
from extbnsl.machine.workers import Workers
from extbnsl.parents.constraints import constraints_of, under_order
from extbnsl.parents.exhaustive import problem as problem_module
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.stored import read_enumeration, write_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families

SETTINGS = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("begun", [None, start_enumeration], ids=["by level", "by child"])
@pytest.mark.parametrize("passed", [1000, -1], ids=["together", "apart"])
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 80),
    st.sampled_from([None, None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.5, 30.0]),
)
def test_families_under_knowledge(passed, begun, score, seed, n, records, limit, slack):
    """Whether children that must have parents are counted with the others or apart from them."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    knowledge = random_knowledge(rng, dataset.names, limit)
    claim = claim_by(score, limit, knowledge)
    begun = begun and begun(0)
    with Workers(2) as workers, mock.patch.object(problem_module, "PASSED", passed):
        start = None if begun is None else start_at_children(dataset, claim)
        found = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), start, slack=slack)
    assert found.stopped is None
    check_scores(found.scores)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, limit, score)
    costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    best = naive.best_scores(costs)
    listed = [
        dict(zip(p[:, 0].tolist(), c.tolist(), strict=True))
        for p, c in zip(found.scores.parents, found.scores.costs, strict=True)
    ]
    for x in range(n):
        for varset, cost in listed[x].items():
            assert cost == pytest.approx(costs[x, varset], rel=1e-9, abs=1e-8)
            assert cost <= best[x, varset] + slack + 1e-7
    table = naive.cost_table(n, [list(own.items()) for own in listed])
    where = (np.arange(2**n) >> np.arange(n)[:, None]) & 1 == 0
    np.testing.assert_allclose(naive.best_scores(table)[where], best[where], rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.least, [best[x, 2**n - 1 ^ 1 << x] for x in range(n)], rtol=1e-9, atol=1e-8)


def start_at_children(dataset, claim):
    from extbnsl.parents.exhaustive.problem import varying
    from extbnsl.scores.known import score_of

    return start_enumeration(varying(dataset, score_of(claim)).size)


@pytest.mark.parametrize(
    ("knowledge", "sentence"),
    [
        (Knowledge(required=(("a", "b"), ("b", "c"), ("c", "a"))), "make a cycle: 'b' -> 'c' -> 'a' -> 'b'"),
        (Knowledge(required=(("a", "a"),)), "no variable is its own parent"),
        (
            Knowledge(required=(("a", "b"),), forbidden=(("a", "b"),)),
            "'a' to 'b' is required, but it is forbidden",
        ),
        (Knowledge(required=(("a", "b"),), allowed=(("a", "c"),)), "it is not among the allowed pairs"),
        (Knowledge(required=(("a", "b"),), tiers=(("b",), ("a",))), "'a' is in a later tier than 'b'"),
        (Knowledge(required=(("a", "b"),), roots=("b",)), "'b' is a root"),
        (Knowledge(required=(("a", "b"),), leaves=("a",)), "'a' is a leaf"),
        (
            Knowledge(required=(("a", "c"), ("b", "c")), max_parents=(("c", 1),)),
            "'c' has 2 required parents, but a",
        ),
        (Knowledge(tiers=(("a",), ("b", "a"))), "tiers: 'a' is there twice"),
        (Knowledge(forbidden=(("a", "bb"),)), "forbidden: there is no variable 'bb'; did you mean 'b'"),
        (Knowledge(max_parents=(("a", -1),)), "max_parents of 'a': -1 is not a whole number of at least 0"),
        (Knowledge(max_parents=(("x", 1),)), "max_parents: there is no variable 'x'; there are 'a', 'b', 'c'."),
    ],
)
def test_what_contradicts_itself_is_refused(knowledge, sentence):
    with pytest.raises(InputError, match=r"\S") as error:
        constraints_of(Claim(knowledge=knowledge), ("a", "b", "c"))
    assert sentence in str(error.value)


def test_a_limit_for_all_is_for_required_parents_too():
    knowledge = Knowledge(required=(("a", "c"), ("b", "c")))
    with pytest.raises(InputError, match="'c' has 2 required parents, but a limit of 1: raise the limit"):
        constraints_of(Claim(max_parents=1, knowledge=knowledge), ("a", "b", "c"))


def test_knowledge_survives_its_document():
    for seed in range(50):
        knowledge = random_knowledge(np.random.default_rng(seed), tuple("abcde"))
        assert Knowledge.from_document(knowledge.document()) == knowledge
        assert bool(knowledge) == bool(knowledge.document())


def test_an_order_leaves_those_before():
    constraints = constraints_of(Claim(knowledge=Knowledge(required=(("b", "a"),))), ("a", "b", "c"))
    assert under_order(constraints, (2, 1, 0), "abc").allowed.sum() == 3
    with pytest.raises(InputError, match="The order has 'a' before 'b', its required parent"):
        under_order(constraints, (0, 1, 2), "abc")


def test_a_variable_that_never_varies_keeps_its_required_parents():
    codes = np.column_stack([np.arange(12) % 2, np.zeros(12, int), np.arange(12) % 3])
    dataset = dataset_of(codes, [2, 2, 3])
    knowledge = Knowledge(required=(("v0", "v1"), ("v1", "v2")))
    with Workers(1) as workers:
        found = surviving_families(dataset, Claim(knowledge=knowledge), Means(workers, shelf_of(), ignore))
    assert found.scores.parents[1].tolist() == [[1]]
    assert all(row & 2 for row in found.scores.parents[2][:, 0].tolist())
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    assert found.scores.costs[1][0] == pytest.approx(costs[1, 1])
    assert found.scores.costs[2][0] == pytest.approx(costs[2, [2, 3]].min())


@pytest.mark.parametrize("score", ["mdl", "bdeu", "bds:5", "fnml"])
@pytest.mark.parametrize(("passed", "groups"), [(1000, {0}), (-1, {0, 1, 2})], ids=["together", "apart"])
def test_whoever_goes_on_from_any_commit_finds_the_same(passed, groups, score, tmp_path, sizes):
    """Also where one group of children has been judged and another begun: files of one do not pass for another's."""
    sizes({"PASSED": passed, "by_level.CHUNK": 8})
    rng = np.random.default_rng(3)
    dataset = dataset_of(rng.integers(0, 2, (60, 8)))
    knowledge = Knowledge((("v0", "v1"), ("v2", "v3"), ("v0", "v4")), forbidden=(("v5", "v6"),))
    claim, seen = claim_by(score, 3, knowledge), []
    with Workers(1) as workers:
        whole = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), on_progress=seen.append)
    assert {found.group for found in seen} == groups
    store = Store(tmp_path, 1 << 30)
    for number, found in enumerate(found for found in seen if not found.done):  # no run commits those that are
        stored = write_enumeration(found, store, lambda: False, lambda size: None)
        store.keep_only(stored.files)
        if number % 5:
            continue
        begun = read_enumeration(enumeration(stored), tmp_path, shelf_of())
        with Workers(1) as workers:
            rest = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), begun)
        assert rest.varsets == whole.varsets
        for one, other in zip(rest.scores.parents, whole.scores.parents, strict=True):
            assert np.array_equal(one, other)
        for one, other in zip(rest.scores.costs, whole.scores.costs, strict=True):
            assert np.array_equal(one, other)
