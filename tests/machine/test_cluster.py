"""What `--cluster` may be, and the clients that come of it: local processes, schedulers that are there or not, and jobs
of a queue that is played here; a real one is in test_slurm.py."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import psutil
import pytest
from processes import is_alive
from queues import FakeQueue

from extbnsl.core.errors import InputError
from extbnsl.machine.cluster import QUEUES, SCALING, Cluster, cluster_client, hands_given, named, patience_with
from extbnsl.machine.system import ENVIRONMENT

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("dask_jobqueue")

SITE = {"cores": 1, "memory": "1GB", "interface": "lo"}


@pytest.mark.parametrize(
    ("text", "cluster"),
    [
        ("local:1", Cluster("local", number=1)),
        ("tcp://node-7.example.org:8786", Cluster("", "tcp://node-7.example.org:8786")),
        ("tls://[::1]:8786", Cluster("", "tls://[::1]:8786")),
        ("scheduler-file:/a b/c.json", Cluster("scheduler-file", "/a b/c.json")),
        *((f"{queue}:4096", Cluster(queue, number=4096)) for queue in QUEUES),
    ],
)
def test_what_is_named(text, cluster):
    assert named(text) == cluster
    assert hands_given(text, "--cluster") == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "local",
            "local:",
            "local:0",
            "local:-1",
            "local:1.5",
            "local:x",
            "local:4097",
            "Local:2",
            "slurm:",
            "moab:2",
        ),
        *("10.0.0.1:8786", "tcp:10.0.0.1:8786", "tcp://10.0.0.1", "tcp://10.0.0.1:", "tcp://10.0.0.1:0", "tcp://:8786"),
        *("tcp://10.0.0.1:65536", "http://10.0.0.1:8787", "inproc://x:1", "scheduler-file:", "local:\u0662"),
    ],
)
def test_what_names_nothing(text):
    with pytest.raises(InputError, match=r"^--given: .*(, with N from 1 to 4,096|; give .*slurm:N.*)\.$"):
        hands_given(text, "--given")


def test_a_client_may_be_given_and_nothing_else(monkeypatch):
    client = object.__new__(distributed.Client)
    assert hands_given(client, "hands") is client
    with pytest.raises(InputError, match="hands: 3 is no client"):
        hands_given(3, "hands")
    monkeypatch.delitem(__import__("sys").modules, "distributed")
    with pytest.raises(InputError, match="hands: 3 is no client"):
        hands_given(3, "hands")


def test_jobs_are_waited_for_longer_than_processes():
    assert patience_with("local:2") == patience_with("tcp://a:1") < patience_with("slurm:2")


def where():
    """A function that a worker runs without this module: its process, and its job."""

    def tell(seconds=0.0):
        time.sleep(seconds)
        return os.getpid(), os.environ.get("JOB")

    return tell


def until(is_true, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it has not become true"
        time.sleep(0.05)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


def told_to():
    """Where the loggers of Dask write, and how many threads and processes there are."""
    handlers = {name: list(logging.getLogger(name).handlers) for name in ("distributed", "tornado", "asyncio")}
    return handlers, psutil.Process().children(recursive=True)


def test_processes_of_this_machine_share_the_threads_and_leave_nothing(scratch, capfd):
    with contextlib.suppress(KeyError), cluster_client("local:1", 1):
        raise KeyError  # the first one starts what multiprocessing keeps
    before = told_to()
    with cluster_client("local:2", 5) as client:
        assert sorted(client.nthreads().values()) == [2, 2]
        assert len({client.submit(where(), pure=False, workers=[one]).result() for one in client.nthreads()}) == 2
        assert os.listdir(scratch)
    assert told_to() == before
    assert os.listdir(scratch) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_of_a_worker_that_is_killed_nothing_comes_to_the_terminal(scratch, capfd):
    with cluster_client("local:2", 1) as client:
        slow = client.map(where(), [1.0] * 6, pure=False)
        until(lambda: any(one.done() for one in slow))
        process, _ = client.submit(where(), pure=False).result()
        os.kill(process, signal.SIGKILL)
        assert len(client.gather(slow)) == 6
        until(lambda: len(client.nthreads()) == 2)
    assert os.listdir(scratch) == []
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def mute():
    """The port of somebody who takes calls, and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_there_is_no_scheduler(sizes, mute):
    sizes(CONNECT_SECONDS=0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        for port, why in ((nobody.getsockname()[1], "Timed out"), (mute, "it does not answer")):
            with (
                pytest.raises(InputError, match=rf"--cluster: there is no scheduler at tcp://127.0.0.1:{port} \({why}"),
                cluster_client(f"tcp://127.0.0.1:{port}", 1),
            ):
                pass
    with pytest.raises(InputError, match=r"no scheduler at tls.*TLS"), cluster_client(f"tls://127.0.0.1:{mute}", 1):
        pass


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "No such file"), ("{", "it holds no JSON"), ("[]", "it has no address"), ('{"address": 1}', "no address")],
)
def test_files_that_are_none_of_a_scheduler(text, why, here):
    if text is not None:
        (here / "s.json").write_text(text)
    with pytest.raises(InputError, match=f"--cluster: s.json .*{why}"), cluster_client("scheduler-file:s.json", 1):
        pass


def test_a_scheduler_that_is_there_is_left_as_it_was(here, sizes):
    with distributed.LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=None) as cluster:
        (here / "s.json").write_text(json.dumps({"address": cluster.scheduler_address}))
        for text in (cluster.scheduler_address, "scheduler-file:s.json"):
            with cluster_client(text, 1) as client:
                assert client.submit(abs, -3).result() == 3
        assert len(cluster.scheduler_info["workers"]) == 1
    sizes(CONNECT_SECONDS=0.5)
    with (
        pytest.raises(InputError, match=r"no scheduler at .*, of which s\.json tells"),
        cluster_client("scheduler-file:s.json", 1),
    ):
        pass


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """Makes a queue of a site, whose configuration of Dask says what jobs need."""
    with contextlib.ExitStack() as stack:

        def make(kind="slurm", refused=(), **more):
            made = FakeQueue(tmp_path, kind, refused)
            monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
            monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
            settings = {f"jobqueue.{kind}.{name}": value for name, value in (SITE | more).items()}
            settings |= {"distributed.deploy.lost-worker-timeout": "1s", "distributed.adaptive.interval": "100ms"}
            stack.enter_context(dask.config.set(settings))
            return made

        yield make


@pytest.mark.parametrize("kind", ["slurm", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("pbs", "lsf"))])
def test_jobs_do_the_work_and_none_is_left(kind, queue, scratch, capfd):
    jobs = queue(kind)
    with cluster_client(f"{kind}:2", 1) as client:
        assert len(jobs.submitted) == 1
        found = client.gather(client.map(where(), [0.5] * 20, pure=False))
        assert {job for _, job in found} == {"0", "1"}
        assert len(jobs.submitted) == 2
    until(lambda: not jobs.jobs(), 10.0)
    assert [name for name in os.listdir(scratch) if "extbnsl" in name] == []  # a job has its own
    until(lambda: not any(is_alive(process) for process, _ in found), 10.0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["begun", "submitted"])
def test_no_job_is_left_after_an_error(moment, queue):
    jobs = queue()
    with contextlib.suppress(KeyboardInterrupt), cluster_client("slurm:2", 1) as client:
        if moment == "begun":
            client.submit(where(), pure=False).result()
        raise KeyboardInterrupt
    until(lambda: not jobs.jobs(), 10.0)
    assert len(jobs.submitted) == 1


@pytest.mark.slow
def test_a_job_that_was_killed_is_replaced(queue, capfd):
    jobs = queue()
    with cluster_client("slurm:1", 1) as client:
        assert client.submit(where(), pure=False).result()[1] == "0"
        jobs.kill(0)
        assert client.submit(where(), pure=False).result()[1] == "1"
        assert jobs.jobs() == {1}
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_job_that_the_queue_did_not_take_is_submitted_again(queue, sizes, capfd):
    sizes(RETRY_SECONDS=1.0)
    jobs = queue(refused=[1, 2])
    with cluster_client("slurm:1", 1) as client:
        client.submit(where(), pure=False).result()
        jobs.kill(0)
        assert client.submit(where(), pure=False).result()[1] == "3"
    until(lambda: not jobs.jobs(), 10.0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_jobs_without_work_end_but_for_one(queue):
    jobs = queue()
    with dask.config.set({"distributed.adaptive.wait-count": 3}), cluster_client("slurm:3", 1) as client:
        done = client.map(where(), [0.5] * 30, pure=False)
        until(lambda: len(jobs.jobs()) == 3)
        client.gather(done)
        until(lambda: len(jobs.jobs()) == 1)
        assert client.submit(where(), pure=False).result()[1] == str(*jobs.jobs())


def test_what_a_site_says_counts(queue):
    """Its folder of logs, its processes, and how Dask is to follow the work; ours is where it says nothing."""
    with dask.config.set({"distributed.adaptive.wait-count": 7}):
        lists = {"job-extra-directives": ["--qos=low"], "job-script-prologue": ["export SITE=ours"]}
        jobs = queue(processes=2, cores=4, queue="long", **lists)
        with cluster_client("slurm:1", 1):
            (script,) = jobs.submitted
            assert dask.config.get("distributed.adaptive.wait-count") == 7
    lines = "#SBATCH -p long\n", "#SBATCH --qos=low\n", "export SITE=ours\nexport MALLOC_"
    for said in (*lines, "--nthreads 2 ", "--nworkers 2 ", "--interface lo"):
        assert said in script
    assert (
        dask.config.get("distributed.adaptive.target-duration") == SCALING["distributed"]["adaptive"]["target-duration"]
    )


def test_one_process_a_job_has_all_its_threads(queue):
    jobs = queue(cores=4)
    with cluster_client("slurm:1", 1):
        (script,) = jobs.submitted
    assert "--nthreads 4 " in script
    assert "--nworkers" not in script


@pytest.mark.slow
def test_processes_keep_some_of_what_they_free(monkeypatch):
    for name in ENVIRONMENT:  # what is there counts, also what Dask has left of another cluster
        monkeypatch.delenv(name, raising=False)
    with cluster_client("local:1", 1) as client:
        found = client.submit(os.getenv, "MALLOC_TRIM_THRESHOLD_").result()
    assert found == ENVIRONMENT["MALLOC_TRIM_THRESHOLD_"]


def refusal(text):
    with pytest.raises(InputError) as raised, cluster_client(text, 1):
        pass
    return str(raised.value)


def test_what_a_queue_lacks_is_said_in_a_sentence(queue, monkeypatch, uninstalled):
    queue(refused=[0], cores=None)
    assert "says no cores: write jobqueue.slurm.cores into" in refusal("slurm:2")
    with dask.config.set({"jobqueue.slurm.cores": 1}):
        why = "the queue takes no job of a worker (error: the controller is away)."
        assert refusal("slurm:2") == f"--cluster slurm:2: {why}"
    with dask.config.set({"jobqueue.slurm.cores": 1, "jobqueue.slurm.interface": "none7"}):
        assert "'none7' is not a valid network interface" in refusal("slurm:2")
    assert refusal("lsf:2") == "--cluster lsf:N submits jobs by bsub, which is not installed here."
    monkeypatch.setenv("PATH", "")
    assert refusal("slurm:2") == "--cluster slurm:N submits jobs by sbatch, which is not installed here."
    uninstalled("dask_jobqueue")
    assert refusal("slurm:2") == "--cluster slurm:2 needs dask_jobqueue: pip install 'extbnsl[cluster]'."
    uninstalled("distributed")
    assert refusal("local:2") == "--cluster needs distributed: pip install 'extbnsl[cluster]'."


@pytest.mark.slow
def test_a_script_that_does_not_say_where_its_work_begins_is_told_so(tmp_path):
    """Each process would begin it again."""
    script = tmp_path / "script.py"
    script.write_text("import extbnsl\nextbnsl.learn([[0, 1], [1, 0]] * 9, names=['a', 'b'], hands='local:1')\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1
    assert "work begins under if __name__ == '__main__'" in done.stderr
