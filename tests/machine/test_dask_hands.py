"""Real workers of Dask: losses, refusals, a scheduler that goes away, and what is told."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import extbnsl.machine.hands
import extbnsl.machine.spreading
from extbnsl.core.claims import NO_WORKERS
from extbnsl.core.events import Warned, WorkersChanged, ignore
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.dask_hands import DaskHands, hands_of
from extbnsl.machine.hands import Part
from extbnsl.machine.lending import Lent
from extbnsl.machine.workers import Stopped, Workers

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

TABLE = np.arange(100_000)
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.spreading, "START_SECONDS", 0.0)


def place(number, table, seconds):
    """A task: an entry of a table, and which process did it."""
    time.sleep(seconds)
    return int(table[number]), os.getpid()


def entry(number, table):
    """A task: an entry of a table, which is here as it was in the driver."""
    assert table.flags.writeable
    return int(table[number] if table.ndim == 1 else table[number, 0])


def many(number):
    """A task that returns more than a megabyte."""
    return np.full(300_000, number)


def meeting(number, table, folder):
    """A task that waits until another process has begun one too."""
    (Path(folder) / str(os.getpid())).touch()
    when(lambda: len(os.listdir(folder)) > 1)
    return int(table[number]), os.getpid()


def dying(number, marks):
    """A task that kills its process, once for each number."""
    mark = Path(marks) / str(number)
    if number % 4 == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number


def deadly(number, driver):
    """A task that kills every process but the driver."""
    if os.getpid() != driver:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def processes():
    """A cluster of two processes."""
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)


def when(reached, seconds=PATIENCE):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def numbers(reached, more):
    """Numbers until something is so, and some more."""
    end, number = time.monotonic() + PATIENCE, 0
    while more:
        assert reached() or time.monotonic() < end
        more -= bool(reached())
        yield number
        number += 1


def hands_from(client, told):
    """The hands of a client; `told` gets the events."""
    return hands_of(client, Budgets(threads=1).granted(Path()), told.append)


def test_two_processes_do_the_tasks_and_what_is_told(tmp_path):
    told = []
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, told) as hands:
        when(lambda: hands.slots == 2)
        with Workers(1, hands=hands) as workers:
            tasks = [(number, TABLE, str(tmp_path)) for number in range(100)]
            found = list(workers.spread(meeting, tasks, 4))
    assert [number for number, _ in found] == list(range(100))
    assert os.getpid() not in {process for _, process in found}
    last = [event for event in told if isinstance(event, WorkersChanged)][-1]
    assert (last.workers, last.worker_threads, last.workers_lost) == (2, 2, 0)
    assert last.tasks == 100
    assert last.bytes_sent > TABLE.nbytes
    assert last.bytes_received > 0
    assert not [event for event in told if isinstance(event, Warned)]


def test_workers_load_what_tasks_are_from_before_they_get_any():
    import extbnsl.solver.bootstrap  # what the driver has loaded

    def loaded(name):
        return name in sys.modules

    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, []):
        when(lambda: all(client.run(loaded, extbnsl.solver.bootstrap.__name__).values()))


def test_looks_of_the_client_itself_lose_no_worker(monkeypatch):
    """Those come with the number of workers, but none of them."""
    monkeypatch.setattr(extbnsl.machine.dask_hands, "WATCH_SECONDS", 0.001)
    often, told = {"distributed.client.scheduler-info-interval": "1ms"}, []
    with processes() as cluster, dask.config.set(often), distributed.Client(cluster) as client:
        with hands_from(client, told) as hands:
            when(lambda: hands.slots == 2)
            time.sleep(3.0)
        assert told[-1].workers_lost == 0


def test_processes_of_this_machine_look_at_one_copy_of_a_large_array(tmp_path):
    """Whoever is given a client's workers sends them all; both ways they get it as it is here."""
    table, told = np.arange(500_000), []
    with hands_of("local:2", Budgets(threads=2).granted(Path()), told.append) as hands:
        when(lambda: hands.slots == 2)
        put = hands.put(Part(table), lambda: None)
        assert isinstance(put, Lent)
        with Workers(1, hands=hands) as workers:
            found = list(workers.spread(meeting, [(number, table, str(tmp_path)) for number in range(40)], 4))
            odd = list(workers.spread(entry, [(number, table[::2].reshape(2, -1).T) for number in range(40)], 4))
    assert [number for number, _ in found] == list(range(40))
    assert odd == [2 * number for number in range(40)]
    assert not [event for event in told if isinstance(event, Warned)]


def test_results_that_are_lent_are_as_they_were_and_are_made_again_where_they_are_gone(monkeypatch):
    kept, gone = Lent._map, [OSError("gone"), OSError("gone")]

    def gone_at_first(lent):
        if gone:
            raise gone.pop()
        return kept(lent)

    with hands_of("local:2", Budgets(threads=2).granted(Path()), ignore) as hands:
        when(lambda: hands.slots == 2)
        monkeypatch.setattr(Lent, "_map", gone_at_first)
        with Workers(1, hands=hands) as workers:
            found = list(workers.spread(many, [(number,) for number in range(20)], 4))
    assert not gone
    assert [result[0] for result in found] == list(range(20))
    assert all(result.flags.writeable and (result == result[0]).all() for result in found)


def test_where_no_memory_can_be_lent_arrays_are_sent(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with hands_of("local:1", Budgets(threads=1).granted(Path()), ignore) as hands:
        when(lambda: hands.slots == 1)
        assert not isinstance(hands.put(Part(np.arange(500_000)), lambda: None), Lent)
        with Workers(1, hands=hands) as workers:
            assert list(workers.spread(entry, [(number, np.arange(500_000)) for number in range(9)], 4)) == [*range(9)]


def test_no_more_is_lent_than_files_may_be_open(monkeypatch):
    monkeypatch.setattr(extbnsl.machine.dask_hands, "MOST_LENT", 2)
    with hands_of("local:1", Budgets(threads=1).granted(Path()), ignore) as hands:
        when(lambda: hands.slots == 1)
        put = [hands.put(Part(np.arange(500_000)), lambda: None) for _ in range(4)]
        assert [isinstance(one, Lent) for one in put] == [True, True, False, False]
        del put[0]
        assert isinstance(hands.put(Part(np.arange(500_000)), lambda: None), Lent)


def test_workers_that_are_killed_cost_nothing_but_time(tmp_path):
    told = []
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, told) as hands:
        when(lambda: hands.slots == 2)
        with Workers(1, hands=hands) as workers:
            found = list(workers.spread(dying, [(number, str(tmp_path)) for number in range(16)], 4))
    assert found == list(range(16))


def test_a_task_that_kills_its_workers_is_done_by_the_driver():
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, []) as hands:
        when(lambda: hands.slots == 2)
        with Workers(1, hands=hands) as workers:
            assert list(workers.spread(deadly, [(5, os.getpid())], 4)) == [5]


def test_shared_arrays_survive_their_only_holder():
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, []) as hands:
        when(lambda: hands.slots == 2)
        with Workers(1, hands=hands) as workers:
            results = workers.spread(place, [(number, TABLE, 0.05) for number in range(40)], 4)
            found = [next(results)]
            for process in client.run(os.getpid).values():
                os.kill(process, signal.SIGKILL)
            found += list(results)
    assert [number for number, _ in found] == list(range(40))


def test_results_that_are_lost_on_their_way_are_found_again(monkeypatch):
    """Nobody may do those bundles any more: who comes has another address."""
    fetch, end = DaskHands._fetch, time.monotonic() + PATIENCE
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, []) as hands:
        holders = list(client.run(os.getpid).values())

        def late(hands, answer, sent):
            while holders:
                os.kill(holders.pop(), signal.SIGKILL)
            fetch(hands, answer, sent)

        monkeypatch.setattr(DaskHands, "_fetch", late)
        when(lambda: hands.slots == 2)
        with Workers(1, lambda: "time_limit" if time.monotonic() > end else None, hands) as workers:
            found = list(workers.spread(place, [(number, TABLE[:40], 0.01) for number in range(40)], 4))
    assert [number for number, _ in found] == list(range(40))


def test_a_worker_with_other_sources_gets_no_work(tmp_path):
    other = tmp_path / "site"
    package = Path(extbnsl.__file__).parent
    shutil.copytree(package, other / "extbnsl")
    (other / "extbnsl" / "core" / "added.py").write_text("# something else\n")
    told = []
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, told) as hands:
        when(lambda: hands.slots == 2)
        environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(other), os.environ["PYTHONPATH"]))}
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-dashboard"]
        with subprocess.Popen(
            [*command, "--nthreads", "1"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as stranger:
            try:
                when(lambda: len(client.nthreads()) == 3)
                when(lambda: hands.beat() or any(isinstance(event, Warned) for event in told))
                with Workers(1, hands=hands) as workers:
                    found = list(workers.spread(place, [(number, TABLE, 0.02) for number in range(60)], 4))
                assert hands.slots == 2
            finally:
                stranger.terminate()
    assert [number for number, _ in found] == list(range(60))
    assert stranger.pid not in {process for _, process in found}
    [warned] = [event.message for event in told if isinstance(event, Warned)]
    assert "other sources of extbnsl" in warned


@pytest.mark.parametrize("last", [None, {"workers": {}, "n_workers": 2}])
def test_a_scheduler_that_goes_away_ends_the_work(last, monkeypatch):
    """Also if the last that the client heard of it is the number of workers alone."""
    monkeypatch.setattr(extbnsl.machine.dask_hands, "PATIENCE_SECONDS", 1.0)
    with processes() as cluster:
        client = distributed.Client(cluster.scheduler_address)
        with hands_from(client, []) as hands, Workers(1, hands=hands) as workers:
            when(lambda: hands.slots == 2)
            results = workers.spread(place, [(number, TABLE, 0.05) for number in range(2000)], 4)
            assert next(results)[0] == 0
            if last:
                monkeypatch.setattr(client, "scheduler_info", lambda n_workers: last)
            cluster.close()
            with pytest.raises(Stopped, match=NO_WORKERS):
                list(results)


def test_that_all_workers_are_gone_is_told_once_it_has_lasted(monkeypatch):
    """At the terminal, an interrupt ends workers of this machine and the run: of those nothing is said."""
    told = []

    def sayings(hands):
        hands.beat()
        return [event.message for event in told if isinstance(event, Warned)]

    monkeypatch.setattr(extbnsl.machine.dask_hands, "GONE_SECONDS", PATIENCE)
    with processes() as cluster, distributed.Client(cluster) as client:
        with hands_from(client, told) as hands:
            when(lambda: hands.slots == 2)
            cluster.scale(0)
            when(lambda: hands.slots == 0)
            time.sleep(1.0)
            assert not sayings(hands)
        monkeypatch.setattr(extbnsl.machine.dask_hands, "GONE_SECONDS", 1.0)
        with hands_from(client, told) as hands:
            for times in (1, 2):
                cluster.scale(1)
                when(lambda: hands.slots == 1)
                cluster.scale(0)
                when(lambda times=times: len(sayings(hands)) == times)
            time.sleep(2.0)
            assert sayings(hands) == ["All workers are gone; the run stops if none comes within 0:01:00."] * 2


def test_workers_that_come_later_join_in():
    cluster = distributed.LocalCluster(n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client, hands_from(client, []) as hands, Workers(1, hands=hands) as w:
        results = w.spread(place, ((number, TABLE, 0.1) for number in numbers(lambda: hands.slots, 60)), 4)
        first = next(results)
        cluster.scale(2)
        found = [first, *results]
    assert [number for number, _ in found] == list(range(len(found)))
    assert {process for _, process in found} > {os.getpid()}


def test_workers_of_this_machine_see_its_folders_and_the_mark_goes(tmp_path):
    mark = tmp_path / "mark"
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, []) as hands:
        when(lambda: hands.slots == 2)
        assert hands.see(mark)
        assert hands.see(mark)
        with Workers(1, hands=hands) as workers:  # tasks go to those that see it
            assert len(list(workers.spread(place, [(number, TABLE, 0.0) for number in range(9)], 4))) == 9
        assert not hands.see(tmp_path / "none" / "mark")
    assert not mark.exists()


def test_a_worker_that_does_not_see_the_folder_is_told_of_once(tmp_path, monkeypatch):
    told = []
    with processes() as cluster, distributed.Client(cluster) as client, hands_from(client, told) as hands:
        when(lambda: hands.slots == 2)
        monkeypatch.chdir(tmp_path)  # where the workers are not
        # at first one may be busy
        when(lambda: not hands.see(Path("mark")) and any(isinstance(event, Warned) for event in told))
        said = [event.message for event in told if isinstance(event, Warned)]
        assert not hands.see(Path("mark"))
        assert [event.message for event in told if isinstance(event, Warned)] == said
    assert len(said) == 1
    assert "does not see" in said[0]
    assert not Path("mark").exists()


def pause(dask_worker):
    """What Dask does when memory is nearly full."""
    dask_worker.status = distributed.core.Status.paused


def test_a_worker_whose_memory_is_full_holds_up_nothing():
    told = []
    never = dask.config.set({"distributed.worker.memory.pause": False})
    with never, processes() as cluster, distributed.Client(cluster) as client, hands_from(client, told) as hands:
        when(lambda: hands.slots == 2)
        address = next(iter(client.nthreads()))
        with Workers(1, hands=hands) as workers:
            results = workers.spread(place, [(number, TABLE, 0.05) for number in range(80)], 4)
            found = [next(results)]
            client.run(pause, workers=[address])
            found += list(results)
        assert hands.slots == 1
    assert [number for number, _ in found] == list(range(80))
    assert [event.message for event in told if isinstance(event, Warned)] == [
        f"The worker at {address} gets no work while its memory is nearly full."
    ]


@pytest.mark.parametrize("before", [0, 5], ids=["while arrays go out", "later"])
def test_a_worker_that_does_not_answer_does_not_hold_up_a_stop(before):
    reasons = []
    with processes() as cluster, distributed.Client(cluster) as client:
        frozen = next(iter(client.run(os.getpid).values()))
        try:
            with hands_from(client, []) as hands, Workers(1, lambda: reasons[0] if reasons else None, hands) as workers:
                when(lambda: hands.slots == 2)
                results = workers.spread(place, [(number, TABLE, 0.05) for number in range(2000)], 4)
                for _ in range(before):
                    next(results)
                os.kill(frozen, signal.SIGSTOP)
                threading.Timer(1.0, reasons.append, ["time_limit"]).start()
                began = time.monotonic()
                with pytest.raises(Stopped, match="time_limit"):
                    list(results)
            assert time.monotonic() - began < 8.0
        finally:
            os.kill(frozen, signal.SIGCONT)


def test_one_that_does_not_answer_holds_up_no_other(monkeypatch):
    """Each hears of the driver in time, and goes on."""
    monkeypatch.setattr(extbnsl.machine.dask_hands, "BEAT_SECONDS", 0.2)
    with processes() as cluster, distributed.Client(cluster) as client:
        frozen, other = client.run(os.getpid).items()
        try:
            with hands_from(client, []) as hands:
                when(lambda: hands.slots == 2)
                os.kill(frozen[1], signal.SIGSTOP)
                for _ in range(5):
                    time.sleep(1.0)
                    assert client.submit(silence, hands._driver.name, pure=False, workers=[other[0]]).result() < 3.0
        finally:
            os.kill(frozen[1], signal.SIGCONT)


def silence(driver):
    """Seconds since this worker has heard of a driver."""
    return time.monotonic() - extbnsl.machine.hands._work._heard[driver]
