"""Every question is answered alike by threads and by two processes of Dask's."""

import time
from pathlib import Path

import pytest
from patching import sized
from test_everything_by_hands import SMALL, answer_of, questions

from extbnsl.machine.budgets import Budgets
from extbnsl.machine.dask_hands import hands_of

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(6))
def test_the_same_answers_by_processes(seed, hands_and_told):
    hands, told = hands_and_told
    for ask in questions(100 + seed):
        with sized(SMALL):
            assert answer_of(ask(hands)) == answer_of(ask(None))
    time.sleep(2.1)
    hands.beat()
    assert told[-1].tasks > 10 * (seed + 1)
    assert told[-1].workers_lost == 0


@pytest.fixture(scope="module")
def hands_and_told():
    """Hands of two processes, and the list of what they tell."""
    told, granted = [], Budgets(threads=1).granted(Path())
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as processes,
        distributed.Client(processes) as client,
        hands_of(client, granted, told.append) as hands,
    ):
        while hands.slots < 2:
            time.sleep(0.05)
        yield hands, told
