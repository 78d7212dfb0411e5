"""The scripts of the page on jobs: they say what the program knows, and act on its exit codes as the page says."""

import os
import re
import shlex
import subprocess

import pytest
from pages import ROOT, blocks

from extbnsl.cli.parser import usage_error

NIGHTLY, SLURM, ARRAY = (block.text for block in blocks(ROOT / "docs" / "jobs.md") if block.kind == "sh")
FAKE = """#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$1" in
    solve) exit "$CODE" ;;
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
    for name, text in (("extbnsl", FAKE), ("scontrol", '#!/bin/sh\necho "$*" >> "$HOME/asked"\n')):
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


@pytest.mark.parametrize(
    ("code", "ended", "requeued"),
    [(0, "optimal", False), (10, "time_limit", True), (10, "memory_limit", False), (20, "", False), (31, "", False)],
)
def test_a_job_requeues_itself_after_the_time_limit_alone(code, ended, requeued, job):
    found, told, asked = job(SLURM, code, ended)
    assert (found, told) == (code, "")
    assert (asked[-1] == ["requeue", "7"]) == requeued


def test_each_task_of_an_array_has_a_file_and_a_run_of_its_own(job):
    for number, file in (("1", "one.csv"), ("2", "sub/two words.csv")):
        ((_, *words),) = job(ARRAY, 0, SLURM_ARRAY_TASK_ID=number)[2]
        assert " ".join(words).startswith(f"{file} --run-dir {file.rpartition('/')[2]}.run --resume")


def test_commands_are_those_of_the_program():
    joined = "\n".join((NIGHTLY, SLURM, ARRAY)).replace("\\\n", " ")
    commands = re.findall(r"^extbnsl ([^>|;\n]*)", joined, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = [
            word.replace("${SLURM_CPUS_PER_TASK:-1}", "4") for word in shlex.split(re.sub(r"2$", "", command.strip()))
        ]
        assert usage_error(words) is None, command
