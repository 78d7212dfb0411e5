"""A campaign that is killed goes on, one that is told to stop leaves nothing running, and none takes long itself."""

import contextlib
import csv
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pretended
import pytest
from processes import children, is_alive

REAL = (sys.executable, "-m", "extbnsl", "campaign")
SAME = (
    *("data", "method", "status", "cost", "lower_bound", "arcs", "parameters", "variables", "records", "parent_sets"),
    *("log_weight", "widest", "best_probability", "drawn"),
)
WAITS = "Path(folder + '.began').write_text(str(os.getpid())); time.sleep(1000)"


def table(folder):
    """What the results of a campaign must have in common, however often it was cut off."""
    with (folder / "results.csv").open(newline="") as file:
        return [tuple(row[name] for name in (*SAME, "message", "run")) for row in csv.DictReader(file)]


def began(folder):
    """The processes of the pretended runs that have begun and wait."""
    return [int(path.read_text()) for path in (folder / "runs").glob("*.began") if path.read_text()]


@pytest.fixture
def real(here):
    """The file of a campaign of eight short real runs."""
    for name in ("asia", "wine"):
        (here / f"{name}.csv").symlink_to(pretended.EXAMPLES / f"{name}.csv")
    document = {
        "title": "x",
        "data": ["asia.csv", "wine.csv"],
        "methods": [
            "bfbnb",
            {"name": "pattern", "options": {"lower-bound": "pattern"}},
            {"name": "static", "options": {"lower-bound": "static"}},
            {"name": "all", "command": "posterior", "options": {"sample": 5000}},
        ],
        "options": {"threads": 1},
        "budgets": [{"time-limit": "1m"}],
    }
    (here / "c.yaml").write_text(json.dumps(document))
    return here / "c.yaml"


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(real, here):
    chance = random.Random(12)
    subprocess.run([*REAL, real, "--output-dir", "whole", "--quiet"], check=True)
    command = [*REAL, real, "--output-dir", "cut", "--quiet", "--resume"]
    for _ in range(8):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(chance.uniform(0.1, 1.5))
            runs = children(process.pid) if chance.random() < 0.5 else ()  # the others outlive the campaign
            process.kill()
            for run in runs:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(run, signal.SIGKILL)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert table(here / "cut") == table(here / "whole")
    assert len(table(here / "whole")) == 8
    for name in ("posterior.csv", "families.csv", "samples.jsonl"):
        cut, whole = (sorted(here.glob(f"{which}/runs/*--all--*.run/{name}")) for which in ("cut", "whole"))
        assert len(whole) == 2
        assert [path.read_bytes() for path in cut] == [path.read_bytes() for path in whole]


@pytest.mark.slow
def test_a_process_that_outlived_its_campaign_is_waited_for(real, here):
    """The campaign is killed as soon as its first run has a process: the next one must not disturb that."""
    with subprocess.Popen([*REAL, real, "--quiet"], stdout=subprocess.DEVNULL) as process:
        pretended.wait_for(lambda: children(process.pid))
        process.kill()
    done = subprocess.run([*REAL, real, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_what_runs_and_what_waits(number, pretend, here, template):
    data = {f"{name}.py": WAITS for name in "abcd"}
    file = pretended.write_yaml(here, data)
    command = pretended.command(template, file, "--jobs", 2)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        pretended.wait_for(lambda: len(began(here / "c.campaign")) == 2)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 10
    assert "4 runs, 4 not over" in out
    assert "Stopping;" in err
    assert len(began(here / "c.campaign")) == 2  # none of those that waited has begun
    assert not any(map(is_alive, began(here / "c.campaign")))
    for name in data:
        (here / name).write_text("done()")
    assert pretend(file, "--resume")[0] == 0


@pytest.mark.slow
def test_a_signal_counts_though_a_run_was_stopped_by_somebody_else_before(pretend, here, template):
    data = {"a.py": "done(status='interrupted'); sys.exit(10)", "b.py": WAITS, "c.py": WAITS}
    file = pretended.write_yaml(here, data)
    with subprocess.Popen(pretended.command(template, file), stdout=subprocess.DEVNULL) as process:
        pretended.wait_for(lambda: len(began(here / "c.campaign")) == 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 10
    assert len(began(here / "c.campaign")) == 1


def test_the_second_signal_ends_it_at_once(here, template):
    file = pretended.write_yaml(here, {"a.py": f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"})
    with subprocess.Popen(pretended.command(template, file), stderr=subprocess.PIPE, text=True) as process:
        pretended.wait_for(lambda: began(here / "c.campaign"))
        process.send_signal(signal.SIGINT)
        assert "Stopping;" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 130
    (run,) = began(here / "c.campaign")
    pretended.wait_for(lambda: not is_alive(run), 5.0)


def workers_at_work(process):
    """The workers of a cluster of processes that have begun a run, each with the process of the run."""
    workers = [child for child, words in children(process).items() if "spawn_main" in " ".join(words)]
    return [(worker, run) for worker in workers for run, words in children(worker).items() if "extbnsl" in words]


@pytest.mark.slow
def test_a_worker_of_a_cluster_is_killed_and_the_table_is_complete(real, here):
    pytest.importorskip("distributed")
    subprocess.run([*REAL, real, "--output-dir", "whole", "--quiet"], check=True)
    command = [*REAL, real, "--output-dir", "cut", "--cluster", "local:2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        pretended.wait_for(lambda: workers_at_work(process.pid), 60.0)
        signal.pidfd_send_signal(os.pidfd_open(workers_at_work(process.pid)[0][0]), signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (out, err)
    assert table(here / "cut") == table(here / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["process", "group"])
def test_a_signal_stops_the_workers_of_a_cluster(whom, here, template):
    pytest.importorskip("distributed")
    (here / "wdbc.csv").symlink_to(pretended.EXAMPLES / "wdbc.csv")
    methods = [{"name": name, "options": {"lower-bound": "static", "threads": 1}} for name in "abcd"]
    (here / "c.yaml").write_text(json.dumps({"title": "x", "data": ["wdbc.csv"], "methods": methods}))
    command = [*REAL, "c.yaml", "--cluster", "local:2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        pretended.wait_for(lambda: len(workers_at_work(process.pid)) == 2, 60.0)
        runs = [run for _, run in workers_at_work(process.pid)]
        workers = [worker for worker, _ in workers_at_work(process.pid)]
        if whom == "process":
            process.send_signal(signal.SIGINT)
        else:
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 10, (out, err)
    assert "4 not over" in out
    assert not any(map(is_alive, [*runs, *workers]))


def test_a_cluster_that_is_not_there(pretend, here, sizes):
    pytest.importorskip("distributed")
    sizes(CONNECT_SECONDS=0.5)
    file = pretended.write_yaml(here, {"a.py": "done()"})
    code, out, err = pretend(file, "--cluster", "tcp://127.0.0.1:1")
    assert (code, out) == (30, "")
    assert "there is no scheduler at tcp://127.0.0.1:1" in err


@pytest.mark.slow
def test_it_takes_less_than_a_tenth_of_its_runs(here):
    """Sixteen small data sets, one after the other: beside what the system counts of the runs, in processor seconds and
    in seconds, which grow more where others work on the machine."""
    rows = [line.split(",") for line in (pretended.EXAMPLES / "wdbc.csv").read_text().splitlines()]
    for first in range(16):
        text = "\n".join(",".join(row[first : first + 14]) for row in rows)
        (here / f"d{first:02}.csv").write_text(f"{text}\n")
    (here / "c.yaml").write_text(json.dumps({"title": "x", "data": ["d*.csv"], "options": {"threads": 1}}))
    subprocess.run([sys.executable, "-m", "extbnsl", "solve", "d00.csv", "--threads=1"], check=True)  # compiles
    shares = []
    for turn in ("first", "second"):
        began = time.monotonic()
        processor = processor_seconds([*REAL, "c.yaml", "--quiet", "--output-dir", turn])
        wall = time.monotonic() - began
        records = [json.loads(path.read_text()) for path in (here / turn / "runs").glob("*.json")]
        assert len(records) == 16
        processor_share = processor / sum(record["cpu_seconds"] for record in records)
        shares.append((processor_share, wall / sum(record["seconds"] for record in records)))
        if processor_share < 1.1 and shares[-1][1] < 1.2:
            return
    raise AssertionError(shares)


def processor_seconds(command):
    """The processor time that a command and its children take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
