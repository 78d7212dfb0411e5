"""On a real SLURM of one node: jobs as workers, and the scripts of the pages as jobs. Skipped where it is not
installed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pages import ROOT, blocks
from processes import with_word

from extbnsl.results.reading import read_result

pytest.importorskip("dask_jobqueue")
pytestmark = pytest.mark.slow

SLURM = [block.text for block in blocks(ROOT / "docs" / "jobs.md") if block.kind == "sh"][1]
DRIVER, _, _, BY_HAND = (block.text for block in blocks(ROOT / "docs" / "clusters.md") if block.kind == "sh")
TASKS = """
import os, sys, time
from extbnsl.machine.cluster import cluster_client

def job(seconds):
    time.sleep(seconds)
    return os.environ["SLURM_JOB_ID"]

if __name__ == "__main__":
    with cluster_client("slurm:2", 1) as client:
        tasks = client.map(job, [0.5] * int(sys.argv[1]), pure=False)
        while not any(task.done() for task in tasks):
            time.sleep(0.1)
        print(*client.gather(tasks))
"""
# of this machine, in place of what the pages have
OURS = {"--memory 32GiB --disk 500GB": "--memory 1GiB --disk 1GB", "slurm:20": "slurm:1", "ib0": "lo"}
OURS |= {"export NUMBA_CACHE_DIR": ": "}
RESAMPLES = 30
UNDER_WAY = "PENDING", "RUNNING", "COMPLETING"
ON_ONE_NODE = ("--nodes=1", "--cpus-per-task=1", "--mem=0")


def until(is_true, seconds=180.0):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it has not become true"
        time.sleep(0.1)


@pytest.fixture
def tasks(here):
    """Starts a process whose tasks jobs do; it writes by which job each was done."""
    (here / "tasks.py").write_text(TASKS)

    def start(number):
        command = [sys.executable, "tasks.py", str(number)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def test_two_jobs_do_the_tasks_and_none_is_left(site, tasks):
    with tasks(40) as process:
        out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "")
    assert len(out.split()) == 40
    assert len(set(out.split())) == 2
    assert site("squeue", "--noheader", "--states=PENDING,RUNNING") == ""


def test_a_job_that_is_cancelled_loses_nothing(site, tasks):
    with tasks(60) as process:
        until(lambda: len(site("squeue", "--noheader", "--states=RUNNING").splitlines()) == 2)
        time.sleep(5.0)  # they have begun to work
        lost, other = sorted(site("squeue", "--noheader", "--format=%i", "--states=RUNNING").split())
        site("scancel", lost)
        out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "")
    assert len(out.split()) == 60
    assert other in out.split()
    assert site("squeue", "--noheader", "--states=PENDING,RUNNING") == ""


def test_a_driver_that_is_killed_leaves_no_job(site, tasks):
    with tasks(1000) as process:
        until(lambda: site("squeue", "--noheader", "--states=RUNNING"))
        process.kill()
    until(lambda: site("squeue", "--noheader") == "")


@pytest.fixture
def study(here, monkeypatch):
    """A folder with the data of the scripts, where `extbnsl` and `dask` are those of this Python, and `solve` gets more
    options; the options."""
    programs = here / "bin"
    programs.mkdir()
    for name, module in (("extbnsl", "extbnsl"), ("dask", "dask")):
        more = '[ "$1" = solve ] && set -- "$@" $MORE\n' if name == "extbnsl" else ""
        (programs / name).write_text(f'#!/bin/sh\n{more}exec {sys.executable} -m {module} "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    rows = [line.split(",")[:20] for line in (ROOT / "examples" / "wdbc.csv").read_text().splitlines()]
    (here / "data.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    more = ["--bootstrap", str(RESAMPLES), "--max-parents", "3"]
    monkeypatch.setenv("MORE", " ".join(more))
    return more


def submitted(site, text, *more):
    """The number of the job of a script, as it is on the page but for what this machine is."""
    for theirs, ours in OURS.items():
        text = text.replace(theirs, ours)
    Path("study.sh").write_text(text)
    return site("sbatch", "--parsable", *ON_ONE_NODE, *more, "study.sh").strip()


def state(site, job):
    """What SLURM tells of a job, by its names."""
    told = site("scontrol", "--oneliner", "show", "job", job)
    return dict(word.partition("=")[::2] for word in told.split())


def told_of(run):
    """What the status of a run tells."""
    return json.loads(Path(run, "status.json").read_text())


def resamples(run):
    """How many resamples of a run are done."""
    done = Path(run, "bootstrap.jsonl")
    return done.read_bytes().count(b"\n") if done.exists() else 0


def answer(run):
    """What a run has found, without what differs from one to the next."""
    document = read_result(Path(run))
    return {name: document[name] for name in ("status", "cost", "lower_bound", "parents")}, Path(
        run, "bootstrap.csv"
    ).read_bytes()


@pytest.mark.parametrize("script", [SLURM, DRIVER], ids=["alone", "with workers"])
def test_a_job_that_is_stopped_requeues_itself_and_ends_as_if_nothing_had_happened(script, site, study):
    job = submitted(site, script)
    until(lambda: resamples("study.run") >= 3 and (script is SLURM or told_of("study.run")["workers"] == 1))
    site("scancel", "--signal=USR1", "--batch", job)
    until(lambda: state(site, job)["Restarts"] == "1")
    assert told_of("study.run")["ended"] == "interrupted"
    assert resamples("study.run") < RESAMPLES
    time.sleep(3.0)  # the node may not have ended it; it would begin two minutes later
    site("scontrol", "update", f"JobId={job}", "StartTime=now")
    until(lambda: state(site, job)["JobState"] not in UNDER_WAY)
    assert state(site, job)["JobState"] == "COMPLETED", Path("study.log").read_text()
    until(lambda: site("squeue", "--noheader") == "")
    subprocess.run(
        [sys.executable, "-m", "extbnsl", "solve", "data.csv", "--run-dir", "whole.run", "--quiet", *study], check=True
    )
    assert answer("study.run") == answer("whole.run")
    assert answer("study.run")[0]["status"] == "optimal"


def test_a_job_that_is_cancelled_does_not_come_again_and_can_be_resumed(site, study):
    job = submitted(site, SLURM)
    until(lambda: resamples("study.run") >= 3)
    site("scancel", job)
    until(lambda: state(site, job)["JobState"] == "CANCELLED")
    until(lambda: site("squeue", "--noheader") == "")
    assert state(site, job)["Restarts"] == "0"
    subprocess.run([sys.executable, "-m", "extbnsl", "resume", "study.run", "--quiet"], check=True)
    assert answer("study.run")[0]["status"] == "optimal"


def test_a_scheduler_and_its_workers_in_one_job(site, study):
    job = submitted(site, BY_HAND)
    until(lambda: state(site, job)["JobState"] not in UNDER_WAY)
    assert state(site, job)["JobState"] == "COMPLETED", Path(f"slurm-{job}.out").read_text()
    until(lambda: site("squeue", "--noheader") == "")
    assert answer("study.run")[0]["status"] == "optimal"
    assert told_of("study.run")["tasks"] > 0
    until(lambda: not with_word(f"scheduler-{job}.json"))  # neither the scheduler nor a worker is left
