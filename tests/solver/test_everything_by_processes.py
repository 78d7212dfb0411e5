"""Every question is answered alike by threads and by two processes of Dask's."""

import importlib.util

import pytest
from patching import sized
from test_everything_by_hands import SMALL, answer_of, questions

import extbnsl.machine.dask_hands

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(6))
def test_the_same_answers_by_processes(seed, cluster):
    for ask in questions(100 + seed):
        with sized(SMALL):
            assert answer_of(ask(cluster)) == answer_of(ask(None))


@pytest.fixture(scope="module")
def cluster():
    """A client of two processes, which look after their workers often."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("dask.distributed is not installed")
    from distributed import Client, LocalCluster

    with (
        pytest.MonkeyPatch.context() as patch,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as processes,
        Client(processes) as client,
    ):
        patch.setattr(extbnsl.machine.dask_hands, "LOOK_SECONDS", 0.02)
        yield client
