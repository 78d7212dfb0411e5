"""The command line: exit codes, what is said where, what is written, and what a signal does."""

import dataclasses
import errno
import functools
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import naive
import numpy as np
import pytest
from commands import a_table, fails, run
from flat import flattened
from portions import first
from runs import commit, remembered, stopped

import extbnsl
from extbnsl.cli import main
from extbnsl.cli.parser import COMMANDS, command_parser
from extbnsl.core import events
from extbnsl.core.errors import BudgetError, InputError, VerificationError
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.reading import read_csv
from extbnsl.files.manifest import Remembered
from extbnsl.formats.score_reader import read_scores
from extbnsl.machine.workers import Stopped
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import fit
from extbnsl.scores.known import NAMES
from extbnsl.solver import opening


def test_the_version_is_that_of_the_package(capsys):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert extbnsl.__version__ == project["project"]["version"]
    assert run(capsys, "--version")[:2] == (0, f"extbnsl {extbnsl.__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_gives_an_example_that_parses(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    examples = out[out.index("example:\n") :].split("extbnsl ")[1:]
    assert examples
    for example in examples:
        assert command_parser().parse_args(example.split())


def test_usage_errors_are_one_sentence(capsys):
    assert "INPUT" in fails(capsys, "solve")
    assert "'resolve'" in fails(capsys, "resolve")
    for threads in ("0", "-1", "1025", "100000"):
        assert "--threads" in fails(capsys, "solve", "data.csv", "--threads", threads)
    assert "--max-parents" in fails(capsys, "solve", "data.csv", "--max-parents", "-1")
    assert "--memory: '1q'" in fails(capsys, "solve", "data.csv", "--memory", "1q")
    for command in (["solve", "data.csv"], ["resume", "r"], ["score", "data.csv", "-o", "x.jkl"]):
        assert "at least 16.0MiB" in fails(capsys, *command, "--memory", "16777215")
    for size in ("-5", "9e99", "-5GiB"):
        assert "--memory" in fails(capsys, "solve", "data.csv", "--memory", size)
        assert "--disk" in fails(capsys, "solve", "data.csv", "--disk", size)
    assert "--memory" in fails(capsys, "solve", "data.csv", "--memory", "0")
    assert "--parent-graph" in fails(capsys, "solve", "data.csv", "--parent-graph", "dense")
    assert "--time-limit: 'soon'" in fails(capsys, "solve", "data.csv", "--time-limit", "soon")
    assert "--lower-bound" in fails(capsys, "solve", "data.csv", "--lower-bound", "best")
    assert "--mem" in fails(capsys, "solve", "data.csv", "--mem", "1GiB")  # no abbreviations
    assert "not allowed with" in fails(capsys, "solve", "data.csv", "--header", "--no-header")


def test_whoever_gives_no_command_or_asks_for_help_gets_the_help(capsys):
    of_all = run(capsys, "--help")
    assert of_all[0] == 0
    assert run(capsys) == run(capsys, "help") == of_all
    assert run(capsys, "help", "solve") == run(capsys, "solve", "--help") != of_all


def test_what_is_misspelt_gets_a_question_and_the_help_of_its_command(capsys):
    assert "'slove' is not known; did you mean solve?; 'extbnsl --help'" in fails(capsys, "slove", "data.csv")
    assert "did you mean --memory?; 'extbnsl solve --help'" in fails(capsys, "solve", "data.csv", "--memry", "1GiB")
    assert "--frib; 'extbnsl verify --help'" in fails(capsys, "verify", "r", "data.csv", "--frib")
    assert "'pad' is not known; choose from" in fails(capsys, "solve", "d", "--lower-bound", "pad")
    known = ", ".join(NAMES)
    assert f"'bge' is not known; choose from {known};" in fails(capsys, "solve", "d", "--score", "bge")
    assert "'mdll' is not known; did you mean mdl?" in fails(capsys, "solve", "d", "--score", "mdll")
    for threads in ("0", "-1", "x", "1025"):
        assert f"'{threads}' is not a whole number from 1 to 1024" in fails(capsys, "solve", "d", "--threads", threads)


def test_a_seed_that_is_too_large_is_refused(capsys):
    code, out, err = run(capsys, "solve", "data.csv", "--seed", 2**32, "--run-dir", "r")
    assert (code, out, Path("r").exists()) == (30, "", False)
    assert "argument --seed: '4294967296' is not a whole number from 0 to 4294967295; " in err
    assert run(capsys, "solve", "data.csv", "--seed", 2**32 - 1)[0] == 0


def test_bad_input_names_the_place_and_leaves_nothing(capsys):
    assert "none.csv" in fails(capsys, "solve", "none.csv")
    Path("bad.csv").write_text("a,b\n1,2\n1\n")
    assert "bad.csv" in fails(capsys, "solve", "bad.csv")
    assert "--discretise" in fails(capsys, "solve", "data.csv", "--discretise", "wide")
    assert "no folder" in fails(capsys, "solve", "data.csv", "--run-dir", "no folder/r")
    Path("bad.jkl").write_text("2\n0 1\n")
    assert "bad.jkl" in fails(capsys, "solve", "bad.jkl")
    for option in (["--missing", "drop"], ["--no-header"], ["--delimiter", ";"], ["--states", "x"]):
        assert option[0] in fails(capsys, "solve", "bad.jkl", *option)


def test_places_that_cannot_be_used_are_named_before_any_work(capsys, solving, forbidden):
    solving(AssertionError("something is solved"))
    Path("file").touch()
    for place in ("file", "none"):
        assert f"--scratch-dir: {place}" in fails(capsys, "solve", "data.csv", "--scratch-dir", place)
    stopped(Path("r"))
    assert "'extbnsl resume r'" in fails(capsys, "solve", "data.csv", "--run-dir", "r")
    forbidden()
    assert "no permission" in fails(capsys, "solve", "data.csv", "--scratch-dir", ".")
    assert "no permission" in fails(capsys, "solve", "data.csv", "--run-dir", "r", "--overwrite")


def test_solve_gets_what_was_asked_for_and_what_to_remember(capsys, solving, solved):
    got = {}

    def record(given, observer, stop):
        options = flattened(given)
        got.update(options, problem=given.problem)
        observer(events.Warned("a is constant"))
        assert stop() is None
        return solved

    solving(record)
    os.mkdir("large")
    Path("arities").write_text("a,b,c,d\n2,2,2,3\n")
    given = "--memory 1GiB --disk 5GB --threads 3 --time-limit 1h --max-parents 2 --seed 4 --lower-bound static"
    given += " --no-fixing --no-ancestral --parent-graph layered --polish --no-path-extension --scratch-dir large"
    given += " --header --records 3000 --arities arities --na x,y --na z --discrete a --run-dir r"
    assert run(capsys, "solve", "data.csv", *given.split())[0] == 0
    assert got.pop("problem").fingerprint == read_csv("data.csv").fingerprint
    assert 0 < got.pop("spent") < 60
    remembered = got.pop("remember")
    reading = {"header": True, "delimiter": None, "na": "x,y,z", "discrete": "a", "records": 3000}
    assert remembered.data_options | reading | {"states": os.path.abspath("arities")} == remembered.data_options
    assert remembered == Remembered(
        input=os.path.abspath("data.csv"),
        data_options=remembered.data_options,
        budgets={"memory": 1 << 30, "disk": 5 * 10**9, "threads": 3, "compress": None},
        command=f"extbnsl solve data.csv {given}",
        version=extbnsl.__version__,
    )
    assert got.pop("scratch_dir") == Path("large")
    assert got == got | {
        "max_parents": 2,
        "ess": None,
        "knowledge": NOTHING,
        "threads": 3,
        "score": "mdl",
        "compress": False,
        "memory": 1 << 30,
        "disk": 5 * 10**9,
        "time_limit": 3600.0,
        "seed": 4,
        "lower_bound": "static",
        "fixing": False,
        "ancestral": False,
        "path_extension": False,
        "parent_graph": "layered",
        "polish": True,
        "run_folder": Path("r"),
        "resume": None,
    }
    assert run(capsys, "solve", "data.csv", "--scratch-dir", ".", "--quiet", "--run-dir", "s")[0] == 0
    assert {got[key] for key in ("threads", "memory", "disk", "time_limit")} == {None}
    assert got["parent_graph"] == "sparse"


def test_status_goes_on_while_no_event_comes(monkeypatch, solving, solved):
    """A layer, or a task in it, may take long: the status is then written by a thread of its own."""
    from extbnsl.run import progress

    def slow(problem, *given, observer, stop):
        observer(events.StageStarted("search", "a long one"))
        deadline = time.monotonic() + 10
        while not Path("data.run/status.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        first = status()
        while status()["elapsed"] == first["elapsed"]:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert status()["doing"] == first["doing"] == "search: a long one"
        assert status()["process"] == os.getpid()
        return solved

    def status():
        return json.loads(Path("data.run/status.json").read_text())

    solving(slow)
    monkeypatch.setattr(progress, "beating", functools.partial(progress.beating, every=0.01))
    before = threading.active_count()
    assert main(["solve", "data.csv", "--quiet"]) == 0
    assert threading.active_count() == before
    assert status()["ended"] == "optimal"


def test_an_empty_scratch_folder_goes_when_all_is_proved(capsys, solving, solved):
    solving(solved, events.Warned("x"))
    os.mkdir("large")
    assert run(capsys, "solve", "data.csv", "--scratch-dir", "large")[0] == 0
    assert os.listdir("large") == []


def lasting(text):
    """The lines that do not tell what goes on, which depends on how long it takes."""
    return [line for line in text.splitlines() if "(memory " not in line]


def test_solve_writes_a_result_that_holds(capsys):
    code, out, err = run(capsys, "solve", "data.csv", "--threads", 1, "--memory", "1GiB")
    assert code == 0, err
    document = json.loads(Path("data.run/result.json").read_text())
    assert document["status"] == "optimal"
    assert document["provenance"]["command"] == "extbnsl solve data.csv --threads 1 --memory 1GiB"
    assert re.search(rf"^status +optimal\ncost +{document['cost']:.6f} nats", out)
    names = ("result.json", "network.bif", "network.json", "network.dot")
    assert f"\nwritten      data.run/\n             {', '.join(names)}\n" in out
    for name in names:
        assert (Path("data.run") / name).stat().st_size
    assert lasting(Path("data.run/solve.log").read_text()) == lasting(err)
    logged = [json.loads(line) for line in Path("data.run/log.jsonl").read_text().splitlines()]
    assert {"StageEnded"} <= {record["event"] for record in logged}
    code, out, _ = run(capsys, "verify", "data.run", "data.csv")
    assert (code, "holds" in out) == (0, True)


def test_a_run_begins_with_what_it_works_on_and_ends_with_the_network(capsys):
    _, out, err = run(capsys, "solve", "data.csv", "--threads", 1, "--memory", "1GiB", "--disk", "1GiB", "--no-fixing")
    assert err.splitlines()[:4] == [
        f"extbnsl {extbnsl.__version__}",
        "input: data.csv: 60 records, 4 variables, 2 to 3 states, comma, header",
        "options: no fixing",
        "budgets: 1 thread, 1.0GiB of memory, 1.0GiB of disk, no time limit",
    ]
    document = json.loads(Path("data.run/result.json").read_text())
    parameters = fit(Network.from_names(document["variables"], document["parents"]), read_csv("data.csv"))
    free = sum(table.size - table.size // table.shape[-1] for table in parameters)
    assert f"BIC          -{document['cost']:.6f} (minus the cost, as in bnlearn)\n" in out
    assert f"network      4 variables, {sum(map(len, document['parents'].values()))} arcs, {free} parameters\n" in out
    for name, parents in document["parents"].items():
        assert f"\n             {name}{' | ' * bool(parents)}{', '.join(parents)}\n" in out
    for words in (
        r"seconds +\S",
        r"search +\d+ parent sets, \d+ nodes?, \d+ edges?\n",
        "at most +.* of memory, 0B of disk",
    ):
        assert re.search(rf"\n{words}", out)
    Path("options").write_text("a;b\n0;1\n1;0\n")
    _, _, err = run(
        capsys, "solve", "options", "--max-parents", 1, "--time-limit", "1h", "--delimiter", ";", "--seed", 3
    )
    assert err.splitlines()[1:3] == [
        "input: options: 2 records, 2 variables, 2 states each, semicolon, header",
        "options: max-parents 1, seed 3, delimiter ;",
    ]
    assert err.splitlines()[3].endswith(", time limit 1:00:00")


def test_the_parents_of_many_variables_are_listed_if_that_is_asked_for(capsys, sizes):
    sizes({"summary.MOST_LISTED": 3})
    few = run(capsys, "solve", "data.csv", "--run-dir", "r")[1]
    assert " | " not in few
    assert re.search(r"\nnetwork      4 variables, \d arcs?, \d+ parameters \(--print lists them\)\n", few)
    assert " | " in run(capsys, "resume", "r", "--print")[1]
    listed = run(capsys, "solve", "data.csv", "--print")[1]
    assert " | " in listed
    assert "--print" not in listed


def test_what_is_one_or_zero_is_said_so(capsys):
    Path("one.csv").write_text("a\nyes\n")
    _, out, err = run(capsys, "solve", "one.csv", "--threads", 1)
    assert "1 record, 1 variable, 1 state, " in err
    assert "scores: 1 parent set kept, of 0 sets of variables counted" in err
    assert "-0.000" not in out + err
    assert "bounds       0.000000 to 0.000000 (gap 0.00%)" in out
    assert "1 variable, 0 arcs, 0 parameters" in out
    assert not re.search(r"\b1 (\w+|parent set)s\b", out + err)
    assert run(capsys, "score", "one.csv", "-o", "one.jkl", "--quiet")[1] == (
        "1 parent set of 1 variable written to one.jkl.\n"
    )
    _, out, err = run(capsys, "solve", "one.jkl", "--threads", 1)
    assert "parents: 1 of 1 parent set kept" in err
    assert not re.search(r"\b1 (\w+|parent set)s\b", out + err)


def test_an_existing_run_is_not_replaced_unasked(capsys):
    assert run(capsys, "solve", "data.csv", "--quiet")[0] == 0
    before = Path("data.run/result.json").read_bytes()
    assert "--overwrite" in fails(capsys, "solve", "data.csv", "--run-dir", "data.run")
    assert run(capsys, "solve", "data.csv", "--quiet")[0] == 0
    assert Path("data.run/result.json").read_bytes() == before
    assert Path("data-2.run/result.json").exists()
    Path("bad.csv").write_text("a,b\n1,2\n1\n")
    fails(capsys, "solve", "bad.csv", "--run-dir", "data.run", "--overwrite")
    assert Path("data.run/result.json").read_bytes() == before
    assert run(capsys, "solve", "data.csv", "--max-parents", "0", "--overwrite", "--quiet")[0] == 0
    assert json.loads(Path("data.run/result.json").read_text())["max_parents"] == 0


def unwrapped(text):
    """A text without its line ends."""
    return " ".join(text.split())


def test_a_second_solve_says_that_the_first_can_be_resumed(capsys, solving):
    solving(BudgetError("Full."), events.StageStarted("search", ""))
    assert "stopped run" not in run(capsys, "solve", "data.csv")[2]
    commit(Path("data.run"), run=remembered(os.path.abspath("data.csv")))
    hint = "data.run holds a stopped run of data.csv: 'extbnsl resume data.run' resumes it"
    assert hint in unwrapped(run(capsys, "solve", "data.csv", "--quiet")[2])
    assert hint in unwrapped(Path("data-2.run/solve.log").read_text())
    later = "data-2.run holds a stopped run of data.csv: 'extbnsl resume data-2.run' resumes it"
    assert later in unwrapped(run(capsys, "solve", "data.csv", "--quiet")[2])
    os.mkdir("other")
    Path("other/data.csv").write_bytes(Path("data.csv").read_bytes())
    assert hint not in unwrapped(run(capsys, "solve", "other/data.csv", "--quiet")[2])
    assert hint not in unwrapped(run(capsys, "solve", "data.csv", "--quiet", "--run-dir", "own")[2])


@pytest.mark.parametrize("command", [["solve"], ["estimate"], ["score", "-o", "data.jkl"]])
def test_memory_and_disk_that_are_not_there_are_named(capsys, command):
    disk, overwrite = ([], ["--overwrite"]) if command[0] == "score" else (["--disk", "100TB"], [])
    said = unwrapped(run(capsys, *command, "data.csv", "--threads", 1, "--memory", "100TB", *disk)[2])
    assert said.startswith(f"extbnsl {extbnsl.__version__} input: data.csv: 60 records")
    assert "90.9TiB of memory (the machine has " in said
    assert bool(disk) == bool(re.search(r"90\.9TiB of disk \([\d.]+.iB are free\)", said))
    said = run(capsys, *command, "data.csv", "--memory", "1GiB", "--quiet", *overwrite)[2]
    assert said == ""


@pytest.mark.parametrize("size", ["0", "0B"])
def test_no_disk_is_said_and_enough_for_small_data(capsys, size):
    code, out, err = run(capsys, "solve", "data.csv", "--disk", size)
    assert code == 0
    assert "of memory, no disk, no time limit" in err
    assert "0B of disk" in out


def test_quiet_is_one_line_and_json_is_the_document(capsys):
    code, out, err = run(capsys, "solve", "data.csv", "--quiet")
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert out.startswith("optimal: cost ")
    code, out, err = run(capsys, "solve", "data.csv", "--json", "--run-dir", "j")
    assert code == 0
    assert json.loads(out) == json.loads(Path("j/result.json").read_text())
    assert err


def test_score_then_solve_the_scores(capsys):
    assert run(capsys, "score", "data.csv", "-o", "data.jkl", "--quiet")[0] == 0
    assert read_scores("data.jkl").names == ("a", "b", "c", "d")
    run(capsys, "solve", "data.csv", "--run-dir", "one")
    code, _, _ = run(capsys, "solve", "data.jkl", "--run-dir", "two")
    assert code == 0
    one, two = (json.loads(Path(name, "result.json").read_text()) for name in ("one", "two"))
    assert one["cost"] == pytest.approx(two["cost"], rel=1e-12)
    assert not Path("two/network.bif").exists()
    assert run(capsys, "verify", "two", "data.jkl")[0] == 0


def test_score_refuses_before_it_works(capsys):
    Path("there.jkl").write_text("mine")
    assert "--overwrite" in fails(capsys, "score", "data.csv", "-o", "there.jkl")
    assert Path("there.jkl").read_text() == "mine"
    assert "create it" in fails(capsys, "score", "data.csv", "-o", "no/x.jkl")
    assert ".jkl" in fails(capsys, "score", "data.csv", "-o", "x.csv")
    assert "already" in fails(capsys, "score", "there.jkl", "-o", "x.jkl")
    assert run(capsys, "score", "data.csv", "-o", "there.jkl", "--overwrite", "--quiet")[0] == 0


def test_interrupted_scores_are_not_written(capsys, running_out):
    running_out("solver.solve", "compute_scores", Stopped("interrupted"))
    assert "nothing was written" in fails(capsys, "score", "data.csv", "-o", "data.jkl", "--quiet", code=130)


@pytest.mark.parametrize(
    "command", [["solve", "c.csv"], ["score", "c.csv", "-o", "c.jkl", "--quiet"], ["estimate", "c.csv", "--quiet"]]
)
def test_what_is_odd_about_data_or_machine_is_told_once(capsys, monkeypatch, command):
    Path("c.csv").write_text("a,b\n0,1\n0,2\n0,1\n")
    monkeypatch.setattr(opening, "cache_warning", lambda: "Compiled code cannot be kept.")
    said = run(capsys, *command)[2]
    assert said.count("warning: ") == 2
    assert said.count("Column 'a' is constant") == said.count("Compiled code cannot be kept.") == 1


@pytest.mark.parametrize("status", ["time_limit", "memory_limit", "interrupted", "not_proved"])
def test_a_stopped_solve_is_written_and_ends_with_10(capsys, solving, solved, status):
    solving(dataclasses.replace(solved, status=status, lower_bound=solved.cost - 1))
    code, out, _ = run(capsys, "solve", "data.csv")
    assert code == 10
    assert status.replace("_", " ") in out
    assert json.loads(Path("data.run/result.json").read_text())["lower_bound"] == solved.cost - 1
    assert "extbnsl resume data.run" in out  # from its start
    assert f"stopped: {status.replace('_', ' ')}" in run(capsys, "status", "data.run")[1]


def test_a_gap_is_told_beside_what_no_arcs_cost(capsys, solving, solved):
    table, empty = a_table(), solved.stats["empty_cost"]
    assert empty == pytest.approx(naive.network_cost(table, (table.max(axis=0) + 1).tolist(), [()] * 4))
    assert "without arcs" not in run(capsys, "solve", "data.csv")[1]
    solving(dataclasses.replace(solved, status="time_limit", lower_bound=1.0))
    out = " ".join(run(capsys, "solve", "data.csv", "--run-dir", "stopped")[1].split())
    saved, most = f"{empty - solved.cost:.3f}", f"{empty - 1.0:.3f}"
    told = f"{empty:.6f} nats: the arcs of this network save {saved}, and those of the best one at most {most}"
    assert f"without arcs {told}" in out
    run(capsys, "report", "stopped")
    assert saved in Path("stopped/report.html").read_text()


@pytest.mark.parametrize(("since", "whom"), [(40.0, "the bound"), (60.0, "both")])
def test_a_stopped_solve_says_what_leaves_the_gap(capsys, solving, solved, since, whom):
    improved = {"cost": solved.cost, "seconds": since, "lower_bound": solved.cost - 3.5}
    stats = {**solved.stats, "improved": improved, "seconds": 100.0}
    solving(dataclasses.replace(solved, status="time_limit", lower_bound=solved.cost - 1, stats=stats))
    out = run(capsys, "solve", "data.csv")[1]
    told = f"the network stands since second {since:.0f} of 100, the bound rose by 2.500 since"
    assert f"\ngap          left by {whom}, it seems: {told}\n" in out


def test_a_proved_network_leaves_no_gap(capsys):
    assert "\ngap" not in run(capsys, "solve", "data.csv")[1]


@pytest.mark.parametrize(("phase", "continues"), [("search", True), ("done", False)])
def test_a_stopped_solve_says_how_to_go_on_if_one_can(capsys, solving, solved, phase, continues):
    def stop(asked, observer, **__):
        run_folder = asked.place.run_folder
        observer(events.StageStarted("search", ""))
        commit(run_folder, phase=phase, status="not_proved")
        return dataclasses.replace(solved, status="not_proved")

    solving(stop)
    code, out, _ = run(capsys, "solve", "data.csv", "--run-dir", "my run")
    assert (code, "continue     extbnsl resume 'my run'\n" in out) == (10, continues)


@pytest.mark.parametrize("error", [BudgetError("The disk is full."), MemoryError()])
def test_what_is_out_of_budget_after_a_checkpoint_says_how_to_go_on(capsys, solving, error):
    def fail(asked, observer, **__):
        run_folder = asked.place.run_folder
        observer(events.StageStarted("search", ""))
        commit(run_folder)
        raise error

    solving(fail)
    code, out, err = run(capsys, "solve", "data.csv", "--quiet")
    assert (code, out, err.count("\n")) == (20, "", 1)
    assert err.endswith(" 'extbnsl resume data.run' goes on from the last checkpoint.\n")
    assert "stopped: failed: " in run(capsys, "status", "data.run")[1]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("The data have 65 variables."), 30),
        (BudgetError("No time."), 20),
        (MemoryError(), 20),
        (OSError(5, "Input/output error"), 40),
    ],
)
def test_failures_before_any_event_leave_no_run_directory(capsys, solving, error, code):
    solving(error)
    found, out, err = run(capsys, "solve", "data.csv")
    assert (found, out) == (code, "")
    assert err.splitlines()[-1].startswith("extbnsl: ")
    assert ("Traceback" in err) == (code == 40)
    assert os.listdir() == ["data.csv"]


def test_a_stop_before_any_event_leaves_a_run_that_starts_again(capsys, solving, solved):
    solving(KeyboardInterrupt())
    code, out, err = run(capsys, "solve", "data.csv", "--forbidden", "a,*", "--max-parents", "2")
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "extbnsl: Interrupted while starting; 'extbnsl resume data.run' starts again."
    assert sorted(os.listdir("data.run")) == ["lock", "manifest.json"]
    told = run(capsys, "status", "data.run")[1]
    assert "stopped: interrupted" in told
    assert "extbnsl resume data.run" in told
    asked = []

    def take(request, **_):
        asked.append(request)
        return solved

    solving(take)
    assert run(capsys, "resume", "data.run", "--quiet")[0] == 0
    (request,) = asked
    assert request.claim.max_parents == 2
    assert request.claim.knowledge.forbidden == (("a", "b"), ("a", "c"), ("a", "d"))
    assert request.place.resume is None


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), VerificationError("The network has a cycle.")])
def test_a_fault_of_extbnsl_has_its_traceback_in_the_log(capsys, solving, error):
    solving(error, events.Warned("a is constant"))
    code, out, err = run(capsys, "solve", "data.csv", "--quiet")
    assert (code, out) == (40, "")
    first, last = err.splitlines()
    assert first == "warning: a is constant"
    assert str(error).rstrip(".") in last
    assert "report" in last
    assert "Traceback" in Path("data.run/solve.log").read_text()
    assert "stopped: failed: " in run(capsys, "status", "data.run")[1]


def test_names_that_are_not_unicode_are_no_failure(solving, solved, capfd):
    solving(solved, events.Warned("\udcff"))
    name = os.fsdecode(b"\xff.run")
    assert main(["solve", "data.csv", "--run-dir", name]) == 0
    assert main(["status", name]) == 0
    assert json.loads(Path(name, "result.json").read_text())["provenance"]["command"].endswith("'\udcff.run'")


def test_a_result_that_cannot_be_written_is_printed(capsys, solving, failing, solved):
    solving(solved)
    failing("os.fsync", errno.ENOSPC)
    code, out, err = run(capsys, "solve", "data.csv", "--quiet")
    assert code == 20
    assert "full" in err
    assert json.loads(out)["cost"] == solved.cost


@pytest.mark.slow
def test_a_reader_that_has_gone_is_no_failure(here):
    command = f"{sys.executable} -m extbnsl solve data.csv --json 2>errors | true; echo ${{PIPESTATUS[0]}}"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert shown.stdout == "0\n"
    assert "BrokenPipe" not in Path("errors").read_text()
    assert Path("data.run/result.json").exists()


@pytest.mark.slow
def test_an_output_that_is_full_is_a_failure_and_the_result_is_kept():
    command = [sys.executable, "-m", "extbnsl", "solve", "data.csv", "--quiet"]
    with open("/dev/full", "w") as full:
        shown = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (shown.returncode, shown.stderr.count("\n")) == (20, 1)
    assert "standard output" in shown.stderr
    assert Path("data.run/result.json").exists()


@pytest.mark.slow
def test_a_terminal_that_has_gone_costs_nothing():
    """The process has a terminal of its own, which is closed while it works: a SIGHUP, and writes that fail."""
    code = STUBBORN.replace("STUBBORN", "False")
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1000)
    time.sleep(0.3)  # the write that was just read may not have returned yet
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
    assert json.loads(Path("data.run/result.json").read_text())["status"] == "interrupted"


@pytest.fixture
def signal_in(monkeypatch):
    """Make a SIGINT come at the start of a stage, by way of the observer of the command line."""
    from extbnsl.run import progress

    def arrange(stage):
        def observe(event):
            if isinstance(event, events.StageStarted) and event.stage == stage:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(progress, "json_lines", lambda write, clock: observe)

    return arrange


@pytest.mark.parametrize("stage", ["scores", "incumbent", "bounds", "search"])
def test_a_signal_in_any_stage_leaves_a_network_and_bounds(capsys, signal_in, stage):
    table = np.random.default_rng(3).integers(0, 2, (200, 12))
    np.savetxt("wide.csv", table @ np.triu(np.ones((12, 12), int)) % 3, fmt="%d", delimiter=",")
    signal_in(stage)
    options = ("--no-header", "--json", "--threads", "1", "--lower-bound", "static")
    code, out, _ = run(capsys, "solve", "wide.csv", *options)
    document = json.loads(out)
    assert (code, document["status"]) == (10, "interrupted")
    assert document["lower_bound"] < document["upper_bound"]
    assert run(capsys, "verify", "wide.run", "wide.csv", "--no-header")[0] in (
        0,
        11,
    )  # the bound of a stop may be only claimed


STUBBORN = """
import dataclasses, signal, sys, time
import extbnsl.solver.solve
from extbnsl.cli import main
from extbnsl.core.events import StageStarted
real = extbnsl.solver.solve.solve
def waiting(asked, observer, stop):
    result = real(asked)
    observer(StageStarted("search", ""))
    print("ready", flush=True)
    while stop() is None or STUBBORN:
        time.sleep(0.01)
    return dataclasses.replace(result, status=stop())
extbnsl.solver.solve.solve = waiting
sys.exit(main(["solve", "data.csv"]))
"""


def started(stubborn):
    """A process that solves until it is told to stop."""
    code = STUBBORN.replace("STUBBORN", str(stubborn))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("number", first(1, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
def test_the_first_signal_stops_and_writes(number):
    process = started(stubborn=False)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 10
    assert "Stopping; the state and the best network will be written, and 'extbnsl resume data.run' goes on" in err
    assert "interrupted" in out
    assert json.loads(Path("data.run/result.json").read_text())["status"] == "interrupted"


@pytest.mark.slow
def test_the_second_signal_ends_at_once():
    process = started(stubborn=True)
    process.send_signal(signal.SIGINT)
    assert any("Stopping" in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 130
