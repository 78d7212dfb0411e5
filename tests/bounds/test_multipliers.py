"""Multipliers between those of two: a concave bound, whole weights, and cuts that both have counted once."""

import numpy as np
import pytest
from cases import random_families
from pricing import packed, random_cuts

from extbnsl.bounds.multipliers import UNIT, between, families_of, multipliers_of

N = 7


def weighted(rng):
    cuts = random_cuts(rng, N)
    return packed(cuts, N), np.array([weight for _, weight in cuts], np.int64)


def arrays_of(families):
    parents = [np.array([[v] for v, _ in own], np.uint64) for own in families]
    return families_of(parents, [np.array([cost for _, cost in own]) for own in families])


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_between_two_is_no_less_than_their_mean(seed):
    rng = np.random.default_rng(seed)
    families, one, other, share = arrays_of(random_families(rng, N)), weighted(rng), weighted(rng), rng.random()
    cuts, weights = between(one, other, share)
    assert weights.dtype == np.int64
    assert (weights > 0).all()
    roots = [multipliers_of(families, *both).root for both in (one, other, (cuts, weights))]
    assert roots[2] >= share * roots[0] + (1.0 - share) * roots[1] - (len(one[0]) + len(other[0])) * N * UNIT
    assert len({cut.tobytes() for cut in cuts}) == len(cuts)


def test_a_cut_of_both_has_parts_of_both_weights_and_one_of_no_weight_goes():
    cuts = packed([([{0, 1}], 0), ([{2, 3}], 0), ([{4, 5}], 0)], N)
    one, other = (cuts[:2], np.array([10, 1])), (cuts[1:], np.array([20, 5]))
    found, weights = between(one, other, 0.5)
    expected = {cuts[0].tobytes(): 5, cuts[1].tobytes(): 10, cuts[2].tobytes(): 2}
    assert {cut.tobytes(): weight for cut, weight in zip(found, weights.tolist(), strict=True)} == expected
    assert not between((cuts[:1], np.array([1])), (cuts[:0], np.zeros(0, np.int64)), 0.5)[0].size
