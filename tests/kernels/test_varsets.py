"""Sets of variables as rows of words, beside Python's own sets."""

import numpy as np
import pytest

from extbnsl.kernels import varsets
from extbnsl.scores.local import canonical_order


def some_sets(rng, count, variables):
    """Small sets of variables, the empty one among them."""
    return [set(), *(set(rng.choice(variables, min(variables, int(rng.integers(5)))).tolist()) for _ in range(count))]


@pytest.mark.parametrize("variables", [1, 5, 63, 64, 65, 128, 130, 1000])
def test_packed_sets_come_back(variables):
    for members in [*some_sets(np.random.default_rng(variables), 20, variables), set(range(variables))]:
        row = varsets.pack(iter(members), variables)
        assert (row.dtype, row.shape) == (np.uint64, (varsets.words(variables),))
        assert sum(int(word) << 64 * w for w, word in enumerate(row)) == sum(1 << v for v in members)
        assert varsets.unpack(row) == tuple(sorted(members))
        assert varsets.sizes(row) == len(members)


@pytest.mark.parametrize("variables", [1, 64, 65, 130])
def test_members_are_added_in_place(variables):
    row = varsets.pack((), variables)
    for known in range(variables):
        varsets.add(known, row)
        varsets.add(known, row)
        assert varsets.unpack(row) == tuple(range(known + 1))


@pytest.mark.parametrize(("variables", "left"), [(5, 5), (64, 3), (70, 64), (70, 65), (200, 130), (1000, 1)])
def test_members_get_other_numbers_or_are_left_out(sizes, variables, left):
    sizes({"varsets.ROWS": 7})
    rng = np.random.default_rng(left)
    new = np.full(variables, -1)
    new[rng.choice(variables, min(left, variables), replace=False)] = rng.permutation(min(left, variables))
    sets = some_sets(rng, 40, variables)
    rows = np.stack([varsets.pack(members, variables) for members in sets])
    found = varsets.renumber(rows, new, left)
    assert found.shape == (41, varsets.words(left))
    expected = [tuple(sorted(int(new[v]) for v in members if new[v] >= 0)) for members in sets]
    assert [varsets.unpack(row) for row in found] == expected


@pytest.mark.parametrize("variables", [10, 64, 65, 300])
def test_families_are_ordered_by_cost_then_size_then_number(variables):
    rng = np.random.default_rng(variables)
    sets = some_sets(rng, 200, variables)
    costs = rng.integers(0, 3, len(sets)).astype(float)
    rows = np.stack([varsets.pack(members, variables) for members in sets])
    order = canonical_order(rows, costs).tolist()
    expected = [(cost, len(members), sum(1 << v for v in members)) for members, cost in zip(sets, costs, strict=True)]
    assert [expected[i] for i in order] == sorted(expected)
