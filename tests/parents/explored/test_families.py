"""Families as lists of members, and as bitmasks."""

import numpy as np
import pytest
from cases import random_families, scores_of
from naive import members
from soundness import check_list

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import unpack
from extbnsl.parents.explored.families import NONE, as_local_scores, family_list


def listed(families, most=None):
    """The list of families given as (members, cost)."""
    rows = np.full((len(families), 8), NONE, np.int32)
    for row, (own, _) in zip(rows, families, strict=True):
        row[: len(own)] = own
    return family_list(rows, np.array([float(cost) for _, cost in families]), most)


def shown(own):
    return [(own.members(i), float(own.costs[i])) for i in range(own.families)]


def test_families_are_in_canonical_order_whatever_their_order_was():
    families = [((), 5.0), ((1, 300), 4.0), ((2, 9), 4.0), ((3,), 4.0), ((0, 9), 4.0), ((1, 2, 3), 1.0)]
    expected = [((1, 2, 3), 1.0), ((3,), 4.0), ((0, 9), 4.0), ((2, 9), 4.0), ((1, 300), 4.0), ((), 5.0)]
    for seed in range(5):
        own = listed([families[i] for i in np.random.default_rng(seed).permutation(6)])
        check_list(own)
        assert shown(own) == expected


def test_the_cheapest_and_the_empty_set_are_kept():
    families = [((), 5.0), ((1,), 4.0), ((2,), 3.0), ((3,), 2.0)]
    assert shown(listed(families, 2)) == [((3,), 2.0), ((), 5.0)]
    assert shown(listed(families, 1)) == [((), 5.0)]
    assert shown(listed([((), 1.0), ((1,), 4.0)], 1)) == [((), 1.0)]
    assert len(shown(listed(families, 4))) == 4


@pytest.mark.parametrize("n", [3, 9])
def test_local_scores_of_lists_are_those_of_the_families(n):
    families = random_families(np.random.default_rng(n), n)
    lists = [listed([(members(varset), cost) for varset, cost in own]) for own in families]
    scores, expected = as_local_scores([f"v{j}" for j in range(n)], lists, Claim("file")), scores_of(families)
    assert scores.fingerprint == expected.fingerprint


def test_local_scores_of_more_variables_than_a_word_has_bits():
    names = [f"v{j}" for j in range(200)]
    lists = [listed([((), 2.0)]) for _ in names]
    lists[5] = listed([((), 2.0), ((3, 64, 199), 1.0), ((70,), 1.5)])
    scores = as_local_scores(names, lists, Claim("mdl", 3))
    assert [unpack(varset) for varset in scores.parents[5]] == [(3, 64, 199), (70,), ()]
    assert (scores.score, scores.max_parents) == ("mdl", 3)
    with pytest.raises(InputError, match="more than 2 parents"):
        as_local_scores(names, lists, Claim("mdl", 2))
