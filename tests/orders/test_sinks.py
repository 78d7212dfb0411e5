"""An order from a solution of the linear program."""

import naive
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.kernels.varsets import pack

SETTINGS = settings(deadline=None, max_examples=30)


def support_of(families, n):
    """Families (child, parents, x) as the linear program has them."""
    varsets = [pack(parents, n) for _, parents, _ in families]
    children = np.array([child for child, _, _ in families], np.int64)
    return np.ascontiguousarray(np.stack(varsets, axis=1)), children, np.array([x for *_, x in families])


def naive_order(families, n):
    """The slow twin: what counts is added up anew for every place."""
    there, order = set(range(n)), []
    while there:
        left = [(set(p), x) for child, p, x in families if child in there and set(p) <= there]
        weight = {v: sum(x for parents, x in left if v in parents) for v in there}
        sink = max(v for v in there if weight[v] == min(weight.values()))
        order.insert(0, sink)
        there.remove(sink)
    return order


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 5, 9, 70]))
def test_a_network_comes_in_an_order_of_its_own(seed, n):
    rng = np.random.default_rng(seed)
    wanted = rng.permutation(n).tolist()
    families = [(v, rng.choice(wanted[:k], min(k, 3), False).tolist(), 1.0) for k, v in enumerate(wanted)]
    order = order_of_solution(*support_of(families, n), n).tolist()
    assert sorted(order) == list(range(n))
    assert all(order.index(p) < order.index(v) for v, parents, _ in families for p in parents)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_the_least_parent_is_the_sink(seed, n):
    """Values are quarters, so that every sum is exact."""
    rng = np.random.default_rng(seed)
    families = []
    for child in range(n):
        for _ in range(rng.integers(1, 5)):
            parents = naive.members(int(rng.integers(0, 1 << n)) & ~(1 << child))
            families.append((child, list(parents), float(rng.integers(1, 5)) / 4))
    assert order_of_solution(*support_of(families, n), n).tolist() == naive_order(families, n)
