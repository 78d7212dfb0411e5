"""What takes long in finding the k best networks hears a stop."""

import numpy as np
import pytest
from test_classes import all_parents
from test_constants import scores_within, with_still
from test_networks import random_list

from extbnsl.core.claims import INTERRUPTED
from extbnsl.kbest import constants
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.networks import joined
from extbnsl.kbest.ranking import class_keys
from extbnsl.machine.workers import Stopped

STOP = np.ones(1, np.uint8)


def stopped():
    raise Stopped(INTERRUPTED)


def test_families_with_constants():
    dataset = next(own for own in (with_still(seed, 6) for seed in range(20)) if constants.constants(own))
    _, own = scores_within(dataset, 1e9)
    with pytest.raises(Stopped):
        with_constants(own, dataset, 1e9, None, stopped)


def test_lists_that_are_put_together(sizes):
    sizes({"networks.PAIRS": 3})
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
