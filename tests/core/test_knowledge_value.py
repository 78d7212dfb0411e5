"""Knowledge by itself: patterns in place of names, sets without arcs, and what is told of it."""

import fnmatch
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowing import random_knowledge, rules_out

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.parents.constraints import constraints_of
from extbnsl.verify.demands import demands_of

GENES = ("gene_1", "gene_2", "age", "gene_[3]", "sex")


def test_patterns_stand_for_the_names_that_they_fit():
    known = Knowledge(
        required=(("age", "gene_[12]"),),
        forbidden=(("gene_?", "*e*"),),
        allowed=(("*", "*"),),
        tiers=(("age", "[!g]*x"), ("gene_*",)),
        roots=("a*", "sex"),
        leaves=("gene_1", "gene_?"),
        max_parents=(("gene_*", 3), ("gene_1", 1), ("gene_2", 4)),
        apart=(("gene_*", "sex", "gene_1"),),
    )
    over = known.over(GENES)
    assert over == Knowledge(
        required=(("age", "gene_1"), ("age", "gene_2")),
        forbidden=tuple((p, c) for p in GENES[:2] for c in GENES if p != c),
        allowed=tuple(itertools.permutations(GENES, 2)),
        tiers=(("age", "sex"), ("gene_1", "gene_2", "gene_[3]")),
        roots=("age", "sex"),
        leaves=("gene_1", "gene_2"),
        max_parents=(("gene_1", 1), ("gene_2", 3), ("gene_[3]", 3)),
        apart=(("gene_1", "gene_2", "gene_[3]", "sex"),),
    )
    assert over.over(GENES) is over


def test_a_name_that_there_is_stands_for_itself_alone():
    names = ("[ab]", "a", "b", "*")
    known = Knowledge(roots=("[ab]",), forbidden=(("*", "a"), ("a", "a")), leaves=("?",))
    assert known.over(names) == Knowledge(roots=("[ab]",), forbidden=(("*", "a"), ("a", "a")), leaves=("a", "b", "*"))


def test_spellings_that_differ_in_encoding_or_blanks_are_one_name():
    known = Knowledge(roots=("Orle\u0301ans", "age  in\nyears"))
    assert known.over(("Orl\u00e9ans", "age in years")).roots == ("Orl\u00e9ans", "age in years")
    with pytest.raises(InputError, match="there is no variable"):  # which of the two is not known
        Knowledge(roots=("a  b",)).over(("a\tb", "a b "))


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (Knowledge(roots=("[xyz]*",)), "roots: no variable fits '[xyz]*'; there are 'gene_1', 'gene_2', 'age'"),
        (Knowledge(tiers=(("agee",),)), "tiers: there is no variable 'agee'; did you mean 'age'?"),
        (Knowledge(apart=(("age", "x"),)), "apart: there is no variable 'x'"),
        (Knowledge(allowed=(("a*", "ag?"),)), "allowed: only 'age' fits both, and no arc joins a variable to itself."),
    ],
)
def test_a_pattern_that_fits_nothing_is_refused(known, sentence):
    with pytest.raises(InputError) as error:
        known.over(GENES)
    assert sentence in str(error.value)


def test_patterns_of_too_many_arcs_are_refused_before_they_are_made():
    names = tuple(f"v{i}" for i in range(1001))
    with pytest.raises(InputError, match="all pairs of 1,001 and 1,001 variables are 1,002,001 arcs; say it by tiers"):
        Knowledge(forbidden=(("*", "*"),)).over(names)
    assert len(Knowledge(forbidden=(("v1", "*"),)).over(names).forbidden) == 1000


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_solver_verifier_and_plain_words_agree_on_every_arc(seed, n):
    rng = np.random.default_rng(seed)
    names = tuple("abcde"[:n])
    known = random_knowledge(rng, names)
    constraints = constraints_of(Claim(knowledge=known), names)
    demands, ruled_out = demands_of(names, None, known), known.ruling_out()
    for p, c in itertools.product(range(n), repeat=2):
        out = bool(rules_out(known, names[p], names[c]))
        assert constraints.allowed[p, c] == (not out)
        assert (p in demands.may[c]) == (not out)
        assert (ruled_out(names[p], names[c]) is not None) == out
        assert constraints.required[p, c] == (p in demands.must[c]) == ((names[p], names[c]) in known.required)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("ab*?[]", min_size=1, max_size=4), min_size=1, max_size=6, unique=True), st.data())
def test_any_pattern_is_what_fnmatch_says(names, data):
    pattern = data.draw(st.text("ab*?[]!", min_size=1, max_size=4))
    wanted = [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    if wanted:
        assert Knowledge(roots=(pattern,)).over(names).roots == tuple(wanted)
    else:
        with pytest.raises(InputError, match="roots: "):
            Knowledge(roots=(pattern,)).over(names)


def test_a_wide_tier_without_arcs_stays_one_set():
    names = tuple(f"v{i}" for i in range(2000))
    known = Knowledge(tiers=(("v1*",), ("v[!1]*",)), apart=(("v1*",),)).over(names)
    first = {name for name in names if name.startswith("v1")}
    assert known.document()["apart"] == [[name for name in names if name in first]]
    constraints, demands = constraints_of(Claim(knowledge=known), names), demands_of(names, None, known)
    own = np.array([name in first for name in names])
    allowed = ~np.eye(2000, dtype=bool) & ~(own[:, None] & own[None, :]) & ~(~own[:, None] & own[None, :])
    assert np.array_equal(constraints.allowed, allowed)
    assert [len(may) for may in demands.may] == allowed.sum(axis=0).tolist()


def test_a_required_arc_in_a_set_without_arcs_is_refused():
    with pytest.raises(InputError, match="'a' to 'b' is required, but both are in a set without arcs: leave one"):
        Knowledge(required=(("a", "b"),), apart=(("c", "a"), ("a", "b"))).check()
    Knowledge(required=(("a", "b"),), apart=(("a", "c"), ("b", "c"))).check()


def test_what_there_is_is_told_in_full():
    known = Knowledge(apart=(("a", "b"), ("c", "d")), leaves=("a", "b"), roots=("c",))
    assert str(known) == "1 root, 2 leaves, 2 sets without arcs"
    assert str(Knowledge()) == "nothing"
