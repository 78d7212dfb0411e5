"""The longest tasks of finding families look at `halt` on the way."""

import numpy as np
import pytest
from cases import random_dataset

from extbnsl.core.claims import Claim
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.by_child import pair_variables
from extbnsl.parents.exhaustive.children import Child
from extbnsl.parents.exhaustive.single_parents import single_costs
from extbnsl.parents.exhaustive.source import source_of

GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)


def problem(claim=Claim()):
    dataset = random_dataset(np.random.default_rng(0), 9, 100)
    source = source_of(dataset, claim)
    with Workers(1) as workers:
        return source.with_floors(source.problem(0.0), workers)


@pytest.mark.parametrize("claim", [Claim(), Claim("bdeu")])
def test_single_parents(claim):
    own = problem(claim)
    whole = single_costs(0, own, GO_ON)
    halted = single_costs(0, own, STOP)
    assert np.isfinite(whole[1:]).sum() > np.isfinite(halted[1:]).sum() == 0


def test_pairs_of_parents():
    own = problem()
    n = own.limits.size
    most = [
        pair_variables(3, Child(x, np.delete(np.arange(n), x), np.ones((n - 1, n - 1), np.uint8)), own, halt)
        for halt in (GO_ON, STOP)
        for x in range(n)
    ]
    whole, halted = (sum(int(child.pairs.sum()) for child in some) for some in (most[:n], most[n:]))
    assert whole < halted
