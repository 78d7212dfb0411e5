"""`solve --bootstrap` as a user has it: what is printed and written, limits, a kill, and what is refused."""

import csv
import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import fails, run

from extbnsl.files.names import ARC_FREQUENCIES, DOCUMENT, RESAMPLES, RESULT
from extbnsl.results.reading import read_result


@pytest.fixture(autouse=True)
def there(here):
    pass


def table(folder):
    with (folder / ARC_FREQUENCIES).open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_with_resamples(capsys):
    code, out, err = run(capsys, "solve", "data.csv", "--bootstrap", 8, "--seed", 3)
    assert code == 0
    assert "options: bootstrap 8, seed 3" in err
    assert "bootstrap: 8 of 8 resamples done, 0 not proved" in err
    lines = out.splitlines()
    assert lines[0] == "strength direction compelled reversible   arc (* joined in the network)"
    assert "bootstrap    8 resamples, all proved" in lines
    assert "             bootstrap.csv, bootstrap.jsonl" in lines
    assert max(map(len, lines)) <= 80
    folder = Path("data.run")
    document = read_result(folder)
    assert document["status"] == "optimal"
    assert document["provenance"]["options"]["bootstrap"] == 8
    assert [{key: type(one[key])(row[key]) for key in row} for one, row in zip(
        document["bootstrap"]["arcs"], table(folder), strict=True
    )] == document["bootstrap"]["arcs"]  # fmt: skip
    code, out, err = run(capsys, "status", folder)
    assert "state        done: optimal" in out
    assert "resamples    8 of 8 done" in out
    code, out, err = run(capsys, "resume", folder, "--quiet")
    assert code == 0
    assert "8 resamples, in data.run" in out
    assert run(capsys, "verify", folder, "data.csv")[0] == 11  # what resamples say is only claimed
    assert run(capsys, "clean", folder, "--yes")[0] == 0
    assert (folder / RESAMPLES).exists()
    assert run(capsys, "solve", "data.csv", "--run-dir", folder, "--overwrite")[0] == 0
    assert not (folder / RESAMPLES).exists()
    assert not (folder / ARC_FREQUENCIES).exists()


@pytest.mark.slow
def test_a_time_limit_is_for_the_whole_and_the_run_goes_on(capsys):
    assert run(capsys, "solve", "data.csv", "--bootstrap", 3, "--run-dir", "whole", "--seed", 1)[0] == 0
    code, out, _ = run(
        capsys, "solve", "data.csv", "--bootstrap", 10_000, "--time-limit", 1, "--run-dir", "r", "--seed", 1
    )
    assert code == 10
    document = read_result(Path("r"))
    done = document["bootstrap"]["done"]
    assert document["status"] == "time_limit"
    assert 0 < done < 10_000
    assert f"bootstrap    {done:,} of 10,000 resamples, all proved" in out
    assert "continue     extbnsl resume r" in out
    assert "left by" not in out
    lines = Path("r", RESAMPLES).read_text().splitlines()
    assert len(lines) == done
    assert lines[:3] == Path("whole", RESAMPLES).read_text().splitlines()
    shown = json.loads(run(capsys, "status", "r", "--json")[1])
    assert (shown["resamples_done"], shown["resamples"], shown["phase"]) == (done, 10_000, "bootstrap")
    assert run(capsys, "resume", "r", "--time-limit", 0.5, "--quiet")[0] == 10
    assert read_result(Path("r"))["bootstrap"]["done"] > done


@pytest.mark.slow
def test_a_run_that_is_killed_has_the_table_of_an_undisturbed_one(capsys):
    command = ("solve", "data.csv", "--bootstrap", "40")
    assert run(capsys, *command, "--run-dir", "whole")[0] == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "extbnsl", *command, "--run-dir", "r", "--threads", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    lines = Path("r", RESAMPLES)
    while process.poll() is None and not (lines.exists() and lines.read_text().count("\n") >= 3):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = lines.read_text().count("\n")
    assert 3 <= done < 40
    with lines.open("a") as file:
        file.write('{"resample": ')  # torn
    assert f"resamples    {done} of 40 done" in run(capsys, "status", "r")[1]
    assert run(capsys, "resume", "r")[0] == 0
    for name in (ARC_FREQUENCIES, RESAMPLES):
        assert Path("r", name).read_bytes() == Path("whole", name).read_bytes()


def test_a_process_that_is_killed_before_the_table_is_written_is_finished(capsys):
    assert run(capsys, "solve", "data.csv", "--bootstrap", 4)[0] == 0
    expected = Path("data.run", ARC_FREQUENCIES).read_bytes()
    for name in (ARC_FREQUENCIES, DOCUMENT):
        Path("data.run", name).unlink()
    assert run(capsys, "resume", "data.run", "--quiet")[0] == 0
    assert Path("data.run", ARC_FREQUENCIES).read_bytes() == expected


def test_a_full_disk_is_one_sentence(capsys, failing):
    failing("os.pwrite", errno.ENOSPC, lambda descriptor, data, at: data.startswith(b'{"resample": 2'))
    code, out, _ = run(capsys, "solve", "data.csv", "--bootstrap", 4, "--quiet")
    assert code == 10
    assert out.startswith("disk_limit: cost ")
    assert "1 of 4 resamples, in data.run" in out


def test_damage_is_one_sentence(capsys):
    run(capsys, "solve", "data.csv", "--bootstrap", 10_000, "--time-limit", 1, "--run-dir", "r")
    Path("r", RESAMPLES).write_text("\n".join(["{}", "{}", ""]))
    code, out, err = run(capsys, "resume", "r", "--quiet")
    assert (code, out) == (31, "")
    assert "r/bootstrap.jsonl is damaged in line 1; cut that line and all below it off" in err


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "10001", "many"])
def test_what_is_no_number_is_refused(capsys, given):
    assert "is not a whole number from 1 to 10000" in fails(capsys, "solve", "data.csv", f"--bootstrap={given}")


def test_local_scores_and_published_methods_are_refused(capsys):
    assert "no resamples; leave --method or --bootstrap out." in fails(
        capsys, "solve", "data.csv", "--bootstrap", 2, "--method", "astar", "--quiet"
    )
    run(capsys, "score", "data.csv", "-o", "s.jkl")
    assert "local scores have no records" in fails(capsys, "solve", "s.jkl", "--bootstrap", 2, "--quiet")


@pytest.mark.slow
def test_a_campaign_passes_the_option_on(capsys):
    Path("c.yaml").write_text(
        "title: t\ndata: [data.csv]\nmethods:\n  - {name: sure, command: solve, options: {bootstrap: 3}}\n"
    )
    assert run(capsys, "campaign", "c.yaml", "--dry-run")[0] == 0
    assert run(capsys, "campaign", "c.yaml")[0] == 0
    (result,) = Path().rglob(RESULT)
    assert read_result(result)["bootstrap"]["done"] == 3
