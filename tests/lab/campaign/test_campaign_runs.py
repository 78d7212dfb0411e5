"""Whatever the process of a run does, the table says it, and the other runs go on."""

import contextlib
import csv
import json
import os
import resource
import shutil
from functools import partial
from pathlib import Path

import pretended
import pytest
from processes import is_alive

from extbnsl.core.errors import InputError
from extbnsl.lab.campaign import one_run
from extbnsl.lab.campaign.one_run import Place
from extbnsl.lab.process import Manner

GOOD = "done()"
FAILURES = {
    "crash": ("raise RuntimeError('of this kind')", "RuntimeError: of this kind"),
    "code 3": ("print('Three.'); sys.exit(3)", "Three."),
    "code 30": ("print('extbnsl: No such column.'); sys.exit(30)", "No such column."),
    "silent": ("sys.exit(1)", "It said nothing."),
    "nothing written": ("pass", "It ended with code 0, and has written no result. It said nothing."),
    "SIGKILL": ("os.kill(os.getpid(), 9)", "It was killed by signal 9. It said nothing."),
    "SIGSEGV": ("print('Oh.', flush=True); os.kill(os.getpid(), 11)", "It was killed by signal 11. Oh."),
    "no UTF-8": (r"os.write(2, b'\xff\xfe bad'); sys.exit(1)", r"\xff\xfe bad"),
    "many bytes": ("print('x' * 10**7); print('End.'); sys.exit(1)", "End."),
    "truncated": ('done(\'{"status": "opt\')', "damaged"),
    "no JSON": ("done('rubbish')", "damaged"),
    "empty": ("done('')", "damaged"),
    "zeros": (r"done('\0' * 1000)", "damaged"),
    "a list": ("done('[1, 2]')", "damaged"),
    "other status": ("done(status='splendid')", "It has written no result."),
    "cost that is a text": ("done(cost='3')", "damaged"),
    "NaN": ("done(cost=float('nan'))", "damaged"),
    "infinite bound": ("done(lower_bound=float('-inf'))", "damaged"),
    "no parents": ("done(parents=[1])", "damaged"),
    "statistics": ("done(stats=[])", "damaged"),
    "layers": ("done(stats={'layers': [{'layer': 1}]})", "damaged"),
    "deep": ("done('[' * 10**5)", "damaged"),
    "folder": ("done(); os.unlink(folder + '/result.json'); os.mkdir(folder + '/result.json')", "result.json"),
    "pipe": ("done(); os.unlink(folder + '/result.json'); os.mkfifo(folder + '/result.json')", "result.json"),
}


def results(folder="c.campaign"):
    """The rows of results.csv by data set."""
    with Path(folder, "results.csv").open(newline="") as file:
        return {row["data"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_all_kinds_of_failures_are_told_and_the_others_go_on(pretend, here):
    names = [f"{number}.py" for number in range(len(FAILURES))]
    texts = [text for text, _ in FAILURES.values()]
    file = pretended.write_yaml(here, {"first.py": GOOD, **dict(zip(names, texts, strict=True)), "last.py": GOOD})
    code, out, err = pretend(file, "--jobs", 2)
    assert code == 40
    found = results()
    for kind, name, (_, sentence) in zip(FAILURES, names, FAILURES.values(), strict=True):
        row = found[name.removesuffix(".py")]
        assert row["status"] == "failed", kind
        assert sentence in row["message"], kind
        assert row["cost"] == "", kind
    assert found["first"]["status"] == found["last"]["status"] == "optimal"
    assert float(found["last"]["cost"]) > 2000.0
    assert out.index("Failures") < out.index("All runs")
    assert f"26 runs, {len(FAILURES)} failed" in out
    assert len(err.splitlines()) == 26


def test_results_of_earlier_versions_stay_in_the_table(pretend, here):
    file = pretended.write_yaml(here, {"a.py": "done(format_version=2)", "b.py": GOOD})
    code, _, err = pretend(file)
    assert code == 0, err
    assert results()["a"]["cost"] == results()["b"]["cost"] != ""


@pytest.mark.slow
def test_gigabytes_of_rubbish(pretend, here):
    file = pretended.write_yaml(here, {"a.py": "done(); os.truncate(folder + '/result.json', 2**31 + 1)", "b.py": GOOD})
    code, out, _ = pretend(file)
    assert code == 40
    assert "more than any run writes there" in out
    assert results()["b"]["status"] == "optimal"


def test_a_run_that_ends_without_a_network_for_want_of_a_budget_has_not_failed(pretend, here):
    file = pretended.write_yaml(here, {"a.py": "print('extbnsl: Out of memory.'); sys.exit(20)", "b.py": GOOD})
    code, out, _ = pretend(file)
    assert code == 0
    assert "Failures" not in out
    assert results()["a"]["status"] == "no_network"


@pytest.mark.parametrize("status", ["time_limit", "memory_limit", "disk_limit", "not_proved", "heuristic"])
def test_what_a_budget_or_the_method_explains_has_not_failed(status, pretend, here):
    file = pretended.write_yaml(
        here, {"a.py": f"done(status={status!r}); sys.exit({0 if status == 'heuristic' else 10})"}
    )
    assert pretend(file)[0] == 0
    assert results()["a"]["status"] == status


def test_one_that_hangs_is_killed_and_the_others_go_on(pretend, here, monkeypatch):
    monkeypatch.setattr(one_run, "Manner", partial(Manner, grace=0.3))
    budget = {"time-limit": 0.2, "kill-after": 0.3}
    file = pretended.write_yaml(here, {"a.py": pretended.HANG, "b.py": GOOD}, budgets=[budget])
    code, out, _ = pretend(file)
    assert code == 40
    assert "It did not end at its time limit, and was killed after" in out
    assert results()["b"]["status"] == "optimal"


SLOW = """
done()
status = json.loads(Path(folder, 'status.json').read_text())
Path(folder, 'status.json').write_text(json.dumps(status | {'compiling': COMPILING}))
time.sleep(2.0)
"""


@pytest.mark.parametrize(("seconds", "status"), [("0.1", "failed"), ("1000.0", "optimal"), ("None", "failed")])
def test_what_a_run_compiles_is_no_part_of_its_time(seconds, status, pretend, here):
    budget = {"time-limit": 0.2, "kill-after": 0.5}
    file = pretended.write_yaml(here, {"a.py": SLOW.replace("COMPILING", seconds)}, budgets=[budget])
    pretend(file)
    assert results()["a"]["status"] == status


@pytest.mark.slow
def test_with_nothing_compiled_no_run_is_late(run, here, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(here / "cache"))
    shutil.copy(pretended.EXAMPLES / "asia.csv", "a.csv")
    budget = {"time-limit": 3, "kill-after": 7}
    (here / "c.yaml").write_text(json.dumps({"title": "Cold", "data": ["a.csv"], "budgets": [budget]}))
    code, _, err = run("c.yaml", "--quiet")
    assert code == 0, err
    record = json.loads(next(Path("c.campaign/runs").glob("*.json")).read_text())
    assert record["seconds"] > 10.0, "compiling was no test of the limit"
    assert results()["a"]["status"] == "optimal"


def test_what_a_run_leaves_running_is_ended(pretend, here):
    leave = "child = subprocess.Popen(['sleep', '1000']); Path('child').write_text(str(child.pid)); done()"
    code, _, _ = pretend(pretended.write_yaml(here, {"a.py": leave, "b.py": GOOD}))
    assert code == 0
    child = int((here / "child").read_text())
    pretended.wait_for(lambda: not is_alive(child), 5.0)
    assert results()["a"]["status"] == "optimal"


def test_a_run_that_somebody_else_stops_is_not_over(pretend, here):
    stopped = "done(status='interrupted'); Path(folder, 'resume.py').write_text('done()'); sys.exit(10)"
    file = pretended.write_yaml(here, {"a.py": stopped, "b.py": GOOD})
    code, out, _ = pretend(file)
    assert code == 10
    assert "2 runs, 1 not over" in out
    assert pretend(file, "--resume")[0] == 0
    assert results()["a"]["status"] == "optimal"


HOLDER = """
import fcntl, os, shutil, sys, time
template, folder = sys.argv[1:]
shutil.copytree(template, folder, dirs_exist_ok=True)
with open(folder + "/lock", "r+") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(1.0)
"""
LATE = """
command = [sys.executable, "holder.py", sys.argv[1], folder]
holder = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
holder.stdout.readline()
print("extbnsl: It is in use by another process.")
sys.exit(31)
"""


def test_a_process_that_begins_while_another_works_gives_way(pretend, here):
    """What a campaign began before it was killed may take its lock only after the next one has looked for that."""
    (here / "holder.py").write_text(HOLDER)
    code, out, _ = pretend(pretended.write_yaml(here, {"a.py": LATE}))
    assert code == 0, out
    assert results()["a"]["status"] == "optimal"


def test_retry_does_again_what_failed_and_nothing_else(pretend, here):
    count = "open('count', 'a').write(arguments[1]); done()"
    file = pretended.write_yaml(here, {"a.py": "done(cost='x')", "b.py": "sys.exit(3)", "c.py": count})
    assert pretend(file)[0] == 40
    (here / "a.py").write_text(count)
    (here / "b.py").write_text(count)
    assert pretend(file, "--resume")[0] == 40
    assert (here / "count").read_text() == "c.py"
    assert pretend(file, "--resume", "--retry")[0] == 0
    assert (here / "count").read_text() == "c.pya.pyb.py"
    assert {row["status"] for row in results().values()} == {"optimal"}


def test_a_program_that_cannot_be_begun(pretend, here, monkeypatch):
    monkeypatch.setattr(Place.__init__, "__defaults__", (("/nowhere/extbnsl",),))
    code, out, _ = pretend(pretended.write_yaml(here, {"a.py": GOOD}))
    assert code == 40
    assert "The program cannot be begun: No such file or directory." in out


def test_a_fault_of_the_campaign_itself_is_that_of_the_run(pretend, here, running_out):
    running_out("lab.campaign.one_run", "_command", ValueError("odd"))
    code, out, _ = pretend(pretended.write_yaml(here, {"a.py": GOOD}))
    assert code == 40
    assert "Nobody could do it: ValueError: odd" in out


def test_records_that_cannot_be_written_are_not_lost_without_a_word(pretend, here, running_out):
    running_out("lab.campaign.one_run", "write_record", InputError("The disk is full."))
    file = pretended.write_yaml(here, {"a.py": GOOD, "b.py": "sys.exit(3)"})
    code, out, _ = pretend(file)
    assert code == 10
    assert "2 runs, 2 not over" in out


def test_a_full_disk_of_a_run_and_of_the_report(pretend, here):
    """The limit is on the size of a file: of what a run writes, and then of what the campaign does."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    ignore = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    file = pretended.write_yaml(here, {"a.py": f"{limit}; {ignore}; done('x' * 9000)", "b.py": GOOD})
    code, out, _ = pretend(file)
    assert code == 40
    assert "File too large" in out
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, hard))
    try:
        code, _, err = pretend(file, "--resume")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
    assert code == 20
    assert "the disk or quota is full" in err
    assert err.count("\n") == 1
    assert pretend(file, "--resume")[0] == 40


@pytest.mark.slow
def test_files_beside_the_campaigns_file_are_no_modules(run, here, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH")
    (here / "json.py").write_text("raise SystemExit('Not this one.')")
    (here / "a.csv").write_text("a,b\n" + "0,1\n1,0\n" * 20)
    (here / "c.yaml").write_text("title: x\ndata: [a.csv]\noptions: {threads: 1}\n")
    code, out, _ = run("c.yaml", "--quiet")
    assert (code, out) == (0, "1 run; c.campaign/index.html has the report.\n")


@pytest.mark.slow
def test_odd_names_of_data_and_folders_by_the_real_program(run, here):
    folder = here / "a folder – 中"
    folder.mkdir()
    names = ["-dash.csv", "two words.csv", "naïve 中.csv", 'it\'s "q".csv', "a[1].csv"]
    for name in names:
        (folder / name).write_text("a,b\n" + "0,1\n1,0\n" * 20)
    (folder / "c.yaml").write_text(json.dumps({"title": "x", "data": names, "options": {"threads": 1}}))
    with contextlib.chdir(folder):
        code, out, _ = run("c.yaml", "--output-dir", "to here")
        assert code == 0, out
        assert [row["status"] for row in results("to here").values()] == ["optimal"] * 5
        assert {row["variables"] for row in results("to here").values()} == {"2"}


@pytest.mark.slow
def test_file_names_that_are_no_unicode(pretend, here):
    with open(os.fsencode(here) + b"/a\xff.py", "w") as file:
        file.write("done()")
    plots = [{"title": kind, "kind": kind} for kind in ("bars", "layers")]
    (here / "c.yaml").write_text(json.dumps({"title": "x", "data": ["*.py"], "plots": plots}))
    assert pretend("c.yaml")[0] == 0
    assert results()["a\\udcff"]["status"] == "optimal"
    assert pretend("c.yaml", "--resume")[2] == ""  # its record is known
