"""What takes long in finding the k best networks hears a stop."""

import numpy as np
import pytest
from kbest_twins import small_dataset
from test_classes import all_parents
from test_constants import scores_within, with_still
from test_networks import random_list
from test_permutations import found_of

from extbnsl.claims import INTERRUPTED
from extbnsl.kbest import constants, networks
from extbnsl.kbest.classes import class_keys
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.needed import needed_families
from extbnsl.kbest.networks import joined
from extbnsl.kbest.permutations import limit_under_all_orders
from extbnsl.machine.workers import Stopped

STOP = np.ones(1, np.uint8)


def stopped():
    raise Stopped(INTERRUPTED)


def test_limits_by_permutation_trees():
    for seed in range(30):
        problem, best, _ = found_of(small_dataset(seed, 4))
        looked = [limit_under_all_orders(problem, best, child, 12).nodes > 0 for child in range(4)]
        if any(looked):
            with pytest.raises(Stopped):
                limit_under_all_orders(problem, best, looked.index(True), 12, check=stopped)
            return
    pytest.fail("no tree was looked at")


def test_families_with_constants():
    dataset = next(own for own in (with_still(seed, 6) for seed in range(20)) if constants.constants(own))
    _, own = scores_within(dataset, 1e9)
    with pytest.raises(Stopped):
        with_constants(own, dataset, 1e9, None, stopped)


def test_lists_that_are_put_together(monkeypatch):
    monkeypatch.setattr(networks, "PAIRS", 3)
    rng = np.random.default_rng(0)
    lists = [random_list(rng, 9, 1) for _ in range(3)]
    calls = []
    joined(lists, [[0], [1], [2]], 1e9, None, check=lambda: calls.append(1))
    assert len(calls) > 3
    with pytest.raises(Stopped):
        joined(lists, [[0], [1], [2]], 1e9, None, check=stopped)


def test_kernels():
    parents = all_parents(4)
    assert class_keys(parents).any()
    assert not class_keys(parents, STOP).any()
    varsets, costs = np.arange(8, dtype=np.uint64)[:, None], np.arange(8.0)
    assert needed_families(varsets, costs, 9).all()
    assert not needed_families(varsets, costs, 9, STOP).any()
