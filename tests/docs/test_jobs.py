"""The scripts of the pages on jobs and clusters: they say what the program knows, and act on its exit codes as the
pages say. Those for SLURM run on a real one in tests/machine/test_slurm.py."""

import os
import re
import shlex
import subprocess

import pytest
import yaml
from pages import ROOT, blocks

from extbnsl.cli.parser import usage_error

NIGHTLY, SLURM, ARRAY = (block.text for block in blocks(ROOT / "docs" / "jobs.md") if block.kind == "sh")
DRIVER, PBS, LSF, BY_HAND = (block.text for block in blocks(ROOT / "docs" / "clusters.md") if block.kind == "sh")
FAKE = """#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$1" in
    solve)
        trap 'echo told >> "$HOME/asked"; exit "$CODE"' TERM
        [ -z "$LATE" ] || kill -USR1 $PPID
        while [ -n "$LATE" ]; do sleep 0.05; done
        exit "$CODE" ;;
    status) echo ' "ended": "'"$ENDED"'",' ;;
    report) echo page > study.html ;;
esac
"""


@pytest.fixture
def job(tmp_path):
    """Runs a script in a home where programs do nothing but note what they are asked; the exit code, what the script
    wrote, and what was asked of extbnsl and of scontrol, by their first words."""
    (tmp_path / "study").mkdir()
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    note = '#!/bin/sh\necho "$*" >> "$HOME/asked"\n'
    for name, text in (("extbnsl", FAKE), ("scontrol", note), ("qsub", note)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "study" / "files.txt").write_text("one.csv\nsub/two words.csv\n")

    def run(script, code, ended="", **environment):
        (tmp_path / "asked").write_text("")
        known = {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}", "CODE": str(code), "ENDED": ended}
        known |= {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": str(tmp_path / "study"), **environment}
        command = ["bash", "-c", script]
        ended_job = subprocess.run(
            command, env=known, cwd=tmp_path / "study", capture_output=True, text=True, check=False
        )
        asked = [shlex.split(line) for line in (tmp_path / "asked").read_text().splitlines()]
        return ended_job.returncode, ended_job.stdout + ended_job.stderr, asked

    return run


@pytest.mark.parametrize(
    ("code", "then", "said"),
    [(0, ["report"], ""), (10, ["status"], ""), (31, [], "still at work"), (20, [], "exit code 20")],
)
def test_every_night(code, then, said, job):
    _, told, asked = job(NIGHTLY, code)
    assert [words[0] for words in asked] == ["solve", *then]
    assert said in told
    assert bool(told) == bool(said)
    again = job(NIGHTLY, code)[2]
    assert bool(again) == (code != 0), "what is done is not done again"


@pytest.mark.parametrize("script", [SLURM, DRIVER], ids=["jobs", "clusters"])
@pytest.mark.parametrize(
    ("code", "late", "requeued"),
    [(0, "", False), (10, "yes", True), (0, "yes", False), (10, "", False), (20, "", False), (31, "yes", False)],
)
def test_a_job_requeues_itself_if_it_was_stopped_before_its_end(script, code, late, requeued, job):
    found, told, asked = job(script, code, LATE=late)
    assert (found, told) == (code, "")
    assert (["told"] in asked) == bool(late)
    assert (["requeue", "7"] in asked) == requeued
    assert asked[0][0] == "solve"


@pytest.mark.parametrize(
    ("code", "ended", "again"),
    [(0, "optimal", False), (10, "time_limit", True), (10, "memory_limit", False), (20, "", False), (31, "", False)],
)
def test_a_job_comes_again_after_the_time_limit_alone(code, ended, again, job):
    found, told, asked = job(PBS, code, ended)
    assert (found, told) == (code, "")
    assert (["study.sh"] in asked) == again
    found, told, _ = job(LSF, code, ended)
    assert (found, told) == (99 if again else code, "")
    assert f"#BSUB -Q {found}\n" in LSF or not again


def test_the_configuration_of_a_site_says_what_dask_knows():
    (block,) = (block.text for block in blocks(ROOT / "docs" / "clusters.md") if block.kind == "yaml")
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask_jobqueue")
    assert yaml.safe_load(block)["jobqueue"]["slurm"].keys() <= dask.config.get("jobqueue.slurm").keys()


def test_each_task_of_an_array_has_a_file_and_a_run_of_its_own(job):
    for number, file in (("1", "one.csv"), ("2", "sub/two words.csv")):
        ((_, *words),) = job(ARRAY, 0, SLURM_ARRAY_TASK_ID=number)[2]
        assert " ".join(words).startswith(f"{file} --run-dir {file.rpartition('/')[2]}.run --resume")


def test_commands_are_those_of_the_program():
    joined = "\n".join((NIGHTLY, SLURM, ARRAY, DRIVER, PBS, LSF, BY_HAND)).replace("\\\n", " ")
    commands = re.findall(r"^extbnsl ([^>|;&\n]*)", joined, re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        words = [
            word.replace("${SLURM_CPUS_PER_TASK:-1}", "4") for word in shlex.split(re.sub(r"2$", "", command.strip()))
        ]
        assert usage_error(words) is None, command
